"""A mapping: the clauses of a law or a standard, as a YAML file states them, with what a report answers to each.

No clause is ever called met: a report answers a part of it, or nothing.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from leafgate.disclosure.questions import Answer, QuestionName, answers
from leafgate.errors import InvalidError, nearest_name
from leafgate.io.files import read_bounded
from leafgate.io.json import JsonObject
from leafgate.io.yaml import MAX_YAML_BYTES
from leafgate.kernel.options import Strict
from leafgate.reports.decision_document import FactName, facts, rendered
from leafgate.reports.strict_yaml import parse_strict_yaml

Text = Annotated[str, Field(min_length=1, max_length=1000)]
Name = Annotated[str, Field(min_length=1, max_length=100)]


class Evidence(Strict):
    """Something that a report may answer a part of, or nothing where no question and no fact is named."""

    questions: tuple[QuestionName, ...] = ()
    """The questions whose answers are about it."""
    facts: tuple[FactName, ...] = ()
    """What a report states besides its findings and is about it."""

    def answered(self, report: JsonObject) -> list[Answer]:
        """The answers of a report that are about it."""
        return [answer for answer in answers(report) if answer.question.name in self.questions]

    def part(self, report: JsonObject) -> bool:
        """Does the report answer a part of it?

        Facts alone answer a part only where no question is named: that an attack is listed proves nothing.
        """
        decided = [each for each in self.answered(report) if each.state not in {"inconclusive", "not examined"}]
        return bool(decided) if self.questions else not facts(report).keys().isdisjoint(self.facts)


class Clause(Evidence):
    """A clause of a framework."""

    clause: Name
    """Its number or name in the framework."""
    asks: Text
    """What it asks for, in one's own words."""
    to_judge: Annotated[tuple[Text, ...], Field(min_length=1)]
    """What people must still judge; at least one thing."""


class Control(Evidence):
    """Something that limits what an output discloses, and who controls it."""

    control: Text
    """What it is."""
    controlled_by: Text
    """Who controls it."""


class Risk(Evidence):
    """A risk that may remain."""

    risk: Text
    """What may happen."""


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


def mapping(report: JsonObject, name: str) -> bytes:
    """What a report answers to the clauses of a framework, in Markdown; errors as of `read_framework`."""
    framework, sha256 = read_framework(name)
    return rendered("mapping.md.j2", report, framework=framework, sha256=sha256, report=report)


def bundled_frameworks() -> dict[str, bytes]:
    """The YAML files of the frameworks that leafgate brings along, by their names."""
    contents = {entry.name: entry.read_bytes() for entry in (files(__package__) / "frameworks").iterdir()}
    return {name.removesuffix(".yaml"): contents[name] for name in sorted(contents)}


def read_framework(name: str) -> tuple[Framework, str]:
    """The framework of this name, or in the YAML file of this path, and the SHA-256 of its file.

    Raises:
        InvalidError: there is none, or the file is none; the error lists every problem.
    """
    bundled = bundled_frameworks()
    if (content := bundled.get(name)) is None:
        path = Path(name)
        if path.suffix not in {".yaml", ".yml"}:
            message = f"nobody knows the framework {name!r}" if name else "names no framework: write `mapping:NAME`"
            listed = f"known: {', '.join(bundled)}, or your own file, `mapping:FILE.yaml`"
            remedy = "; ".join(filter(None, [nearest_name(name, bundled, ""), listed]))
            raise InvalidError(message, place="--to", remedy=remedy)
        content = read_bounded(path, MAX_YAML_BYTES, InvalidError, name)
    return parse_framework(content, name), hashlib.sha256(content).hexdigest()


def parse_framework(content: bytes, place: str) -> Framework:
    """The framework in these bytes; `place` is its name in errors."""
    return parse_strict_yaml(content, place, Framework)
