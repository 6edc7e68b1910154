"""One score held against one limit: the finding for one metric and one belief, or the release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.attacking import Attempt, plugin_trouble
from leafgate.belief import Belief
from leafgate.beside import beside, hidden, rests_on_what_was_granted
from leafgate.case import Case
from leafgate.errors import InconclusiveError, LeafgateError, UnreadableError
from leafgate.evidence import RESERVED, checked_evidence
from leafgate.hidden_cells import laid_out
from leafgate.interfaces import Metric, RecordMetric, Scored
from leafgate.known import Known, lent
from leafgate.leaf_numbers import strange_leaves, strange_records
from leafgate.node_numbers import Contradiction, FileNumbers, first_contradiction
from leafgate.plugins import Plugins
from leafgate.release import Release
from leafgate.report import Finding, Private, ScoredPeople
from leafgate.scores import Scores, finite, scores_of, unbounded, value_of
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
    origins: Sequence[int] | None = None
    node_numbers: FileNumbers | None = None

    def case(self, belief: Belief | None, scored: Scored = "derived") -> Case:
        test = None if self.test is None else self.test.lent()
        table = self.table
        if belief is not None:
            if belief.cells is not None:
                belief, table = laid_out(belief, self.release, self.origins, table.without_key)
            belief = replace(belief, chances=_copy(belief.chances), baseline=_copy(belief.baseline))
        strange = bool(self.strange)
        return Case(table.lent(), test, self.release, lent(self.known), belief, scored, self.origins, strange)

    @cached_property
    def strange(self) -> str:
        """What is wrong with a release or a model's file that counts other people than this table's; else empty."""
        if self.strange_numbers or self.contradiction is None:
            return self.strange_numbers
        return f"the model's file is not of this table's people: {self.contradiction.words} sends there"

    @cached_property
    def strange_numbers(self) -> str:
        """What is wrong with a release that claims to count this table's people and does not; else empty."""
        if strange_leaves(self.release, self.table):
            return "some leaves tell numbers that are not those of this table: was the tree learned from other people?"
        if strange_records(self.release, self.table):
            return "the records count more or fewer people than this table has: are they other people's?"
        return ""

    @cached_property
    def contradiction(self) -> Contradiction | None:
        """The first node of a model's file that counts other people than this table's."""
        if self.node_numbers is None:
            return None
        return first_contradiction(self.node_numbers, self.release, self.table)


def _copy(chances: pd.DataFrame | None) -> pd.DataFrame | None:
    return None if chances is None else chances.copy(deep=False)


def score_beliefs(metric: RecordMetric, judged: Judged, attempt: Attempt, *, named: bool = True) -> Iterator[Finding]:
    """A finding for each belief of an attempt that the metric is about and can read; `named` gives it an id."""
    for belief in attempt.beliefs:
        if not belief.of_people or metric.secret not in {None, belief.secret}:
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
    if finding.passed is None:
        return finding
    at_worst = judged.case(belief, "derived").at_worst if belief.unread else ()
    for other in (*belief.alternatives, *at_worst):
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
    try:
        case = judged.case(belief, scored)
        scores = scores_of(metric, judged.plugins, case)
        told = _evidence(metric, judged, case, scores)
        with plugin_trouble(metric, judged.plugins):
            moved = 0.0 if isinstance(metric, RecordMetric) else float(metric.moved_by_one(case))
    except UnreadableError:
        if belief is not None:
            raise
        return inconclusive(metric, judged, id, "there is no belief to read")
    except LeafgateError as error:
        return inconclusive(metric, judged, id, str(error))
    found: dict[str, Any] = {
        "id": id,
        "metric": metric.called,
        "use": _renamed(metric),
        "attack": attempt.attack.called if attempt else None,
        "secret": belief.secret if belief else None,
        "limit": _limit(metric),
        "plugin": judged.plugins.origin(metric),
        "unit": metric.unit,
        "moved_by_one": moved,
        "private": hidden(metric, case, attempt),
        "of_release": metric.of_release,
        "alarm": metric.alarm_about(belief.secret if belief else None),
    }
    if not isinstance(metric, RecordMetric):
        value = float(scores)
        found["people"] = judged.table.people if metric.unit in {"share", "people left"} else None
        return Finding(value=finite(value), passed=metric.holds(value), evidence=unbounded(value) | told, **found)
    finding = _judge_people(metric, scores, case, found, _told_by(case, attempt))
    finding = replace(finding, evidence={**finding.evidence, **told})
    return beside(metric, judged.plugins, case, scores, finding, attempt)


def _told_by(case: Case, attempt: Attempt | None) -> dict[str, Any]:
    """What the attack tells beside its belief; for auditors, where that rests on what only the policy grants it."""
    told = dict(case.belief.evidence) if case.belief else {}
    return {key: Private(what) for key, what in told.items()} if rests_on_what_was_granted(case, attempt) else told


def _evidence(metric: Metric, judged: Judged, case: Case, scores: Any) -> dict[str, Any]:
    """What the metric adds to its finding. It has read the belief: nothing can be unreadable any more."""
    mine = pd.Series(scores.copy()) if isinstance(metric, RecordMetric) else float(scores)
    kept = RESERVED | set(case.belief.evidence if case.belief else ())
    kept -= set() if isinstance(metric, RecordMetric) else {"worst"}
    try:
        with plugin_trouble(metric, judged.plugins):
            return checked_evidence(metric.evidence(case, mine), kept, f"{metric.use}: its")
    except UnreadableError as error:
        raise InconclusiveError(str(error)) from error


def _judge_people(
    metric: RecordMetric, scores: Scores, case: Case, found: dict[str, Any], told: dict[str, Any]
) -> Finding:
    weight, people = case.table.weight, case.table.people
    value = value_of(metric, scores, case)
    evidence = unbounded(value)
    everyone = case.belief is None or case.belief.cells is None
    found["spread"] = float(np.ptp(scores[np.isfinite(scores)])) if np.isfinite(scores).any() else 0.0
    found["smallest_group"] = _fewest(case, np.ones(len(scores), dtype=bool))
    if metric.average:
        found["scored"] = ScoredPeople(scores, weight, np.zeros(len(scores), dtype=bool), everyone)
        return Finding(value=finite(value), passed=metric.holds(value), people=people, evidence=evidence, **found)
    values, which = np.unique(scores, return_inverse=True)
    past = np.array([not metric.holds(float(value)) for value in values])[which]
    beyond = int(weight[past].sum())
    found["scored"] = ScoredPeople(scores, weight, past, everyone)
    found["fewest"] = _fewest(case, scores == value)
    evidence |= told
    if beyond:
        evidence["worst"] = witnesses(case, pd.Series(scores), past, metric.direction)
    passed = beyond / people <= metric.allow
    return Finding(value=finite(value), passed=passed, people=people, beyond=beyond, evidence=evidence, **found)


def _fewest(case: Case, rows: NDArray[np.bool_]) -> int | None:
    """The people of the smallest group that these records are in; None where no groups are told."""
    if case.belief is None or case.belief.groups is None or not rows.any():
        return None
    return int(case.sizes.to_numpy()[rows].min())


def _limit(metric: Metric) -> dict[str, Any]:
    limit: dict[str, Any] = {metric.direction: metric.limit}
    if isinstance(metric, RecordMetric):
        limit |= {"average": metric.average, "allow": metric.allow}
        limit |= {"scored": metric.scored} if metric.scored != "derived" else {}
    return limit


def inconclusive(metric: Metric, judged: Judged, id: str, problem: str) -> Finding:
    """The finding that it could not be told whether the limit holds."""
    origin = judged.plugins.origin(metric)
    return Finding(
        id,
        metric.called,
        None,
        limit=_limit(metric),
        evidence={"problem": problem},
        plugin=origin,
        alarm=metric.alarm_about(None),
        use=_renamed(metric),
    )


def _renamed(metric: Metric) -> str:
    """What a metric uses, where its name does not say so."""
    return metric.use if metric.called != metric.use else ""
