"""What a decision sheet has besides a report: who asks for the output, for what, and under which conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from leafgate.commands.strict_yaml import parse_strict_yaml, read_yaml_file
from leafgate.disclosure.schema import Day
from leafgate.errors import InvalidError
from leafgate.io.text import clean
from leafgate.kernel.options import Strict

Line = Annotated[str, Field(min_length=1, max_length=100)]
Name = Annotated[str, Field(min_length=1, max_length=60)]
MAX_EARLIER = 4
"""Earlier outputs that fit on the sheet."""


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
    earlier_outputs: Annotated[tuple[Name, ...], Field(max_length=MAX_EARLIER)] = ()
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


def read_facts(path: Path) -> SheetFacts:
    """The facts in a YAML file.

    Raises:
        InvalidError: it cannot be read, or is not what a sheet has a place for; no value is quoted.
    """
    place = str(path)
    try:
        return parse_strict_yaml(read_yaml_file(path), place, SheetFacts)
    except InvalidError as error:
        if any(problem.location in {f"{place}: {clean(key)}" for key in DECISIONS} for problem in error.problems):
            message = "the decision and the signatures are made by hand, and are no facts"
            raise InvalidError(message, place=place, remedy="leave them out") from None
        raise
