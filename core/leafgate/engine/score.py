"""Score a context by a metric and compare the score with the policy's limit: one finding each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from leafgate.algorithms.consistency import Consistency
from leafgate.algorithms.derivable import columns_spoken_of, overall_shares_derivable, uses_background_knowledge
from leafgate.api.registry import Plugins
from leafgate.engine.attack import AttackResult
from leafgate.engine.audience import audience_of_score
from leafgate.engine.remedies.static import from_error
from leafgate.engine.scores import (
    DISTRIBUTION_NAMES,
    DISTRIBUTIONS,
    ScoredCase,
    Scores,
    counted_by,
    finite,
    masking_of,
    score_case,
    score_of,
    secondary_scores,
    unbounded_evidence,
    value_of,
    worst_classes,
    worst_scores,
)
from leafgate.engine.validation import align_to_records
from leafgate.errors import InconclusiveError, LeafgateError, UnreadableError
from leafgate.kernel.belief import (
    AttributeBelief,
    Belief,
    CellBelief,
    MembershipBelief,
    PosteriorBelief,
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
    NO_CLASSES,
    NOT_SPOKEN_OF,
    VERIFIED_PRIVACY,
    Finding,
    Masking,
    Scored,
    ScoredPeople,
    Unit,
    VisibleTo,
    lenient,
)
from leafgate.kernel.knowledge import AdversaryKnowledge, defensive_copy
from leafgate.kernel.metrics import Metric, PersonMetric, ReleaseMetric, ValueMetric
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import Release, covers_data
from leafgate.kernel.table import Table
from leafgate.progress import progress_step


@dataclass(frozen=True)
class AuditState:
    """Everything that findings are computed from.

    `known` is what the policy's `knows` grants, by which metrics of the release are scored; each of `attack_results`
    has what its attack was granted. `verified_claims` names the claims that this audit has verified. `comparisons` is
    how many limits on beliefs of each kind are judged by samples of people, each for one attack. `mapped_classes` are
    those of the artifact.
    """

    table: Table
    test: Table | None
    release: Release
    known: AdversaryKnowledge
    attack_results: Sequence[AttackResult]
    plugins: Plugins
    consistency: Consistency
    origins: Sequence[int] | None = None
    verified_claims: frozenset[str] = frozenset()
    built: bool = False
    comparisons: Mapping[type[Belief], int] = field(default_factory=dict)
    smallest_cell: int = 10
    mapped_classes: Mapping[str, str] = field(default_factory=dict)

    def case(
        self, result: AttackResult | None, belief: Belief | None, scored: Distribution = "derived"
    ) -> ScoringContext:
        """The context in which a metric scores a belief, or the release: copies, with an empty record of reads.

        Args:
            result: of the attack whose belief it is: its knowledge decides what follows from granted knowledge.
            belief: what is scored; None, with the result None, for the release.
            scored: the distribution that the context's `posterior` holds.
        """
        test = None if self.test is None else self.test.defensive_copy()
        table = self.table
        if belief is not None:
            if isinstance(belief, CellBelief):
                belief, table = align_to_records(belief, self.release, self.origins, table.without_key)
            if isinstance(belief, PosteriorBelief):
                prior = None if belief.prior is None else belief.prior.copy(deep=False)
                belief = replace(belief, posterior=belief.posterior.copy(deep=False), prior=prior)
        return ScoringContext(
            table.defensive_copy(),
            test,
            self.release,
            defensive_copy(self.known if result is None else result.known),
            belief,
            scored,
            self.origins,
            bool(self.inconsistency),
            self.built,
            smallest_cell=self.smallest_cell,
            comparisons=1 if belief is None else self.comparisons.get(type(belief), 1),
            _membership=None if result is None else result.membership,
        )

    @property
    def inconsistency(self) -> str:
        """Why the release or the model's file does not count this table's people; empty where it does."""
        contradiction = self.consistency.contradiction
        if self.consistency.release_mismatch or contradiction is None:
            return self.consistency.release_mismatch
        said = "the model's file is not of this table's people, or the model was given other features of them"
        return f"{said}: {contradiction.words} sends there"

    @cached_property
    def columns_spoken_of(self) -> frozenset[str]:
        """The columns that the release discloses something about."""
        return columns_spoken_of(self.release)


def score_beliefs(metric: Metric, state: AuditState, result: AttackResult, *, named: bool = True) -> Iterator[Finding]:
    """A finding for each belief of a result that the metric judges and can read; `named` gives it an id."""
    for belief in result.beliefs:
        secret = metric.secret if isinstance(metric, PersonMetric) else None
        if type(belief) not in metric.judges or secret not in {None, secret_of(belief)}:
            continue
        try:
            finding = score_one(metric, state, _id(metric, result, belief) if named else "", result, belief)
            yield _for_every_belief(metric, state, result, belief, finding)
        except UnreadableError:
            continue


UNREAD_SCORES = InconclusiveError(
    "the numbers on the leaves (scores or means) disclose more of the class than this attack works out, which decides "
    "on the limit",
    remedy="publish a tree or a forest with labels, shares or counts on its leaves in place of one whose scores "
    "add up: all that these disclose is worked out",
)
"""Why a finding is inconclusive where an attack does not evaluate all that a release discloses, and what to do."""
EQUAL_BELIEFS = InconclusiveError(
    "several beliefs of the adversary agree equally well with the release, and the limit holds for some of them only",
    remedy="let the release disclose less, by more people at each leaf or by labels in place of counts",
)
"""The same where an attack cannot choose between several posteriors."""


def _for_every_belief(
    metric: Metric, state: AuditState, result: AttackResult, belief: Belief, finding: Finding
) -> Finding:
    """The finding, inconclusive where the limit does not come out the same for the belief's alternatives.

    The numbers of regression trees are judged by the true numbers of their groups, where the metric does that.
    """
    if finding.passed is None or not isinstance(belief, PosteriorBelief):
        return finding
    if _judges_true_numbers(metric, state, belief, finding):
        return finding
    at_worst = state.case(result, belief, "derived").worst_case_posteriors if belief.incomplete else ()
    for alternative in (*belief.alternative_posteriors, *at_worst):
        twin = replace(belief, posterior=alternative, alternative_posteriors=())
        if score_one(metric, state, "", result, twin).passed != finding.passed:
            problem = UNREAD_SCORES if belief.incomplete else EQUAL_BELIEFS
            evidence = {**finding.evidence, "problem": str(problem)}
            return replace(finding, passed=None, evidence=evidence, remedies=from_error(problem))
    return finding


def _judges_true_numbers(metric: Metric, state: AuditState, belief: Belief, finding: Finding) -> bool:
    """Was the limit judged by the true numbers of the people in each group, with all that regression trees disclose?"""
    composition = finding.limit is not None and finding.limit.scored in {"worst", "composition"}
    numbers = isinstance(metric, PersonMetric) and metric.judges_numbers and composition
    return numbers and state.release.predicts_numbers and secret_of(belief) == state.release.target


def _id(metric: Metric, result: AttackResult, belief: Belief) -> str:
    secret = secret_of(belief)
    return f"{metric.called}@{result.attack.called}{'' if secret is None else f'#{secret}'}"


def choose_distribution(metric: PersonMetric, state: AuditState, belief: Belief) -> tuple[Scored, str]:
    """The distribution of the secret by which a limit is judged on a belief, and why it is not the worse of both.

    The reason is empty where the policy chose. `worst` needs a metric that can score it and equivalence classes of
    people about whom the release discloses something. A verified claim of differential privacy bounds what can be
    derived, so the composition need not be scored. Nobody's secrets decide this.
    """
    if metric.groups_only:
        return "derived", GROUPS_ALONE
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


def score_one(
    metric: Metric, state: AuditState, id: str, result: AttackResult | None, belief: Belief | None
) -> Finding:
    """The finding for one belief (or for the release); UnreadableError when it is not for this metric."""
    if isinstance(metric, PersonMetric):
        if result is None or belief is None:
            return inconclusive(metric, state, id, "there is no belief to read")
        return _score_belief(metric, state, id, result, belief)
    try:
        case = state.case(result, belief)
        score = score_of(metric, state.plugins, case)
        audience = audience_of_score(metric, state.plugins, [case], result, score.sensitivity)
    except UnreadableError:
        if belief is not None:
            raise
        return inconclusive(metric, state, id, "there is no belief to read")
    except LeafgateError as error:
        return inconclusive(metric, state, id, error)
    common = _common(metric, state, id, result, belief)
    people = int(state.table.persons.sum()) if Unit(metric.unit).is_of_everyone else None
    value = float(score.numbers)
    evidence = unbounded_evidence(value) | _attack_evidence(case, result) | score.evidence
    evidence |= {} if result is None else result.evidence
    passed: bool | None = metric.holds(value)
    if score.interval is not None:
        kept = {metric.holds(end) for end in score.interval}
        passed = passed if len(kept) == 1 else None
        ends = dict(zip(("low", "high"), map(finite, score.interval), strict=True))
        evidence["judged_by"] = "interval"
        evidence["interval"] = ends if audience == VisibleTo.EVERYBODY else AuditorOnly(ends)
        evidence |= {} if len(kept) == 1 else {"problem": "the limit lies within the interval of the score"}
    if score.largest is not None:
        evidence["largest"] = AuditorOnly(round(score.largest, 6))
    if passed is not False and score.insufficient:
        unbreakable = passed and score.largest is not None and metric.bound > lenient(score.largest)
        evidence |= {"unbreakable": True} if unbreakable else {}
        passed, evidence["problem"] = None, score.insufficient
    remedies = () if passed else score.remedies
    evidence |= {"remedy": remedies[0].text} if remedies and passed is False else {}
    return Finding(
        value=finite(value),
        passed=passed,
        people=people,
        limit=metric.limit,
        evidence=evidence,
        audience=audience,
        masking=Masking(sensitivity=score.sensitivity),
        remedies=remedies,
        **common,
    )


def _score_belief(metric: PersonMetric, state: AuditState, id: str, result: AttackResult, belief: Belief) -> Finding:
    """The finding for one belief; by `worst`, each person's score is the worse of the two distributions' scores.

    Where only one of the two could be scored the other might break the limit: it then fails or is inconclusive.
    """
    scored, reason = choose_distribution(metric, state, belief)
    wanted = DISTRIBUTIONS if scored == "worst" else (scored,)
    cases: dict[Distribution, ScoredCase] = {}
    errors: dict[Distribution, LeafgateError] = {}
    for distribution in wanted:
        same_as = cases.get("derived")
        if same_as is not None and Observation.POSTERIOR not in same_as.case.observed:
            break  # the metric does not read the distribution
        try:
            cases[distribution] = score_case(metric, state.plugins, state.case(result, belief, distribution), same_as)
        except LeafgateError as error:
            errors[distribution] = error
    if not cases:
        serious = [error for error in errors.values() if not isinstance(error, UnreadableError)]
        if not serious:
            raise next(iter(errors.values()))
        return inconclusive(metric, state, id, serious[0], scored)
    first = next(iter(cases.values()))
    common = _common(metric, state, id, result, belief)
    try:
        scored_cases = [each.case for each in cases.values()]
        common |= {"audience": audience_of_score(metric, state.plugins, scored_cases, result)}
        secondary = secondary_scores(metric, state.plugins, cases, scored, result)
    except LeafgateError as error:
        return inconclusive(metric, state, id, error, scored)
    scores = worst_scores(metric, [each.scores for each in cases.values()])
    finding = _judge_people(metric, scores, first.case, common, _attack_evidence(first.case, result))
    evidence = {**finding.evidence, **first.evidence, **secondary, **({"scored_because": reason} if reason else {})}
    evidence |= result.evidence | _others(metric, first.case)
    finding = replace(finding, limit=replace(metric.limit, scored=scored), evidence=evidence)
    for distribution, why in errors.items():
        problem = f"{DISTRIBUTION_NAMES[distribution]} could not be scored: {why}"
        passed, advised = (None, from_error(why)) if finding.passed else (finding.passed, ())
        evidence = {**finding.evidence, "problem": problem}
        finding = replace(finding, passed=passed, evidence=evidence, remedies=advised)
    return finding


def _others(metric: PersonMetric, case: ScoringContext) -> dict[str, Any]:
    """Which values of the secret a limit is on, and how many people have others; empty where it is on all values."""
    if not isinstance(metric, ValueMetric) or metric.values is None:
        return {}
    case = case.with_own_record()
    judged = metric.judged_values(case)
    names = [value for value, is_judged in zip(case.secret.domain, judged.tolist(), strict=True) if is_judged]
    others = PeopleCount(int(case.table.persons[~judged[case.table.codes(case.secret.name)]].sum()))
    known = overall_shares_derivable(case)
    return {"judged_values": names, "people_with_others": others if known else AuditorOnly(others)}


def _common(
    metric: Metric, state: AuditState, id: str, result: AttackResult | None, belief: Belief | None
) -> dict[str, Any]:
    """The fields of a finding that do not depend on the scores."""
    secret = secret_of(belief)
    return {
        "id": id,
        "metric": metric.called,
        "use": _renamed(metric),
        "attack": result.attack.called if result else None,
        "secret": secret,
        "plugin": state.plugins.origin(metric),
        "unit": Unit(metric.unit),
        "plain_failure": metric.plain_failure_of(secret),
    }


def _attack_evidence(case: ScoringContext, result: AttackResult | None) -> dict[str, Any]:
    """The evidence of the attack; for auditors alone where it rests on knowledge that only the policy grants."""
    evidence = dict(case.belief.evidence) if case.belief else {}
    if uses_background_knowledge(case, result):
        return {key: AuditorOnly(value) for key, value in evidence.items()}
    return evidence


def _judge_people(
    metric: PersonMetric, scores: Scores, case: ScoringContext, fields: dict[str, Any], document: dict[str, Any]
) -> Finding:
    weight = case.table.persons
    people = int(weight.sum())
    value = value_of(metric, scores, case)
    evidence = unbounded_evidence(value)
    everyone = not isinstance(case.belief, CellBelief)
    fields["masking"] = masking_of(metric, scores, value, case)
    if metric.average:
        fields["scored"] = ScoredPeople(scores, weight, np.zeros(len(scores), dtype=bool), everyone)
        return Finding(value=finite(value), passed=metric.holds(value), people=people, evidence=evidence, **fields)
    values, which = np.unique(scores, return_inverse=True)
    past = np.array([not metric.holds(float(value)) for value in values])[which]
    beyond = int(weight[past].sum())
    fields["scored"] = ScoredPeople(scores, weight, past, everyone)
    evidence |= document
    if beyond:
        evidence["worst"] = worst_classes(case, pd.Series(scores), past, metric.direction)
    passed = all(int(each[past].sum()) / int(each.sum()) <= metric.allow for each in counted_by(case.table))
    return Finding(value=finite(value), passed=passed, people=people, violations=beyond, evidence=evidence, **fields)


def inconclusive(
    metric: Metric, state: AuditState, id: str, problem: str | LeafgateError, scored: Scored | None = None
) -> Finding:
    """The finding of a limit that could not be checked, with the problem as its evidence."""
    origin = state.plugins.origin(metric)
    return Finding(
        id,
        metric.called,
        None,
        limit=metric.limit if scored is None else replace(metric.limit, scored=scored),
        evidence={"problem": str(problem)},
        plugin=origin,
        plain_failure=metric.plain_failure_of(None),
        use=_renamed(metric),
        remedies=from_error(problem) if isinstance(problem, LeafgateError) else (),
    )


def _renamed(metric: Metric) -> str:
    """What a metric uses, where its name does not say so."""
    return metric.use if metric.called != metric.use else ""


def comparisons(policy: Policy, secrets: int) -> dict[type[Belief], int]:
    """How many findings the policy's metrics give that are judged by samples of people, by kinds of belief.

    Args:
        policy: with the metrics and the attacks.
        secrets: of how many columns attacks with targets return a belief, at most.

    Returns:
        From 1, for MembershipBelief and AttributeBelief.
    """

    def count(kind: type[Belief], beliefs: int) -> int:
        attacks = [attack.called for attack in policy.attacks if DRAWN[kind] in attack.needs]
        judging = [metric for metric in policy.metrics if kind in metric.judges]
        of = [metric.of if isinstance(metric, PersonMetric | ReleaseMetric) else None for metric in judging]
        return max(1, beliefs * sum(name is None or name == called for name in of for called in attacks))

    return {MembershipBelief: count(MembershipBelief, 1), AttributeBelief: count(AttributeBelief, secrets)}


DRAWN: dict[type[Belief], str] = {MembershipBelief: "candidates", AttributeBelief: "targets"}
"""The kinds of belief that are judged by samples of people, and what attacks that return them declare in `needs`."""


ATTACK_FAILED = "an attack that must be tried gets at anybody"


def judge(metrics: Sequence[Metric], state: AuditState) -> list[Finding]:
    """One finding for each failed attack, then for each of the policy's limits."""
    failed = [_failed(result) for result in state.attack_results if result.problem]
    findings: list[Finding] = []
    for number, metric in enumerate(metrics, 1):
        with progress_step(f"limit {metric.called} ({number} of {len(metrics)})"):
            findings += _limits(metric, state)
    return [*failed, *_beside_others(findings)]


ANSWERING_PART = 0.5
"""A limit answers for one that could not be broken if it is at most this part of the largest value it could have."""


def _beside_others(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings; a limit that no release could break passes where another one answers the question.

    That is a finding about the same secret by the same metric, with another attack or other options, that passes and
    whose limit half of the largest leak would break: a limit that only the whole leak breaks says as little.
    """
    answered = {_question(each) for each in findings if each.passed and _answers(each)}
    for each in findings:
        if each.passed is None and each.evidence.get("unbreakable") and _question(each) in answered:
            evidence = {key: content for key, content in each.evidence.items() if key != "problem"}
            yield replace(each, passed=True, evidence=evidence, remedies=())
        else:
            yield each


def _question(finding: Finding) -> tuple[str, str | None]:
    """The metric, whatever it is called, and the secret."""
    return finding.use or finding.metric, finding.secret


def _answers(finding: Finding) -> bool:
    """Would half of the largest value that the finding could have break its limit?"""
    largest = finding.evidence.get("largest")
    return isinstance(largest, AuditorOnly) and finding.bound <= ANSWERING_PART * largest.content


def _failed(result: AttackResult) -> Finding:
    name = result.attack.called
    evidence = {"problem": result.problem, **result.evidence}
    return Finding(
        f"attack:{name}",
        "",
        passed=None,
        attack=name,
        evidence=evidence,
        plugin=result.plugin,
        plain_failure=ATTACK_FAILED,
        remedies=result.remedies,
    )


def _limits(metric: Metric, state: AuditState) -> Iterator[Finding]:
    if not metric.judges:
        yield score_one(metric, state, metric.called, None, None)
        return
    of = metric.of if isinstance(metric, PersonMetric | ReleaseMetric) else None
    chosen = (result for result in state.attack_results if of in {None, result.attack.called})
    findings = [finding for result in chosen for finding in score_beliefs(metric, state, result)]
    nothing = inconclusive(metric, state, f"{metric.called}@{of or 'any'}", "there is no belief this metric can read")
    yield from findings or [nothing]
