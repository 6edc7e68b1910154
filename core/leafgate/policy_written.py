"""A policy as it is written: its file, and the file of waivers beside it, nothing checked yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafgate.errors import PolicyError
from leafgate.policy_lines import Line, read_lines
from leafgate.policy_paths import inside
from leafgate.strict_yaml import MAX_BYTES


@dataclass(frozen=True)
class Written:
    """A policy as plain mappings and lists; the name of its file, and where everything in it stands."""

    document: dict[str, Any]
    file: str
    lines: Mapping[str, Line]


def read_policy(path: Path) -> Written:
    """A policy as it is written; PolicyError when a file of it cannot be read."""
    document, lines = _read(path, path.name)
    if not isinstance(document.get("waivers"), str):
        return Written(document, path.name, lines)
    told, where = _waivers_beside(path.parent, document["waivers"])
    kept = {place: line for place, line in lines.items() if not place.startswith("waivers")}
    return Written(document | {"waivers": told}, path.name, {**kept, **where})


def _waivers_beside(folder: Path, name: str) -> tuple[Any, Mapping[str, Line]]:
    """The waivers that a file below the policy's folder lists, wherever the data are."""
    document, lines = _read(_beside(folder, name, "waivers"), name)
    if set(document) != {"waivers"} or isinstance(document["waivers"], str):
        raise PolicyError("must have the key `waivers`, a list, and nothing else", place=name)
    return document["waivers"], lines


def _beside(folder: Path, name: str, place: str) -> Path:
    """A file that belongs to the policy and is not moved by `--root`."""
    try:
        return inside(folder, name)
    except ValueError as error:
        message = str(error).removesuffix(", or move the folder with --root")
        raise PolicyError(message, place=place) from None


def _read(path: Path, name: str) -> tuple[dict[str, Any], Mapping[str, Line]]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror}", place=str(path)) from None
    return read_lines(content, name)
