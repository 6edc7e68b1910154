"""Limits on membership: what they score, whom they judge, how often they err, and when a kept one is no pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import comb, fsum
from typing import Any

import numpy as np
import pytest

from guessed_members import finding_of, guessed, guessed_at, planting, report_of, shifted
from leafgate.algorithms.intervals import Estimate, rate_at
from leafgate.api import (
    UNPLANTED,
    AuditorOnly,
    InconclusiveError,
    Metric,
    PeopleCount,
    PlantedLeak,
    ScoringContext,
    UnreadableError,
)
from leafgate.app import document
from leafgate_plugins.inference.membership.metrics import (
    BELOW_CHANCE,
    LEAK_SIZES,
    UNSEEN,
    CandidateBelief,
    MembershipAdvantage,
    MembershipAuc,
    MembershipExcluded,
    MembershipIdentified,
    MembershipRate,
    MembershipTpr,
    rate_moved,
)
from leafgate_plugins.inference.power import REPEATS

SMALL_FPR = 0.02


def candidates(size: int, seed: int = 0, share: float = 0.5) -> np.ndarray:
    return np.random.default_rng(seed).permutation(np.arange(size) < round(share * size))


def auc(limit: float, **options: Any) -> MembershipAuc:
    return MembershipAuc(at_most=limit, **options)


def tpr(limit: float, **options: Any) -> MembershipTpr:
    return MembershipTpr(at_most=limit, at_fpr=SMALL_FPR, **options)


def advantage(limit: float, **options: Any) -> MembershipAdvantage:
    return MembershipAdvantage(at_most=limit, **options)


RATES = {"auc": auc, "tpr": tpr, "advantage": advantage}
LIMITS = {"auc": 0.65, "tpr": 0.2, "advantage": 0.3}
"""Limits that a harmless release of 2,000 candidates keeps."""


def verdict(metric: MembershipRate, case: ScoringContext) -> tuple[bool | None, str]:
    """Whether the limit is kept, as an audit decides it, and why a kept one is no pass."""
    score = metric.score(case)
    assert score.interval is not None
    kept = {metric.holds(end) for end in score.interval}
    passed = kept.pop() if len(kept) == 1 else None
    return (None if passed and score.insufficient else passed), score.insufficient


def by_group(metric: MembershipRate, case: ScoringContext) -> dict[str, dict[str, float]]:
    return dict(metric.score(case).evidence["by_group"].content)


# --- What is scored ---


def test_whoever_is_excluded_for_certain_scores_lowest() -> None:
    inside = candidates(400)
    scores = np.where(inside, 0.5, 0.9)
    assert auc(1).score(guessed(scores, inside)).value == 0
    assert auc(1).score(guessed(scores, inside, excluded=~inside)).value == 1


def test_results_without_identical_records_are_beside_those_with_them() -> None:
    inside = candidates(400)
    identical = ~inside & (np.arange(400) % 2 == 0)
    score = auc(1, group="everybody").score(guessed((inside | identical) * 1.0, inside, identical=identical))
    without = score.evidence["without_identical"].content
    assert score.value == pytest.approx(1 - identical.sum() / 2 / 200)
    assert (without["value"], without["non_members"]) == (1, 200 - identical.sum())


def test_a_single_out_is_whom_nobody_else_in_the_table_shares_a_public_record_with() -> None:
    inside = candidates(40)
    single = np.arange(40) % 3 == 0
    found = CandidateBelief(guessed(np.zeros(40), inside, single=single))
    assert np.array_equal(found.single_out, single)
    assert found.single_outs == PeopleCount(int((single & inside).sum()))
    assert not CandidateBelief(guessed(np.zeros(40), inside)).single_out.any()


def leaky_single_outs(size: int = 2000) -> ScoringContext:
    """One in ten is a single-out, and of these alone the membership is out."""
    inside, rng = candidates(size), np.random.default_rng(2)
    single = rng.random(size) < 0.1
    return guessed(shifted(rng, inside & single), inside, single=single, planted=planting(inside))


def test_an_average_over_everybody_does_not_hide_single_outs() -> None:
    case = leaky_single_outs()
    assert verdict(auc(0.65, group="everybody"), case) == (True, "")
    assert verdict(auc(0.65, group="single_outs"), case)[0] is False
    assert verdict(auc(0.65), case)[0] is False
    groups = by_group(auc(0.65, group="everybody"), case)
    assert groups["everybody"]["value"] < 0.6 < 0.95 < groups["single_outs"]["value"]


def test_single_outs_who_do_not_leak_do_not_hide_everybody() -> None:
    inside, rng = candidates(2000), np.random.default_rng(2)
    single = rng.random(2000) < 0.1
    case = guessed(shifted(rng, inside & ~single), inside, single=single)
    assert verdict(auc(0.65), case)[0] is False
    assert verdict(auc(0.65, group="single_outs"), case)[0] is not False


def test_a_limit_on_single_outs_says_where_there_are_none() -> None:
    inside = candidates(400)
    with pytest.raises(InconclusiveError, match="single-out"):
        auc(1, group="single_outs").score(guessed(np.zeros(400), inside))
    score = auc(1).score(guessed(np.zeros(400), inside))
    assert score.value == 0.5


def test_single_outs_nobody_can_be_compared_with_leave_a_limit_open() -> None:
    inside = candidates(2000)
    case = guessed(np.zeros(2000), inside, single=inside & (np.arange(2000) < 300), planted=planting(inside))
    assert verdict(auc(0.9), case)[0] is None
    assert verdict(auc(0.9, group="everybody"), case)[0] is True


def test_a_rate_needs_as_many_non_members_as_it_says() -> None:
    inside = candidates(800)
    metric = MembershipTpr(at_most=0.1, at_fpr=0.01, group="everybody")
    with pytest.raises(InconclusiveError, match="437 are needed") as raised:
        metric.score(guessed(np.zeros(800), inside, comparisons=2))
    assert "400" not in str(raised.value)
    score = metric.score(guessed(np.zeros(800), inside))
    assert score.evidence["needed"] == 368


def test_the_error_is_shared_by_all_findings_and_groups() -> None:
    inside = candidates(2000)
    case, shared = (guessed(np.zeros(2000), inside, comparisons=count) for count in (1, 10))
    assert auc(1, group="everybody").error_in(case) == pytest.approx(0.05)
    assert auc(1).error_in(shared) == pytest.approx(0.0025)
    widths = [np.diff(auc(1).score(each).interval or ())[0] for each in (case, shared)]
    assert widths[0] < widths[1]


@pytest.mark.parametrize("metric", RATES.values())
def test_the_curve_is_for_auditors(metric: Callable[..., MembershipRate]) -> None:
    inside = candidates(600)
    evidence = metric(1).score(guessed(np.zeros(600), inside)).evidence
    assert isinstance(evidence["roc"], AuditorOnly)
    assert {len(column) for column in evidence["roc"].content.values()} == {40}


# --- How much one candidate moves a rate ---


@pytest.mark.parametrize("use", RATES)
def test_a_few_candidates_move_a_rate_by_no_more_than_the_sensitivity(use: str) -> None:
    rng = np.random.default_rng(3)
    for trial in range(30):
        inside = candidates(400, trial)
        scores = np.round(rng.normal(0, 1, 400) + inside, int(rng.integers(0, 3)))
        metric, case = RATES[use](1, group="everybody"), guessed(scores, inside)
        score = metric.score(case)
        before, allowed = score.value, score.sensitivity
        assert before is not None
        for moved in (1, 3, 10):
            kept = np.ones(400, dtype=bool)
            kept[rng.choice(400, moved, replace=False)] = False
            people = CandidateBelief(case).everybody.where(kept)
            after = metric.estimate(people.members, people.others, 0.1).value
            assert abs(after - before) <= moved * allowed + 1e-9


def test_a_rate_that_hangs_on_one_non_member_has_a_high_sensitivity() -> None:
    members, others = np.full(100, 5.0), np.append(np.arange(99) / 100, 9.0)
    assert rate_at(members, others, 0.015) == 1
    assert rate_moved(members, others, 0.015) == 1
    assert rate_moved(np.arange(1000) / 1000, np.arange(1000) / 1000, 0.1) == pytest.approx(0.002)


# --- Excluded ---


def test_excluded_is_the_share_of_non_members() -> None:
    inside = candidates(400)
    excluded = ~inside & (np.cumsum(~inside) <= 50)
    score = MembershipExcluded(at_most=0.5).score(guessed(np.zeros(400), inside, excluded=excluded))
    assert score.value == 0.25
    assert score.interval is not None
    assert score.interval[0] < 0.25 < score.interval[1]
    assert (score.evidence["excluded"].content, score.insufficient) == (50, "")


def test_a_proof_that_excludes_a_member_is_none() -> None:
    inside = candidates(400)
    excluded = np.arange(400) == np.flatnonzero(inside)[0]
    score = MembershipExcluded(at_most=0.5).score(guessed(np.zeros(400), inside, excluded=excluded))
    assert "does not hold" in score.insufficient


def test_exclusion_by_bootstraps_is_not_judged_and_says_why() -> None:
    case = guessed(np.zeros(40), candidates(40), exclusion_p_values=np.ones(40))
    with pytest.raises(InconclusiveError, match="bootstraps"):
        MembershipExcluded(at_most=0.5).score(case)


def test_metrics_of_what_an_attack_does_not_state_skip_it() -> None:
    inside = candidates(40)
    case = guessed(np.zeros(40), inside)
    with pytest.raises(UnreadableError):
        MembershipExcluded(at_most=0.5).score(case)
    with pytest.raises(UnreadableError):
        MembershipIdentified(at_most=0).score(case)


# --- Identified ---


def with_odds(sure: int, wrong: int = 0, others_in_table: int = -2, **belief: Any) -> ScoringContext:
    """Of 200 members `sure` ones have odds of 100, of as many others `wrong` ones; the rest odds of one."""
    inside = candidates(400)
    odds = np.ones(400)
    odds[np.flatnonzero(inside)[:sure]] = 100
    odds[np.flatnonzero(~inside)[:wrong]] = 100
    return guessed(np.log(odds), inside, odds=odds, others_in_table=others_in_table, **belief)


def test_identified_counts_people_of_the_table() -> None:
    score = MembershipIdentified(at_most=0).score(with_odds(7, wrong=3))
    assert score.value == 7
    assert score.evidence["others_as_sure"].content == 3
    assert MembershipIdentified(at_most=0, odds=100.0).score(with_odds(7)).value == 0


def test_odds_that_are_as_high_of_others_identify_nobody() -> None:
    """A limit of nobody is broken by people whom chance does not find, and left open by odds that are too high."""
    limit = MembershipIdentified(at_most=0)
    intervals = [limit.score(with_odds(20, wrong=wrong)).interval for wrong in (0, 2, 20)]
    assert intervals[0] == (16, 20)
    assert intervals[1] is not None
    assert 0 < intervals[1][0] < 16
    assert intervals[2] == (0, 20)


def test_identified_among_some_people_is_bounded_for_all() -> None:
    score = MembershipIdentified(at_most=0).score(with_odds(0, others_in_table=198))
    assert score.interval is not None
    assert (score.value, score.interval[0]) == (0, 0)
    assert score.interval[1] == math.ceil(400 * (1 - 0.025 ** (1 / 200)))


def test_nobody_identified_is_no_pass_unless_the_attack_identifies_planted_people() -> None:
    inside = candidates(400)
    metric = MembershipIdentified(at_most=2)
    assert metric.score(with_odds(0)).insufficient == UNPLANTED
    assert metric.score(with_odds(0, planted=planting(inside))).insufficient == UNPLANTED
    assert metric.score(with_odds(0, planted=planting(inside, odds=True))).insufficient == ""

    def timid(rng: np.random.Generator, leaks: np.ndarray) -> np.ndarray:
        return np.zeros(len(leaks))

    assert metric.score(with_odds(0, planted=planting(inside, timid, odds=True))).insufficient == UNSEEN


# --- Power ---


@pytest.mark.parametrize("use", RATES)
def test_a_kept_limit_passes_where_planted_leaks_are_seen(use: str) -> None:
    inside = candidates(2000)
    case = guessed(np.random.default_rng(4).normal(0, 1, 2000), inside, planted=planting(inside))
    assert verdict(RATES[use](LIMITS[use]), case) == (True, "")


@pytest.mark.parametrize("use", RATES)
def test_a_kept_limit_is_no_pass_where_no_leak_is_planted(use: str) -> None:
    inside = candidates(2000)
    case = guessed(np.random.default_rng(4).normal(0, 1, 2000), inside)
    assert verdict(RATES[use](LIMITS[use]), case) == (None, UNPLANTED)
    assert "such as `lira`" in str(RATES[use](LIMITS[use]).score(case).remedy)


def flipped(rng: np.random.Generator, leaks: np.ndarray) -> np.ndarray:
    return -shifted(rng, leaks)


def constant(rng: np.random.Generator, leaks: np.ndarray) -> np.ndarray:
    return np.zeros(len(leaks))


def shuffled(rng: np.random.Generator, leaks: np.ndarray) -> np.ndarray:
    return rng.permutation(shifted(rng, leaks))


def one_in_three(rng: np.random.Generator, leaks: np.ndarray) -> np.ndarray:
    """Sees a third of what leaks."""
    return shifted(rng, leaks & (rng.random(len(leaks)) < 0.33))


def capped(rng: np.random.Generator, leaks: np.ndarray) -> np.ndarray:
    """Clips all high scores to one number."""
    scores = shifted(rng, leaks)
    scores[scores > -1] = -1
    return scores


def noisy(rng: np.random.Generator, leaks: np.ndarray) -> np.ndarray:
    """Adds noise in which the leak drowns."""
    return shifted(rng, leaks) + rng.normal(0, 30, len(leaks))


BLUNT = (flipped, constant, shuffled, one_in_three, capped, noisy)


@pytest.mark.thorough
@pytest.mark.parametrize("use", RATES)
@pytest.mark.parametrize("mutation", BLUNT)
def test_a_blunted_attack_is_refused_a_pass_each_time(mutation: Any, use: str) -> None:
    for seed in range(5):
        inside, rng = candidates(2000, seed), np.random.default_rng([seed, 5])
        scores = mutation(rng, np.zeros(2000, dtype=bool))
        case = guessed(scores, inside, planted=planting(inside, mutation))
        passed, why = verdict(RATES[use](LIMITS[use]), case)
        assert passed is None
        assert why in (UNSEEN, "")  # without a reason the interval itself is too wide


def test_a_release_whose_leak_a_blunted_attack_overlooks_does_not_pass() -> None:
    inside, rng = candidates(2000), np.random.default_rng(6)
    leaks = inside & (rng.random(2000) < 0.5)
    sharp = guessed(shifted(rng, leaks), inside, planted=planting(inside))
    blunt = guessed(shuffled(rng, leaks), inside, planted=planting(inside, shuffled))
    assert verdict(auc(0.65), sharp)[0] is False
    assert verdict(auc(0.65), blunt) == (None, UNSEEN)


def test_a_broken_limit_stays_broken_whatever_the_planted_leaks() -> None:
    inside = candidates(2000)

    def raises(share: float, repeat: int) -> PlantedLeak:
        raise ZeroDivisionError

    for planted in (None, raises, planting(inside, constant)):
        assert verdict(auc(0.65), guessed(inside * 1.0, inside, planted=planted))[0] is False


def test_limits_at_chance_and_at_one_need_no_planted_leak() -> None:
    inside = candidates(2000)
    for metric, limit in ((auc, 0.5), (tpr, SMALL_FPR), (advantage, 0.0)):
        score = metric(limit).score(guessed(-1.0 * inside, inside, planted=planting(inside)))
        assert score.insufficient in (BELOW_CHANCE, "")
    assert auc(0.5).score(guessed(-1.0 * inside, inside, planted=planting(inside))).insufficient == BELOW_CHANCE
    assert verdict(auc(1), guessed(np.zeros(2000), inside)) == (True, "")


def wrong_leaks(size: int) -> dict[str, Any]:
    inside = candidates(size)
    scores = np.zeros(size)
    return {
        "not a PlantedLeak": lambda share, repeat: scores,
        "too few people": lambda share, repeat: PlantedLeak(scores[1:], inside[1:]),
        "scores that are not finite": lambda share, repeat: PlantedLeak(scores + np.nan, inside),
        "members as numbers": lambda share, repeat: PlantedLeak(scores, inside * 1),
        "more members": lambda share, repeat: PlantedLeak(scores, np.ones(size, dtype=bool)),
        "an error": lambda share, repeat: 1 / 0,
    }


@pytest.mark.parametrize("what", wrong_leaks(4))
def test_a_planted_leak_that_is_none_is_no_reason_for_a_pass(what: str) -> None:
    inside = candidates(2000)
    case = guessed(np.zeros(2000), inside, planted=wrong_leaks(2000)[what])
    passed, why = verdict(auc(0.65), case)
    assert passed is None
    assert why.startswith("the attack ")


def test_the_smallest_detectable_leak_is_smaller_with_more_candidates() -> None:
    found = []
    for size in (500, 8000):
        inside = candidates(size)
        score = auc(1, group="everybody").score(guessed(np.zeros(size), inside, planted=planting(inside)))
        found.append(score.evidence["smallest_detectable"])
    assert LEAK_SIZES[0] < found[1] < found[0] < 0.5
    blind = guessed(np.zeros(500), candidates(500), planted=planting(candidates(500), constant))
    assert auc(1).score(blind).evidence["smallest_detectable"] is None


def test_the_smallest_detectable_leak_is_told_from_none_in_nine_of_ten_repetitions() -> None:
    """Counted without stopping early, at the size that is found and at the next smaller one."""
    inside = candidates(2000)
    planted, metric = planting(inside), auc(1, group="everybody")
    case = guessed(np.zeros(2000), inside, planted=planted)
    size = metric.score(case).evidence["smallest_detectable"]
    place = LEAK_SIZES.index(size)

    def seen(share: float) -> int:
        leaks = [planted(share, repeat) for repeat in range(REPEATS)]
        estimates: list[Estimate] = [
            metric.estimate(leak.scores[leak.in_table], leak.scores[~leak.in_table], metric.error_in(case))
            for leak in leaks
        ]
        return sum(estimate.low > 0.5 for estimate in estimates)

    assert seen(size) >= 0.9 * REPEATS > seen(LEAK_SIZES[place - 1])


# --- Releases that carry no information ---


def at_most_often(releases: int, error: float) -> int:
    """How many releases are flagged with a probability of at least 1 - 1e-4 at most, where the error is kept."""
    law = [comb(releases, k) * error**k * (1 - error) ** (releases - k) for k in range(releases + 1)]
    return next(count for count in range(releases) if fsum(law[count + 1 :]) < 1e-4)


def flagged(releases: int, scores: Callable[[np.random.Generator], np.ndarray], size: int) -> int:
    """How many releases break a limit at chance, of three metrics on both groups, by scores without information."""
    metrics = [each(limit, confidence=0.8) for each, limit in ((auc, 0.5), (tpr, SMALL_FPR), (advantage, 0.0))]
    found = 0
    for release in range(releases):
        rng = np.random.default_rng([release, size])
        inside = rng.permutation(np.arange(size) < size // 2)
        single = rng.random(size) < 0.5
        case = guessed(scores(rng), inside, single=single, comparisons=len(metrics))
        found += any(verdict(metric, case)[0] is False for metric in metrics)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(
    "scores",
    [lambda rng: rng.normal(0, 1, 1000), lambda rng: rng.integers(0, 8, 1000) * 1.0, lambda rng: np.zeros(1000)],
    ids=["continuous", "ties", "constant"],
)
def test_two_hundred_releases_without_information_are_flagged_no_more_often_than_stated(
    scores: Callable[[np.random.Generator], np.ndarray],
) -> None:
    assert flagged(200, scores, 1000) <= at_most_often(200, 0.2)


def test_the_count_of_flagged_releases_tells_a_leak_from_none() -> None:
    """The same count on releases that leak: the test above can fail."""
    rng_leaks = np.random.default_rng([0, 1000])
    inside = rng_leaks.permutation(np.arange(1000) < 500)
    case = guessed(np.random.default_rng(7).normal(0, 1, 1000) + 0.5 * inside, inside)
    assert verdict(auc(0.5, confidence=0.8), case)[0] is False


# --- What the public sees ---


def public_of(metric: Metric, case: ScoringContext, people: int) -> dict[str, Any]:
    return dict(document(report_of(finding_of(metric, case), people), "public"))


def exchanged(in_table: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """The same with some members and as many others exchanged."""
    truth = in_table.copy()
    for side in (True, False):
        truth[rng.choice(np.flatnonzero(in_table == side), count, replace=False)] = not side
    return truth


METRICS_SHOWN: tuple[Metric, ...] = (
    auc(0.95, group="everybody"),
    tpr(0.9, group="everybody"),
    advantage(0.9, group="everybody"),
    MembershipExcluded(at_most=0.5, group="everybody"),
    MembershipIdentified(at_most=1999),
)


@pytest.mark.thorough
@pytest.mark.parametrize("metric", METRICS_SHOWN, ids=lambda metric: metric.use)
def test_who_is_exchanged_for_whom_shows_in_the_rounded_rate_alone(metric: Metric) -> None:
    """Excluded candidates are never members, so that nobody of them is exchanged."""
    inside, rng = candidates(4000), np.random.default_rng(8)
    scores = rng.normal(0, 1, 4000) + inside
    excluded = ~inside & (rng.random(4000) < 0.1)
    facts = {"excluded": excluded, "odds": np.exp(scores), "planted": planting(inside, odds=True)}
    documents: dict[Any, set[str]] = {}
    exact: dict[Any, set[float | None]] = {}
    for _ in range(8):
        truth = inside.copy()
        truth[~excluded] = exchanged(inside[~excluded], 3, rng)
        case = guessed(scores, truth, **facts)
        public = public_of(metric, case, 2000)
        shown = public["findings"][0]
        key = (shown["value"], shown.get("step"), shown["passed"])
        documents.setdefault(key, set()).add(str(public))
        exact.setdefault(key, set()).add(finding_of(metric, case).value)
    assert all(len(each) == 1 for each in documents.values())
    assert metric.use == "membership_excluded" or max(map(len, exact.values())) > 1


@pytest.mark.parametrize("metric", METRICS_SHOWN, ids=lambda metric: metric.use)
def test_nothing_about_a_candidate_is_public(metric: Metric) -> None:
    inside, rng = candidates(4000), np.random.default_rng(9)
    case = guessed(rng.normal(0, 1, 4000), inside, excluded=np.zeros(4000, dtype=bool), odds=np.ones(4000))
    evidence = public_of(metric, case, 2000)["findings"][0]["evidence"]
    assert set(evidence) <= {
        *("single_outs", "smallest_detectable", "candidates", "judged_by", "needed", "at_fpr"),
        *("insufficient", "problem"),
    }
    assert set(evidence.get("candidates", {})) <= {"in_table", "not_in_table", "identical", "copies_seen"}


def test_a_rate_of_few_candidates_or_few_single_outs_is_not_public() -> None:
    inside, rng = candidates(4000), np.random.default_rng(10)
    scores = rng.normal(0, 1, 4000)
    few = guessed(scores, inside, single=np.arange(4000) < 60)
    assert public_of(auc(0.95), few, 2000)["findings"][0]["value"] is None
    assert public_of(auc(0.95, group="everybody"), few, 2000)["findings"][0]["step"] == 0.01
    handful = guessed(scores[:80], candidates(80))
    assert public_of(auc(0.95), handful, 40)["findings"][0]["value"] is None


def test_one_candidate_who_moves_between_groups_is_within_the_sensitivity() -> None:
    """A person who joins the table takes those with her public record out of the single-outs."""
    rng = np.random.default_rng(11)
    for trial in range(20):
        inside = candidates(300, trial)
        places = np.where(rng.random(300) < 0.4, rng.integers(1, 60, 300), 0)
        scores = rng.normal(0, 1, 300) + inside
        metric = auc(1, group="single_outs")
        before = guessed_at(scores, inside, places)
        moved = inside.copy()
        moved[rng.choice(np.flatnonzero(~inside & (places > 0)))] = True
        after = guessed_at(scores, moved, places)
        scores = [metric.score(case) for case in (before, after)]
        values = [score.value for score in scores if score.value is not None]
        assert abs(values[1] - values[0]) <= scores[0].sensitivity


@pytest.mark.parametrize("use", RATES)
@pytest.mark.parametrize(("part", "why"), [(0.95, ""), (0.6, UNSEEN)])
def test_an_attack_must_see_nearly_all_of_a_planted_leak(use: str, part: float, why: str) -> None:
    """Where the interval is narrow beside the leak: what it does not see could be outside the limit."""
    inside = candidates(8000)

    def partly(rng: np.random.Generator, leaks: np.ndarray) -> np.ndarray:
        return shifted(rng, leaks & (rng.random(len(leaks)) < part))

    scores = np.random.default_rng(12).normal(0, 1, 8000)
    case = guessed(scores, inside, planted=planting(inside, partly))
    limit = {"auc": 0.8, "tpr": 0.5, "advantage": 0.5}[use]
    assert RATES[use](limit, group="everybody").score(case).insufficient == why
