"""Choosing a reader by the content of a file, not by its name."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from leafgate.errors import LeafgateError, ReleaseError
from leafgate.models.exposure.categories import value_names_disclosed
from leafgate.models.exposure.scores import with_recoverable_score_counts
from leafgate.models.exposure.shares import with_recoverable_counts
from leafgate.models.formats import native as neutral_file
from leafgate.models.formats.native_unread import without_unknown_texts
from leafgate.models.ir.model import ModelIR
from leafgate.models.ir.validate import check

HEAD = 4096
"""Bytes at the beginning of a file by which a reader recognizes its format."""

MAX_BYTES = 512 * 2**20
READERS = (
    *(
        "formats.native",
        "readers.sklearn.skops",
        "readers.onnx.reader",
        "readers.xgboost.reader",
        "readers.lightgbm.reader",
    ),
    *("readers.pmml.reader", "readers.printouts.weka", "readers.printouts.rpart"),
)
"""Modules of this package, each with `sniff` and `read`; the first that knows a file reads it."""


class Reader(Protocol):
    """One format: a module with these two functions."""

    MAX_BYTES: int
    """Larger files are refused before they are read."""

    def sniff(self, head: bytes) -> bool:
        """Does a file that begins so look like this format?"""

    def read(self, content: bytes, place: str) -> ModelIR:
        """The model, not yet checked; ReleaseError where there is none. Runs no code of the file's."""


def readers() -> Iterator[Reader]:
    """Every reader there is, imported when asked for."""
    for name in READERS:
        yield cast(Reader, import_module(f"leafgate.models.{name}"))


def is_foreign(head: bytes) -> bool:
    """Does a file that begins so hold somebody else's model, or something that must be refused as such?"""
    return is_pickle(head) or any(reader.sniff(head) for reader in readers())


def read_foreign(content: bytes, place: str) -> ModelIR:
    """The checked model in a file's bytes; ReleaseError says what is wrong with it, and where."""
    head = content[:HEAD]
    if is_pickle(head):
        raise ReleaseError(
            "is a pickle, which runs whatever it says when it is opened",
            place=place,
            remedy="its owner runs `leafgate convert FILE --trust` where the model was trained",
        )
    for reader in readers():
        if reader.sniff(head):
            if len(content) > reader.MAX_BYTES:
                raise ReleaseError(f"is larger than {reader.MAX_BYTES / 2**20:.0f} MB", place=place)
            model = check(_read_by(reader, content, place), place)
            result = without_unknown_texts(replace(model, discloses=(*model.discloses, *value_names_disclosed(model))))
            return with_recoverable_score_counts(with_recoverable_counts(result))
    raise ReleaseError("is no model of a format that is known here", place=place, remedy=f"known: {', '.join(READERS)}")


def file_format(content: bytes, model: ModelIR) -> str:
    """The format of the file that the model was read from; a neutral file's `from` is that of an earlier file."""
    return neutral_file.FORMAT if neutral_file.sniff(content[:HEAD]) else model.format


def _read_by(reader: Reader, content: bytes, place: str) -> ModelIR:
    """The model that a reader returns; any other exception than its own becomes a ReleaseError.

    A malformed file can raise more kinds of exceptions than a reader lists.
    """
    try:
        return reader.read(content, place)
    except LeafgateError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise ReleaseError(f"is not what its format says ({kind})", place=place) from None


def read_bounded(path: Path, most: int = MAX_BYTES) -> bytes:
    """A file's bytes; ReleaseError when it cannot be read, is no file, or is larger than any model may be."""
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
    except OSError as error:
        raise ReleaseError(f"cannot be read: {error.strerror}", place=path.name) from None


COMPRESSED = (
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"\x04\x22\x4d\x18",
    b"]\x00\x00",
    b"\x28\xb5\x2f\xfd",
    b"x\x01",
    b"x^",
    b"x\x9c",
    b"x\xda",
)
"""What joblib compresses pickles with begins so: gzip, bzip2, xz, lz4, lzma, zstd, zlib."""


TEXT_PICKLE = re.compile(rb"\(?(c[\w.]+\n[\w.]+\n|[ld]p?\d*\n|i[\w.]+\n[\w.]+\n)")


def is_pickle(head: bytes) -> bool:
    """Is it a pickle, or compressed as joblib does it? No reader here takes anything compressed but zip."""
    binary = head[:1] == b"\x80" and head[1:2] <= b"\x05"
    return binary or head.startswith((*COMPRESSED, b"ZF")) or TEXT_PICKLE.match(head) is not None
