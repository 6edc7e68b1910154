"""The checks of a data source: every row and cell, digests, damaged files, isolation, and no cell in an error."""

from __future__ import annotations

import inspect
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import pandas as pd

from leafgate.api.data_engines import suffix_mistakes
from leafgate.errors import DataError, InconclusiveError, LeafgateError
from leafgate.io.tables.reader import source_cells
from leafgate.kernel.components import DataSource, SourceFile
from leafgate.testing.check import DoesNotApply, NonConformance, called
from leafgate.testing.common_checks import PLACEHOLDER, described_options, imports_lightly, pickles
from leafgate.testing.sandbox import offline
from leafgate.testing.subprocess_worker import other_environment

Rows = Sequence[Sequence[str | None]]
Write = Callable[[Sequence[str], Rows], bytes]
"""Writes a file that the source reads: the names of the columns, and rows of texts; None is a missing cell."""

COLUMNS = ("name", "age", "job title", "Größe")
SECRET = "Zaphod-5819-Beeblebrox"  # noqa: S105  a cell that no error may print
PEOPLE: Rows = (
    ("Ann", "31", "baker", "1.5"),
    ("Ben", "4", "nurse", "2"),
    ("Ben", "4", "nurse", "2"),
    (SECRET, "31", "nurse", "1.5"),
    ("Ann", "31", "baker", "1.5"),
    ("Eve", "90", "clerk", "2"),
)
"""Six people; two rows stand there twice."""
CROWD: Rows = [*PEOPLE, *((f"person {i}", f"{i % 7}", "clerk", "1") for i in range(50))]
"""More people, whose order by hashes is hardly ever the same."""
CHANGED: Rows = (*PEOPLE[:-1], ("Eve", "90", "clerk", "3"))
MANY_ROWS = 100_001
"""More than queries and spreadsheets are often limited to; one file of the kit has so many."""
MANY_COLUMNS = 300
"""More than the 256 of old spreadsheets; one file has so many."""
LONG_TEXT = 20_000
"""Characters of one cell of a file, more than fields of fixed width have."""
HOSTILE: Mapping[str, str] = {
    "a leading zero": "007",
    "a decimal point": "1.0",
    "an exponent": "1e5",
    "a formula": "=1+1",
    "a quote": 'say "yes"',
    "an apostrophe": "O'Hara",
    "separators": "a,b;c\td|e",
    "a line end": "two\nlines",
    "spaces at its ends": " padded ",
    "the word NULL": "NULL",
    "the word nan": "nan",
    "the word true": "True",
    "a date": "2024-01-02",
    "other scripts": "Jürgen 李 Ω",
    "a bracket": "[1, 2]",
    "a backslash": "back\\slash",
}
"""Texts that a source may take for something else."""
GARBAGE: Mapping[str, bytes] = {
    "bytes without meaning": bytes(random.Random(1).randrange(256) for _ in range(4096)),  # noqa: S311
    "zeros": bytes(4096),
    "a text": f"{SECRET}\n{SECRET}\n".encode(),
    "the beginning of a zip": b"PK\x03\x04" + bytes(64),
    "one byte": b"\xff",
}


@dataclass(frozen=True)
class SourceSubject:
    """A data source, and the function that writes files for it."""

    component: DataSource
    write: Write

    @property
    def name(self) -> str:
        """The name of the files."""
        return f"people{min(self.component.suffixes, default='')}"

    def read(self, content: bytes) -> pd.DataFrame:
        """The columns of a file, as the core takes them over."""
        source = self.component
        frame = called(source, lambda: source.read(SourceFile(self.name, content)))
        try:
            return source_cells(frame, source, self.name)
        except InconclusiveError as error:
            message = error.problems[0].message
            raise NonConformance(message, "return what `text_frame` of leafgate.api makes") from None

    def rows(self, content: bytes) -> list[tuple[str, ...]]:
        """The rows of a file in an order of their own."""
        frame = self.read(content)
        return sorted(zip(*(frame.iloc[:, i].astype(str) for i in range(frame.shape[1])), strict=True))


def is_declared(subject: SourceSubject) -> None:
    """It says which files it reads, and what it does."""
    kind = type(subject.component)
    if problems := suffix_mistakes(kind):
        raise NonConformance(problems[0], "see docs/reference/plugin-kinds.md, A data source")
    described = inspect.getdoc(kind) if kind.__doc__ else ""
    if not described or PLACEHOLDER.search(described):
        raise NonConformance(f"{kind.__name__} has no docstring", "say what it reads: `leafgate explain` prints it")


def reads_every_row(subject: SourceSubject) -> None:
    """It returns each row as often as it stands in the file, with the columns under their names."""
    content = subject.write(COLUMNS, PEOPLE)
    frame = subject.read(content)
    if list(frame.columns) not in (list(COLUMNS), [*range(len(COLUMNS))]):
        raise NonConformance("it returns other columns than the file has", "return every column, in the file's order")
    if subject.rows(content) != _sorted(PEOPLE):
        message = f"it returns {len(frame)} rows with other cells than the {len(PEOPLE)} of the file"
        raise NonConformance(message, "return every row, as often as it is there: equal rows are different people")


def reads_large_files(subject: SourceSubject) -> None:
    """It returns every row of a long file, every column of a wide one and every character of a long text."""
    remedy = "set no limit; a file that is too large to read is refused by a DataError, for an audit counts everybody"
    names = [f"column {i}" for i in range(MANY_COLUMNS)]
    for what, columns, rows in (
        (f"{MANY_COLUMNS} columns", names, [[f"{row}-{name}" for name in names] for row in range(2)]),
        (f"a text of {LONG_TEXT:,} characters", ("text", "number"), [("x" * (LONG_TEXT - 1) + "y", "1"), ("z", "2")]),
        (f"{MANY_ROWS:,} rows", ("person", "age"), [(f"person {i}", f"{i % 90}") for i in range(MANY_ROWS)]),
    ):
        try:
            found = subject.rows(subject.write(columns, rows))
        except DataError:
            continue
        if found != _sorted(rows):
            raise NonConformance(f"of a file with {what} it returns a part, or other cells", remedy)


def keeps_texts(subject: SourceSubject) -> None:
    """A text comes back as it is, whatever it looks like."""
    for what, text in HOSTILE.items():
        rows = [(text, "1"), ("other", "2")]
        if subject.rows(subject.write(("text", "number"), rows)) != _sorted(rows):
            raise NonConformance(f"a text with {what} is another one after reading", "return texts as they are")


def keeps_missing_cells(subject: SourceSubject) -> None:
    """A missing cell is the empty text, and the row stays."""
    rows: Rows = [("a", None), (None, "2"), ("c", "3")]
    if subject.rows(subject.write(("text", "number"), rows)) != _sorted(rows):
        raise NonConformance("a missing cell is no empty text", 'return "" for it; `text_frame` does so for None')


def finds_a_changed_cell(subject: SourceSubject) -> None:
    """Where one cell of the file is another, so is what it returns: it reads these bytes, and keeps nothing."""
    before = subject.rows(subject.write(COLUMNS, PEOPLE))
    after = subject.rows(subject.write(COLUMNS, CHANGED))
    if before == after:
        raise NonConformance(
            "it returns the same for a file with another cell",
            "read `file.content`; keep nothing between two calls, and open no file by its name",
        )


def repeats(subject: SourceSubject) -> None:
    """The same bytes give the same cells, in the same order."""
    content = subject.write(COLUMNS, CROWD)
    if not subject.read(content).equals(subject.read(content)):
        raise NonConformance("a second reading of the same bytes differs", "draw no random numbers, and read no clock")


PROGRAM = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
source, name, content = pickle.load(sys.stdin.buffer)
from leafgate.api import SourceFile
frame = source.read(SourceFile(name, content))
sys.stdout.buffer.write(repr([list(frame.columns), frame.astype(str).to_numpy().tolist()]).encode())
"""


def repeats_elsewhere(subject: SourceSubject) -> None:
    """Another process, with other hashes and in another time zone, reads the same."""
    content = subject.write(COLUMNS, CROWD)
    frame = subject.read(content)
    try:
        packed = pickle.dumps((subject.component, subject.name, content))
    except Exception:
        raise DoesNotApply("its class is not at the top of a module, where another process finds it") from None
    done = subprocess.run(  # noqa: S603  the running Python with a program of this file
        [sys.executable, "-c", PROGRAM],
        input=pickle.dumps(list(sys.path)) + packed,
        capture_output=True,
        env=os.environ | other_environment(),
        timeout=120,
    )
    if done.returncode != 0:
        raise NonConformance("it fails in another process", "keep everything that it needs in its module")
    if done.stdout.decode() != repr([list(frame.columns), frame.astype(str).to_numpy().tolist()]):
        raise NonConformance("another process reads something else", "use no hash() of texts, and sort sets")


def refuses_damaged_files(subject: SourceSubject) -> None:
    """Bytes that are no such file are refused in leafgate's words, or read as a table: nothing else happens."""
    refused = 0
    for _, content in _damaged(subject):
        try:
            subject.read(content)
        except LeafgateError as error:
            refused += isinstance(error, DataError)
    if not refused:
        raise NonConformance(
            "it takes every sequence of bytes for a table", "raise DataError for what cannot be read as one"
        )


def tells_no_cell(subject: SourceSubject) -> None:
    """No error about a damaged file prints a cell of it."""
    for what, content in _damaged(subject):
        try:
            with suppress(NonConformance):  # `refuses_damaged_files` reports it
                subject.read(content)
        except LeafgateError as error:
            if SECRET in str(error):
                raise NonConformance(
                    f"its error about a damaged file ({what}) prints a cell",
                    "name the file, the table, the column or the row, and never what stands there",
                ) from None


def _damaged(subject: SourceSubject) -> Iterator[tuple[str, bytes]]:
    """Bytes that are no file of the source, and files that were cut off or changed."""
    yield from GARBAGE.items()
    content = subject.write(COLUMNS, PEOPLE)
    for share in (1, 10, 50, 90, 99):
        yield f"cut off after {share} %", content[: len(content) * share // 100]
    draws = random.Random(2)  # noqa: S311  the same damage each time
    for _ in range(20):
        changed = bytearray(content)
        changed[draws.randrange(len(changed))] ^= 1 << draws.randrange(8)
        yield "a bit is another", bytes(changed)
    for i in range(0, len(content) - 16, max(1, len(content) // 20)):
        yield "bytes are overwritten", content[:i] + b"\xff" * 16 + content[i + 16 :]


def no_network(subject: SourceSubject) -> None:
    """It opens no connection and resolves no host name."""
    content = subject.write(COLUMNS, PEOPLE)
    with offline() as tried:
        try:
            with suppress(LeafgateError, NonConformance):
                subject.read(content)
        finally:
            if tried:
                raise NonConformance(
                    f"it calls {tried[0]}() of the network", "read `file.content`: the data must not leave the machine"
                )


def _sorted(rows: Rows) -> list[tuple[str, ...]]:
    return sorted(tuple("" if cell is None else cell for cell in row) for row in rows)


SOURCE_CHECKS: Mapping[str, Callable[[SourceSubject], None]] = {
    "is_declared": is_declared,
    "described_options": cast("Callable[[SourceSubject], None]", described_options),
    "pickles": cast("Callable[[SourceSubject], None]", pickles),
    "light_face": cast("Callable[[SourceSubject], None]", imports_lightly),
    "reads_every_row": reads_every_row,
    "reads_large_files": reads_large_files,
    "keeps_texts": keeps_texts,
    "keeps_missing_cells": keeps_missing_cells,
    "finds_a_changed_cell": finds_a_changed_cell,
    "repeats": repeats,
    "repeats_elsewhere": repeats_elsewhere,
    "refuses_damaged_files": refuses_damaged_files,
    "tells_no_cell": tells_no_cell,
    "no_network": no_network,
}
"""The checks of a data source, by name."""
