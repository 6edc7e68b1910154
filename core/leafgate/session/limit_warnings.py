"""Warnings before an audit: limits about groups which no public report may show, and numbers that are categories."""

from __future__ import annotations

from collections.abc import Iterator

from leafgate.api.metrics import PersonMetric
from leafgate.disclosure.limit_query import SMALL, LimitQuery
from leafgate.errors import Problem
from leafgate.policy.models import Policy
from leafgate.policy.waivers import metric_of
from leafgate.types.report import Limit


def small_limits(policy: Policy) -> Iterator[Problem]:
    """Every limit of a policy, and weaker one of its waivers, that is about groups too small for a public report."""
    cell = policy.report.smallest_cell
    weaker = [
        (f"waivers[{i}].limit", waiver.weaker(metric))
        for i, waiver in enumerate(policy.waivers)
        if waiver.limit is not None and (metric := metric_of(waiver, policy.metrics)) is not None
    ]
    for place, metric in [*((f"metrics[{i}]", metric) for i, metric in enumerate(policy.metrics)), *weaker]:
        average = isinstance(metric, PersonMetric) and metric.average
        asked = LimitQuery(metric.called, metric.unit, Limit(metric.direction, metric.bound, average))
        if asked.small(cell):
            yield Problem(place, asked.describe(SMALL, cell))


def decimal_commas(policy: Policy) -> Iterator[Problem]:
    """Every column but a class whose declared values are all numbers, some with a comma: categories without order."""
    for name, spec in policy.data.columns.items():
        values = spec.values or ()
        if "class" in spec.role or not any("," in value for value in values):
            continue
        from leafgate.io.tables.cells import DECIMAL_POINTS, are_decimal_commas  # loads pandas, which few policies need

        if are_decimal_commas(values):
            message = "numbers with decimal commas are categories here"
            yield Problem(f"data.columns.{name}", message, f"{DECIMAL_POINTS}, and declare `bounds`")
