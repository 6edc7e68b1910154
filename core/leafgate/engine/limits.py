"""Findings on the limits of a policy: each metric's score of each belief, compared with its limit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.derivable import overall_shares_derivable
from leafgate.api.registry import isolate_plugin_errors
from leafgate.engine import scores as scoring
from leafgate.engine.attack import AttackResult
from leafgate.engine.audience import audience_of_evidence, audience_of_score
from leafgate.engine.remedies.static import from_error, of_texts
from leafgate.engine.state import AuditState
from leafgate.errors import InconclusiveError, LeafgateError, UnreadableError
from leafgate.kernel.arrays import Floats, Ids
from leafgate.kernel.belief import UNPLANTED, Belief, CellBelief, PosteriorBelief, SecretBelief, secret_of
from leafgate.kernel.context import ScoringContext
from leafgate.kernel.evidence import AuditorOnly, PeopleCount
from leafgate.kernel.findings import (
    Finding,
    Masking,
    Remedy,
    Scored,
    ScoredPeople,
    Unit,
    VisibleTo,
    lenient,
)
from leafgate.kernel.metrics import Metric, PersonMetric, ReleaseMetric, ValueMetric
from leafgate.progress import progress_step

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
        yield judge_once(metric, state, metric.called, None, None)
        return
    of = metric.of if isinstance(metric, PersonMetric | ReleaseMetric) else None
    chosen = (result for result in state.attack_results if of in {None, result.attack.called})
    findings = [finding for result in chosen for finding in judge_beliefs(metric, state, result)]
    nothing = inconclusive(metric, state, f"{metric.called}@{of or 'any'}", "there is no belief this metric can read")
    able = {finding.secret for finding in findings if not _is_unplanted(finding)}
    judged = [each for each in findings if of is not None or each.secret not in able or not _is_unplanted(each)]
    yield from judged or [nothing]


def _is_unplanted(finding: Finding) -> bool:
    """Can the attack break the limit and not keep it, because it does not repeat itself on planted leaks?"""
    return finding.passed is None and finding.evidence.get("problem") == UNPLANTED


def judge_beliefs(metric: Metric, state: AuditState, result: AttackResult, *, named: bool = True) -> Iterator[Finding]:
    """A finding for each belief of a result that the metric judges and can read; `named` gives it an id."""
    for belief in result.beliefs:
        secret = metric.secret if isinstance(metric, PersonMetric) else None
        if type(belief) not in metric.judges or secret not in {None, secret_of(belief)}:
            continue
        if _judges_only_sizes(metric) and isinstance(belief, SecretBelief) and belief.derived_alone:
            continue  # unless the policy names the attack, it does not mean the sizes of such classes
        name = _id(metric, result, belief) if named else ""
        try:
            yield min(
                (_one_way(metric, state, name, result, belief, answered=way) for way in _ways(state, belief)), key=worse
            )
        except UnreadableError:
            continue


def _ways(state: AuditState, belief: Belief) -> tuple[bool, ...]:
    """Whether a limit judges the people whose value is recorded, or everybody: both where no answer is a secret too."""
    secret = secret_of(belief)
    return (True, False) if secret is not None and state.table.schema[secret].missing_is_value else (True,)


def _one_way(
    metric: Metric, state: AuditState, id: str, result: AttackResult, belief: Belief, *, answered: bool
) -> Finding:
    """The finding on a belief and on all its alternatives."""
    finding = judge_once(metric, state, id, result, belief, answered=answered)
    return _for_every_belief(metric, state, result, belief, finding, answered=answered)


WORST_FIRST = (False, None, True)
"""Whether a finding passes, the worst first."""


def worse(finding: Finding) -> tuple[int, float]:
    """The key by which the worst of several findings comes first: whether it passes, then its margin.

    The margin is minus infinity where there is no number, and where the public sees none: which of several findings is
    the worst would disclose something of it.
    """
    place = WORST_FIRST.index(finding.passed)
    if finding.value is None or finding.audience == VisibleTo.AUDITORS or finding.limit is None:
        return place, -math.inf
    return place, finding.limit.margin(finding.value)


def _judges_only_sizes(metric: Metric) -> bool:
    """Is it a limit on the sizes of groups, of no attack in particular?"""
    return isinstance(metric, PersonMetric) and metric.groups_only and metric.of is None


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
"""Why a finding is inconclusive where an attack cannot choose between several posteriors, and what to do."""


def _for_every_belief(
    metric: Metric, state: AuditState, result: AttackResult, belief: Belief, finding: Finding, *, answered: bool
) -> Finding:
    """The finding, inconclusive where the limit does not come out the same for the belief's alternatives.

    Where the claims of all releases are verified and keep a limit on their total, this limit covers what an attack on
    all of them leaves unread. The numbers of regression trees are judged by the true numbers of their groups, where the
    metric does that.
    """
    if finding.passed is None or not isinstance(belief, PosteriorBelief):
        return finding
    if _judges_true_numbers(metric, state, belief, finding):
        return finding
    covered_by = state.private_total if isinstance(belief, SecretBelief) and belief.of_people else ""
    if belief.incomplete and covered_by:
        finding = replace(finding, evidence={**finding.evidence, "covered_by": covered_by})
    unread = belief.incomplete and not covered_by
    at_worst: Sequence[pd.DataFrame] = ()
    if unread:
        at_worst = scoring.judged_case(
            metric, state, result, belief, "derived", answered=answered
        ).worst_case_posteriors
    for alternative in (*belief.alternative_posteriors, *at_worst):
        twin = replace(belief, posterior=alternative, alternative_posteriors=())
        if judge_once(metric, state, "", result, twin, answered=answered).passed != finding.passed:
            problem = UNREAD_SCORES if belief.incomplete else EQUAL_BELIEFS
            if belief.undecided_because:
                problem = InconclusiveError(belief.undecided_because)
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


def judge_once(
    metric: Metric,
    state: AuditState,
    id: str,
    result: AttackResult | None,
    belief: Belief | None,
    *,
    answered: bool = True,
) -> Finding:
    """The finding for one belief (or for the release); UnreadableError when it is not for this metric.

    Limits on a secret judge the people whose value is recorded (`answered`), or everybody.
    """
    if isinstance(metric, PersonMetric) and (result is None or belief is None):
        return inconclusive(metric, state, id, "there is no belief to read")
    try:
        metric.refuse_persons(state.table)
        if isinstance(metric, PersonMetric) and result is not None and belief is not None:
            return _of_people(metric, state, id, result, belief, answered=answered)
        return _of_release(metric, state, id, result, belief, answered=answered)
    except UnreadableError:
        raise
    except LeafgateError as error:  # of `holds` or `plain_failure_of`
        return inconclusive(metric, state, id, error)


def _of_people(
    metric: PersonMetric, state: AuditState, id: str, result: AttackResult, belief: Belief, *, answered: bool
) -> Finding:
    """The finding on everybody's scores by one belief: on the worst-off person, on the mean, or on a share of people.

    Where only one of two distributions could be scored the other might break the limit: it then fails or is
    inconclusive.
    """
    scored, reason = scoring.choose_distribution(metric, state, belief)
    try:
        scores = scoring.score_people(metric, state, result, belief, scored, answered=answered)
    except UnreadableError:
        raise
    except LeafgateError as error:
        return inconclusive(metric, state, id, error, scored)
    case, value = scores.case, scores.value
    counted = scoring.counted_by(case.table, scores.numbers, metric.direction)
    weight = counted[0]
    evidence = scoring.unbounded_evidence(value)
    violating = np.zeros(len(weight), dtype=bool)
    if not metric.average:
        violating = _violating(metric, state, scores.numbers)
        evidence |= _attack_evidence(case, result)
        evidence |= (
            {"worst": scoring.worst_classes(case, scores.numbers, violating, metric.direction)}
            if violating.any()
            else {}
        )
    evidence |= scores.evidence | ({"scored_because": reason} if reason else {})
    evidence |= result.evidence | _others(metric, case)
    evidence |= {} if answered else {"no_answer": {"judged": True}}
    if case.judged_rows is not None:
        evidence["no_answer"] = _without_answer(state, result, belief, scores, violating)
    allowed = all(int(each[violating].sum()) / int(each.sum()) <= metric.allow for each in counted)
    passed: bool | None = _holds(metric, state, value) if metric.average else allowed
    remedies: tuple[Remedy, ...] = ()
    for distribution, why in scores.failed.items():
        evidence["problem"] = f"{scoring.DISTRIBUTION_NAMES[distribution]} could not be scored: {why}"
        passed, remedies = (None, from_error(why)) if passed else (passed, ())
    return Finding(
        value=scoring.finite(value),
        passed=passed,
        people=_people_judged(case),
        violations=None if metric.average else int(weight[violating].sum()),
        limit=replace(metric.limit, scored=scored),
        evidence=evidence,
        audience=scores.audience,
        masking=scores.masking,
        scored_people=_scored_people(scores, weight, violating),
        remedies=remedies,
        **_common(metric, state, id, result, belief),
    )


def _people_judged(case: ScoringContext) -> int:
    """The people of a finding; everybody where it does not follow from the release whose value is recorded."""
    own = case.with_own_record()
    table = own.table if own.judged_rows is None or overall_shares_derivable(own) else own.everyone
    return table.people_among()


def _scored_people(scores: scoring.PeopleScores, weight: Ids, violating: NDArray[np.bool_]) -> ScoredPeople:
    """Everybody's scores, by which reports draw; those who gave no answer weigh nothing in them."""
    case = scores.case
    everyone = not isinstance(case.belief, CellBelief)
    if case.judged_rows is None or not everyone:
        return ScoredPeople(scores.numbers, weight, violating, everyone=everyone)
    numbers, weights = np.full(len(case.everyone), scores.value), np.zeros(len(case.everyone), dtype=weight.dtype)
    beyond = np.zeros(len(case.everyone), dtype=bool)
    numbers[case.judged_rows], weights[case.judged_rows], beyond[case.judged_rows] = scores.numbers, weight, violating
    return ScoredPeople(numbers, weights, beyond, everyone=True)


def _without_answer(
    state: AuditState, result: AttackResult, belief: Belief, scores: scoring.PeopleScores, violating: NDArray[np.bool_]
) -> dict[str, Any]:
    """How many people gave no answer, and how many of them are in groups that are outside the limit."""
    whole, rows = state.case(result, belief), scores.case.judged_rows
    group = scoring.class_numbers(whole)
    silent = np.ones(len(group), dtype=bool)
    silent[rows] = False
    with_others = silent & np.isin(group, group[rows][violating])
    people, beyond = (PeopleCount(whole.table.people_among(each)) for each in (silent, with_others))
    known = overall_shares_derivable(whole)
    shown = known and scores.audience != VisibleTo.AUDITORS
    return {"people": people if known else AuditorOnly(people), "beyond": beyond if shown else AuditorOnly(beyond)}


def _violating(metric: PersonMetric, state: AuditState, scores: Floats) -> NDArray[np.bool_]:
    """Whose score is outside the limit."""
    values, which = np.unique(scores, return_inverse=True)
    with isolate_plugin_errors(metric, state.plugins):
        return np.array([not metric.holds(float(value)) for value in values])[which]


def _holds(metric: Metric, state: AuditState, score: float) -> bool:
    """Does a score keep the limit?"""
    with isolate_plugin_errors(metric, state.plugins):
        return metric.holds(score)


def _plain_failure(metric: Metric, state: AuditState, secret: str | None) -> str:
    """What a broken limit means, in a plain sentence."""
    with isolate_plugin_errors(metric, state.plugins):
        return metric.plain_failure_of(secret)


def _of_release(
    metric: Metric, state: AuditState, id: str, result: AttackResult | None, belief: Belief | None, *, answered: bool
) -> Finding:
    """The finding on the score of the release, or of one belief as a whole."""
    try:
        if result is None or belief is None:
            case = state.case(result, belief)
        else:
            case = scoring.judged_case(metric, state, result, belief, "derived", answered=answered)
        score = scoring.score_of(metric, state.plugins, case)
        audience = audience_of_score(metric, state.plugins, [case], result, score.sensitivity)
    except UnreadableError:
        if belief is not None:
            raise
        return inconclusive(metric, state, id, "there is no belief to read")
    except LeafgateError as error:
        return inconclusive(metric, state, id, error)
    common = _common(metric, state, id, result, belief)
    people = state.table.people_among() if Unit(metric.unit).is_of_everyone else None
    assert score.value is not None  # which `score_of` has checked
    value = score.value
    evidence = scoring.unbounded_evidence(value) | _attack_evidence(case, result) | dict(score.evidence)
    evidence |= {} if result is None else result.evidence
    passed: bool | None = _holds(metric, state, value)
    if score.interval is not None:
        kept = {_holds(metric, state, end) for end in score.interval}
        passed = passed if len(kept) == 1 else None
        ends = dict(zip(("low", "high"), map(scoring.finite, score.interval), strict=True))
        evidence["judged_by"] = "interval"
        evidence["interval"] = ends if audience == VisibleTo.EVERYBODY else AuditorOnly(ends)
        evidence |= {} if len(kept) == 1 else {"problem": "the limit lies within the interval of the score"}
    if score.largest is not None:
        evidence["largest"] = AuditorOnly(round(score.largest, 6))
    if passed is not False and score.insufficient:
        unbreakable = passed and score.largest is not None and metric.bound > lenient(score.largest)
        evidence |= {"unbreakable": True} if unbreakable else {}
        passed, evidence["problem"] = None, score.insufficient
    remedies = () if passed else of_texts(score.remedy)
    evidence |= {"remedy": remedies[0].text} if remedies and passed is False else {}
    return Finding(
        value=scoring.finite(value),
        passed=passed,
        people=people,
        limit=metric.limit,
        evidence=evidence,
        audience=audience,
        masking=Masking(sensitivity=score.sensitivity),
        remedies=remedies,
        **common,
    )


def _others(metric: PersonMetric, case: ScoringContext) -> dict[str, Any]:
    """Which values of the secret a limit is on, and how many people have others; empty where it is on all values."""
    if not isinstance(metric, ValueMetric) or metric.values is None:
        return {}
    case = case.with_own_record()
    judged = metric.judged_values(case)
    names = [value for value, is_judged in zip(case.secret.domain, judged.tolist(), strict=True) if is_judged]
    others = PeopleCount(case.table.people_among(~judged[case.table.codes(case.secret.name)]))
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
        "plain_failure": _plain_failure(metric, state, secret) + _together(result, belief),
    }


MAX_NAMED = 3
"""Other releases that a sentence names."""


def _together(result: AttackResult | None, belief: Belief | None) -> str:
    """Which releases a belief follows from together, as the end of a clause; empty where it is one alone.

    The names are the policy's, so that they disclose nothing of the people.
    """
    releases = None if result is None else result.known.releases
    if releases is None or not isinstance(belief, SecretBelief) or not belief.of_people:
        return ""
    labels = [other.label for other in releases.others]
    named = [*labels[:MAX_NAMED], *([f"{len(labels) - MAX_NAMED} more"] if len(labels) > MAX_NAMED else [])]
    return f", by this release together with {' and '.join(filter(None, [', '.join(named[:-1]), named[-1]]))}"


def _attack_evidence(case: ScoringContext, result: AttackResult | None) -> dict[str, Any]:
    """The evidence of the attack; for auditors alone where the attack used knowledge that only the policy grants."""
    evidence = dict(case.belief.evidence) if case.belief else {}
    if audience_of_evidence(case, result) == VisibleTo.AUDITORS:
        return {key: AuditorOnly(value) for key, value in evidence.items()}
    return evidence


def inconclusive(
    metric: Metric, state: AuditState, id: str, problem: str | LeafgateError, scored: Scored | None = None
) -> Finding:
    """The finding of a limit that could not be checked, with the problem as its evidence."""
    origin = state.plugins.origin(metric)
    try:
        plain_failure = _plain_failure(metric, state, None)
    except LeafgateError:  # which the problem may be about
        plain_failure = ""
    return Finding(
        id,
        metric.called,
        None,
        limit=metric.limit if scored is None else replace(metric.limit, scored=scored),
        evidence={"problem": str(problem)},
        plugin=origin,
        plain_failure=plain_failure,
        use=_renamed(metric),
        remedies=from_error(problem) if isinstance(problem, LeafgateError) else (),
    )


def _renamed(metric: Metric) -> str:
    """What a metric uses, where its name does not say so."""
    return metric.use if metric.called != metric.use else ""
