"""Plugins are handed the same table one after the other: what one writes into it must not reach the next."""

from typing import Any, Literal

import numpy as np

from leafgate.api import Release, ScoringContext, SecretBelief, Table
from leafgate.app import Report
from standins import Stump, audited, metric_that

METRICS = [{"use": "odd", "at_least": 0}, {"use": "sizes", "at_least": 4}]


def judged(report: Report) -> list[tuple[str, object, object]]:
    """What the basics' metric found in the basics' attack."""
    return [(found.id, found.value, found.people) for found in report.findings if found.id.startswith("sizes@calm")]


def write(frame: Any, weight: Any) -> None:
    """All the harm one can do to a table."""
    frame.loc[:, "zip"] = "1"
    frame["zip"] = "1"
    frame["more"] = 7
    weight[:] = 100


def test_a_metric_that_writes_into_the_table_harms_itself_alone() -> None:
    def score(case: ScoringContext) -> Any:
        write(case.table.frame, case.table.weight)
        return case.weight

    assert judged(audited(metric_that(score), metrics=METRICS)) == judged(audited())


def test_a_metric_that_writes_into_a_belief_harms_itself_alone() -> None:
    def score(case: ScoringContext) -> Any:
        case.equivalence_class[:] = 0
        case.posterior[:] = 0
        case.truth[:] = "flu"
        if isinstance(case.belief, SecretBelief) and case.belief.equivalence_class is not None:
            case.belief.equivalence_class[:] = 0
        return case.weight

    assert judged(audited(metric_that(score), metrics=METRICS)) == judged(audited())


def test_a_builder_that_writes_into_the_table_harms_itself_alone() -> None:
    class Scribe(Stump):
        use: Literal["scribe"] = "scribe"  # type: ignore[assignment]

        def build(self, table: Table, rng: np.random.Generator) -> Release:
            release = super().build(table, rng)
            table.frame["zip"] = "1"
            return release

    assert judged(audited(Scribe, build={"use": "scribe"})) == judged(audited())
