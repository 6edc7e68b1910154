"""Score a context by a metric and compare the score with the policy's limit: one finding each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.consistency import inconsistent_leaves, inconsistent_records
from leafgate.algorithms.derivable import columns_spoken_of, must_hide, undisclosed_reads, uses_background_knowledge
from leafgate.algorithms.node_counts import Contradiction, FileNumbers, first_contradiction
from leafgate.api.components import Distribution
from leafgate.api.context import Observation, ScoringContext
from leafgate.api.metrics import Metric, RecordMetric
from leafgate.api.registry import Plugins
from leafgate.engine.attack import AttackResult, isolate_plugin_errors
from leafgate.engine.validation import align_to_records, are_real_numbers, is_reordered
from leafgate.engine.worst_groups import witnesses
from leafgate.errors import InconclusiveError, LeafgateError, UnreadableError
from leafgate.types.adversary import AdversaryKnowledge, defensive_copy
from leafgate.types.belief import Belief
from leafgate.types.evidence import RESERVED, AuditorOnly, checked_evidence
from leafgate.types.release import Release
from leafgate.types.report import (
    DERIVED_ALONE,
    GROUPS_ALONE,
    HIDDEN_CELLS,
    NOT_SPOKEN_OF,
    VERIFIED_PRIVACY,
    Finding,
    Scored,
    ScoredPeople,
    SecondaryScore,
    Unit,
)
from leafgate.types.table import Table

Scores = NDArray[np.float64]
Counts = NDArray[np.int64]


def scores_of(metric: Metric, plugins: Plugins, case: ScoringContext) -> Any:
    """The metric's score of every record, or of the release; InconclusiveError where it is not valid."""
    with isolate_plugin_errors(metric, plugins):
        return _checked(metric.score(case), metric, case)


def _checked(scores: object, metric: Metric, case: ScoringContext) -> Any:
    """The scores as floats: one for each record, or one for the release; infinite on the unsafe side only."""
    wanted = (len(case.table),) if isinstance(metric, RecordMetric) else ()
    if not are_real_numbers(scores):
        raise InconclusiveError(f"{metric.use} returned no numbers")
    if isinstance(scores, pd.Series) and is_reordered(scores.index):
        raise InconclusiveError(f"{metric.use} returned numbers in another order than the rows of `case.table`")
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


def value_of(metric: RecordMetric, scores: Scores, case: ScoringContext) -> float:
    """The number that the limit is compared with: the mean over people, or the worst-off person's score."""
    if metric.average:
        return _mean(metric, scores, case)
    return float(scores.min() if metric.direction == "at_least" else scores.max())


def _mean(metric: RecordMetric, scores: Scores, case: ScoringContext) -> float:
    """The mean over people, exactly the same however many rows these people share.

    Where weights count no people, the worse of the means over rows and by weights.
    """
    values, which = np.unique(scores, return_inverse=True)
    means = [
        math.fsum(values * np.bincount(which, weights=weight)) / int(weight.sum()) for weight in counted_by(case.table)
    ]
    return min(means) if metric.direction == "at_least" else max(means)


def counted_by(table: Table) -> list[Counts]:
    """The people who share each record; where rows are people, then also the weights, by which limits must hold too."""
    return [table.persons, table.weight] if table.weighted else [table.persons]


def finite(value: float) -> float | None:
    """The score as a report may hold it; None where it has no bound."""
    return value if np.isfinite(value) else None


def is_unbounded(value: float) -> dict[str, Any]:
    """The evidence of a score without bound."""
    return {} if np.isfinite(value) else {"unbounded": True}


DISTRIBUTIONS: tuple[Distribution, ...] = ("derived", "composition")
DISTRIBUTION_NAMES: dict[Distribution, str] = {
    "derived": "what the adversary derives",
    "composition": "the group's true composition",
}
POSTERIOR_TOLERANCE = 1e-12
"""Probabilities that differ by no more than this are equal: floating point makes such differences."""


@dataclass(frozen=True)
class Consistency:
    """Do the numbers of a release and of a model's file count this table's people? Computed on first use."""

    table: Table
    release: Release
    node_numbers: FileNumbers | None = None

    @cached_property
    def release_mismatch(self) -> str:
        """Why a release that claims to count this table's people does not; empty where it does."""
        if inconsistent_leaves(self.release, self.table):
            return "some leaves have numbers that are not those of this table: was the tree learned from other people?"
        return inconsistent_records(self.release, self.table)

    @cached_property
    def contradiction(self) -> Contradiction | None:
        """The first node of a model's file whose counts are not those of this table's people."""
        if self.node_numbers is None:
            return None
        return first_contradiction(self.node_numbers, self.release, self.table)


@dataclass(frozen=True)
class AuditState:
    """Everything that findings are computed from. `verified_claims` names the claims that this audit has verified."""

    table: Table
    test: Table | None
    release: Release
    known: AdversaryKnowledge
    attempts: Sequence[AttackResult]
    plugins: Plugins
    consistency: Consistency
    origins: Sequence[int] | None = None
    verified_claims: frozenset[str] = frozenset()
    built: bool = False

    def case(self, belief: Belief | None, scored: Distribution = "derived") -> ScoringContext:
        """The context in which a metric scores a belief, or the release: copies, with an empty record of reads."""
        test = None if self.test is None else self.test.defensive_copy()
        table = self.table
        if belief is not None:
            if belief.record_positions is not None:
                belief, table = align_to_records(belief, self.release, self.origins, table.without_key)
            belief = replace(belief, posterior=_copy(belief.posterior), prior=_copy(belief.prior))
        return ScoringContext(
            table.defensive_copy(),
            test,
            self.release,
            defensive_copy(self.known),
            belief,
            scored,
            self.origins,
            bool(self.inconsistency),
            self.built,
        )

    @property
    def inconsistency(self) -> str:
        """Why the release or the model's file does not count this table's people; empty where it does."""
        contradiction = self.consistency.contradiction
        if self.consistency.release_mismatch or contradiction is None:
            return self.consistency.release_mismatch
        return f"the model's file is not of this table's people: {contradiction.words} sends there"

    @cached_property
    def columns_spoken_of(self) -> frozenset[str]:
        """The columns that the release discloses something about."""
        return columns_spoken_of(self.release)


def _copy(chances: pd.DataFrame | None) -> pd.DataFrame | None:
    return None if chances is None else chances.copy(deep=False)


def score_beliefs(
    metric: RecordMetric, state: AuditState, attempt: AttackResult, *, named: bool = True
) -> Iterator[Finding]:
    """A finding for each belief of an attempt that the metric is about and can read; `named` gives it an id."""
    for belief in attempt.beliefs:
        if not belief.of_people or metric.secret not in {None, belief.secret}:
            continue
        try:
            finding = score_one(metric, state, _id(metric, attempt, belief) if named else "", attempt, belief)
            yield _for_every_belief(metric, state, attempt, belief, finding)
        except UnreadableError:
            continue


def _for_every_belief(
    metric: RecordMetric, state: AuditState, attempt: AttackResult, belief: Belief, finding: Finding
) -> Finding:
    """The finding, inconclusive where the limit does not come out the same for the belief's alternatives."""
    if finding.passed is None:
        return finding
    at_worst = state.case(belief, "derived").worst_case_posteriors if belief.incomplete else ()
    for alternative in (*belief.alternative_posteriors, *at_worst):
        twin = replace(belief, posterior=alternative, alternative_posteriors=())
        if score_one(metric, state, "", attempt, twin).passed != finding.passed:
            problem = "the attack gives several beliefs, and the limit holds for some of them only"
            return replace(finding, passed=None, evidence={**finding.evidence, "problem": problem})
    return finding


def _id(metric: Metric, attempt: AttackResult, belief: Belief) -> str:
    secret = f"#{belief.secret}" if belief.secret is not None else ""
    return f"{metric.called}@{attempt.attack.called}{secret}"


def choose_distribution(metric: RecordMetric, state: AuditState, belief: Belief) -> tuple[Scored, str]:
    """The distribution of the secret by which a limit is judged on a belief, and why it is not the worse of both.

    The reason is empty where the policy chose. `worst` needs a metric that can score it and a belief about people
    about whom the release discloses something. A verified claim of differential privacy bounds what can be derived,
    so the composition need not be scored. Nobody's secrets decide this.
    """
    if metric.groups_only:
        return "derived", GROUPS_ALONE
    if metric.scored != "worst":
        only_derived = metric.scored == "derived" and not metric.can_score("worst")
        return metric.scored, DERIVED_ALONE if only_derived else ""
    if belief.record_positions is not None or belief.equivalence_class is None:
        return "derived", HIDDEN_CELLS
    if "epsilon" in state.verified_claims:
        return "derived", VERIFIED_PRIVACY
    if belief.secret not in state.columns_spoken_of:
        return "derived", NOT_SPOKEN_OF
    return "worst", ""


@dataclass(frozen=True)
class _ScoredCase:
    """Every record's score by one distribution of the secret, and the evidence that the metric adds."""

    case: ScoringContext
    scores: Scores
    evidence: dict[str, Any]


def score_one(
    metric: Metric, state: AuditState, id: str, attempt: AttackResult | None, belief: Belief | None
) -> Finding:
    """The finding for one belief (or for the release); UnreadableError when it is not for this metric."""
    if isinstance(metric, RecordMetric):
        if attempt is None or belief is None:
            return inconclusive(metric, state, id, "there is no belief to read")
        return _score_belief(metric, state, id, attempt, belief)
    try:
        case = state.case(None)
        value = float(scores_of(metric, state.plugins, case))
        evidence = _evidence(metric, state, case, value)
        fields = {"private": _must_hide(metric, state, case, None), "sensitivity": _sensitivity(metric, state, case)}
    except UnreadableError:
        return inconclusive(metric, state, id, "there is no belief to read")
    except LeafgateError as error:
        return inconclusive(metric, state, id, str(error))
    common = _common(metric, state, id, None, None) | fields
    people = int(state.table.persons.sum()) if Unit(metric.unit).is_of_everyone else None
    passed, evidence = metric.holds(value), is_unbounded(value) | evidence
    return Finding(value=finite(value), passed=passed, people=people, limit=metric.limit, evidence=evidence, **common)


def _sensitivity(metric: Metric, state: AuditState, case: ScoringContext) -> float:
    """The most by which one person can change the score; a number that bounds nothing is no answer."""
    with isolate_plugin_errors(metric, state.plugins):
        moved = float(metric.sensitivity(case))
    if not 0 <= moved < np.inf:
        raise InconclusiveError(f"the sensitivity of {metric.use} is no finite number from 0 up")
    return moved


def _must_hide(metric: Metric, state: AuditState, case: ScoringContext, attempt: AttackResult | None) -> bool:
    """Whether the public may not see the numbers; a metric that cannot say so leaves the limit unchecked."""
    with isolate_plugin_errors(metric, state.plugins):
        return must_hide(metric, case, attempt)


def _score_belief(metric: RecordMetric, state: AuditState, id: str, attempt: AttackResult, belief: Belief) -> Finding:
    """The finding for one belief; by `worst`, each person's score is the worse of the two distributions' scores.

    Where only one of the two could be scored the other might break the limit: it then fails or is inconclusive.
    """
    scored, reason = choose_distribution(metric, state, belief)
    wanted = DISTRIBUTIONS if scored == "worst" else (scored,)
    cases: dict[Distribution, _ScoredCase] = {}
    errors: dict[Distribution, LeafgateError] = {}
    for distribution in wanted:
        same_as = cases.get("derived")
        if same_as is not None and Observation.POSTERIOR not in same_as.case.observed:
            break  # the metric does not read the distribution
        try:
            cases[distribution] = _score_case(metric, state, state.case(belief, distribution), same_as)
        except LeafgateError as error:
            errors[distribution] = error
    if not cases:
        serious = [error for error in errors.values() if not isinstance(error, UnreadableError)]
        if not serious:
            raise next(iter(errors.values()))
        return inconclusive(metric, state, id, str(serious[0]), scored)
    first = next(iter(cases.values()))
    common = _common(metric, state, id, attempt, belief)
    try:
        common |= {"private": any(_must_hide(metric, state, each.case, attempt) for each in cases.values())}
        secondary = _secondary_scores(metric, state, cases, scored, attempt)
    except LeafgateError as error:
        return inconclusive(metric, state, id, str(error), scored)
    scores = _worse(metric, [each.scores for each in cases.values()])
    finding = _judge_people(metric, scores, first.case, common, _attack_evidence(first.case, attempt))
    evidence = {**finding.evidence, **first.evidence, **secondary, **({"scored_because": reason} if reason else {})}
    finding = replace(finding, limit=replace(metric.limit, scored=scored), evidence=evidence)
    for distribution, why in errors.items():
        problem = f"{DISTRIBUTION_NAMES[distribution]} could not be scored: {why}"
        passed = None if finding.passed else finding.passed
        finding = replace(finding, passed=passed, evidence={**finding.evidence, "problem": problem})
    return finding


def _score_case(
    metric: RecordMetric, state: AuditState, case: ScoringContext, derived: _ScoredCase | None
) -> _ScoredCase:
    """Every record's score in a context; those of `derived`, where the release discloses that both are the same."""
    same = derived is not None and _same_posterior(case, derived.case)
    if derived is not None and same and Observation.COMPOSITION not in undisclosed_reads(case):
        return replace(derived, case=case)
    scores = scores_of(metric, state.plugins, case)
    return _ScoredCase(case, scores, _evidence(metric, state, case, scores) if derived is None else {})


def _same_posterior(case: ScoringContext, other: ScoringContext) -> bool:
    return bool(np.allclose(case.posterior, other.posterior, rtol=0, atol=POSTERIOR_TOLERANCE))


def _worse(metric: Metric, scores: Sequence[Scores]) -> Scores:
    """For each person the worst of several scores."""
    return np.asarray((np.minimum if metric.direction == "at_least" else np.maximum).reduce(scores))


def _secondary_scores(
    metric: RecordMetric,
    state: AuditState,
    cases: dict[Distribution, _ScoredCase],
    scored: Scored,
    attempt: AttackResult,
) -> dict[str, Any]:
    """The scores beside the judged one: both distributions' where `worst` is judged, else the other distribution's.

    They are left out where they are equal, unless the release does not disclose the composition that was judged:
    their absence would then disclose something about it.
    """
    first = next(iter(cases.values())).case
    if first.belief is None or first.belief.equivalence_class is None or Observation.POSTERIOR not in first.observed:
        return {}
    composed = cases.get("composition")
    undisclosed = composed is not None and Observation.COMPOSITION in undisclosed_reads(composed.case)
    cases = dict(cases)
    for distribution in DISTRIBUTIONS:
        if scored != "worst" and distribution not in cases and metric.can_score(distribution):
            case = first.with_own_record(distribution)
            try:
                if undisclosed or not _same_posterior(case, first):
                    cases[distribution] = _ScoredCase(case, scores_of(metric, state.plugins, case), {})
            except LeafgateError:
                continue
    several = [each.scores for each in cases.values()]
    if not undisclosed and all(np.array_equal(several[0], each) for each in several[1:]):
        return {}
    document: dict[str, Any] = {}
    for distribution, each in cases.items():
        if distribution != scored:
            hidden = _must_hide(metric, state, each.case, attempt)
            score = _secondary_score(metric, each)
            document[distribution] = AuditorOnly(score) if hidden else score
    return document


def _secondary_score(metric: RecordMetric, scored: _ScoredCase) -> SecondaryScore:
    value = value_of(metric, scored.scores, scored.case)
    fewest = None if metric.average else _fewest(scored.case, scored.scores == value)
    return SecondaryScore(finite(value), _spread(scored.scores), fewest)


def _common(
    metric: Metric, state: AuditState, id: str, attempt: AttackResult | None, belief: Belief | None
) -> dict[str, Any]:
    """The fields of a finding that do not depend on the scores."""
    secret = belief.secret if belief else None
    return {
        "id": id,
        "metric": metric.called,
        "use": _renamed(metric),
        "attack": attempt.attack.called if attempt else None,
        "secret": secret,
        "plugin": state.plugins.origin(metric),
        "unit": Unit(metric.unit),
        "of_release": metric.of_release,
        "plain_failure": metric.plain_failure_of(secret),
    }


def _attack_evidence(case: ScoringContext, attempt: AttackResult | None) -> dict[str, Any]:
    """The evidence of the attack; for auditors alone where it rests on knowledge that only the policy grants."""
    result = dict(case.belief.evidence) if case.belief else {}
    return (
        {key: AuditorOnly(what) for key, what in result.items()} if uses_background_knowledge(case, attempt) else result
    )


def _evidence(metric: Metric, state: AuditState, case: ScoringContext, scores: Any) -> dict[str, Any]:
    """The evidence that the metric adds. It has scored the belief, so an UnreadableError here is its mistake."""
    own = pd.Series(scores.copy()) if isinstance(metric, RecordMetric) else float(scores)
    kept = RESERVED | set(case.belief.evidence if case.belief else ())
    kept -= set() if isinstance(metric, RecordMetric) else {"worst"}
    try:
        with isolate_plugin_errors(metric, state.plugins):
            return checked_evidence(metric.evidence(case, own), kept, f"{metric.use}: its")
    except UnreadableError as error:
        raise InconclusiveError(str(error)) from error


def _judge_people(
    metric: RecordMetric, scores: Scores, case: ScoringContext, fields: dict[str, Any], document: dict[str, Any]
) -> Finding:
    weight = case.table.persons
    people = int(weight.sum())
    value = value_of(metric, scores, case)
    evidence = is_unbounded(value)
    everyone = case.belief is None or case.belief.record_positions is None
    fields["score_range"] = _spread(scores)
    fields["smallest_group"] = _fewest(case, np.ones(len(scores), dtype=bool))
    if metric.average:
        fields["scored"] = ScoredPeople(scores, weight, np.zeros(len(scores), dtype=bool), everyone)
        return Finding(value=finite(value), passed=metric.holds(value), people=people, evidence=evidence, **fields)
    values, which = np.unique(scores, return_inverse=True)
    past = np.array([not metric.holds(float(value)) for value in values])[which]
    beyond = int(weight[past].sum())
    fields["scored"] = ScoredPeople(scores, weight, past, everyone)
    fields["people_at_value"] = _fewest(case, scores == value)
    evidence |= document
    if beyond:
        evidence["worst"] = witnesses(case, pd.Series(scores), past, metric.direction)
    passed = all(int(each[past].sum()) / int(each.sum()) <= metric.allow for each in counted_by(case.table))
    return Finding(value=finite(value), passed=passed, people=people, violations=beyond, evidence=evidence, **fields)


def _spread(scores: Scores) -> float:
    """The largest finite score minus the smallest."""
    bounded = scores[np.isfinite(scores)]
    return float(np.ptp(bounded)) if len(bounded) else 0.0


def _fewest(case: ScoringContext, rows: NDArray[np.bool_]) -> int | None:
    """The people of the smallest equivalence class among these records; None where there are no classes."""
    if case.belief is None or case.belief.equivalence_class is None or not rows.any():
        return None
    return int(case.sizes.to_numpy()[rows].min())


def inconclusive(metric: Metric, state: AuditState, id: str, problem: str, scored: Scored | None = None) -> Finding:
    """The finding of a limit that could not be checked, with the problem as its evidence."""
    origin = state.plugins.origin(metric)
    return Finding(
        id,
        metric.called,
        None,
        limit=metric.limit if scored is None else replace(metric.limit, scored=scored),
        evidence={"problem": problem},
        plugin=origin,
        plain_failure=metric.plain_failure_of(None),
        use=_renamed(metric),
    )


def _renamed(metric: Metric) -> str:
    """What a metric uses, where its name does not say so."""
    return metric.use if metric.called != metric.use else ""


ATTACK_FAILED = "an attack that must be tried gets at anybody"


def judge(metrics: Sequence[Metric], state: AuditState) -> list[Finding]:
    """One finding for each failed attack, then for each of the policy's limits."""
    failed = [_failed(attempt) for attempt in state.attempts if attempt.problem]
    return [*failed, *(finding for metric in metrics for finding in _limits(metric, state))]


def _failed(attempt: AttackResult) -> Finding:
    name = attempt.attack.called
    evidence = {"problem": attempt.problem}
    return Finding(
        f"attack:{name}",
        "",
        passed=None,
        attack=name,
        evidence=evidence,
        plugin=attempt.plugin,
        plain_failure=ATTACK_FAILED,
    )


def _limits(metric: Metric, state: AuditState) -> Iterator[Finding]:
    if not isinstance(metric, RecordMetric):
        yield score_one(metric, state, metric.called, None, None)
        return
    chosen = (attempt for attempt in state.attempts if metric.of in {None, attempt.attack.called})
    findings = [finding for attempt in chosen for finding in score_beliefs(metric, state, attempt)]
    nothing = inconclusive(
        metric, state, f"{metric.called}@{metric.of or 'any'}", "there is no belief this metric can read"
    )
    yield from findings or [nothing]
