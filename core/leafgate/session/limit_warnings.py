"""Warnings before an audit: limits that cannot be kept, or not be shown, and cells that are not what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from leafgate.disclosure.limit_query import SMALL, LimitQuery
from leafgate.errors import Problem
from leafgate.io.tables.cells import DECIMAL_POINTS, are_decimal_commas
from leafgate.kernel.findings import Limit
from leafgate.kernel.metrics import PersonMetric
from leafgate.kernel.policy import Policy
from leafgate.kernel.spelling import similar_form, spellings_of_one
from leafgate.kernel.waivers import metric_of

if TYPE_CHECKING:
    from leafgate.api.registry import Plugins
    from leafgate.kernel.table import Table


def small_limits(policy: Policy) -> Iterator[Problem]:
    """Every limit of a policy, and weaker one of its waivers, that is about groups too small for a public report."""
    cell = policy.report.smallest_cell
    weaker = [
        (("waivers", i, "limit"), waiver.weaker(metric))
        for i, waiver in enumerate(policy.waivers)
        if waiver.limit is not None and (metric := metric_of(waiver, policy.metrics)) is not None
    ]
    for place, metric in [*((("metrics", i), metric) for i, metric in enumerate(policy.metrics)), *weaker]:
        average = isinstance(metric, PersonMetric) and metric.average
        asked = LimitQuery(metric.called, metric.unit, Limit(metric.direction, metric.bound, average))
        if asked.small(cell):
            yield Problem.at(place, asked.describe(SMALL, cell))


def limits_against_table(policy: Policy, plugins: Plugins, people: Table) -> Iterator[Problem]:
    """Every limit that no release of the table can keep, and each value of a secret that nearly everybody has.

    Nothing of a table that does not fit into memory, and nothing of a builder's that promises differential privacy: its
    limits are no business of the table.
    """
    published = getattr(policy.build, "columns", None)  # of a builder that may leave the class out
    target = next((name for name, spec in policy.data.columns.items() if "class" in spec.role), None)
    if policy.build.randomness == "system" or (published is not None and target not in published):
        return
    if not len(people):
        return
    from leafgate.engine.keepable import frequent_values, unkeepable_limits  # loads pandas

    impossible = unkeepable_limits(policy.metrics, plugins, people, of_model=policy.build.use == "published")
    for limit in impossible:
        yield Problem.at(("metrics", limit.number), limit.message, limit.hint)
    if not impossible:
        for frequent in frequent_values(people, policy.metrics):
            yield Problem.at(("data", "columns", frequent.secret), frequent.question, frequent.hint)


def own_people_as_test(people: Table, test: Table | None) -> Iterator[Problem]:
    """That `data.test` is the table itself, where it is: others are measured by nobody then."""
    if test is None or not len(people):
        return
    from leafgate.algorithms.sampling import has_same_records  # loads pandas

    if has_same_records(people, test):
        message = "is the table itself, so what is measured on these people flatters the model"
        yield Problem.at(("data", "test"), message, "name people who are not in the table")


def decimal_commas(policy: Policy) -> Iterator[Problem]:
    """Every column but a class whose declared values are all numbers, some with a comma: categories without order."""
    for name, spec in policy.data.columns.items():
        values = spec.values or ()
        if "class" in spec.role or not any("," in value for value in values):
            continue
        if are_decimal_commas(values):
            message = "numbers with decimal commas are categories here"
            yield Problem.at(("data", "columns", name), message, f"{DECIMAL_POINTS}, and declare `bounds`")


def spelled_alike(people: Table) -> Iterator[Problem]:
    """Every column but secrets and classes, which an audit judges, of which some values are spelled alike."""
    for column in people.schema.columns:
        if column.values is None or column.roles & {"class", "sensitive"}:
            continue
        if spellings_of_one(column.values, similar_form):
            message = "some values differ only in blanks, case or marks, and are taken for different ones"
            yield Problem.at(("data", "columns", column.name), message, "say `aliases` if they mean the same")
