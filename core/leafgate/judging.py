"""Holding scores against limits: one finding for each metric, attack and secret."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leafgate.attacking import Attempt
from leafgate.interfaces import Metric, RecordMetric
from leafgate.report import Finding
from leafgate.scoring import Judged, inconclusive, score_beliefs, score_one

ATTACKED = "an attack that must be tried gets at anybody"


def judge(metrics: Sequence[Metric], judged: Judged) -> list[Finding]:
    """One finding for each failed attack, then for each of the policy's limits."""
    failed = [_failed(attempt) for attempt in judged.attempts if attempt.problem]
    return [*failed, *(finding for metric in metrics for finding in _limits(metric, judged))]


def _failed(attempt: Attempt) -> Finding:
    name = attempt.attack.called
    evidence = {"problem": attempt.problem}
    return Finding(
        f"attack:{name}", "", passed=None, attack=name, evidence=evidence, plugin=attempt.plugin, alarm=ATTACKED
    )


def _limits(metric: Metric, judged: Judged) -> Iterator[Finding]:
    if not isinstance(metric, RecordMetric):
        yield score_one(metric, judged, metric.called, None, None)
        return
    chosen = (attempt for attempt in judged.attempts if metric.of in {None, attempt.attack.called})
    found = [finding for attempt in chosen for finding in score_beliefs(metric, judged, attempt)]
    nothing = inconclusive(
        metric, judged, f"{metric.called}@{metric.of or 'any'}", "there is no belief this metric can read"
    )
    yield from found or [nothing]
