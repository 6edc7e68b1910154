"""The file a release is read from: which one it is, and what a model's file tells beyond its predictions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, get_args

from leafgate.errors import ReleaseError
from leafgate.json_parts import list_at, object_at
from leafgate.levels import LEVELS, Level
from leafgate.strict_json import refuse_unknown

Severity = Literal["low", "medium", "high"]
"""low: of the algorithm; medium: of all people together; high: of small groups, or of single people."""


@dataclass(frozen=True)
class Disclosure:
    """One thing a file tells: its `kind`, how much harm it can do, and what it is, in words without any cell.

    `level` is the publication level of the leaves that it amounts to, None where it is about something else.
    """

    kind: str
    severity: Severity
    says: str
    level: Level | None = None

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        told = {"kind": self.kind, "severity": self.severity, "says": self.says}
        return told if self.level is None else told | {"level": self.level}


RATIOS = Disclosure(
    "ratios", "medium", "shares to the last digit: of small leaves they betray how many people are in them"
)
COUNTS = Disclosure("counts", "high", "how many people of each class are at the leaves", "counts")
SIZES = Disclosure("sizes", "high", "how many people are at the leaves", "counts")
SCORES = Disclosure("scores", "low", "each leaf's score, without which nobody could predict")
NUMBERS = Disclosure(
    "numbers",
    "low",
    "each leaf's number, without which nobody could predict: often the mean of its people's",
)

PEOPLE = 100
"""So many numbers may be what people have."""
SIGNS = 10
"""So many letters of a text count as one number."""


def other_content(parts: Iterable[tuple[str, int]]) -> tuple[Disclosure, ...]:
    """What stands in a file and was not read: for each part its kind and place in words, and how many numbers it holds.

    `high` where they could be people's; nothing where there is nothing.
    """
    found = list(parts)
    if not found:
        return ()
    places = list(dict.fromkeys(place for place, _ in found))
    listed = ", ".join(places[:8]) + (f" and {len(places) - 8} more" if len(places) > 8 else "")
    many = sum(size for _, size in found) >= PEOPLE
    says = f"other content, which nobody needs to predict: {len(found)} part(s) ({listed})"
    return (Disclosure("other_content", "high" if many else "medium", says),)


@dataclass(frozen=True)
class AuditedFile:
    """The file whose bytes were audited: its `name` without any folder, its `format`, the SHA-256 of these bytes.

    Make it `of` the bytes that were read, never of a second reading: the file may have been replaced in between.
    """

    name: str
    format: str
    sha256: str

    @classmethod
    def of(cls, path: Path, format: str, content: bytes) -> Self:
        """The file at `path`, of which `content` was read. Bytes of the name that are no text are replaced."""
        name = os.fsencode(path.name).decode("utf-8", "replace")
        return cls(name, format, hashlib.sha256(content).hexdigest())

    def described(self) -> dict[str, Any]:
        """As a report has it."""
        return {"name": self.name, "format": self.format, "sha256": self.sha256}


@dataclass(frozen=True)
class ModelFile:
    """The file a release was read from, if that is somebody else's model: its format, digest, and what it discloses."""

    format: str
    sha256: str
    discloses: tuple[Disclosure, ...] = ()

    def described(self) -> dict[str, Any]:
        """As a release file has it."""
        told = [item.described() for item in self.discloses]
        return {"format": self.format, "sha256": self.sha256, "discloses": told}


def read_model_file(told: Any, place: str) -> ModelFile | None:
    """The part `file` of a release file; ReleaseError where it cannot be meant."""
    if told is None:
        return None
    told = object_at(told, place)
    refuse_unknown(told, ("format", "sha256", "discloses"), ReleaseError, place)
    if not all(isinstance(told.get(key), str) for key in ("format", "sha256")):
        raise ReleaseError("`format` and `sha256` must be texts", place=place)
    items = enumerate(list_at(told, "discloses", place))
    found = tuple(read_disclosure(item, f"{place}.discloses[{i}]") for i, item in items)
    return ModelFile(told["format"], told["sha256"], found)


def read_disclosure(told: Any, place: str) -> Disclosure:
    """One item of a file's disclosures."""
    item: Mapping[str, Any] = object_at(told, place)
    refuse_unknown(item, ("kind", "severity", "says", "level"), ReleaseError, place)
    if not all(isinstance(item.get(key), str) for key in ("kind", "severity", "says")):
        raise ReleaseError("`kind`, `severity` and `says` must be texts", place=place)
    if item["severity"] not in get_args(Severity) or item.get("level") not in (None, *LEVELS):
        raise ReleaseError("has a `severity` or a `level` that there is not", place=place)
    return Disclosure(item["kind"], item["severity"], item["says"], item.get("level"))
