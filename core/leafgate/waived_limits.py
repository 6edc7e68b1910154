"""The limits that a policy's waivers let through, and what the report says of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from leafgate.finding_places import FindingPlaces
from leafgate.interfaces import Metric
from leafgate.judging import judge
from leafgate.policy import Policy
from leafgate.release_file import Sealed
from leafgate.report import Finding
from leafgate.scoring import Judged
from leafgate.waiving import Holds, Waiving, utc_today

Waivers = Mapping[str, Any]
"""What a report says of waivers: nothing where the policy has none."""


def waived(
    policy: Policy,
    sealed: Sealed | None,
    limits: list[Finding],
    others: Sequence[Finding],
    holds: Holds,
    places: FindingPlaces,
    today: date | None,
) -> tuple[list[Finding], Waivers]:
    """The limits' findings as the policy's waivers leave them, and what the report says of these."""
    if not policy.waivers:
        return limits, {}
    day, release = today or utc_today(), None if sealed is None else sealed.sha256
    file = None if sealed is None or sealed.audited_file is None else sealed.audited_file.sha256
    waiving = Waiving(policy.waivers, policy.metrics, day, release, limits, others, holds, file, places.lines)
    findings, told = waiving.judged()
    return findings, {"waivers": told, "judged_on": day.isoformat()}


def never(metric: Metric, id: str) -> bool:
    return False


def passes(judged: Judged) -> Holds:
    """Does a finding pass by another limit than the policy's? It is judged anew, by everything the attacks believe."""

    def holds(metric: Metric, id: str) -> bool:
        return [found.passed for found in judge([metric], judged) if found.id == id] == [True]

    return holds
