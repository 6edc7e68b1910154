"""Waivers: the exceptions a policy lets through, for one release or model file, by two people, until a day.

What a policy may waive, on which days and for which files, and why a waiver does not apply to an audit, is all here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, field_validator, model_validator

from leafgate.errors import InvalidError, Problem
from leafgate.kernel.findings import Finding
from leafgate.kernel.inheritance import MORE, Kind, ordered_by
from leafgate.kernel.metrics import Metric, PersonMetric
from leafgate.kernel.options import STRICT, FiniteFloat, Later, ShareBelowOne
from leafgate.kernel.origin import Lines
from leafgate.kernel.paths import canonical
from leafgate.kernel.spelling import similar_form

MAX_DAYS = 90
"""How many days a waiver may last unless the policy says otherwise."""
MOST_DAYS = 365
"""How many days a waiver may last at most, whatever a policy says."""
MOST_DECISIONS = 2
"""How many people a policy may ask to decide about one release."""
Words = Annotated[str, Field(min_length=1, max_length=2000)]
DIGEST = r"^[0-9a-f]{64}$"
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


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
        if isinstance(written, str) and DAY.fullmatch(written):
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
    """Who may approve waivers, and how many people must decide about a release that passed."""

    model_config = STRICT

    reviewers: Annotated[
        Annotated[tuple[Annotated[Words, AfterValidator(_an_address)], ...], Field(min_length=1)] | None,
        ordered_by(fewer_reviewers, default=None),
    ] = Field(
        None, description="The e-mail addresses of those who may approve waivers, or the name of a file with them."
    )
    decisions: Annotated[int, MORE, Later(), Field(ge=1, le=MOST_DECISIONS)] = Field(
        1, description="How many people must decide about a release with `leafgate case`."
    )


def waivers_sha256(waivers: Sequence[Waiver]) -> str:
    """The digest of all waivers: they change what passes, and nothing that the policy asks for."""
    return hashlib.sha256(canonical([waiver.model_dump(mode="json") for waiver in waivers])).hexdigest()


def metric_of(waiver: Waiver, metrics: Sequence[Metric]) -> Metric | None:
    """The metric whose finding a waiver names, by the id's beginning; the longest name where several fit."""
    named = [m for m in metrics if waiver.finding == m.called or waiver.finding.startswith(f"{m.called}@")]
    return max(named, key=lambda metric: len(metric.called), default=None)


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
        reviewers = approvals.reviewers if approvals else None
        if reviewers is not None and address_of(waiver.approved_by) not in addresses_of(reviewers):
            message = "is none of the policy's reviewers"
            yield Problem(f"{place}.approved_by", message, "let one of `approvals.reviewers` agree, by that address")
        if max_days == 0:
            yield Problem(place, "the policy allows no waivers", "see `max_waiver_days`")
        elif days > max_days:
            message = f"lasts {days} days, longer than the policy's {max_days}"
            yield Problem(f"{place}.expires", message, "let it expire, and renew it")
        yield from _limit_problems(waiver, metric_of(waiver, metrics), f"{place}.limit")


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


FACTS = ("id", "owner", "approved_by", "reason", "issued", "expires")
"""What stands beside a finding that is waived."""
Holds = Callable[[Waiver], bool]
"""Does the finding that a waiver names pass by the waiver's own, weaker limit?"""


def utc_today() -> date:
    """The day it is, in UTC: the only clock that a verdict depends on, and only where there are waivers."""
    return datetime.now(UTC).date()


def day_of(text: str | None, option: str) -> date:
    """The day that an option of the command line names; the present one in UTC where it is left out."""
    if text is None:
        return utc_today()
    try:
        return date.fromisoformat(text if DAY.fullmatch(text) else "")
    except ValueError:
        raise InvalidError("is no day", place=option, remedy="write YYYY-MM-DD") from None


@dataclass(frozen=True)
class WaiverReview:
    """A policy's waivers, compared on one day with the findings of an audit.

    `limits` are the findings of the policy's metrics, the only ones that can be waived; `others`
    everything else.
    `release` is the digest of what was built or read, None where nothing could be; `file` that of the bytes it was read
    from, None where it was read from no file. `of_model`: do other bytes of such a file give the same release?
    """

    waivers: Sequence[Waiver]
    today: date
    release: str | None
    limits: Sequence[Finding]
    others: Sequence[Finding]
    holds: Holds
    file: str | None = None
    of_model: bool = False
    lines: Lines = field(default_factory=dict)

    def outcome(self) -> tuple[list[Finding], list[dict[str, Any]]]:
        """The limits' findings with the waivers that apply, and what became of every waiver."""
        applied, items = dict[str, dict[str, Any]](), []
        for i, waiver in enumerate(self.waivers):
            written = waiver.model_dump(mode="json", exclude_none=True)
            status, message = self._status(waiver)
            if status == "applied":
                applied[waiver.finding] = {key: written[key] for key in FACTS}
            line = self.lines.get(("waivers", i))
            where = {} if line is None else {"where": {"file": line.file, "line": line.number}}
            items.append({**written, "status": status, "message": message, **where})
        return [replace(each, waiver=applied.get(each.id)) for each in self.limits], items

    def _status(self, waiver: Waiver) -> tuple[str, str]:
        """The first reason why it does not apply, or that it does."""
        reasons = (*self._about_the_audit(waiver), *self._about_the_finding(waiver))
        return next(iter(reasons), ("applied", f"the finding is waived until {waiver.expires}"))

    def _about_the_audit(self, waiver: Waiver) -> Iterator[tuple[str, str]]:
        if self.release is None and waiver.finding != "build":
            yield "unused", "no release could be built, so there is nothing it could be for"
        if waiver.release is not None and self.release not in {None, waiver.release}:
            yield "other_release", f"it is for release {waiver.release[:16]}, and this is {str(self.release)[:16]}"
        if waiver.file is not None and self.release is not None and self.file != waiver.file:
            audited = "this release was not read from a file" if self.file is None else f"this is {self.file[:16]}"
            yield "other_release", f"it is for file {waiver.file[:16]}, and {audited}"
        reason = outside_days(waiver.issued, waiver.expires, self.today)
        if reason is not None:
            yield reason

    def _about_the_finding(self, waiver: Waiver) -> Iterator[tuple[str, str]]:
        same_id = [finding for finding in self.limits if finding.id == waiver.finding]
        waivable = [finding for finding in same_id if finding.metric]
        others = len(waivable) < len(same_id) or any(finding.id == waiver.finding for finding in self.others)
        if not waivable and not others:
            close = get_close_matches(waiver.finding, [finding.id for finding in self.limits], 1)
            yield "unknown", "no finding has this id" + (f"; did you mean {close[0]}?" if close else "")
        elif others:
            yield "not_waivable", "only a limit of the policy that is broken can be waived; this is none"
        elif len(waivable) > 1:
            yield "not_waivable", "several findings have this id; give metrics and attacks names that tell them apart"
        elif waiver.release is not None and self.of_model and waivable[0].is_of_file:
            yield "not_waivable", "it is about the bytes of the file; name `file` in the waiver in place of `release`"
        else:
            yield from self._about_the_limit(waiver, waivable[0])

    def _about_the_limit(self, waiver: Waiver, finding: Finding) -> Iterator[tuple[str, str]]:
        if finding.passed is None:
            yield "not_waivable", "it could not be told whether the limit holds, which cannot be waived"
        if finding.passed:
            yield "unused", "the limit holds without it; take it out"
        if waiver.limit is not None and finding.limit is None:
            yield "not_waivable", "it has no limit that could be weakened; take `limit` out of the waiver"
        elif waiver.limit is not None and not self.holds(waiver):
            yield "broken_limit", "the weaker limit that it asks for is broken too"


def outside_days(issued: date, expires: date, today: date) -> tuple[str, str] | None:
    """The status of a waiver that does not hold on a day, and why; None where it holds."""
    if today > expires:
        return "expired", f"it expired on {expires}, and this is {today}"
    if today < issued:
        return "not_yet", f"it is issued on {issued}, and this is {today}"
    return None
