"""The library that wrote a model's file: it opens the file in a process of its own, and answers or writes it anew.

That process has no network where the system lets it give that up, and never the policy's folder: it is sent the file
and rows of features. A library that parses a hostile file may still do what such a file makes it do, so that nobody but
who runs the audit can ask for it.
"""

from __future__ import annotations

import importlib
import io
import pickle
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leafgate.algorithms.witness import Answers, Witness
from leafgate.errors import InconclusiveError
from leafgate.ir.model import ModelIR
from leafgate.ir.model_readers import ModelReader
from leafgate.kernel.arrays import Floats
from leafgate.kernel.release import ModelReading, Release
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import with_resolved_origins
from leafgate.models.points import cells_of_column, column_edges, numbers_around, rows_of

LibraryAnswer = Callable[[bytes, Floats, pd.DataFrame], Mapping[str, Any]]
"""What a library answers, by the bytes of a file, rows of the model's features, and the same rows of the table.

The result has `scores` (n_rows, n_classes), `labels` (positions of classes) or `numbers`; where the library has its own
order of classes, `classes` are their names in it.
"""

SECONDS = 300
MOST_ROWS = 20_000
MOST_EDGES = 500
CHILD = (
    "import sys; sys.path[:0] = {paths!r}; from leafgate.models.library import serve; serve({folder!r}, {function!r})"
)
REMEDY = "name what the model itself answers: `build: {witness: answers.csv}`; or audit without --witness-library"


def library_witness(
    model: ModelIR,
    content: bytes,
    reader: ModelReader,
    release: Release,
    reading: ModelReading,
    encodings: Mapping[str, Encoding],
    table: Table,
    place: str,
) -> Witness:
    """Records of the table, and rows with one cell changed, with what the library that wrote the file answers for them.

    Cells are changed to both sides of every threshold, to every value of the column, and to missing where the policy
    has missing cells.

    Raises:
        InconclusiveError: the format has no library that can be asked, it is not installed, or it refuses the file.
    """
    if reader.library is None:
        raise InconclusiveError(
            f"no library can be asked about files of {reader.name}", place="--witness-library", remedy=REMEDY
        )
    model = with_resolved_origins(model, encodings, table.schema, place)
    rows = _asked_rows(model, table)
    cells = {column.name: cells_of_column(column, rows) for column in rows.schema.columns}
    frame = pd.DataFrame({name: _given(listed) for name, listed in cells.items()})
    said = in_process(reader.library, content, rows_of(model, cells), frame, place)
    return Witness(rows, np.arange(1, len(rows) + 1), _by_value(said, model, release, reading))


def _asked_rows(model: ModelIR, table: Table) -> Table:
    """The rows about which the library is asked: one person each."""
    rng = np.random.default_rng(0)
    features = Schema(tuple(c for c in table.schema.columns if not c.roles & {"class", "key"}))
    people = table.frame[[column.name for column in features.columns]]
    parts = [people.iloc[np.sort(rng.permutation(len(people))[:MOST_ROWS])]]
    edges = column_edges(model)
    for column in features.columns:
        changed = _changed(column, edges.get(column.name, ()), people[column.name], rng)
        base = people.iloc[rng.integers(0, len(people), len(changed))].reset_index(drop=True)
        parts.append(base.assign(**{column.name: changed}))
    frame = pd.concat(parts, ignore_index=True)
    for column in features.columns:
        if not column.holds_numbers:
            frame[column.name] = pd.Categorical(frame[column.name], categories=list(column.values or ()))
    return Table(features, frame, np.ones(len(frame), dtype=np.int64))


def _changed(column: Column, edges: Collection[float], cells: pd.Series, rng: np.random.Generator) -> list[Any]:
    """The cells that a column's are changed to."""
    missing = [np.nan] if cells.isna().any() else []
    if not column.holds_numbers:
        return [*(value for value in column.values or () if value is not None), *missing]
    return [*numbers_around(edges, MOST_EDGES, column.step, column.bounds, rng).tolist(), *missing]


def _given(cells: Sequence[Any]) -> pd.Series:
    """The column as pandas gives it to a pipeline: numbers where all are, else texts; missing cells are NaN."""
    column = pd.Series([np.nan if cell is None else cell for cell in cells], dtype=object)
    with suppress(ValueError, TypeError):
        return pd.to_numeric(column)
    return column


def _by_value(said: Mapping[str, Any], model: ModelIR, release: Release, reading: ModelReading) -> Answers:
    """The answers by the release's classes, in their order; a class of the policy that the model has not scores 0."""
    if "numbers" in said:
        return Answers(numbers=np.asarray(said["numbers"], dtype=np.float64))
    named = [str(name) for name in said.get("classes", ())]
    order = named if set(named) == set(model.classes) else model.classes
    position = {name: i for i, name in enumerate(order)}
    place_of = {value: position[reading.classes[value]] for value in release.classes if value in reading.classes}
    if "labels" in said:
        of_model = np.full(len(model.classes), -1)
        for i, value in enumerate(release.classes):
            if value in place_of:
                of_model[place_of[value]] = i
        return Answers(labels=of_model[np.asarray(said["labels"], dtype=np.int64)])
    scores = np.asarray(said["scores"], dtype=np.float64)
    nobody = np.zeros(len(scores))
    return Answers(np.column_stack([scores[:, place_of[v]] if v in place_of else nobody for v in release.classes]))


def in_process(function: str, content: bytes, rows: Floats, frame: pd.DataFrame, place: str) -> Mapping[str, Any]:
    """What a function `MODULE:NAME` of this kind (`LibraryAnswer`) returns, in a process of its own.

    Raises:
        InconclusiveError: it ended otherwise, or has not answered within SECONDS.
    """
    answered = _run_in_process(function, (content, rows, frame), place, REMEDY)
    with np.load(io.BytesIO(answered), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def opened_by_library(content: bytes, place: str, readers: Sequence[ModelReader]) -> bytes:
    """The bytes of a file that its library alone opens, as a file that a reader reads; of other files the bytes given.

    Raises:
        InconclusiveError: the library is not installed, does not open the file, or took longer than SECONDS.
    """
    for reader in readers:
        for head, function in reader.opened_by.items():
            if content.startswith(head):
                remedy = "install the library; or let it write a file of another of its formats"
                return _run_in_process(function, (content,), place, remedy)
    return content


def _run_in_process(function: str, arguments: tuple[Any, ...], place: str, remedy: str) -> bytes:
    """What a function `MODULE:NAME` returns in a process of its own: bytes, or arrays by name as NumPy saves them."""
    with tempfile.TemporaryDirectory(prefix="leafgate-") as folder:
        asked, answered = Path(folder) / "asked", Path(folder) / "answered"
        asked.write_bytes(pickle.dumps(arguments))
        code = CHILD.format(paths=[path for path in sys.path if path], folder=folder, function=function)
        try:
            ended = subprocess.run(  # noqa: S603  Python itself, with code of ours
                [sys.executable, "-I", "-c", code],
                cwd=folder,
                env={},
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InconclusiveError(
                f"its library did not answer within {SECONDS} s", place=place, remedy=remedy
            ) from None
        if not answered.is_file():
            absent = b"ModuleNotFoundError" in ended.stderr or b"ImportError" in ended.stderr
            what = "its library is not installed here" if absent else "its library cannot answer for it"
            raise InconclusiveError(what, place=place, remedy=remedy)
        return answered.read_bytes()


def serve(folder: str, function: str) -> None:
    """Answer what stands in a folder: what the process does that `_run_in_process` starts."""
    _leave_network()
    arguments = pickle.loads((Path(folder) / "asked").read_bytes())  # noqa: S301  written by `_run_in_process`
    module, _, name = function.partition(":")
    result = getattr(importlib.import_module(module), name)(*arguments)
    with (Path(folder) / "answered").open("wb") as file:
        if isinstance(result, bytes):
            file.write(result)
        else:
            np.savez(file, **result)


def _leave_network() -> None:
    """Give up the network: all of it where the system allows that, and sockets of Python everywhere."""
    if sys.platform == "linux":
        import ctypes

        new_user, new_network = 0x10000000, 0x40000000
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).unshare(new_user | new_network)
    socket.socket = _NoSocket  # type: ignore[misc]


class _NoSocket(socket.socket):
    """A socket that nobody can make."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise OSError("there is no network here")
