"""One score held against one limit: the finding for one metric and one belief, or the release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.attacking import Attempt, plugin_trouble
from leafgate.belief import Belief
from leafgate.case import Case
from leafgate.errors import InconclusiveError, LeafgateError, UnreadableError
from leafgate.evidence import RESERVED, checked_evidence
from leafgate.interfaces import Metric, RecordMetric, Scored
from leafgate.known import Known, lent
from leafgate.plugins import Plugins
from leafgate.release import Release
from leafgate.report import Finding, People, Private
from leafgate.table import Table
from leafgate.witnesses import witnesses

Scores = NDArray[np.float64]
OTHER: dict[Scored, Scored] = {"derived": "composition", "composition": "derived"}


@dataclass(frozen=True)
class Judged:
    """Everything the judge has before it."""

    table: Table
    test: Table | None
    release: Release
    known: Known
    attempts: Sequence[Attempt]
    plugins: Plugins

    def case(self, belief: Belief | None, scored: Scored = "derived") -> Case:
        test = None if self.test is None else self.test.lent()
        if belief is not None:
            belief = replace(belief, chances=_copy(belief.chances), baseline=_copy(belief.baseline))
        return Case(self.table.lent(), test, self.release, lent(self.known), belief, scored)


def _copy(chances: pd.DataFrame | None) -> pd.DataFrame | None:
    return None if chances is None else chances.copy(deep=False)


def score_beliefs(metric: RecordMetric, judged: Judged, attempt: Attempt, *, named: bool = True) -> Iterator[Finding]:
    """A finding for each belief of an attempt that the metric is about and can read; `named` gives it an id."""
    for belief in attempt.beliefs:
        if metric.secret not in {None, belief.secret}:
            continue
        try:
            finding = score_one(metric, judged, _id(metric, attempt, belief) if named else "", attempt, belief)
            yield _for_every_belief(metric, judged, attempt, belief, finding)
        except UnreadableError:
            continue


def _for_every_belief(
    metric: RecordMetric, judged: Judged, attempt: Attempt, belief: Belief, finding: Finding
) -> Finding:
    """The finding, inconclusive where the limit does not come out the same for the belief's alternatives."""
    for other in belief.alternatives if finding.passed is not None else ():
        twin = replace(belief, chances=other, alternatives=())
        if score_one(metric, judged, "", attempt, twin).passed != finding.passed:
            problem = "the attack found several beliefs, and the limit holds for some of them only"
            return replace(finding, passed=None, evidence={**finding.evidence, "problem": problem})
    return finding


def _id(metric: Metric, attempt: Attempt, belief: Belief) -> str:
    secret = f"#{belief.secret}" if belief.secret is not None else ""
    return f"{metric.called}@{attempt.attack.called}{secret}"


def score_one(metric: Metric, judged: Judged, id: str, attempt: Attempt | None, belief: Belief | None) -> Finding:
    """The finding for one belief (or for the release); UnreadableError when it is not for this metric."""
    scored = metric.scored if isinstance(metric, RecordMetric) else "derived"
    case = judged.case(belief, scored)
    try:
        scores = _scores(metric, judged, case)
        told = _evidence(metric, judged, case, scores)
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
        "private": metric.private,
    }
    if not isinstance(metric, RecordMetric):
        value = float(scores)
        return Finding(value=_told(value), passed=metric.holds(value), evidence=_unbounded(value) | told, **found)
    finding = _judge_people(metric, scores, case, found)
    finding = replace(finding, evidence={**finding.evidence, **told})
    finding = _beside(metric, judged, case, scores, finding)
    return replace(finding, private=finding.private or _tells_of_everyone(case))


def _scores(metric: Metric, judged: Judged, case: Case) -> Any:
    with plugin_trouble(metric, judged.plugins):
        return _checked(metric.score(case), metric, case)


def _evidence(metric: Metric, judged: Judged, case: Case, scores: Any) -> dict[str, Any]:
    """What the metric adds to its finding. It has read the belief: nothing can be unreadable any more."""
    mine = pd.Series(scores.copy()) if isinstance(metric, RecordMetric) else float(scores)
    kept = RESERVED | set(case.belief.evidence if case.belief else ())
    try:
        with plugin_trouble(metric, judged.plugins):
            return checked_evidence(metric.evidence(case, mine), kept, f"{metric.use}: its")
    except UnreadableError as error:
        raise InconclusiveError(str(error)) from error


def _checked(scores: object, metric: Metric, case: Case) -> Any:
    """Numbers, one a record or one for the release, infinite on the unsafe side only; else the plugin's nonsense."""
    wanted = (len(case.table),) if isinstance(metric, RecordMetric) else ()
    try:
        numbers = np.asarray(scores, dtype=float)
    except (TypeError, ValueError):
        raise InconclusiveError(f"{metric.use} returned no numbers") from None
    if numbers.shape != wanted:
        raise InconclusiveError(f"{metric.use} returned numbers of shape {numbers.shape}, wanted {wanted}")
    unsafe = np.inf if metric.direction == "at_most" else -np.inf
    if not (np.isfinite(numbers) | (numbers == unsafe)).all():
        raise InconclusiveError(f"{metric.use} returned a number that is not finite")
    return numbers


def _judge_people(metric: RecordMetric, scores: Scores, case: Case, found: dict[str, Any]) -> Finding:
    weight, people = case.table.weight, case.table.people
    value = _value(metric, scores, case)
    evidence = _unbounded(value)
    found["spread"] = float(np.ptp(scores[np.isfinite(scores)])) if np.isfinite(scores).any() else 0.0
    if metric.average:
        return Finding(value=_told(value), passed=metric.holds(value), people=people, evidence=evidence, **found)
    values, which = np.unique(scores, return_inverse=True)
    past = np.array([not metric.holds(float(value)) for value in values])[which]
    beyond = int(weight[past].sum())
    evidence |= dict(case.belief.evidence) if case.belief else {}
    if beyond:
        evidence["worst"] = witnesses(case, pd.Series(scores), past, metric.direction)
    passed = beyond / people <= metric.allow
    return Finding(value=_told(value), passed=passed, people=people, beyond=beyond, evidence=evidence, **found)


def _value(metric: RecordMetric, scores: Scores, case: Case) -> float:
    """What the policy judges: the mean over people, or the worst-off person's score."""
    if metric.average:
        return float((scores * case.table.weight).sum() / case.table.people)
    return float(scores.min() if metric.direction == "at_least" else scores.max())


def _beside(metric: RecordMetric, judged: Judged, case: Case, scores: Scores, finding: Finding) -> Finding:
    """The finding, with the other score beside it (derived, or of the true composition) where they differ.

    What follows from the composition and not from the release is private.
    """
    if case.belief is None or case.belief.chances is None:
        return finding
    other = replace(case, scored=OTHER[case.scored])
    if np.allclose(case.chances, other.chances, rtol=0, atol=1e-12):
        return finding
    try:
        beside = _scores(metric, judged, other)
    except LeafgateError:
        return replace(finding, private=finding.private or case.scored == "composition")
    if np.array_equal(scores, beside):
        return finding
    finding = replace(finding, private=finding.private or case.scored == "composition")
    told = _veiled(metric, _value(metric, beside, case))
    hidden = metric.private or case.scored == "derived" or _tells_of_everyone(other)
    key, shown = OTHER[case.scored], Private(told) if hidden else told
    return replace(finding, evidence={**finding.evidence, key: shown})


def _tells_of_everyone(case: Case) -> bool:
    """Was a score made with everyone's shares of the secret, which nobody could derive?"""
    if "overall" not in vars(case) or case.secret.name in case.known.distribution or _counts_everyone(case):
        return False
    derived = replace(case, scored="derived").chances.to_numpy(dtype=float)
    everyone = case.table.weight @ derived / case.table.people
    return not np.allclose(everyone, case.overall, rtol=0, atol=1e-12)


def _counts_everyone(case: Case) -> bool:
    """Do the leaves, added up, tell the secret's shares?"""
    release = case.release
    return bool(release.trees) and release.publish.leaves == "counts" and case.secret.name == release.target


def _veiled(metric: RecordMetric, value: float) -> Any:
    """The other score as evidence may hold it: a count of people, or a share that gives one away, not as it is."""
    if metric.unit == "people" and np.isfinite(value):
        return People(int(value))
    return Private(_told(value)) if metric.unit else _told(value)


def _told(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _unbounded(value: float) -> dict[str, Any]:
    return {} if np.isfinite(value) else {"unbounded": True}


def _limit(metric: Metric) -> dict[str, Any]:
    limit: dict[str, Any] = {metric.direction: metric.limit}
    if isinstance(metric, RecordMetric):
        limit |= {"average": metric.average, "allow": metric.allow}
        limit |= {"scored": metric.scored} if metric.scored != "derived" else {}
    return limit


def inconclusive(metric: Metric, judged: Judged, id: str, problem: str) -> Finding:
    """The finding that it could not be told whether the limit holds."""
    origin = judged.plugins.origin(metric)
    return Finding(id, metric.called, None, limit=_limit(metric), evidence={"problem": problem}, plugin=origin)
