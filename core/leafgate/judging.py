"""Holding scores against limits: one finding for each metric, attack and secret."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from leafgate.attacking import Attempt, plugin_trouble
from leafgate.belief import Belief
from leafgate.case import Case
from leafgate.errors import InconclusiveError, LeafgateError, UnreadableError
from leafgate.interfaces import Metric, RecordMetric
from leafgate.known import Known, lent
from leafgate.plugins import Plugins
from leafgate.release import Release
from leafgate.report import Finding
from leafgate.table import Table
from leafgate.witnesses import witnesses


@dataclass(frozen=True)
class Judged:
    """Everything the judge has before it."""

    table: Table
    test: Table | None
    release: Release
    known: Known
    attempts: Sequence[Attempt]
    plugins: Plugins

    def case(self, belief: Belief | None) -> Case:
        test = None if self.test is None else self.test.lent()
        if belief is not None and belief.chances is not None:
            belief = replace(belief, chances=belief.chances.copy(deep=False))
        return Case(self.table.lent(), test, self.release, lent(self.known), belief)


def judge(metrics: Sequence[Metric], judged: Judged) -> list[Finding]:
    """One finding for each failed attack, then for each of the policy's limits."""
    failed = [_failed(attempt) for attempt in judged.attempts if attempt.problem]
    return [*failed, *(finding for metric in metrics for finding in _limits(metric, judged))]


def _failed(attempt: Attempt) -> Finding:
    name = attempt.attack.called
    evidence = {"problem": attempt.problem}
    return Finding(f"attack:{name}", "", passed=None, attack=name, evidence=evidence, plugin=attempt.plugin)


def _limits(metric: Metric, judged: Judged) -> Iterator[Finding]:
    if not isinstance(metric, RecordMetric):
        yield score_one(metric, judged, metric.called, None, None)
        return
    read = 0
    for attempt in judged.attempts:
        if metric.of not in {None, attempt.attack.called}:
            continue
        for belief in attempt.beliefs:
            if metric.secret not in {None, belief.secret}:
                continue
            try:
                yield score_one(metric, judged, _id(metric, attempt, belief), attempt, belief)
            except UnreadableError:
                continue
            read += 1
    if read == 0:
        problem = "there is no belief this metric can read"
        yield inconclusive(metric, judged, f"{metric.called}@{metric.of or 'any'}", problem)


def _id(metric: Metric, attempt: Attempt, belief: Belief) -> str:
    secret = f"#{belief.secret}" if belief.secret is not None else ""
    return f"{metric.called}@{attempt.attack.called}{secret}"


def score_one(metric: Metric, judged: Judged, id: str, attempt: Attempt | None, belief: Belief | None) -> Finding:
    """The finding for one belief (or for the release); UnreadableError when it is not for this metric."""
    case = judged.case(belief)
    try:
        with plugin_trouble(metric, judged.plugins):
            scores = _checked_scores(metric.score(case), metric, case)
    except UnreadableError:
        if belief is not None:
            raise
        return inconclusive(metric, judged, id, "there is no belief to read")
    except LeafgateError as error:
        return inconclusive(metric, judged, id, str(error))
    found: dict[str, Any] = {
        "id": id,
        "metric": metric.called,
        "attack": attempt.attack.called if attempt else None,
        "secret": belief.secret if belief else None,
        "limit": _limit(metric),
        "plugin": judged.plugins.origin(metric),
        "unit": metric.unit,
    }
    if not isinstance(metric, RecordMetric):
        value = float(scores)
        return Finding(value=value, passed=metric.holds(value), **found)
    return _judge_people(metric, np.asarray(scores, dtype=float), case, found)


def _checked_scores(scores: object, metric: Metric, case: Case) -> Any:
    """Finite numbers, one a record or one for the release; anything else is the plugin's nonsense."""
    wanted = (len(case.table),) if isinstance(metric, RecordMetric) else ()
    try:
        numbers = np.asarray(scores, dtype=float)
    except (TypeError, ValueError):
        raise InconclusiveError(f"{metric.use} returned no numbers") from None
    if numbers.shape != wanted:
        raise InconclusiveError(f"{metric.use} returned numbers of shape {numbers.shape}, wanted {wanted}")
    if not np.isfinite(numbers).all():
        raise InconclusiveError(f"{metric.use} returned a number that is not finite")
    return numbers


def _judge_people(metric: RecordMetric, scores: np.ndarray[Any, Any], case: Case, found: dict[str, Any]) -> Finding:
    weight = case.table.weight
    people = case.table.people
    if metric.average:
        value = float((scores * weight).sum() / people)
        return Finding(value=value, passed=metric.holds(value), people=people, **found)
    worst = float(scores.min() if metric.direction == "at_least" else scores.max())
    values, which = np.unique(scores, return_inverse=True)
    past = np.array([not metric.holds(float(value)) for value in values])[which]
    beyond = int(weight[past].sum())
    passed = beyond / people <= metric.allow
    evidence = dict(case.belief.evidence) if case.belief else {}
    if beyond:
        evidence["worst"] = witnesses(case, pd.Series(scores), past, metric.direction)
    return Finding(value=worst, passed=passed, people=people, beyond=beyond, evidence=evidence, **found)


def _limit(metric: Metric) -> dict[str, Any]:
    limit: dict[str, Any] = {metric.direction: metric.limit}
    if isinstance(metric, RecordMetric):
        limit |= {"average": metric.average, "allow": metric.allow}
    return limit


def inconclusive(metric: Metric, judged: Judged, id: str, problem: str) -> Finding:
    """The finding that it could not be told whether the limit holds."""
    origin = judged.plugins.origin(metric)
    return Finding(id, metric.called, None, limit=_limit(metric), evidence={"problem": problem}, plugin=origin)
