"""Waivers: the exceptions a policy lets through, for one release or model file, by two people, until a day."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, field_validator, model_validator

from leafgate.kernel.inheritance import Kind, ordered_by
from leafgate.kernel.options import STRICT, FiniteFloat, ShareBelowOne
from leafgate.kernel.paths import canonical
from leafgate.kernel.spelling import similar_form

if TYPE_CHECKING:
    from leafgate.kernel.metrics import Metric

MAX_DAYS = 90
"""How many days a waiver may last unless the policy says otherwise."""
MOST_DAYS = 365
"""How many days a waiver may last at most, whatever a policy says."""
Words = Annotated[str, Field(min_length=1, max_length=2000)]
DIGEST = r"^[0-9a-f]{64}$"


def _full_digest(digest: str, info: ValidationInfo) -> str:
    if not re.fullmatch(DIGEST[1:-1], digest):
        key = "release.file.sha256" if info.field_name == "file" else "release.sha256"
        raise ValueError(f"must be the whole SHA-256, 64 digits: `{key}` of report.json")
    return digest


Digest = Annotated[str, AfterValidator(_full_digest), Field(json_schema_extra={"pattern": DIGEST})]
Day = Annotated[date, Field(ge=date(1970, 1, 1))]


class WaivedLimit(BaseModel):
    """A weaker limit, in the metric's own direction, that must hold all the same."""

    model_config = STRICT

    at_least: FiniteFloat | None = Field(None, description="The score must not be lower.")
    at_most: FiniteFloat | None = Field(None, description="The score must not be higher.")
    allow: ShareBelowOne | None = Field(
        None, description="The share of people that may violate it; by default the metric's."
    )

    @model_validator(mode="after")
    def _one_direction(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("is `at_least` or `at_most`, as the metric's own limit")
        return self


class Waiver(BaseModel):
    """One finding that may fail, in one release or in whatever is read from one model file, for a while."""

    model_config = STRICT

    id: Words = Field(description="What reports call the waiver. Unique.")
    finding: Words = Field(description="The finding's exact id: `metric@attack#secret`.")
    release: Digest | None = Field(None, description="The release's SHA-256, `release.sha256` of the report.")
    file: Digest | None = Field(
        None, description="Instead, the audited file's SHA-256, `release.file.sha256` of the report."
    )
    owner: Words = Field(description="Who asks for the waiver and is responsible for it.")
    approved_by: Words = Field(description="Who approved it: somebody other than the owner.")
    reason: Words = Field(description="Why; public reports print it.")
    issued: Day = Field(description="The first day it holds, in UTC: YYYY-MM-DD.")
    expires: Day = Field(description="The last day it holds, to its end in UTC.")
    limit: WaivedLimit | None = Field(
        None, description="A weaker limit that must still hold; otherwise nothing is waived."
    )

    @field_validator("id", "finding", "owner", "approved_by", "reason")
    @classmethod
    def _says_something(cls, words: str) -> str:
        if not words.strip():
            raise ValueError("says nothing")
        return words

    @field_validator("issued", "expires", mode="before")
    @classmethod
    def _a_day(cls, written: object) -> object:
        if isinstance(written, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", written, re.ASCII):
            return date.fromisoformat(written)  # a ValueError says what is wrong with it
        raise ValueError("must be a day: YYYY-MM-DD")

    @model_validator(mode="after")
    def _one_digest(self) -> Self:
        if (self.release is None) == (self.file is None):
            raise ValueError("names one digest: `file`, of the audited file, or `release`")
        return self

    @model_validator(mode="after")
    def _two_people_and_days_in_order(self) -> Self:
        if same_person(self.owner, self.approved_by):
            raise ValueError("its owner approves it; somebody else must, and be named by another address")
        if self.expires < self.issued:
            raise ValueError("expires before it is issued")
        return self

    def weaker(self, metric: Metric) -> Metric:
        """The metric with this waiver's limit in place of the policy's."""
        fields = {} if self.limit is None else self.limit.model_dump(exclude_none=True)
        return metric.model_copy(update=fields)


_ADDRESS = r"(?:mailto:)?([^<>@\s,;]+@[^<>@\s,;]+)"
ENTRY = re.compile(rf"[^<>@]*<{_ADDRESS}>|{_ADDRESS}")
"""One address, alone or after a name."""


def address_of(entry: str) -> str:
    """The e-mail address in `dpo@example.org` or `Name <dpo@example.org>`, in its form; empty where there is none.

    >>> address_of("Jane Doe <Jane@Example.org>"), address_of("Jane Doe")
    ('jane@example.org', '')
    """
    found = ENTRY.fullmatch(similar_form(entry))
    return (found[1] or found[2]).rstrip(".") if found else ""


def same_person(entry: str, other: str) -> bool:
    """Have two entries an address in common, or where one has none, are they the same text, however they are spelled?

    >>> same_person("Jane <jane@example.org>", "dpo@example.org, JANE@EXAMPLE.ORG")
    True
    >>> same_person("Jane Doe", "jane  doe")
    True
    >>> same_person("jane@example.org", "mailto:jane@example.org.")
    True
    >>> same_person("jane@example.org", "dpo@example.org")
    False
    """
    one, two = similar_form(entry), similar_form(other)
    first, second = ({each.rstrip(".") for each in re.findall(_ADDRESS, form)} for form in (one, two))
    return bool(first & second) if first and second else one == two


def _an_address(text: str) -> str:
    if not address_of(text):
        raise ValueError("must be one e-mail address, such as dpo@example.org")
    return text


def addresses_of(reviewers: object) -> frozenset[str]:
    """The addresses of a list of reviewers as it is written; whatever is no address is left out."""
    listed = reviewers if isinstance(reviewers, list | tuple) else ()
    return frozenset(filter(None, (address_of(each) for each in listed if isinstance(each, str))))


def fewer_reviewers(old: object, new: object) -> Kind:
    """Fewer people who may approve are tighter; where none are named, anybody may."""
    before, after = (None if listed is None else addresses_of(listed) for listed in (old, new))
    if before is None or after is None:
        return "looser" if after is None else "tighter"
    return "tighter" if after <= before else "looser"


class Approvals(BaseModel):
    """Who may approve waivers."""

    model_config = STRICT

    reviewers: Annotated[
        tuple[Annotated[Words, AfterValidator(_an_address)], ...],
        ordered_by(fewer_reviewers, default=None),
        Field(min_length=1),
    ] = Field(description="The e-mail addresses of those who may approve, or the name of a file with them.")


def waivers_sha256(waivers: Sequence[Waiver]) -> str:
    """The digest of all waivers: they change what passes, and nothing that the policy asks for."""
    return hashlib.sha256(canonical([waiver.model_dump(mode="json") for waiver in waivers])).hexdigest()


def metric_of(waiver: Waiver, metrics: Sequence[Metric]) -> Metric | None:
    """The metric whose finding a waiver names, by the id's beginning; the longest name where several fit."""
    named = [m for m in metrics if waiver.finding == m.called or waiver.finding.startswith(f"{m.called}@")]
    return max(named, key=lambda metric: len(metric.called), default=None)
