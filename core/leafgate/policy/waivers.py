"""What is wrong with the waivers of a policy, given its metrics and its reviewers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leafgate.errors import Problem
from leafgate.kernel.metrics import Metric, PersonMetric
from leafgate.kernel.waivers import Approvals, Waiver, address_of, addresses_of, metric_of


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
