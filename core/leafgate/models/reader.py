"""Choosing a reader by the content of a file, not by its name."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from leafgate.bounded.compressed import decompressed, decompressed_head, is_compressed
from leafgate.errors import InconclusiveError, LeafgateError, Problem, ReleaseError
from leafgate.folders import MODEL_FILE, folder_files, is_model_folder, read_folder
from leafgate.ir.model import ModelIR
from leafgate.ir.model_readers import HEAD, LARGEST, ModelReader, Vocabulary
from leafgate.ir.unread import has_known_words
from leafgate.ir.validate import check_model
from leafgate.kernel.release import NOT_STATED
from leafgate.models.exposure.implied import with_implied_disclosures
from leafgate.plugin_output import plugin_output_dropped

SETTING_WORDS = frozenset({"sqrt", "log2", "auto", "best", "random", "balanced", "balanced_subsample"})
"""What scikit-learn's settings of learners may be, of those that reports print."""

PICKLE = "is a pickle, which runs whatever it says when it is opened"
INSTEAD_OF_PICKLE = (
    "where the model was trained, run `skops.io.dump(model, 'model.skops')` and name that file; "
    "or its owner runs `leafgate convert FILE NEW --trust` there"
)


def refuse_pickle(path: Path, place: str) -> None:
    """Raise ReleaseError where the file is a pickle, by how it begins; a file that cannot be read is none.

    Of a folder that MLflow saved no file may be a pickle.
    """
    if is_model_folder(path):
        model_bytes(path)
        return
    try:
        with _opened(path) as file:
            head = file.read(HEAD)
            head += file.read(LARGEST) if head.startswith(b"BZh") else b""
    except ReleaseError:
        return
    if is_pickle(head):
        raise ReleaseError(f"{path.name} {PICKLE}", place=place, remedy=INSTEAD_OF_PICKLE)


def is_foreign(head: bytes, readers: Sequence[ModelReader]) -> bool:
    """Does a file that begins so hold somebody else's model, or something that must be refused as such?"""
    return is_compressed(head) or is_pickle(head) or bool(_that_know(head[:HEAD], readers))


def _inner_head(head: bytes) -> bytes:
    """The beginning of a file, of a compressed one that of what it holds."""
    return decompressed_head(head, HEAD) or head[:HEAD]


def read_foreign(content: bytes, place: str, readers: Sequence[ModelReader]) -> ModelIR:
    """The checked model in a file's bytes; ReleaseError says what is wrong with it, and where."""
    return read_with_reader(content, place, readers)[0]


def read_with_reader(content: bytes, place: str, readers: Sequence[ModelReader]) -> tuple[ModelIR, ModelReader]:
    """The checked model in a file's bytes, and the reader that read it.

    Raises:
        ReleaseError: what is wrong with the file, and where.
    """
    head = _inner_head(content)
    if is_pickle(content):
        raise ReleaseError(PICKLE, place=place, remedy=INSTEAD_OF_PICKLE)
    content = decompressed(content, place)
    known = Vocabulary.of(readers)
    candidates = _that_know(head, readers)
    if not candidates:
        names = ", ".join(reader.file_format or reader.name for reader in readers)
        raise ReleaseError("is no model of a format that is known here", place=place, remedy=f"known: {names}")
    model, reader = _read_by(candidates, content, place, known)
    model = with_implied_disclosures(_without_unknown_texts(model, known))
    if model.counts_people and model.level != "counts" and NOT_STATED not in model.discloses:
        model = replace(model, discloses=(*model.discloses, NOT_STATED))
    return model, reader


def _without_unknown_texts(model: ModelIR, known: Vocabulary) -> ModelIR:
    """The model as reports may print it: the names of known programs, known words for settings."""
    producer = (
        model.producer if has_known_words(model.producer, known.producers) else "a program that is not known here"
    )
    settings = {
        key: value for key, value in model.settings.items() if not isinstance(value, str) or value in SETTING_WORDS
    }
    kind = model.format if has_known_words(model.format, known.producers) else "unknown"
    return replace(model, format=kind, producer=producer, settings=settings)


def read_model(path: Path, readers: Sequence[ModelReader]) -> ModelIR:
    """The checked model in a file; ReleaseError says what is wrong with it, and where."""
    return read_foreign(model_bytes(path), path.name, readers)


def read_trusted(path: Path, readers: Sequence[ModelReader], open_pickle: Callable[[Path], object]) -> ModelIR:
    """The checked model in a file that its owner trusts: a pickle is opened, and what only its library opens by that.

    Raises:
        ReleaseError: what is wrong with the file, and where.
        InconclusiveError: its library is not installed, or does not open it.
    """
    from leafgate.models.library import opened_by_library

    content = model_bytes(path)
    if is_pickle(content):
        return _of_unknown_object(open_pickle(path), readers)
    return read_foreign(opened_by_library(content, path.name, readers), path.name, readers)


def witness_lines(path: Path, table: Path, readers: Sequence[ModelReader]) -> tuple[str, ...]:
    """Lines in the language of the program that wrote a file, which write the model's own answers for a table."""
    content = model_bytes(path)
    if not any(reader.witness_lines for reader in _that_know(_inner_head(content), readers)):
        return ()
    model, reader = read_with_reader(content, path.name, readers)
    return () if reader.witness_lines is None else reader.witness_lines(model, path.name, table.name)


def _of_unknown_object(thing: object, readers: Sequence[ModelReader]) -> ModelIR:
    """The model of the first reader that knows the object, or writes its file; the errors of all where none does."""
    from leafgate.models.writer import object_as_file

    problems: list[Problem] = []
    for reader in readers:
        if reader.from_object is not None:
            try:
                return model_of_object(thing, reader.name, readers)
            except ReleaseError as error:
                problems += error.problems
    with suppress(InconclusiveError):  # what writes the file is not installed
        if (written := object_as_file(thing, readers)) is not None:
            return read_foreign(written[1], written[0], readers)
    if not problems:
        raise ReleaseError("is an object, and no installed plugin reads models in memory", place="model")
    raise ReleaseError.listing(problems)


def model_of_object(thing: Any, reader: str, readers: Sequence[ModelReader]) -> ModelIR:
    """The checked model of an object in memory, by the reader of this name; ReleaseError where it cannot be read."""
    convert = next((each.from_object for each in readers if each.name == reader), None)
    if convert is None:
        remedy = "install leafgate completely, or list it under `plugins:`; `leafgate plugins` says what is broken"
        raise ReleaseError(f"no installed plugin reads objects as {reader!r} does", place="model", remedy=remedy)
    return check_model(convert(thing), "model")


def from_sklearn(model: Any) -> ModelIR:
    """The neutral trees of a fitted scikit-learn estimator or pipeline, as its file would give them.

    Its attributes are read, no method of it is called; of a search over settings its `best_estimator_` is read.
    Raises ReleaseError for what is no tree and no forest, and for features computed in ways that cannot be expressed in
    columns; it names them.
    """
    from leafgate.api.registry import load_plugins

    return model_of_object(model, "skops", load_plugins().readers)


def _that_know(head: bytes, readers: Sequence[ModelReader]) -> list[ModelReader]:
    """The readers that take the file for one of theirs; one whose `sniff` fails does not."""
    return [reader for reader in readers if _sniffs(reader, head)]


def _sniffs(reader: ModelReader, head: bytes) -> bool:
    try:
        with plugin_output_dropped():
            return bool(reader.sniff(head))
    except Exception:
        return False


def _read_by(
    candidates: Sequence[ModelReader], content: bytes, place: str, known: Vocabulary
) -> tuple[ModelIR, ModelReader]:
    """The model that one of the readers returns; ReleaseError where none can read the file, or several can."""
    models, errors = [], []
    for reader in candidates:
        try:
            models.append((_read(reader, content, place, known), reader))
        except ReleaseError as error:
            errors.append(error)
    if len(models) > 1:
        names = " and ".join(reader.name for _, reader in models)
        remedy = "list the plugins you trust under `plugins:` of the policy, or uninstall one"
        raise ReleaseError(f"is a model to several readers, {names}: which is right?", place=place, remedy=remedy)
    if not models:
        raise errors[0] if len(errors) == 1 else ReleaseError.listing(one for each in errors for one in each.problems)
    return models[0]


def _read(reader: ModelReader, content: bytes, place: str, known: Vocabulary) -> ModelIR:
    """The checked model that a reader returns; any other exception than its own becomes a ReleaseError.

    A malformed file can raise more kinds of exceptions than a reader lists.
    """
    if len(content) > reader.max_bytes:
        raise ReleaseError(f"is larger than {reader.max_bytes / 2**20:.0f} MB", place=place)
    try:
        read_with = reader.read_with
        with plugin_output_dropped():
            model: object = reader.read(content, place) if read_with is None else read_with(content, place, known)
        if isinstance(model, ModelIR):
            return check_model(model, place)
    except LeafgateError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise ReleaseError(f"is not what its format says ({kind} in the reader {reader.name!r})", place=place) from None
    returned = type(model).__name__
    raise ReleaseError(f"the reader {reader.name!r} returned a {returned} where a ModelIR belongs", place=place)


def model_bytes(path: Path, most: int = LARGEST) -> bytes:
    """The bytes of a model's file, or of a folder that MLflow saved.

    Raises:
        ReleaseError: it cannot be read, is neither, is larger than a model may be, or a file of the folder is a pickle.
    """
    if is_model_folder(path):
        try:
            folder = read_folder(path, most)
        except OSError as error:
            raise ReleaseError(f"holds a file that cannot be read: {error.strerror}", place=path.name) from None
        for name, content in (folder_files(folder) or {}).items():
            if is_pickle(content[:HEAD]):
                raise ReleaseError(PICKLE, place=f"{path.name}/{name}", remedy=INSTEAD_OF_PICKLE)
        return folder
    with _opened(path) as file:
        if os.fstat(file.fileno()).st_size > most or len(content := file.read(most + 1)) > most:
            raise ReleaseError(f"is larger than {most / 2**20:.0f} MB", place=path.name)
        return content


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file, opened without waiting for anybody to write to it; pipes and devices never end."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ReleaseError("is no regular file", place=path.name)
            yield file
    except IsADirectoryError:
        remedy = f"name the model's file in it, or a folder that MLflow saved, which has a file {MODEL_FILE}"
        raise ReleaseError("is a folder, not a model's file", place=path.name, remedy=remedy) from None
    except OSError as error:
        raise ReleaseError(f"cannot be read: {error.strerror}", place=path.name) from None


COMPRESSED = (
    b"\x04\x22\x4d\x18",
    b"]\x00\x00",
    b"\x28\xb5\x2f\xfd",
    b"x\x01",
    b"x^",
    b"x\x9c",
    b"x\xda",
)
"""What joblib compresses pickles with begins so: lz4, lzma, zstd, zlib. Files that gzip, bzip2 and xz compressed are
looked into, because programs write models so, too."""


TEXT_PICKLE = re.compile(rb"\(?(c[\w.]+\n[\w.]+\n|[ld]p?\d*\n|i[\w.]+\n[\w.]+\n)")


def is_pickle(head: bytes) -> bool:
    """Is it a pickle, or compressed as joblib does it? Give the whole file if it may be a bzip2 file."""
    head = _inner_head(head)
    binary = head[:1] == b"\x80" and head[1:2] <= b"\x05"
    return binary or head.startswith((*COMPRESSED, b"ZF")) or TEXT_PICKLE.match(head) is not None
