"""LiRA, RMIA, the worst case and quantile regression, against literal transcriptions and closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist, fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leafgate.api import InconclusiveError, PeopleCount
from leafgate_plugins.inference.game import Answers, are_alike
from leafgate_plugins.inference.membership.learned_attacks import Features, fit_quantile, fit_worst_case, sorted_scores
from leafgate_plugins.inference.membership.likelihood_ratios import LiRA, Variance, fit_lira, fit_rmia, logit
from leafgate_plugins.inference.membership.planted import Scorer
from leafgate_plugins.inference.membership.score_attacks import LossScorer, posterior_odds
from leafgate_plugins.inference.membership.shadows import ShadowModels

Floats = NDArray[np.float64]
Fit = Callable[[ShadowModels], Scorer]


def answers_of(own: Floats) -> Answers:
    """Answers of two classes, of which everybody's own is the first."""
    return Answers(np.stack([own, 1 - own], axis=-1), np.zeros(len(own), dtype=np.int64))


def shadows_of(own: Floats, trained_on: NDArray[np.bool_]) -> ShadowModels:
    return ShadowModels(np.stack([own, 1 - own], axis=-1), trained_on, np.zeros(own.shape[1], dtype=np.int64))


def half_of_the_models(rng: np.random.Generator, models: int, people: int) -> NDArray[np.bool_]:
    """Each person is in half of the models."""
    return rng.random((models, people)).argsort(axis=0) < models // 2


def literal_logit(p: float, clip: float) -> float:
    return math.log((p + clip) / (1 - p + clip))


def literal_lira(
    target: Floats,
    own: Floats,
    trained_on: NDArray[np.bool_],
    clip: float,
    least: float,
    *,
    online: bool,
    variance: Variance,
) -> list[float]:
    """Algorithm 1 of Carlini and others 2022, line by line: ln of Lambda; offline 1 - Pr[Z > phi] under the out law."""
    confidences_in: list[list[float]] = [[] for _ in target]
    confidences_out: list[list[float]] = [[] for _ in target]
    for scores, members in zip(own, trained_on, strict=True):
        for x, (p, member) in enumerate(zip(scores, members, strict=True)):
            (confidences_in if member else confidences_out)[x].append(literal_logit(p, clip))

    def deviation(all_of_them: list[list[float]], x: int) -> float:
        if variance == "per_example":
            return pstdev(all_of_them[x]) + least
        distances = [(phi - fmean(each)) ** 2 for each in all_of_them for phi in each]
        return math.sqrt(fmean(distances)) + least

    result = []
    for x, p in enumerate(target):
        observed = literal_logit(p, clip)
        law_out = NormalDist(fmean(confidences_out[x]), deviation(confidences_out, x))
        if not online:
            result.append(law_out.cdf(observed))
            continue
        law_in = NormalDist(fmean(confidences_in[x]), deviation(confidences_in, x))
        log_density = [
            -(((observed - law.mean) / law.stdev) ** 2) / 2 - math.log(law.stdev * math.sqrt(2 * math.pi))
            for law in (law_in, law_out)
        ]
        result.append(log_density[0] - log_density[1])
    return result


def literal_rmia(target: Floats, own: Floats, trained_on: NDArray[np.bool_], a: float, gamma: float) -> list[float]:
    """The offline attack of Zarifzadeh and others 2024: how many z have ratio(x) / ratio(z) >= gamma."""
    ratios = []
    for x, p in enumerate(target):
        without = [float(scores[x]) for scores, members in zip(own, trained_on, strict=True) if not members[x]]
        probability_out = fmean(without)
        probability = 0.5 * ((1 + a) * probability_out + (1 - a))
        ratios.append((p + 1e-6) / (probability + 1e-6))
    return [sum(x >= gamma * z for z in ratios) / len(ratios) for x in ratios]


@st.composite
def small_cases(draw: st.DrawFn) -> tuple[Floats, ShadowModels]:
    """A few people whom two models at least were trained on and two were not."""
    models, people = draw(st.integers(4, 7)), draw(st.integers(1, 6))
    grid = st.integers(0, 20).map(lambda twentieths: twentieths / 20)
    own = np.array(draw(st.lists(grid, min_size=models * people, max_size=models * people))).reshape(models, people)
    columns = []
    for _ in range(people):
        order = draw(st.permutations(range(models)))
        members = draw(st.integers(2, models - 2))
        columns.append([position < members for position in order])
    target = np.array(draw(st.lists(grid, min_size=people, max_size=people)))
    return target, shadows_of(own, np.array(columns).T)


@given(
    small_cases(),
    st.booleans(),
    st.sampled_from(["per_example", "fixed"]),
    st.sampled_from([1e-3, 0.05]),
    st.sampled_from([0.05, 0.1, 2.0]),
)
def test_lira_is_the_papers_algorithm(
    case: tuple[Floats, ShadowModels], online: bool, variance: Variance, clip: float, least: float
) -> None:
    target, shadows = case
    own = shadows.of_own_class
    expected = literal_lira(target, own, shadows.trained_on, clip, least, online=online, variance=variance)
    laws = fit_lira(shadows, online=online, variance=variance, clip=clip, least_deviation=least)
    scores = laws.scores(answers_of(target))
    if online:
        assert scores == pytest.approx(expected, rel=1e-9, abs=1e-9)
    else:
        assert [NormalDist().cdf(z) for z in scores] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(small_cases())
def test_lira_with_a_shared_variance_is_a_ratio_of_two_laws_of_one_deviation(
    case: tuple[Floats, ShadowModels],
) -> None:
    target, shadows = case
    scores = fit_lira(shadows).scores(answers_of(target))
    for x, p in enumerate(target):
        column = [literal_logit(each, 1e-3) for each in shadows.of_own_class[:, x]]
        sides = [
            [phi for phi, member in zip(column, shadows.trained_on[:, x], strict=True) if member == wanted]
            for wanted in (True, False)
        ]
        squares = sum((phi - fmean(side)) ** 2 for side in sides for phi in side)
        deviation = math.sqrt(squares / len(column)) + 0.1
        mean_out = fmean(sides[1])
        mean_in = max(fmean(sides[0]), mean_out + deviation / 10)
        z_in, z_out = ((literal_logit(p, 1e-3) - mean) / deviation for mean in (mean_in, mean_out))
        assert scores[x] == pytest.approx((z_out**2 - z_in**2) / 2, rel=1e-9, abs=1e-9)


@given(small_cases(), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([1.0, 1.1, 2.0]))
def test_rmia_is_the_papers_attack(case: tuple[Floats, ShadowModels], a: float, gamma: float) -> None:
    target, shadows = case
    expected = literal_rmia(target, shadows.of_own_class, shadows.trained_on, a, gamma)
    scores = fit_rmia(shadows, a=a, gamma=gamma).scores(answers_of(target))
    assert scores == pytest.approx(expected, rel=1e-9)


def test_rmia_orders_candidates_by_the_plain_ratio_where_gamma_is_1() -> None:
    rng = np.random.default_rng(0)
    own = rng.random((9, 300))
    references = fit_rmia(shadows_of(own[1:], half_of_the_models(rng, 8, 300)))
    target = answers_of(own[0])
    assert np.array_equal(np.argsort(references.scores(target)), np.argsort(references.ratios(target)))


@given(small_cases(), st.integers(0, 2**32))
def test_a_candidates_higher_score_of_the_own_class_never_counts_against_membership(
    case: tuple[Floats, ShadowModels], seed: int
) -> None:
    target, shadows = case
    one = seed % len(target)
    higher = target.copy()
    higher[one] = min(target[one] + 0.05, 1)
    for fit in (fit_lira, fit_rmia):
        before, after = (fit(shadows).scores(answers_of(each))[one] for each in (target, higher))
        assert after >= before - 1e-9


MODELS, PEOPLE, DISTANCE = 400, 4000, 1.5


@pytest.fixture(scope="module")
def normal_laws() -> tuple[ShadowModels, Answers, NDArray[np.bool_]]:
    """Everybody's logits are N(m, 1) in models without them and N(m + 1.5, 1) in models with them; m is their own."""
    rng = np.random.default_rng(5)
    trained_on = np.vstack([half_of_the_models(rng, MODELS, PEOPLE), rng.permutation(PEOPLE)[None] < PEOPLE // 2])
    phi = rng.normal(0, 1.5, PEOPLE) + rng.normal(0, 1, trained_on.shape) + DISTANCE * trained_on
    own = 1 / (1 + np.exp(-phi))
    return shadows_of(own[:-1], trained_on[:-1]), answers_of(own[-1]), trained_on[-1]


def area(scores: Floats, member: NDArray[np.bool_]) -> float:
    """The share of pairs in which the member is higher, ties half."""
    others = np.sort(scores[~member])
    low = np.searchsorted(others, scores[member], side="left")
    high = np.searchsorted(others, scores[member], side="right")
    return float((low + high).mean() / 2 / len(others))


def true_positives(scores: Floats, member: NDArray[np.bool_], false_positives: float) -> float:
    """The share of members above the threshold that this share of others exceeds."""
    threshold = np.quantile(scores[~member], 1 - false_positives)
    return float((scores[member] > threshold).mean())


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("variance", ["shared", "per_example", "fixed"])
def test_the_roc_curve_of_lira_on_normal_laws_is_the_closed_form(
    online: bool, variance: Variance, normal_laws: tuple[ShadowModels, Answers, NDArray[np.bool_]]
) -> None:
    """Area Phi(d / sqrt 2), true positives Phi(d + z) at the false positives Phi(z), within four standard errors."""
    shadows, target, member = normal_laws
    scores = fit_lira(shadows, online=online, variance=variance, clip=1e-9, least_deviation=1e-9).scores(target)
    normal, each = NormalDist(), PEOPLE // 2
    expected = normal.cdf(DISTANCE / math.sqrt(2))
    assert area(scores, member) == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / each) / 1.5)
    for rate in (0.01, 0.05, 0.2):
        z = normal.inv_cdf(rate)
        share = normal.cdf(DISTANCE + z)
        slope = normal.pdf(DISTANCE + z) / normal.pdf(z)
        error = math.sqrt(share * (1 - share) / each + slope**2 * rate * (1 - rate) / each)
        assert true_positives(scores, member, rate) == pytest.approx(share, abs=4 * error)


@pytest.mark.parametrize("clip", [1e-9, 0.1])
def test_posterior_odds_are_right_as_often_as_they_say(clip: float) -> None:
    """Of those whose odds say p, p are members, whatever the attack's own laws are worth; here few shadow models."""
    rng = np.random.default_rng(15)
    trained_on = rng.random((17, 8000)).argsort(axis=1) < 4000
    own = (rng.random(trained_on.shape) < 0.3 + 0.4 * trained_on).astype(float) * rng.random(8000)
    shadows = shadows_of(own[:-1], trained_on[:-1])
    scores = fit_lira(shadows, clip=clip).scores(answers_of(own[-1]))
    odds = posterior_odds(shadows, lambda others: fit_lira(others, clip=clip), 0.5)(scores)
    stated = odds / (1 + odds)
    assert (np.diff(odds[np.argsort(scores)]) >= 0).all()
    groups = np.array_split(np.argsort(stated), 8)
    for group in groups:
        share = stated[group].mean()
        assert trained_on[-1][group].mean() == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / len(group)))
    assert stated[groups[-1]].mean() > 0.6


def test_posterior_odds_of_scores_of_two_kinds_are_the_counted_ratio() -> None:
    """In each of two models 3 of 4 members and 1 of 4 others have a high score; one more of each is added."""
    own = np.array([[0.9, 0.9, 0.9, 0.1, 0.9, 0.1, 0.1, 0.1]] * 2)
    trained_on = np.array([[True] * 4 + [False] * 4] * 2)

    def by_loss(others: ShadowModels) -> Scorer:
        return LossScorer()

    odds = posterior_odds(shadows_of(own, trained_on), by_loss, 0.25)(np.array([0.0, 0.1, 0.5, 0.9, 1.0]))
    assert odds.tolist() == pytest.approx([1 / 7, 1 / 7, 1 / 7, 7 / 9, 7 / 9])


def test_lira_states_odds_online_only() -> None:
    assert LiRA().states_odds
    assert not LiRA(mode="offline").states_odds


def test_rmia_on_people_of_equal_laws_has_the_same_roc_curve() -> None:
    """Where everybody's reference is the same, it ranks by the score of the own class, as likelihood ratios do."""
    rng = np.random.default_rng(6)
    member = rng.permutation(PEOPLE) < PEOPLE // 2
    own = 1 / (1 + np.exp(-(rng.normal(0, 1, PEOPLE) + DISTANCE * member)))
    shadows = shadows_of(np.full((2, PEOPLE), 0.6), np.repeat([[True], [False]], PEOPLE, axis=1))
    expected = NormalDist().cdf(DISTANCE / math.sqrt(2))
    found = area(fit_rmia(shadows).scores(answers_of(own)), member)
    assert found == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) * 2 / PEOPLE) / 1.5)


def test_candidates_short_of_models_borrow_a_law_and_are_counted() -> None:
    own = np.array([[0.2, 0.3, 0.4, 0.5], [0.3, 0.2, 0.5, 0.5], [0.7, 0.8, 0.6, 0.9], [0.8, 0.9, 0.7, 0.6]])
    trained_on = np.array([[False, False, False, True], [False, False, False, True], [True] * 4, [True] * 3 + [False]])
    trained_on[:, 1] = False
    trained_on[:, 2] = True
    laws = fit_lira(shadows_of(own, trained_on))
    assert laws.mean_in is not None
    shift = float(np.mean(laws.mean_in[[0, 3]] - laws.mean_out[[0, 3]]))
    assert laws.mean_in[1] - laws.mean_out[1] == pytest.approx(shift)
    assert laws.mean_in[2] - laws.mean_out[2] == pytest.approx(shift)
    assert laws.short_of_models == 3
    assert LiRA().facts(laws) == {"largest_logit": 6.909, "short_of_models": PeopleCount(3)}
    assert fit_rmia(shadows_of(own, trained_on)).short_of_models == 1


def test_lira_is_inconclusive_where_nobody_is_in_one_model_and_out_of_another() -> None:
    own = np.full((3, 2), 0.5)
    with pytest.raises(InconclusiveError, match="no candidate is in the training set of one shadow model and not in"):
        fit_lira(shadows_of(own, np.array([[True, False]] * 3)))


def test_a_logit_is_bounded_by_the_clip() -> None:
    assert logit(np.array([0.0, 1.0]), 1e-3).tolist() == pytest.approx([-math.log(1001), math.log(1001)])


def test_the_worst_case_reads_scores_in_order_and_leaves_the_lowest_out() -> None:
    answers = Answers(np.array([[0.2, 0.7, 0.1], [0.1234567, 0.5, 0.3765433], [0.0, 0.0, 0.0]]), np.array([1, 0, 3]))
    assert sorted_scores(answers).tolist() == [[0.7, 0.2], [0.5, 0.377], [0.0, 0.0]]
    assert sorted_scores(answers, correct=True)[:, 2].tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("forest", [True, False])
@pytest.mark.parametrize("correct", [True, False])
def test_the_worst_case_learns_the_probability_of_membership(forest: bool, correct: bool) -> None:
    """Members have the score .9 twice as often as others, so that their share among those who have it is 2/3."""
    rng = np.random.default_rng(7)
    trained_on = half_of_the_models(rng, 6, 5000)
    own = np.where(rng.random((6, 5000)) < np.where(trained_on, 0.8, 0.4), 0.9, 0.6)
    classifier = fit_worst_case(shadows_of(own, trained_on), 0, forest=forest, correct=correct)
    high, low = classifier.scores(answers_of(np.array([0.9, 0.6])))
    assert high == pytest.approx(2 / 3, abs=0.02)
    assert low == pytest.approx(1 / 4, abs=0.02)


def test_the_worst_case_that_knows_which_label_is_right_uses_it() -> None:
    rng = np.random.default_rng(8)
    trained_on = half_of_the_models(rng, 4, 3000)
    own = np.where(trained_on, 0.8, 0.2)
    target = answers_of(np.array([0.8, 0.2]))
    blind = fit_worst_case(shadows_of(own, trained_on), 0).scores(target)
    seeing = fit_worst_case(shadows_of(own, trained_on), 0, correct=True).scores(target)
    assert blind[0] == blind[1]
    assert seeing[0] > 0.99
    assert seeing[1] < 0.01


@pytest.mark.thorough
def test_quantile_regression_learns_the_laws_of_people_with_the_same_cells() -> None:
    """Logits of models without a person are N(m, s) with m and s of the person's group."""
    rng = np.random.default_rng(9)
    group = rng.integers(0, 3, 3000)
    mean, deviation = np.array([-1.0, 0.0, 2.0])[group], np.array([0.5, 1.0, 1.5])[group]
    trained_on = half_of_the_models(rng, 8, 3000)
    phi = mean + deviation * rng.normal(size=(8, 3000)) + 5 * trained_on
    shadows = shadows_of(1 / (1 + np.exp(-phi)), trained_on)
    people = Features(group[:, None].astype(float), np.array([True]))
    normal = fit_quantile(shadows, people, 0, clip=1e-9, least_deviation=1e-9)
    assert normal.location == pytest.approx(mean, abs=0.1)
    assert normal.deviation == pytest.approx(deviation, abs=0.1)
    upper = fit_quantile(shadows, people, 0, level=0.9, clip=1e-9)
    assert upper.location == pytest.approx(mean + NormalDist().inv_cdf(0.9) * deviation, abs=0.15)
    assert upper.scores(answers_of(np.full(3000, 0.5))) == pytest.approx(-upper.location)


def test_models_are_alike_up_to_chance_and_the_share_of_people_whom_they_learned() -> None:
    rng, own = np.random.default_rng(0), np.zeros(2000, dtype=np.int64)

    def answers(certainty: float) -> Answers:
        first = np.clip(rng.normal(certainty, 0.1, len(own)), 0, 1)
        return Answers(np.column_stack([first, 1 - first]), own)

    others = [answers(0.8) for _ in range(8)]
    assert are_alike(answers(0.8), others)
    assert are_alike(answers(0.83), others)
    assert not are_alike(answers(0.95), others)
    assert not are_alike(answers(0.6), others[:1])
