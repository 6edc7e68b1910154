"""A framework: clauses of a law or a standard, and what of a report answers them, as a YAML file states it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from leafgate.commands.mapping.facts import FactName
from leafgate.commands.strict_yaml import parse_strict_yaml, read_yaml_file
from leafgate.disclosure.questions import QuestionName
from leafgate.errors import InvalidError, nearest_name
from leafgate.kernel.options import Strict

Text = Annotated[str, Field(min_length=1, max_length=1000)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
FOLDER = "leafgate.commands.mapping"


class Evidence(Strict):
    """What of a report is evidence for something."""

    questions: tuple[QuestionName, ...] = ()
    """Questions about people; every finding on one of them counts."""
    metrics: tuple[Name, ...] = ()
    """Metrics by their names among the plugins, or checks of leafgate's own such as `published_file`."""
    attacks: tuple[Name, ...] = ()
    """Attacks by their names among the plugins; findings on them count."""
    facts: tuple[FactName, ...] = ()
    """What a report states besides findings."""

    @property
    def names_findings(self) -> bool:
        return bool(self.questions or self.metrics or self.attacks)

    @property
    def is_empty(self) -> bool:
        return not (self.names_findings or self.facts)


class Clause(Strict):
    """A clause of a framework."""

    clause: Name
    """Its number or name in the framework."""
    asks: Text
    """What it asks for, in one's own words."""
    answers: Literal["part", "no"]
    """Whether a report can answer a part of it; no report ever answers all of one."""
    evidence: Evidence = Evidence()
    """What answers it; nothing where `answers` is `no`."""
    to_judge: Annotated[tuple[Text, ...], Field(min_length=1)]
    """What people must still judge; at least one thing."""

    @model_validator(mode="after")
    def _has_evidence_for_a_part(self) -> Self:
        if self.answers == "part" and self.evidence.is_empty:
            raise ValueError("answers a part, and names no evidence: name some, or write `answers: no`")
        if self.answers == "no" and not self.evidence.is_empty:
            raise ValueError("answers nothing, and names evidence: leave it out, or write `answers: part`")
        return self


class Control(Strict):
    """Something that limits what an output discloses, and who controls it."""

    control: Text
    """What it is."""
    controlled_by: Text
    """Who controls it."""
    evidence: Evidence = Evidence()
    """What of a report shows it; nothing where a report cannot."""


class Risk(Strict):
    """A risk that may remain."""

    risk: Text
    """What may happen."""
    evidence: Evidence = Evidence()
    """What of a report is about it; nothing where a report cannot be."""


class Framework(Strict):
    """A framework, as its YAML file states it."""

    framework: Literal[1]
    """The version of this format."""
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    """What the command line calls it."""
    title: Name
    """Its title."""
    edition: Name
    """Its edition, such as a version or a date."""
    source: Text
    """Where it can be read."""
    about: Text
    """What it is about, and what this mapping leaves out."""
    clauses: Annotated[tuple[Clause, ...], Field(min_length=1, max_length=200)]
    """Its clauses."""
    controls: Annotated[tuple[Control, ...], Field(max_length=100)] = ()
    """Controls, each with who controls it."""
    residual_risks: Annotated[tuple[Risk, ...], Field(max_length=100)] = ()
    """Risks that may remain."""
    checklist: Annotated[tuple[Text, ...], Field(max_length=100)] = ()
    """What to tick off before a decision."""

    @property
    def evidence(self) -> Iterator[tuple[str, Evidence]]:
        """All evidence that it names, each with its place."""
        yield from ((f"clauses[{i}].evidence", each.evidence) for i, each in enumerate(self.clauses))
        yield from ((f"controls[{i}].evidence", each.evidence) for i, each in enumerate(self.controls))
        yield from ((f"residual_risks[{i}].evidence", each.evidence) for i, each in enumerate(self.residual_risks))


@dataclass(frozen=True, kw_only=True)
class FrameworkFile:
    """A framework and the digest of the file that it was read from."""

    framework: Framework
    sha256: str
    own: bool
    """Is it a file of the user's, and none that leafgate brings along?"""


def bundled_names() -> list[str]:
    """The names of the frameworks that leafgate brings along."""
    entries = (files(FOLDER) / "frameworks").iterdir()
    return sorted(entry.name.removesuffix(".yaml") for entry in entries if entry.name.endswith(".yaml"))


def read_framework(name: str) -> FrameworkFile:
    """The framework of this name, or in the file of this path.

    Raises:
        InvalidError: there is none, or the file is none; the error lists every problem.
    """
    known = bundled_names()
    if name in known:
        content = (files(FOLDER) / "frameworks" / f"{name}.yaml").read_bytes()
        return FrameworkFile(framework=parse_framework(content, name), sha256=_sha256(content), own=False)
    path = Path(name)
    if path.suffix not in {".yaml", ".yml"}:
        near = nearest_name(name, known, "")
        remedy = "; ".join(filter(None, [near, f"known: {', '.join(known)}", "or name your own file, *.yaml"]))
        raise InvalidError(f"nobody knows the framework {name!r}", place="FRAMEWORK", remedy=remedy)
    content = read_yaml_file(path)
    return FrameworkFile(framework=parse_framework(content, name), sha256=_sha256(content), own=True)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def parse_framework(content: bytes, place: str) -> Framework:
    """The framework in these bytes; `place` is its name in errors."""
    return parse_strict_yaml(content, place, Framework)
