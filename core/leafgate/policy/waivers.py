"""Waivers: the exceptions a policy lets through, for one release or model file, by two people, until a day."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, field_validator, model_validator

from leafgate.errors import Problem
from leafgate.io.json import canonical
from leafgate.kernel.metrics import Metric, PersonMetric
from leafgate.kernel.options import STRICT, FiniteFloat, ShareBelowOne

MAX_DAYS = 90
"""How many days a waiver may last unless the policy says otherwise."""
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
        None, description="The share of people that may lie beyond; the metric's if left out."
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
    release: Digest | None = Field(
        None, description="The release's SHA-256, `release.sha256` of the report; another needs another waiver."
    )
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


_ADDRESS = r"([^<>@\s,;]+@[^<>@\s,;]+)"
ENTRY = re.compile(rf"[^<>@]*<{_ADDRESS}>|{_ADDRESS}")
"""One address, alone or after a name."""


def address_of(entry: str) -> str:
    """The e-mail address in `dpo@example.org` or `Name <dpo@example.org>`, in small letters; empty where there is none.

    >>> address_of("Jane Doe <Jane@Example.org>"), address_of("Jane Doe")
    ('jane@example.org', '')
    """
    found = ENTRY.fullmatch(entry.strip())
    return (found[1] or found[2]).casefold() if found else ""


def same_person(entry: str, other: str) -> bool:
    """Have two entries an address in common, or where one has none, are they the same text?

    >>> same_person("Jane <jane@example.org>", "dpo@example.org, JANE@EXAMPLE.ORG")
    True
    >>> same_person("Jane Doe", "jane  doe")
    True
    >>> same_person("jane@example.org", "dpo@example.org")
    False
    """
    first, second = (set(re.findall(_ADDRESS, text.casefold())) for text in (entry, other))
    if first and second:
        return bool(first & second)
    return entry.casefold().split() == other.casefold().split()


def _an_address(text: str) -> str:
    if not address_of(text):
        raise ValueError("must be one e-mail address, such as dpo@example.org")
    return text


class Approvals(BaseModel):
    """Who may approve waivers."""

    model_config = STRICT

    reviewers: Annotated[tuple[Annotated[Words, AfterValidator(_an_address)], ...], Field(min_length=1)] = Field(
        description="The e-mail addresses of those who may approve; or the name of a file beside this policy."
    )


def addresses_of(reviewers: object) -> frozenset[str]:
    """The addresses of a list of reviewers as it is written; whatever is no address is left out."""
    listed = reviewers if isinstance(reviewers, list | tuple) else ()
    return frozenset(filter(None, (address_of(each) for each in listed if isinstance(each, str))))


def waivers_sha256(waivers: Sequence[Waiver]) -> str:
    """The digest of all waivers: they change what passes, and nothing that the policy asks for."""
    return hashlib.sha256(canonical([waiver.model_dump(mode="json") for waiver in waivers])).hexdigest()


def waiver_problems(
    waivers: Sequence[Waiver], metrics: Sequence[Metric], approvals: Approvals | None, max_days: int
) -> Iterator[Problem]:
    """What is wrong with a policy's waivers, given its metrics, its reviewers and how long a waiver may last.

    A finding of a release has one waiver: several, one after the other, would outlast everybody who agreed to them, and
    several with limits of their own would disclose the number that each public report hides. A release that is read
    from a file answers to two digests, so the waivers of one finding name files or releases, and not both.
    """
    names = [waiver.id.strip() for waiver in waivers]
    waived = [(waiver.finding, waiver.file or waiver.release) for waiver in waivers]
    of_files = {waiver.finding for waiver in waivers if waiver.file is not None}
    for i, waiver in enumerate(waivers):
        place, days = f"waivers[{i}]", (waiver.expires - waiver.issued).days
        if names.index(waiver.id.strip()) < i:
            yield Problem(f"{place}.id", "another waiver has this id", "give each its own")
        if waived.index((waiver.finding, waiver.file or waiver.release)) < i:
            yield Problem(place, "this finding of this release has a waiver already", "replace that: so one is renewed")
        if waiver.release is not None and waiver.finding in of_files:
            message = "another waiver of this finding names a file, which may be the file of this release"
            yield Problem(f"{place}.release", message, "name files in all of them, or releases in all of them")
        if approvals and address_of(waiver.approved_by) not in addresses_of(approvals.reviewers):
            message = "is none of the policy's reviewers"
            yield Problem(f"{place}.approved_by", message, "let one of `approvals.reviewers` agree, by that address")
        if max_days == 0:
            yield Problem(place, "the policy allows no waivers", "see `max_waiver_days`")
        elif days > max_days:
            message = f"lasts {days} days, longer than the policy's {max_days}"
            yield Problem(f"{place}.expires", message, "let it expire, and renew it")
        yield from _limit_problems(waiver, metric_of(waiver, metrics), f"{place}.limit")


def metric_of(waiver: Waiver, metrics: Sequence[Metric]) -> Metric | None:
    """The metric whose finding a waiver names, by the id's beginning; the longest name where several fit."""
    named = [m for m in metrics if waiver.finding == m.called or waiver.finding.startswith(f"{m.called}@")]
    return max(named, key=lambda metric: len(metric.called), default=None)


def _limit_problems(waiver: Waiver, metric: Metric | None, place: str) -> Iterator[Problem]:
    limit = waiver.limit
    if limit is None or metric is None:
        return
    bound = limit.at_least if metric.direction == "at_least" else limit.at_most
    lenient = getattr(metric, "allow", 0.0)
    if bound is None:
        yield Problem(place, f"{metric.called} is limited by `{metric.direction}`", f"write {metric.direction}")
    elif limit.allow is not None and (not isinstance(metric, PersonMetric) or metric.average):
        yield Problem(f"{place}.allow", f"{metric.called} judges nobody by themselves", "leave it out")
    else:
        allow = lenient if limit.allow is None else limit.allow
        slack = -metric.limit.margin(bound)
        if slack < 0 or allow < lenient or (slack == 0 and allow == lenient):
            yield Problem(place, "is not weaker than the policy's own limit", "say what must hold all the same")
