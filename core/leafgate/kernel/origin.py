"""Where a policy was read from: its file, those it extends, the line of each key, and what the command line gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from leafgate.kernel.paths import DocumentPath


@dataclass(frozen=True)
class SourceLine:
    """One line of a policy: the file's name, never an absolute path; the line number, from 1; the text."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.number}: {self.text}"


Lines = Mapping[DocumentPath, SourceLine]
"""The line of each key of a policy, by its path as errors print it (`metrics[0].at_least`)."""


WITNESS_LIBRARY = "--witness-library"
NO_REMEDIES = "--no-remedies"
"""The option that an audit without a search for remedies is equal to."""


@dataclass(frozen=True)
class LedgerHead:
    """The last line of a ledger: its number, from 1, and the SHA-256 of its bytes."""

    number: int
    sha256: str


EMPTY_LEDGER = LedgerHead(0, "0" * 64)
"""The head of a ledger without lines."""


GivenFile = Literal["other", "given"]
"""How a file about people that the command line gave compares with the policy's: another one, or none is there."""


@dataclass(frozen=True)
class PolicyOrigin:
    """The file that a policy was read from, the policies it extends, and the line of each of its keys.

    `folder` is relative to the root of the policy's repository and empty outside one, so that no absolute path is
    published and nothing depends on the working directory. `elsewhere` maps each file of the policy that does not lie
    below `folder` to its own folder, likewise relative. `given` lists the other arguments of the command line; paths
    among them are likewise relative, or replaced by a word such as DATA. `given_files` are the files about people among
    them, by the keys that they stand for, but for those that are what the policy names. `ledger` is the head of the
    ledger whose releases were added to those of the policy; None where no ledger was given.
    """

    file: str = ""
    lines: Lines = field(default_factory=dict)
    extends: tuple[str, ...] = ()
    folder: str = ""
    given: tuple[str, ...] = ()
    given_files: Mapping[str, GivenFile] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    ledger: LedgerHead | None = None

    def where(self, path: DocumentPath) -> dict[str, Any]:
        """The file, line and folder of a key, as findings state them; nothing where the policy was in memory."""
        line = self.lines.get(path)
        if line is None:
            return {}
        folder = {"folder": self.elsewhere[line.file]} if line.file in self.elsewhere else {}
        return {"file": line.file, "line": line.number, **folder}

    @property
    def is_held_to_organisation(self) -> bool:
        """Must the policy complete or tighten one that an organisation gives with `--org`?"""
        return "--org" in self.given

    @property
    def asks_library(self) -> bool:
        """Shall the library that wrote a model's file open it?"""
        return WITNESS_LIBRARY in self.given

    @property
    def facts(self) -> dict[str, Any]:
        """What a report states about the origin; empty entries are left out."""
        fields: dict[str, Any] = {
            "file": self.file,
            "folder": self.folder,
            "extends": list(self.extends),
            "given": list(self.given),
        }
        fields["given_files"] = dict(self.given_files)
        return {key: value for key, value in fields.items() if value}


IN_MEMORY = PolicyOrigin()
"""The origin of a policy that was not read from a file."""
