"""The scores of one belief: validated, by each distribution of the secret, and the worst equivalence classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.derivable import undisclosed_reads
from leafgate.api.registry import Plugins, isolate_plugin_errors
from leafgate.engine.attack import AttackResult, naming_component
from leafgate.engine.audience import audience_of_score
from leafgate.engine.state import AuditState
from leafgate.engine.validation import validate_score
from leafgate.errors import InconclusiveError, LeafgateError, UnreadableError
from leafgate.kernel.arrays import Floats, Ids
from leafgate.kernel.belief import (
    Belief,
    CellBelief,
    GroupBelief,
    PosteriorBelief,
    SecretBelief,
    classes_of,
    secret_of,
)
from leafgate.kernel.components import Distribution
from leafgate.kernel.context import Observation, ScoringContext
from leafgate.kernel.evidence import AuditorOnly, PeopleCount
from leafgate.kernel.findings import (
    DERIVED_ALONE,
    GROUPS_ALONE,
    HIDDEN_CELLS,
    JOINT_CLASSES,
    NO_CLASSES,
    NOT_SPOKEN_OF,
    VERIFIED_PRIVACY,
    Direction,
    Masking,
    Scored,
    SecondaryScore,
    VisibleTo,
)
from leafgate.kernel.metrics import Metric, PersonMetric, Score
from leafgate.kernel.persons import PersonRows
from leafgate.kernel.release import covers_data
from leafgate.kernel.table import Table
from leafgate.plugin_output import plugin_output_dropped


def score_of(metric: Metric, plugins: Plugins, case: ScoringContext) -> Score:
    """The metric's score of every record, or of the release; InconclusiveError where it is not valid."""
    with isolate_plugin_errors(metric, plugins):
        score = metric.score(case if isinstance(metric, PersonMetric) else case.of_release_metric())
        with naming_component(f"{metric.use} ({plugins.origin(metric)})"):
            return validate_score(score, metric, case)


def scores_of(metric: PersonMetric, plugins: Plugins, case: ScoringContext) -> tuple[Floats, dict[str, Any]]:
    """Every record's score, and the evidence that the metric adds; raises as `score_of` does."""
    score = score_of(metric, plugins, case)
    return np.asarray(score.people, dtype=float), dict(score.evidence)


def value_of(metric: PersonMetric, scores: Floats, case: ScoringContext) -> float:
    """The number that the limit is compared with: the mean over people, or the worst-off person's score."""
    if metric.average:
        return _mean(metric, scores, case)
    return float(scores.min() if metric.direction == "at_least" else scores.max())


def _mean(metric: PersonMetric, scores: Floats, case: ScoringContext) -> float:
    """The mean over people, exactly the same however many rows these people share.

    Where weights count no people, the worse of the means over rows and by weights; where a person has several rows, the
    worse of the means over persons and over rows.
    """
    values, which = np.unique(scores, return_inverse=True)
    means = [
        math.fsum(values * np.bincount(which, weights=weight)) / int(weight.sum())
        for weight in counted_by(case.table, scores, metric.direction)
    ]
    return min(means) if metric.direction == "at_least" else max(means)


def counted_by(table: Table, scores: Floats, direction: Direction) -> list[Ids]:
    """The people of each record; where rows or weights are no people, then also those, by which limits must hold too.

    Where a person has several rows, she is counted once, on the record where she is worst off.
    """
    people = table.persons if table.person_rows is None else _on_worst_records(table.person_rows, scores, direction)
    return [people, table.weight] if table.weighted else [people]


def _on_worst_records(persons: PersonRows, scores: Floats, direction: Direction) -> Ids:
    """How many persons are worst off on each record; among equals on the first."""
    worse = scores[persons.record] if direction == "at_least" else -scores[persons.record]
    order = np.lexsort((persons.record, worse, persons.person))
    first = order[np.flatnonzero(np.diff(persons.person[order], prepend=-1))]
    return np.bincount(persons.record[first], minlength=len(scores)).astype(np.int64)


def finite(value: float) -> float | None:
    """The score as a report may hold it; None where it has no bound."""
    return value if np.isfinite(value) else None


def unbounded_evidence(value: float) -> dict[str, Any]:
    """The evidence of a score without bound."""
    return {} if np.isfinite(value) else {"unbounded": True}


def _masking(metric: PersonMetric, scores: Floats, value: float, case: ScoringContext) -> Masking:
    """What public reports mask the value of people's scores by."""
    bounded = scores[np.isfinite(scores)]
    return Masking(
        score_range=float(np.ptp(bounded)) if len(bounded) else 0.0,
        people_at_value=None if metric.average else _smallest_class(case, scores == value),
        smallest_group=_smallest_class(case, np.ones(len(scores), dtype=bool)),
    )


def _smallest_class(case: ScoringContext, rows: NDArray[np.bool_]) -> int | None:
    """The people of the smallest equivalence class among these records; None of hidden cells.

    Where the attack gives no classes, people with equal public cells are one.
    """
    if not isinstance(case.belief, GroupBelief | SecretBelief) or not rows.any():
        return None
    if classes_of(case.belief) is not None:
        return int(case.sizes.to_numpy()[rows].min())
    public, number = case.table.public
    return int(case.table.people_by(number, len(public))[number][rows].min())


DISTRIBUTIONS: tuple[Literal["derived", "composition"], ...] = ("derived", "composition")
DISTRIBUTION_NAMES: dict[Distribution, str] = {
    "derived": "what the adversary derives",
    "composition": "the group's true composition",
    "by_persons": "the group's true composition by persons",
}
READS_OF_DISTRIBUTION = frozenset({Observation.POSTERIOR, Observation.SCORED})
"""What a metric reads whose score may depend on the distribution."""
POSTERIOR_TOLERANCE = 1e-12
"""Probabilities that differ by no more than this are equal: floating point makes such differences."""


def choose_distribution(metric: PersonMetric, state: AuditState, belief: Belief) -> tuple[Scored, str]:
    """The distribution of the secret by which a limit is judged on a belief, and why it is not the worse of both.

    The reason is empty where the policy chose. `worst` needs a metric that can score it and equivalence classes of
    people about whom the release discloses something. A verified claim of differential privacy bounds what can be
    derived, so the composition need not be scored. Nobody's secrets decide this.
    """
    if metric.groups_only:
        return "derived", GROUPS_ALONE
    if isinstance(belief, SecretBelief) and belief.derived_alone:
        return "derived", JOINT_CLASSES
    if metric.scored != "worst":
        only_derived = metric.scored == "derived" and not metric.can_score("worst")
        return metric.scored, DERIVED_ALONE if only_derived else ""
    if isinstance(belief, CellBelief):
        return "derived", HIDDEN_CELLS
    if classes_of(belief) is None:
        return "derived", NO_CLASSES
    if covers_data(state.verified_claims):
        return "derived", VERIFIED_PRIVACY
    if secret_of(belief) not in state.columns_spoken_of:
        return "derived", NOT_SPOKEN_OF
    return "worst", ""


@dataclass(frozen=True)
class PeopleScores:
    """Everybody's scores by one metric on one belief, with what a finding states of them.

    Attributes:
        case: the context that was scored first; of people and of their equivalence classes all contexts have the same.
        numbers: shape (n_rows,); by `worst` each person's worse score of the two distributions.
        value: the number that the limit is compared with.
        audience: who may see the numbers.
        masking: what public reports mask the value by.
        evidence: the metric's, and the scores by the other distribution.
        failed: why one of two distributions could not be scored.
    """

    case: ScoringContext
    numbers: Floats
    value: float
    audience: VisibleTo
    masking: Masking
    evidence: dict[str, Any]
    failed: Mapping[Distribution, LeafgateError]


def judged_case(
    metric: Metric, state: AuditState, result: AttackResult, belief: Belief, scored: Distribution, *, answered: bool
) -> ScoringContext:
    """The context that a limit on a belief is judged in.

    Limits on what is believed of a secret judge the people whose value is recorded (`answered`), or everybody; limits
    on the sizes of groups always count everybody.
    """
    case = state.case(result, belief, scored)
    groups_only = isinstance(metric, PersonMetric) and metric.groups_only
    return case if groups_only or not answered else case.of_answered()


def score_people(
    metric: PersonMetric, state: AuditState, result: AttackResult, belief: Belief, scored: Scored, *, answered: bool
) -> PeopleScores:
    """Everybody's scores on one belief, by one distribution of the secret or by the worse of both.

    Args:
        metric: the limit.
        state: of the audit.
        result: of the attack.
        belief: what it believes.
        scored: the distribution.
        answered: of the people whose value is recorded alone.

    Raises:
        UnreadableError: the belief is not for this metric.
        LeafgateError: no distribution could be scored, or whether the public may see the scores is not known.
    """
    cases, failed = _scored_cases(metric, state, result, belief, scored, answered=answered)
    if not cases:
        serious = [error for error in failed.values() if not isinstance(error, UnreadableError)]
        raise next(iter(serious or failed.values()))
    first = next(iter(cases.values()))
    try:
        contexts = [each.case for each in cases.values()]
        audience = audience_of_score(metric, state.plugins, contexts, result)
        secondary = _secondary_scores(metric, state.plugins, cases, scored, result)
    except UnreadableError as error:
        raise InconclusiveError.listing(error.problems) from None
    numbers = worst_scores(metric, [each.scores for each in cases.values()])
    value = value_of(metric, numbers, first.case)
    masking = _masking(metric, numbers, value, first.case)
    return PeopleScores(first.case, numbers, value, audience, masking, {**first.evidence, **secondary}, failed)


def _scored_cases(
    metric: PersonMetric, state: AuditState, result: AttackResult, belief: Belief, scored: Scored, *, answered: bool
) -> tuple[dict[Distribution, ScoredCase], dict[Distribution, LeafgateError]]:
    """The scores by each distribution that is judged, and why one could not be scored."""
    cases: dict[Distribution, ScoredCase] = {}
    failed: dict[Distribution, LeafgateError] = {}
    distributions: tuple[Distribution, ...] = DISTRIBUTIONS if scored == "worst" else (scored,)
    if state.table.person_rows is not None and scored != "derived":
        distributions = (*distributions, "by_persons")
    for distribution in distributions:
        derived = cases.get("derived")
        if derived is not None and not READS_OF_DISTRIBUTION & derived.case.observed:
            break  # the metric does not read the distribution
        try:
            case = judged_case(metric, state, result, belief, distribution, answered=answered)
            cases[distribution] = _score_case(metric, state.plugins, case, derived)
        except LeafgateError as error:
            failed[distribution] = error
    return cases, failed


@dataclass(frozen=True)
class ScoredCase:
    """Every record's score by one distribution of the secret, and the evidence that the metric adds."""

    case: ScoringContext
    scores: Floats
    evidence: dict[str, Any]


def _score_case(metric: PersonMetric, plugins: Plugins, case: ScoringContext, derived: ScoredCase | None) -> ScoredCase:
    """Every record's score in a context; those of `derived`, where the release discloses that both are the same."""
    same = derived is not None and case.table.person_rows is None and _reads_the_same(case, derived.case)
    if derived is not None and same and Observation.COMPOSITION not in undisclosed_reads(case):
        return replace(derived, case=case)
    scores, evidence = scores_of(metric, plugins, case)
    return ScoredCase(case, scores, evidence if derived is None else {})


def _reads_the_same(case: ScoringContext, scored: ScoringContext) -> bool:
    """Would the metric read in `case` what it has read in `scored`, a context of the other distribution?

    It would where it read of the distribution nothing but the posterior, and both posteriors are equal.
    """
    posteriors = case.posterior, scored.posterior
    same = bool(np.allclose(*posteriors, rtol=0, atol=POSTERIOR_TOLERANCE))
    return same and Observation.SCORED not in scored.observed


def worst_scores(metric: Metric, scores: Sequence[Floats]) -> Floats:
    """For each person the worst of several scores."""
    return np.asarray((np.minimum if metric.direction == "at_least" else np.maximum).reduce(scores))


def _secondary_scores(
    metric: PersonMetric,
    plugins: Plugins,
    cases: dict[Distribution, ScoredCase],
    scored: Scored,
    result: AttackResult,
) -> dict[str, Any]:
    """The scores beside the judged one: both distributions' where `worst` is judged, else the other distribution's.

    They are left out where they are equal, unless the release does not disclose the composition that was judged:
    their absence would then disclose something about it.
    """
    first = next(iter(cases.values())).case
    if classes_of(first.belief) is None or not READS_OF_DISTRIBUTION & first.observed:
        return {}
    composed = cases.get("composition")
    undisclosed = composed is not None and Observation.COMPOSITION in undisclosed_reads(composed.case)
    cases = dict(cases)
    for other in DISTRIBUTIONS:
        if scored != "worst" and other not in cases and metric.can_score(other):
            case = first.with_own_record(other)
            try:
                if undisclosed or not _reads_the_same(case, first):
                    cases[other] = ScoredCase(case, scores_of(metric, plugins, case)[0], {})
            except LeafgateError:
                continue
    several = [each.scores for each in cases.values()]
    if not undisclosed and all(np.array_equal(several[0], each) for each in several[1:]):
        return {}
    document: dict[str, Any] = {}
    for distribution, each in cases.items():
        if distribution != scored:
            hidden = audience_of_score(metric, plugins, [each.case], result) == VisibleTo.AUDITORS
            value = value_of(metric, each.scores, each.case)
            score = SecondaryScore(finite(value), _masking(metric, each.scores, value, each.case))
            document[distribution] = AuditorOnly(score) if hidden else score
    return document


MAX_WORST_CLASSES = 3
"""A finding lists this many equivalence classes at most."""


def worst_classes(
    case: ScoringContext, scores: Floats, violating: NDArray[np.bool_], direction: str
) -> list[dict[str, Any]]:
    """The groups furthest outside the limit; among equals the smallest and those with the fewest possible values first.

    Each states how many people share it and how many values their secret can still have; for auditors
    also the path that exposes them, the posterior and the truth.
    """
    case = case.with_own_record("derived")  # the groups show what is derived, whatever was scored
    sign = 1 if direction == "at_least" else -1
    score, possible = sign * scores, _possible_values(case)
    classes, number = np.unique(class_numbers(case), return_inverse=True)
    people = case.table.people_by(number, len(classes))
    rows = np.flatnonzero(violating)
    rows = rows[np.lexsort((possible[rows], score[rows]))]
    past_limit, first = np.unique(number[rows], return_index=True)
    worst = rows[first]  # of each class outside the limit the record worst off
    chosen = np.lexsort((possible[worst], people[past_limit], score[worst]))[:MAX_WORST_CLASSES]
    return [
        _class_evidence(case, int(classes[past_limit[i]]), int(people[past_limit[i]]), int(worst[i])) for i in chosen
    ]


def class_numbers(case: ScoringContext) -> Ids:
    """Each row's equivalence class; without classes people with equal public cells are one, and each hidden cell."""
    if isinstance(case.belief, CellBelief):
        return np.arange(len(case.table))
    classes = classes_of(case.belief) is not None
    return case.equivalence_class.to_numpy() if classes else np.asarray(case.table.public[1])


def _possible_values(case: ScoringContext) -> Ids:
    """For each record the number of values of the secret with a positive posterior; 0 where there is no posterior."""
    if not isinstance(case.belief, PosteriorBelief):
        return np.zeros(len(case.table), dtype=np.int64)
    return np.asarray((case.posterior.to_numpy() > 0).sum(axis=1), dtype=np.int64)


def _explanation(belief: Belief | None, group: int) -> dict[str, AuditorOnly]:
    """What the attack says of a class; nothing where it has no classes, states nothing or raises."""
    if not isinstance(belief, GroupBelief | SecretBelief) or belief.equivalence_class is None:
        return {}
    try:
        with plugin_output_dropped():
            words = belief.explain(group) if belief.explain is not None else ""
            conditions = ", ".join(belief.conditions(group)) if belief.conditions is not None else ""
    except KeyboardInterrupt:
        raise
    except BaseException:
        return {}
    said = {"path": words if isinstance(words, str) else "", "conditions": conditions}
    return {key: AuditorOnly(each) for key, each in said.items() if each}


def _class_evidence(case: ScoringContext, group: int, people: int, worst: int) -> dict[str, Any]:
    """A class as JSON, with the posterior of the worst-off record in it."""
    rows = class_numbers(case) == group
    belief = case.belief
    document: dict[str, Any] = {"people": PeopleCount(people), **_explanation(belief, group)}
    if not case.release.trees or isinstance(belief, CellBelief):
        document["shares"] = "records"
    if isinstance(belief, CellBelief):
        document["record"] = AuditorOnly(int(belief.record_positions[worst]))
    if not isinstance(belief, PosteriorBelief):
        return document
    posterior = case.posterior.iloc[worst]
    document["possible_values"] = int((posterior > 0).sum())
    document["believed"] = AuditorOnly({str(posterior.idxmax()): round(float(posterior.max()), 6)})
    truth = pd.Categorical(case.truth)
    true = np.where(rows, truth.codes, -1).astype(np.int64)
    counts = case.table.people_by(true, len(truth.categories))
    there = np.unique(true[true >= 0]).tolist()
    document["true"] = AuditorOnly({str(truth.categories[i]): PeopleCount(int(counts[i])) for i in there})
    return document
