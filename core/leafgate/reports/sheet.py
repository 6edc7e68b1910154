"""The decision sheet, and what it has besides a report: who asks for the output, for what, under which conditions.

The decision and the signatures are always left blank.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from leafgate.disclosure.schema import Day
from leafgate.errors import InvalidError
from leafgate.io.json import JsonObject
from leafgate.io.text import clean
from leafgate.kernel.options import Strict
from leafgate.reports.decision_document import rendered
from leafgate.reports.strict_yaml import parse_strict_yaml

Line = Annotated[str, Field(min_length=1, max_length=100)]
Name = Annotated[str, Field(min_length=1, max_length=60)]


class SheetFacts(Strict):
    """What a report does not know; what is left out becomes a blank line to fill in by hand."""

    project: Line | None = None
    """The project that the output belongs to."""
    permission: Line | None = None
    """The legal basis or the permission that it relies on."""
    requester: Name | None = None
    """Who asks for it."""
    author: Name | None = None
    """Who made the model."""
    recipients: Line | None = None
    """Who is to receive it."""
    licence: Line | None = None
    """Under which licence or contract."""
    kind: Literal["file", "query", "other environment"] | None = None
    """How it leaves: as a file, by answers to queries, or into another environment."""
    earlier_outputs: tuple[Name, ...] = ()
    """Earlier outputs about these people."""
    conditions: Annotated[str, Field(min_length=1, max_length=240)] | None = None
    """Conditions under which it would be given."""
    review: Day | None = None
    """The day of review or withdrawal."""
    retention: Line | None = None
    """How long the output and these papers are kept."""
    checker: Name | None = None
    """Who checks it."""
    second_checker: Name | None = None
    """Who checks it a second time."""

    @model_validator(mode="after")
    def _different_people(self) -> Self:
        names = {"author": self.author, "checker": self.checker, "second_checker": self.second_checker}
        given = {key: " ".join(name.split()).casefold() for key, name in names.items() if name is not None}
        for key, other in (("checker", "author"), ("second_checker", "author"), ("second_checker", "checker")):
            if key in given and given[key] == given.get(other):
                raise ValueError(f"`{key}` and `{other}` are the same person: name another one, or leave it blank")
        return self


DECISIONS = ("decision", "signature", "signed")
PLACE = "--facts"
"""Where errors say that facts are."""


def sheet(report: JsonObject, facts: bytes) -> bytes:
    """The sheet of a report as a page to print, with the facts of a YAML file; none are needed.

    Raises:
        InvalidError: the facts are not what a sheet has a place for; no value is quoted.
    """
    return rendered("sheet.html.j2", report, given=read_facts(facts) if facts.strip() else SheetFacts())


def read_facts(content: bytes) -> SheetFacts:
    """The facts in a YAML file; errors as of `sheet`."""
    try:
        return parse_strict_yaml(content, PLACE, SheetFacts)
    except InvalidError as error:
        if any(problem.location in {f"{PLACE}: {clean(key)}" for key in DECISIONS} for problem in error.problems):
            message = "the decision and the signatures are made by hand, and are no facts"
            raise InvalidError(message, place=PLACE, remedy="leave them out") from None
        raise
