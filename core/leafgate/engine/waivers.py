"""Waivers: which findings a policy lets through although they fail, and why any other waiver does not apply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from leafgate.io.release_codec import SealedRelease
from leafgate.kernel.findings import Finding
from leafgate.kernel.metrics import Metric
from leafgate.kernel.origin import Lines
from leafgate.kernel.paths import DocumentPath
from leafgate.kernel.policy import Policy
from leafgate.kernel.waivers import Waiver, metric_of

if TYPE_CHECKING:
    from leafgate.engine.state import AuditState


Holds = Callable[[Waiver], bool]
"""Does the finding that a waiver names pass by the waiver's own, weaker limit?"""


def utc_today() -> date:
    """The day it is, in UTC: the only clock that a verdict depends on, and only where there are waivers."""
    return datetime.now(UTC).date()


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
        applied: dict[str, Waiver] = {}
        items = []
        for i, waiver in enumerate(self.waivers):
            status, message = self._status(waiver)
            if status == "applied":
                applied[waiver.finding] = waiver
            items.append(_document(waiver, status, message) | self._where(i))
        findings = [
            replace(finding, waiver=_facts(applied[finding.id])) if finding.id in applied else finding
            for finding in self.limits
        ]
        return findings, items

    def _where(self, number: int) -> dict[str, Any]:
        line = self.lines.get(("waivers", number))
        return {} if line is None else {"where": {"file": line.file, "line": line.number}}

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


def _written(waiver: Waiver) -> dict[str, Any]:
    """The waiver as reports print it."""
    return waiver.model_dump(mode="json", exclude_none=True)


def _facts(waiver: Waiver) -> dict[str, Any]:
    """What stands beside a finding that is waived."""
    keys = ("id", "owner", "approved_by", "reason", "issued", "expires")
    return {key: value for key, value in _written(waiver).items() if key in keys}


def _document(waiver: Waiver, status: str, message: str) -> dict[str, Any]:
    """Everything a report states of a waiver."""
    return {**_written(waiver), "status": status, "message": message}


@dataclass(frozen=True)
class SourceLocations:
    """The line of the policy that each finding comes from; findings of a policy in memory have none."""

    policy: Policy

    def of_limits(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings on the limits, each with the line of its metric, or of the attack that failed."""
        attacks: dict[str, DocumentPath] = {each.called: ("attacks", i) for i, each in enumerate(self.policy.attacks)}
        metrics: dict[str, DocumentPath] = {each.called: ("metrics", i) for i, each in enumerate(self.policy.metrics)}
        return [self._at(metrics.get(f.metric) or attacks.get(f.attack or "", ()), f) for f in findings]

    def of_build(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings about the release itself, its claims and its making, with the line of the builder."""
        return [self._at(("build",), finding) for finding in findings]

    def _at(self, path: DocumentPath, finding: Finding) -> Finding:
        line, elsewhere = self.policy.origin.lines.get(path), self.policy.origin.elsewhere
        if line is None:
            return finding
        folder = {"folder": elsewhere[line.file]} if line.file in elsewhere else {}
        return replace(finding, where={"file": line.file, "line": line.number, **folder})


Waivers = Mapping[str, Any]
"""What a report states of waivers: nothing where the policy has none."""


def apply_waivers(
    policy: Policy,
    artifact: SealedRelease | None,
    limits: list[Finding],
    others: Sequence[Finding],
    holds: Holds,
    today: date | None,
) -> tuple[list[Finding], Waivers]:
    """The limits' findings as the policy's waivers leave them, and what the report states of these."""
    if not policy.waivers:
        return limits, {}
    day, release = today or utc_today(), None if artifact is None else artifact.sha256
    audited = None if artifact is None else artifact.provenance.audited_file
    file = None if audited is None else audited.sha256
    of_model = artifact is not None and artifact.release.file is not None
    review = WaiverReview(policy.waivers, day, release, limits, others, holds, file, of_model, policy.origin.lines)
    findings, result = review.outcome()
    return findings, {"waivers": result, "judged_on": day.isoformat()}


def never(waiver: Waiver) -> bool:
    """Return that no weaker limit holds: there is no release to score."""
    return False


def passes(state: AuditState, metrics: Sequence[Metric]) -> Holds:
    """Return whether findings of these metrics pass by a waiver's limit: each belief is scored anew."""
    from leafgate.engine.limits import judge

    def holds(waiver: Waiver) -> bool:
        metric = metric_of(waiver, metrics)
        judged = [] if metric is None else judge([waiver.weaker(metric)], state)
        return [finding.passed for finding in judged if finding.id == waiver.finding] == [True]

    return holds
