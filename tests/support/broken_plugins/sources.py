"""Data sources with one mistake each, and the honest one they were made from."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from leafgate.api import DataError, DataSource, SourceFile, text_frame

if TYPE_CHECKING:
    import pandas as pd

Rows = Sequence[Sequence[str | None]]


def write_lines(columns: Sequence[str], rows: Rows) -> bytes:
    """A file with a JSON list on each line, the names first."""
    return "".join(f"{json.dumps(list(row))}\n" for row in (columns, *rows)).encode()


class Lines(DataSource):
    """A JSON list on each line."""

    use: Literal["lines"] = "lines"
    comment: str = Field("#", description="Lines that begin with it are left out.")

    suffixes = frozenset({".lines"})

    def read(self, file: SourceFile) -> pd.DataFrame:
        names, *rows = self.parsed(file)
        return text_frame(names, rows, file.name)

    def parsed(self, file: SourceFile) -> list[list[str]]:
        """The lists of the file."""
        try:
            lines = file.content.decode().split("\n")
            lists = [json.loads(line) for line in lines if line and not line.startswith(self.comment)]
        except ValueError:
            raise DataError("is no file of JSON lists", place=file.name) from None
        if not lists or not all(isinstance(each, list) for each in lists) or not _are_names(lists[0]):
            raise DataError("is no file of JSON lists", place=file.name)
        return lists


def _are_names(names: list[object]) -> bool:
    return all(isinstance(name, str) for name in names)


class NoSuffix(Lines):
    """A JSON list on each line."""

    suffixes = frozenset()


class Distinct(Lines):
    """A JSON list on each line; equal rows once."""

    def read(self, file: SourceFile) -> pd.DataFrame:
        names, *rows = self.parsed(file)
        return text_frame(names, list(dict.fromkeys(map(tuple, rows))), file.name)


class TypesGuessed(Lines):
    """A JSON list on each line; what looks like a number becomes one."""

    def read(self, file: SourceFile) -> pd.DataFrame:
        names, *rows = self.parsed(file)
        return text_frame(names, [[_guessed(cell) for cell in row] for row in rows], file.name)


def _guessed(cell: str | None) -> object:
    return int(cell) if cell is not None and cell.isdecimal() else cell


class WithoutGaps(Lines):
    """A JSON list on each line; rows with missing cells are left out."""

    def read(self, file: SourceFile) -> pd.DataFrame:
        names, *rows = self.parsed(file)
        return text_frame(names, [row for row in rows if None not in row], file.name)


class Remembering(Lines):
    """A JSON list on each line; a file that was read before is not read again."""

    kept: ClassVar[dict[str, list[list[str]]]] = {}

    def read(self, file: SourceFile) -> pd.DataFrame:
        names, *rows = self.kept.setdefault(f"{file.name} {len(file.content)}", self.parsed(file))
        return text_frame(names, rows, file.name)


class Unguarded(Lines):
    """A JSON list on each line."""

    def read(self, file: SourceFile) -> pd.DataFrame:
        names, *rows = (json.loads(line) for line in file.content.decode().splitlines())
        return text_frame(names, rows, file.name)


class Talkative(Lines):
    """A JSON list on each line."""

    def read(self, file: SourceFile) -> pd.DataFrame:
        lists = []
        for line in file.content.decode(errors="replace").split("\n"):
            try:
                lists += [json.loads(line)] if line else []
            except ValueError:
                raise DataError(f"the line {line} is no list", place=file.name) from None
        return super().read(file)


class Calling(Lines):
    """A JSON list on each line."""

    def read(self, file: SourceFile) -> pd.DataFrame:
        socket.getaddrinfo("localhost", 80)
        return super().read(file)


BROKEN_SOURCES: Mapping[str, tuple[DataSource, str]] = {
    "names no files": (NoSuffix(), "reads_what_was_written"),
    "drops equal rows": (Distinct(), "reads_what_was_written"),
    "makes numbers of texts": (TypesGuessed(), "reads_what_was_written"),
    "drops rows with gaps": (WithoutGaps(), "reads_what_was_written"),
    "keeps what it read": (Remembering(), "reads_what_was_written"),
    "raises foreign errors": (Unguarded(), "reads_what_was_written"),
    "prints a line of the file": (Talkative(), "reads_what_was_written"),
    "asks the network": (Calling(), "reads_what_was_written"),
}
"""What is broken, with the check that must find it."""
