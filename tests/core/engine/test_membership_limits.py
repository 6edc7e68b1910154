"""Limits on candidates' membership: how many are compared, when a kept one is no pass, and what the public sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from guessed_members import finding_of, guessed, report_of
from leafgate.api import (
    UNPLANTED,
    AdversaryKnowledge,
    AuditorOnly,
    Belief,
    MembershipBelief,
    Metric,
    Release,
    ReleaseAtMost,
    Score,
    ScoringContext,
    SecretBelief,
)
from leafgate.app import Finding, Tables, VisibleTo, audit_policy, document
from leafgate.kernel.context import Observation
from random_tables import table_of
from standins import (
    ROWS,
    WEIGHT,
    attack_that,
    audited,
    even,
    finding,
    metric_that,
    plugins_with,
    policy_with,
    release_metric_that,
    with_facts,
)

OUTSIDE = [("1", "flu", "yes"), ("2", "cold", "yes")]


# --- A score that is no reason for a pass ---


@pytest.mark.parametrize(
    ("interval", "passed"), [((0.6, 0.7), None), ((0.2, 0.4), False), ((0.2, 0.7), None), (None, None)]
)
def test_a_kept_limit_is_inconclusive_where_the_score_is_insufficient(
    interval: tuple[float, float] | None, passed: bool | None
) -> None:
    value = 0.65 if interval is None else interval[1]
    kind = release_metric_that(lambda case: Score(value, interval=interval, insufficient="too few were seen"))
    report = audited(kind, metrics=[{"use": "whole", "at_least": 0.5}])
    found = finding(report, "whole")
    assert found.passed is passed
    assert found.evidence.get("problem") == (None if passed is False else "too few were seen")
    assert report.verdict == ("inconclusive" if passed is None else "fail")


def test_a_broken_limit_without_an_interval_stays_broken() -> None:
    kind = release_metric_that(lambda case: Score(0.3, insufficient="too few were seen"))
    found = finding(audited(kind, metrics=[{"use": "whole", "at_least": 0.5}]), "whole")
    assert found.passed is False
    assert "problem" not in found.evidence


def test_why_a_score_is_insufficient_is_public() -> None:
    kind = release_metric_that(
        lambda case: Score(0.9, insufficient="too few were seen"), public_in=lambda *_: "verdict"
    )
    report = audited(kind, metrics=[{"use": "whole", "at_least": 0.5}])
    (public,) = document(report, "public")["findings"]
    assert (public["value"], public["evidence"]["problem"]) == (None, "too few were seen")


@pytest.mark.parametrize("words", [None, 3, b"few", True])
def test_an_insufficient_that_is_no_text_leaves_the_limit_unchecked(words: Any) -> None:
    kind = release_metric_that(lambda case: Score(0.3, insufficient=words))
    found = finding(audited(kind, metrics=[{"use": "whole", "at_least": 0.5}]), "whole")
    assert found.passed is None
    assert "`insufficient`" in found.evidence["problem"]


def test_scores_of_people_cannot_be_insufficient() -> None:
    kind = metric_that(lambda case: Score(people=case.weight, insufficient="few"))
    found = finding(audited(kind, metrics=[{"use": "odd", "at_least": 1, "secret": "ill"}]), "odd@calm#ill")
    assert found.passed is None
    assert "`insufficient`" in found.evidence["problem"]


# --- How many limits are compared ---


class Found(ReleaseAtMost):
    """The share of members above zero."""

    use: Literal["found"] = "found"

    judges = frozenset({MembershipBelief})

    def score(self, case: ScoringContext) -> Score:
        found = case.require_belief(MembershipBelief).scores[case.membership.in_table] > 0
        counted = AuditorOnly(int(found.sum()))
        share = float(found.mean())
        evidence = {"counted": counted, "limits": case.comparisons}
        moved = 1 / float(case.membership.in_table.sum() - 1)
        return Score(share, interval=(share / 2, share), sensitivity=moved, evidence=evidence)


def comparisons_of(metrics: Sequence[dict[str, Any]], attacks: Sequence[str]) -> set[int]:
    """What metrics are told where these attacks infer who is in the table, and one does not."""

    def guess(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        assert known.candidates is not None
        return [MembershipBelief(np.zeros(len(known.candidates)))]

    plugins = plugins_with(attack_that(guess, needs=frozenset({"candidates"})), Found)
    guessing = [{"use": "nosy", "name": name} for name in attacks]
    chosen = policy_with(plugins, attacks=[{"use": "calm"}, *guessing], metrics=list(metrics))
    columns = chosen.data.meaning().columns
    report = audit_policy(
        chosen, plugins, Tables(table_of(columns, ROWS, WEIGHT), control=table_of(columns, OUTSIDE))
    ).report
    return {found.evidence["limits"] for found in report.findings if "limits" in found.evidence}


SIZES = {"use": "sizes", "at_least": 1}


@pytest.mark.parametrize(
    ("metrics", "attacks", "wanted"),
    [
        ([{"use": "found", "at_most": 1}], ["a"], 1),
        ([{"use": "found", "at_most": 1}, SIZES], ["a", "b", "c"], 3),
        ([{"use": "found", "at_most": 1}, {"use": "found", "name": "again", "at_most": 0.5}], ["a", "b"], 4),
        ([{"use": "found", "at_most": 1, "of": "b"}], ["a", "b"], 1),
        ([{"use": "found", "at_most": 1}, {"use": "found", "name": "again", "of": "a", "at_most": 1}], ["a", "b"], 3),
    ],
)
def test_comparisons_are_the_findings_of_metrics_of_membership(
    metrics: list[dict[str, Any]], attacks: list[str], wanted: int
) -> None:
    assert comparisons_of(metrics, attacks) == {wanted}


def test_comparisons_are_one_where_nobody_counts_them() -> None:
    inside = np.arange(4) < 2
    assert guessed(np.zeros(4), inside).comparisons == 1


# --- What the public sees ---


def members(size: int, in_table: int) -> np.ndarray:
    return np.random.default_rng(0).permutation(np.arange(size) < in_table)


def shown(found: Finding, people: int) -> dict[str, Any]:
    (public,) = document(report_of(found, people), "public")["findings"]
    return dict(public)


def test_a_rate_of_many_candidates_is_rounded_and_its_interval_hidden() -> None:
    inside = members(10_000, 5_000)
    scores = np.where(np.cumsum(inside) <= 1_234, 1.0, -1.0)
    found = finding_of(Found(at_most=1), guessed(scores, inside))
    assert (found.value, found.audience) == (0.2468, VisibleTo.MASKED)
    public = shown(found, 5_000)
    assert (public["value"], public["step"]) == (0.25, 0.01)
    assert not {"interval", "counted"} & set(public["evidence"])
    (auditor,) = document(report_of(found, 5_000), "auditor")["findings"]
    assert (auditor["value"], auditor["evidence"]["counted"]) == (0.2468, 1_234)
    assert auditor["evidence"]["interval"] == {"low": 0.1234, "high": 0.2468}


@pytest.mark.parametrize(("size", "step"), [(40, None), (99, None), (200, 0.1), (1_500, 0.01)])
def test_fewer_people_than_the_smallest_cell_move_a_rounded_rate_by_one_step_at_most(
    size: int, step: float | None
) -> None:
    """With few candidates the rate is not shown at all."""
    inside = members(2 * size, size)
    values = set()
    for found_members in range(size // 2, size // 2 + 10):
        scores = np.where(inside & (np.cumsum(inside) <= found_members), 1.0, -1.0)
        public = shown(finding_of(Found(at_most=1), guessed(scores, inside)), size)
        assert public.get("step") == step
        values.add(public["value"])
    assert values == {None} if step is None else max(values) - min(values) <= step + 1e-9


def restated(kind: type[Metric], **facts: Any) -> Metric:
    twin: type[Metric] = type("Twin", (kind,), {"__module__": __name__})
    return with_facts(twin, facts).model_validate({"use": "found", "at_most": 1})


def peeking(read: Callable[[ScoringContext], Any]) -> Callable[[Any, ScoringContext], Score]:
    def score(self: Any, case: ScoringContext) -> Score:
        read(case)
        return Found.score(self, case)

    return score


HIDING: dict[str, dict[str, Any]] = {
    "no sensitivity": {"score": lambda self, case: replace(Found.score(self, case), sensitivity=0.0)},
    "for a verdict alone": {"public": "verdict"},
    "its own public_in": {"public_in": lambda self, case: "verdict"},
    "a secret is read too": {"score": peeking(lambda case: case.observed.add(Observation.TRUTH))},
    "a posterior is read too": {"score": peeking(lambda case: case.observed.add(Observation.POSTERIOR))},
}


@pytest.mark.parametrize("facts", HIDING.values(), ids=HIDING)
def test_a_rate_of_candidates_is_hidden_by_everything_that_hides_a_score(facts: dict[str, Any]) -> None:
    inside = members(10_000, 5_000)
    found = finding_of(restated(Found, **facts), guessed(inside * 1.0, inside))
    assert found.audience == VisibleTo.AUDITORS
    public = shown(found, 5_000)
    assert public["value"] is None
    assert set(public["evidence"]) <= {"problem"}


def test_truths_with_the_same_rounded_rate_have_the_same_public_document() -> None:
    """Who is exchanged for whom, and how many are found, shows in nothing but the rounded rate."""
    inside, rng = members(2_000, 1_000), np.random.default_rng(1)
    scores = np.where(rng.random(2_000) < 0.3, 1.0, -1.0)
    documents: dict[float, set[str]] = {}
    exact: dict[float, set[float | None]] = {}
    for _ in range(60):
        truth = inside.copy()
        out, into = rng.choice(np.flatnonzero(inside), 5), rng.choice(np.flatnonzero(~inside), 5)
        truth[out], truth[into] = False, True
        if truth.sum() != 1_000:
            continue
        found = finding_of(Found(at_most=1), guessed(scores, truth))
        public = document(report_of(found, 1_000), "public")
        value = public["findings"][0]["value"]
        documents.setdefault(value, set()).add(str(public))
        exact.setdefault(value, set()).add(found.value)
    assert all(len(each) == 1 for each in documents.values())
    assert max(map(len, exact.values())) > 3


# --- A blind attack beside one that would have seen a leak ---


class Weak(ReleaseAtMost):
    """The number that an attack gives everybody; attacks that give less than zero have seen too little."""

    use: Literal["weak"] = "weak"

    judges = frozenset({MembershipBelief})

    def score(self, case: ScoringContext) -> Score:
        said = float(case.require_belief(MembershipBelief).scores[0])
        return Score(abs(said), insufficient="it is blind" if said < 0 else "")


def judged_by(said: dict[str, float]) -> dict[str, Finding]:
    """The findings of a limit on attacks that say these numbers; below zero they are blind."""
    names = iter(said)

    def guess(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        assert known.candidates is not None
        return [MembershipBelief(np.full(len(known.candidates), said[next(names)]))]

    plugins = plugins_with(attack_that(guess, needs=frozenset({"candidates"})), Weak)
    attacks = [{"use": "nosy", "name": name} for name in said]
    chosen = policy_with(plugins, attacks=[{"use": "calm"}, *attacks], metrics=[{"use": "weak", "at_most": 0.5}])
    columns = chosen.data.meaning().columns
    report = audit_policy(
        chosen, plugins, Tables(table_of(columns, ROWS, WEIGHT), control=table_of(columns, OUTSIDE))
    ).report
    return {str(found.attack): found for found in report.findings if found.metric == "weak"}


def passed(found: dict[str, Finding]) -> dict[str, bool | None]:
    return {name: each.passed for name, each in found.items()}


def test_a_limit_is_left_open_by_each_blind_attack() -> None:
    found = judged_by({"blind": -0.1, "sharp": 0.2})
    assert passed(found) == {"blind": None, "sharp": True}
    assert found["blind"].evidence["problem"] == "it is blind"


def test_a_blind_attack_that_breaks_the_limit_fails_it() -> None:
    assert passed(judged_by({"blind": -0.1, "sharp": 0.9})) == {"blind": None, "sharp": False}
    assert passed(judged_by({"blind": -0.9, "sharp": 0.1})) == {"blind": False, "sharp": True}


@pytest.mark.parametrize(
    ("of", "score", "expected"),
    [
        (None, 0.9, {"whole@calm#rich": None, "whole@nosy#ill": True}),
        ("calm", 0.9, {"whole@calm#ill": None, "whole@calm#rich": None}),
        (None, 0.1, {"whole@calm#ill": False, "whole@calm#rich": False, "whole@nosy#ill": False}),
    ],
)
def test_an_attack_that_plants_no_leaks_keeps_no_limit_and_leaves_those_of_others_alone(
    of: str | None, score: float, expected: dict[str, bool | None]
) -> None:
    def planting(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        return [SecretBelief("ill", even(known), evidence={"plants": True})]

    def scored(case: ScoringContext) -> Score:
        assert case.belief is not None
        return Score(score, insufficient="" if case.belief.evidence else UNPLANTED)

    report = audited(
        attack_that(planting),
        release_metric_that(scored, judges=frozenset({SecretBelief})),
        attacks=[{"use": "calm"}, {"use": "nosy"}],
        metrics=[{"use": "whole", "at_least": 0.5, "of": of} if of else {"use": "whole", "at_least": 0.5}],
    )
    assert {each.id: each.passed for each in report.findings} == expected
