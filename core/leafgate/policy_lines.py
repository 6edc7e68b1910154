"""Where each key of a policy stands: its place as errors write it (`metrics[0].at_least`), and its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leafgate.strict_yaml import Kept, Node, read_yaml

LONGEST = 200


@dataclass(frozen=True)
class Line:
    """One line of a policy: the file's name, never a path of this machine; the number, from 1; the text."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.number}: {self.text}"


Lines = Mapping[str, Line]


@dataclass(frozen=True)
class Source:
    """The file a policy is in and, as it was called, its folder; where everything stands, and what it extends.

    `folder` is told from the root of the repository that the policy is in, and is empty outside one: no path of this
    machine is told, and nothing depends on where leafgate was called. `elsewhere` are such folders of files that do
    not lie below the policy's. `given` is what else the command line named, its paths likewise or as words that stand
    for them.
    """

    file: str = ""
    lines: Lines = field(default_factory=dict)
    extends: tuple[str, ...] = ()
    folder: str = ""
    given: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Any]:
        """What a report tells of it."""
        told = {"file": self.file, "folder": self.folder, "extends": list(self.extends), "given": list(self.given)}
        return {key: value for key, value in told.items() if value}


NOWHERE = Source()
"""A policy that is in no file."""


def path_told(path: Path, word: str) -> str:
    """A relative path, where a shell takes it as it is and it says nothing of this machine; else `word`."""
    called = path.as_posix()
    plain = called.isascii() and all(sign.isalnum() or sign in "._-/" for sign in called)
    return called if plain and not path.is_absolute() and not called.startswith("-") else word


def root_of(policy: Path) -> Path | None:
    """The root of the repository that a policy file is in, by which views of code find files; None outside one."""
    folder = policy.parent.resolve()
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def folder_told(folder: Path, root: Path | None) -> str:
    """A folder from the root of a repository; empty for the root itself and for what is not below it."""
    inner = folder.resolve()
    return "" if root is None or inner == root or not inner.is_relative_to(root) else inner.relative_to(root).as_posix()


def file_told(path: Path, policy: Path, word: str) -> str:
    """A path of the command line from the repository's root, or else from the policy's folder; `word` elsewhere."""
    base = root_of(policy) or policy.parent.resolve()
    inner = path.resolve() if path.is_dir() else path.parent.resolve() / path.name
    return path_told(inner.relative_to(base), word) if inner.is_relative_to(base) else word


def read_lines(content: bytes, name: str) -> tuple[dict[str, Any], Lines]:
    """The document in a policy's bytes, and where everything in it stands; PolicyError as `parse_yaml`."""
    kept = read_yaml(content, name)
    return kept.document, lines_of(kept, name)


def lines_of(kept: Kept, name: str) -> Lines:
    """The line of every key and every item of a list, by its place; of two equal places the first."""
    texts = kept.text.splitlines()
    found: dict[str, Line] = {}
    for place, number in _places(kept.root, ""):
        found.setdefault(place, Line(name, number + 1, _shown(texts[number])))
    return found


def _places(node: Node, place: str) -> Iterator[tuple[str, int]]:
    if node.id == "mapping":
        for key, value in node.value:
            here = f"{place}.{key.value}" if place else key.value
            yield here, key.start_mark.line
            yield from _places(value, here)
    elif node.id == "sequence":
        for i, item in enumerate(node.value):
            yield f"{place}[{i}]", item.start_mark.line
            yield from _places(item, f"{place}[{i}]")


def _shown(text: str) -> str:
    """A line as it may be quoted: without indentation, not too long, nothing that moves a cursor."""
    text = text.strip()
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
