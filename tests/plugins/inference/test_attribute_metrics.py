"""Limits on inferred inputs: what they score, how often they err, and when a kept one is no pass."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.metrics import matthews_corrcoef

from asked_targets import AskedCase, Planted, asked, guess_of, mistaken, seeing
from guessed_members import report_of
from leafgate.api import UNPLANTED, AttributeBelief, AuditorOnly, InconclusiveError, Table, UnreadableError
from leafgate.app import document
from leafgate_plugins.inference.attributes.leaks import Beliefs, Measure, best_guess, leaks_of, measured, surest_people
from leafgate_plugins.inference.attributes.metrics import (
    BELOW_CHANCE,
    LEAK_SIZES,
    UNBREAKABLE,
    UNSEEN,
    WRONG_PROOF,
    AttributeCertain,
    AttributeLeak,
    determining_columns,
)
from leafgate_plugins.inference.power import REPEATS

ALL_MEASURES: tuple[Measure, ...] = ("accuracy", "ppv", "mcc")


def leak(limit: float = 0.2, **options: Any) -> AttributeLeak:
    return AttributeLeak(at_most=limit, **options)


def verdict(metric: AttributeLeak | AttributeCertain, case: AskedCase) -> tuple[bool | None, str]:
    """Whether the limit is kept, as an audit decides it, and why it is not known."""
    found = case.finding(metric)
    return found.passed, found.evidence.get("problem", "")


def evidence_of(metric: AttributeLeak | AttributeCertain, case: AskedCase) -> dict[str, Any]:
    evidence = case.score(metric).evidence
    return {key: each.content if isinstance(each, AuditorOnly) else each for key, each in evidence.items()}


def groups(people: int) -> np.ndarray:
    """The first `people` targets are in the table, as many others are not."""
    return np.arange(2 * people) < people


# --- Intervals ---


def joint_law(rng: np.random.Generator, values: int, sharp: float) -> np.ndarray:
    """A law of truth, attack's guess and imputation's guess: probabilities of values^3 cells."""
    cells = rng.gamma(0.3, size=(values, values, values))
    diagonal = np.arange(values)
    cells[diagonal, diagonal, :] += sharp * rng.random((values, values))
    cells[diagonal, :, diagonal] += sharp * rng.random((values, values))
    return np.asarray(cells / cells.sum())


def drawn(law: np.ndarray, people: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return np.unravel_index(rng.choice(law.size, people, p=law.reshape(-1)), law.shape)


def true_gain(measure: Measure, law: np.ndarray) -> float:
    """The gain by a law of the cells, from its definition."""
    values = np.arange(len(law))

    def rate(joint: np.ndarray) -> float:
        truth, guess, right = joint.sum(axis=1), joint.sum(axis=0), np.trace(joint)
        if measure != "mcc":
            return float(right)
        return float((right - truth @ guess) / np.sqrt((1 - truth @ truth) * (1 - guess @ guess)))

    assert law.shape == (len(values),) * 3
    return rate(law.sum(axis=2)) - rate(law.sum(axis=1))


def one_hot_beliefs(law: np.ndarray, people: int, rng: np.random.Generator) -> Beliefs:
    truth, attack, imputation = drawn(law, people, rng)
    return Beliefs(truth, guess_of(attack, len(law)), guess_of(imputation, len(law)))


@pytest.mark.parametrize(
    ("measure", "values", "people", "sharp"),
    [("accuracy", 2, 40, 3), ("accuracy", 3, 300, 30), ("mcc", 2, 150, 3), ("mcc", 2, 400, 60), ("mcc", 4, 400, 30)],
)
def test_both_intervals_hold_together_as_often_as_stated(
    measure: Measure, values: int, people: int, sharp: float
) -> None:
    repeats, error = 60 if measure == "mcc" else 300, 0.1
    rng = np.random.default_rng([people, values])
    held = 0
    for _ in range(repeats):
        laws = [joint_law(rng, values, sharp) for _ in range(2)]
        gains = [true_gain(measure, law) for law in laws]
        table, control = (one_hot_beliefs(law, people, rng) for law in laws)
        both = leaks_of(measure, table, control, 100, error)
        first, second = both
        together = first.low <= gains[0] <= first.high and second.low <= gains[0] - gains[1] <= second.high
        held += together
        assert not together or both.larger.low <= max(gains[0], gains[0] - gains[1]) <= both.larger.high
    assert held >= binom.ppf(0.001, repeats, 1 - error)


# --- Measures ---


@pytest.mark.filterwarnings("ignore:A single label was found")
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_the_matthews_correlation_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, guess = np.array(pairs).T
    found = measured("mcc", truth, guess_of(guess, 4), 1)
    assert found == pytest.approx(matthews_corrcoef(truth, guess), abs=1e-12)


def test_the_predictive_value_is_the_share_of_right_guesses_among_the_surest() -> None:
    rng = np.random.default_rng(7)
    posterior = rng.dirichlet(np.ones(3), 500)
    truth = rng.integers(0, 3, 500)
    ordered = sorted(zip(posterior.tolist(), truth.tolist(), strict=True), key=lambda pair: -max(pair[0]))
    for top in (1, 10, 77, 500, 900):
        chosen = [row.index(max(row)) == value for row, value in ordered[:top]]
        assert measured("ppv", truth, posterior, top) == pytest.approx(np.mean(chosen))


def test_ties_are_broken_in_favour_of_no_value_and_of_no_person() -> None:
    even, rng = np.full((6000, 3), 1 / 3), np.random.default_rng(0)
    shares = np.bincount(best_guess(even, rng)) / 6000
    assert shares == pytest.approx(np.full(3, 1 / 3), abs=0.02)
    assert surest_people(even, 3000, rng).mean() == pytest.approx(3000, abs=100)
    nearly = even + np.array([1e-14, 0, -1e-14])
    first, second = (best_guess(each, np.random.default_rng(1)) for each in (even, nearly))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("measure", ALL_MEASURES)
def test_a_measure_is_the_mean_over_orders_of_ties(measure: Measure) -> None:
    rng = np.random.default_rng(9)
    posterior = rng.choice([0.0, 0.25, 0.5], (60, 3)) + 0.25
    posterior /= posterior.sum(axis=1, keepdims=True)
    truth = rng.integers(0, 3, 60)
    broken = []
    for _ in range(400):
        guess, top = best_guess(posterior, rng), surest_people(posterior, 20, rng)
        right = guess == truth
        mcc = measured("mcc", truth, guess_of(guess, 3), 1)
        broken.append({"accuracy": right.mean(), "ppv": right[top].mean(), "mcc": mcc})
    assert measured(measure, truth, posterior, 20) == pytest.approx(
        np.mean([each[measure] for each in broken]), abs=0.01
    )


def test_an_attack_that_is_the_imputation_has_no_leak_at_all() -> None:
    rng = np.random.default_rng(2)
    imputation = np.round(rng.dirichlet(np.ones(3), 400), 1) + 0.1
    imputation /= imputation.sum(axis=1, keepdims=True)
    case = asked(rng.integers(0, 3, 400), groups(200), imputation, imputation)
    assert [case.score(leak(measure=measure)).value for measure in ALL_MEASURES] == [0, 0, 0]


# --- Leaks ---


def small_example() -> AskedCase:
    """Four people of the table and four of the control, whose columns can be counted by hand."""
    truth = np.array([0, 0, 0, 1, 0, 1, 1, 1])
    attack = guess_of(np.array([0, 0, 1, 1, 0, 0, 1, 1]), 2)
    attack[0], attack[7] = (0.9, 0.1), (0.1, 0.9)
    imputation = guess_of(np.array([0, 1, 1, 0, 0, 0, 1, 0]), 2)
    imputation[2], imputation[6] = (0.1, 0.9), (0.1, 0.9)
    return asked(truth, groups(4), attack, imputation, auxiliary=np.array([0, 0, 1]))


def test_the_columns_are_those_of_an_example_counted_by_hand() -> None:
    columns = evidence_of(leak(top=1), small_example())["columns"]
    assert {name: (column["accuracy"], column["ppv"]) for name, column in columns.items()} == {
        "prior": (0.75, 0.75),
        "imputation": (0.25, 0),
        "attack": (0.75, 1),
        "attack_on_control": (0.75, 1),
        "imputation_on_control": (0.5, 1),
    }
    assert columns["prior"]["mcc"] == 0
    assert columns["attack"]["mcc"] == pytest.approx(1 / np.sqrt(3), abs=1e-6)
    assert columns["imputation"]["mcc"] == pytest.approx(-1 / np.sqrt(3), abs=1e-6)
    leaks = evidence_of(leak(), small_example())["leaks"]
    assert (leaks["over_imputation"]["value"], leaks["over_control"]["value"]) == (0.5, 0.25)
    assert small_example().score(leak()).value == 0.5


def guesses(
    table: tuple[float, float], control: tuple[float, float], people: int = 1000, values: int = 2, **more: Any
) -> AskedCase:
    """A case by the shares of mistakes of the attack and of the imputation, on the table and on the control."""
    rng = np.random.default_rng(11)
    truth, inside = rng.integers(0, values, 2 * people), groups(people)
    wrong = [
        np.where(inside, mistaken(truth, values, of_table, rng), mistaken(truth, values, of_control, rng))
        for of_table, of_control in zip(table, control, strict=True)
    ]
    attack, imputation = (guess_of(codes, values) for codes in wrong)
    return asked(truth, inside, attack, imputation, **more)


@pytest.mark.parametrize("measure", ALL_MEASURES)
def test_a_leak_is_seen_in_an_attack_that_is_no_better_than_imputation_but_better_on_members(measure: Measure) -> None:
    case = guesses((0.3, 0.3), (0.9, 0.3))
    metric = leak(0.1, measure=measure, top=500)
    leaks = evidence_of(metric, case)["leaks"]
    assert leaks["over_imputation"]["low"] < 0.05
    assert leaks["over_control"]["low"] > 0.2
    assert verdict(metric, case)[0] is False
    assert case.score(metric).value == pytest.approx(leaks["over_control"]["value"], abs=1e-6)


def test_a_leak_is_seen_in_an_attack_that_is_better_than_imputation_on_members_and_others_alike() -> None:
    case = guesses((0.1, 0.4), (0.1, 0.4))
    assert verdict(leak(0.1), case)[0] is False
    leaks = evidence_of(leak(0.1), case)["leaks"]
    assert leaks["over_control"]["low"] < 0.05 < 0.2 < leaks["over_imputation"]["low"]


@pytest.mark.parametrize("measure", ALL_MEASURES)
def test_a_limit_is_judged_on_the_larger_upper_bound(measure: Measure) -> None:
    for case in (guesses((0.2, 0.3), (0.3, 0.3)), guesses((0.2, 0.3), (0.2, 0.3)), guesses((0.3, 0.2), (0.5, 0.2))):
        score = case.score(leak(measure=measure))
        leaks = evidence_of(leak(measure=measure), case)["leaks"].values()
        assert score.interval == pytest.approx(
            (max(each["low"] for each in leaks), max(each["high"] for each in leaks)), abs=1e-6
        )
        assert score.interval is not None
        assert verdict(leak(score.interval[1] - 1e-4, measure=measure), case)[0] is None


def test_people_of_the_control_who_are_identical_to_somebody_in_the_table_do_not_hide_a_leak() -> None:
    truth = np.tile([0, 1], 400)
    inside, identical = groups(400), np.arange(800) >= 600
    wrong = np.where(inside | identical, truth, 1 - truth)
    even = np.full((800, 2), 0.5)
    case = asked(truth, inside, guess_of(wrong, 2), even, identical=identical)
    evidence = evidence_of(leak(), case)
    assert evidence["leaks"]["over_control"]["value"] == pytest.approx(0.5, abs=0.1)
    assert evidence["without_identical"]["value"] == pytest.approx(1, abs=0.1)
    assert evidence["without_identical"]["control"] == 200


def test_no_leak_is_said_to_be_seen_that_is_smaller_than_the_noise_of_the_audited_model() -> None:
    rng = np.random.default_rng(8)
    truth, inside = rng.integers(0, 2, 1200), groups(600)
    attack, imputation = (guess_of(mistaken(truth, 2, 0.4, rng), 2, 0.6) for _ in range(2))
    case = asked(truth, inside, attack, imputation, planted=seeing(imputation))
    score = case.score(leak())
    assert score.interval is not None
    assert score.value is not None
    assert evidence_of(leak(), case)["smallest_detectable"] >= score.value - score.interval[0] > 0.05
    calm = asked(truth, inside, imputation, imputation, planted=seeing(imputation))
    assert evidence_of(leak(), calm)["smallest_detectable"] < 0.05


def test_targets_of_one_group_alone_leave_the_limit_open() -> None:
    even = np.full((4, 2), 0.5)
    with pytest.raises(InconclusiveError, match="no targets"):
        asked(np.zeros(4, dtype=np.int64), np.ones(4, dtype=bool), even, even).score(leak())


def test_no_gain_is_claimed_where_the_column_is_a_function_of_others() -> None:
    case = guesses((0.1, 0.4), (0.1, 0.4))
    assert verdict(leak(0.1), case)[0] is False
    determined = replace(case, determined_by=("town",))
    assert verdict(leak(0.1), determined)[0] is None
    evidence = evidence_of(leak(0.1), determined)
    assert evidence["determined_by"] == ["town"]
    assert "a function of town" in evidence["says"]
    known = guesses((0.0, 0.0), (0.0, 0.0), determined_by=("town",))
    assert verdict(leak(0.1), known) == (True, "")


def test_columns_are_sought_among_those_known_of_targets_in_the_table_and_the_auxiliary_people(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: list[tuple[list[str], int]] = []

    def among(tables: list[Table], secret: str) -> tuple[str, ...]:
        assert secret == "married"
        looked_at.extend((table.frame.columns.tolist(), table.total_weight) for table in tables)
        return ("town",)

    imputation = SimpleNamespace(determining_columns=among)
    monkeypatch.setitem(sys.modules, "leafgate_plugins.inference.attributes.imputation", imputation)
    context = guesses((0.1, 0.4), (0.1, 0.4), 50, others_in_table=7).context
    assert determining_columns(context, context.known.targets["married"]) == ("town",)
    assert looked_at == [(["town", "married"], 57), (["town", "married"], 2)]


# --- What the public sees ---


def test_public_reports_have_a_rounded_leak_and_nothing_about_people_or_values() -> None:
    case = guesses((0.2, 0.3), (0.3, 0.3), 3000)
    for measure in ALL_MEASURES:
        found = case.finding(leak(0.01, measure=measure))
        public = document(report_of(found, 3000), "public")
        (finding,) = public["findings"]
        assert "single" not in str(public)
        assert set(finding["evidence"]) <= {"candidates", "judged_by", "measure", "top", "problem"}
        assert finding["value"] == (0.1 if measure == "accuracy" else None)
    certain = replace(case.context, belief=replace_certain(case, np.zeros(6000, dtype=np.int64)))
    found = replace(case, context=certain).finding(AttributeCertain(at_most=10))
    (finding,) = document(report_of(found, 3000), "public")["findings"]
    assert finding["value"] is None
    assert set(finding["evidence"]) <= {"candidates", "judged_by"}


def replace_certain(case: AskedCase, certain: np.ndarray) -> AttributeBelief:
    assert isinstance(case.context.belief, AttributeBelief)
    return replace(case.context.belief, certain=certain)


@pytest.mark.parametrize(
    "options", [{"measure": "accuracy"}, {"measure": "ppv"}, {"measure": "ppv", "value": "single"}]
)
def test_one_person_moves_a_leak_by_no_more_than_its_sensitivity(options: dict[str, Any]) -> None:
    rng, people, metric = np.random.default_rng(4), 15, leak(**options, top=8)
    for _ in range(10):
        truth, inside = rng.integers(0, 2, 2 * people), groups(people)
        attack, imputation = (rng.dirichlet(np.ones(2), 2 * people) for _ in range(2))
        score = asked(truth, inside, attack, imputation).score(metric)
        assert 0 < score.sensitivity < 1
        person = int(rng.integers(2 * people))
        changed = truth.copy()
        changed[person] = 1 - truth[person]
        swapped = [each.copy() for each in (attack, imputation)]
        for each in swapped:
            each[person] = each[person][::-1] if rng.random() < 0.5 else (0.999, 0.001)
        moved = inside.copy()
        moved[person] = not inside[person]
        stays = np.arange(2 * people) != person
        others = [
            asked(changed, inside, *swapped),
            asked(truth, moved, attack, imputation),
            asked(truth[stays], inside[stays], attack[stays], imputation[stays]),
        ]
        for other in others:
            value = other.score(metric).value
            assert value is not None
            assert score.value is not None
            assert abs(value - score.value) <= score.sensitivity + 1e-12


# --- Power ---

POWER_PEOPLE, POWER_LIMIT = 2000, 0.2


def harmless(planted: Planted | None = None, **more: Any) -> AskedCase:
    """An attack that is the imputation on a release that tells nothing; the imputation is calibrated."""
    rng = np.random.default_rng(13)
    sureness = 0.5 + 0.3 * rng.random(2 * POWER_PEOPLE)
    imputation = np.column_stack([sureness, 1 - sureness])
    truth = (rng.random(2 * POWER_PEOPLE) > sureness).astype(np.int64)
    repeated = planted if planted is not None else more.pop("planting", seeing)(imputation)
    return asked(truth, groups(POWER_PEOPLE), imputation, imputation, planted=repeated, **more)


def power_options(measure: Measure) -> dict[str, Any]:
    return {"measure": measure, "top": 1500}


@pytest.mark.parametrize("measure", ALL_MEASURES)
@pytest.mark.thorough
def test_a_limit_is_kept_where_the_attack_sees_a_planted_leak_of_its_size(measure: Measure) -> None:
    metric = leak(POWER_LIMIT, **power_options(measure))
    assert verdict(metric, harmless()) == (True, "")
    smallest = evidence_of(metric, harmless())["smallest_detectable"]
    assert smallest in LEAK_SIZES
    assert smallest <= POWER_LIMIT


def wrapped(spoil: Callable[..., np.ndarray]) -> Callable[[np.ndarray], Planted]:
    """A repetition that sees the leak, spoilt: `spoil` gets its posterior, the imputation and who leaks."""

    def planting(imputation: np.ndarray) -> Planted:
        def planted(values: np.ndarray, leaking: np.ndarray, repetition: int) -> np.ndarray:
            return spoil(seeing(imputation)(values, leaking, repetition), imputation, np.random.default_rng(repetition))

        return planted

    return planting


def constant(posterior: np.ndarray, imputation: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.full(posterior.shape, 1 / posterior.shape[1])


def of_other_people(posterior: np.ndarray, imputation: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return posterior[rng.permutation(len(posterior))]


def of_swapped_values(posterior: np.ndarray, imputation: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return posterior[:, ::-1]


def of_noise(posterior: np.ndarray, imputation: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.dirichlet(np.ones(posterior.shape[1]), len(posterior))


def always_imputation(posterior: np.ndarray, imputation: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return imputation


def fifth_of_the_leak(posterior: np.ndarray, imputation: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random((len(posterior), 1)) < 0.2, posterior, imputation)


def half_of_the_leak(posterior: np.ndarray, imputation: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random((len(posterior), 1)) < 0.5, posterior, imputation)


BLUNTED = (constant, of_other_people, of_swapped_values, of_noise, always_imputation, fifth_of_the_leak)


@pytest.mark.parametrize("measure", ALL_MEASURES)
@pytest.mark.parametrize("spoil", BLUNTED)
def test_a_blunted_attack_keeps_no_limit(spoil: Callable[..., np.ndarray], measure: Measure) -> None:
    assert verdict(leak(POWER_LIMIT, **power_options(measure)), harmless(planting=wrapped(spoil))) == (None, UNSEEN)


def test_an_attack_that_sees_half_of_a_leak_keeps_no_limit_where_intervals_are_narrow() -> None:
    assert verdict(leak(POWER_LIMIT), harmless(planting=wrapped(half_of_the_leak))) == (None, UNSEEN)


def test_noise_that_may_be_a_leak_of_the_limits_size_is_not_seen_as_one() -> None:
    def noise(values: np.ndarray, leaking: np.ndarray, repetition: int) -> np.ndarray:
        return guess_of(mistaken(values, 2, 0.35, np.random.default_rng(repetition)), 2)

    assert verdict(leak(0.04), harmless()) == (True, "")
    assert verdict(leak(0.04), harmless(noise)) == (None, UNSEEN)


def test_an_attack_that_is_worse_than_imputation_on_everybody_still_sees_what_is_planted() -> None:
    def worse(imputation: np.ndarray) -> Planted:
        return seeing(guess_of(mistaken(imputation.argmax(axis=1), 2, 0.15, np.random.default_rng(0)), 2))

    assert verdict(leak(POWER_LIMIT), harmless(planting=worse)) == (True, "")


def test_a_planted_leak_is_in_people_of_the_table_whom_the_imputation_gets_wrong() -> None:
    asked_for: list[tuple[np.ndarray, np.ndarray, int]] = []

    def planting(imputation: np.ndarray) -> Planted:
        def planted(values: np.ndarray, leaking: np.ndarray, repetition: int) -> np.ndarray:
            asked_for.append((values, leaking, repetition))
            return seeing(imputation)(values, leaking, repetition)

        return planted

    case = harmless(planting=planting)
    case.score(leak(0.15))
    at_limit = asked_for[-18:]
    assert [repetition for *_, repetition in at_limit] == list(range(18))
    for values, leaking, _ in at_limit:
        assert leaking.sum() == 0.15 * POWER_PEOPLE
        assert groups(POWER_PEOPLE)[leaking].all()
        assert (values[leaking] != case.imputation.argmax(axis=1)[leaking]).all()
        assert np.bincount(values)[1] == pytest.approx(case.imputation[:, 1].sum(), abs=100)


def test_a_limit_above_the_largest_leak_there_is_is_no_reason_for_a_pass() -> None:
    case = harmless(planting=wrapped(always_imputation))
    mistakes = float((case.imputation.argmax(axis=1) != truth_of(case))[:POWER_PEOPLE].mean())
    assert verdict(leak(mistakes + 0.05), case) == (None, UNBREAKABLE)
    assert verdict(leak(mistakes - 0.01), case) == (None, UNSEEN)
    assert verdict(leak(mistakes + 0.05), replace(case, determined_by=("town",))) == (True, "")


def truth_of(case: AskedCase) -> np.ndarray:
    return np.asarray(case.context.membership.secrets["married"])


def test_a_limit_that_chance_reaches_and_an_attack_that_does_not_repeat_itself_leave_the_limit_open() -> None:
    silent = harmless()
    silent = replace(silent, context=replace(silent.context, belief=without_planted(silent)))
    assert verdict(leak(0.2), silent) == (None, UNPLANTED)
    evidence = evidence_of(leak(0.2), silent)
    assert evidence["smallest_detectable"] is None
    assert "not repeated" in evidence["says"]
    far_below = guesses((0.9, 0.1), (0.9, 0.1), planted=seeing(np.full((2000, 2), 0.5)))
    lower = guesses((0.9, 0.1), (0.1, 0.9), planted=seeing(np.full((2000, 2), 0.5)))
    assert verdict(leak(0.0), far_below)[0] is None
    assert verdict(leak(-0.1), lower) == (None, BELOW_CHANCE)


def without_planted(case: AskedCase) -> AttributeBelief:
    assert isinstance(case.context.belief, AttributeBelief)
    return replace(case.context.belief, planted=None)


def fails(values: np.ndarray, leaking: np.ndarray, repetition: int) -> np.ndarray:
    raise KeyError("married")


@pytest.mark.parametrize(
    ("planted", "problem"),
    [
        (fails, "fails on a planted leak (KeyError)"),
        (lambda values, leaking, repetition: np.full((3, 2), 0.5), "returns no posterior"),
        (lambda values, leaking, repetition: np.full((len(values), 2), np.nan), "no distribution"),
        (lambda values, leaking, repetition: np.full((len(values), 2), 0.6), "no distribution"),
        (lambda values, leaking, repetition: ["married"], "fails on a planted leak (ValueError)"),
        (lambda values, leaking, repetition: None, "returns no posterior"),
    ],
)
def test_what_a_plugin_returns_on_a_planted_leak_is_checked(planted: Planted, problem: str) -> None:
    passed, stated = verdict(leak(0.2), harmless(planted))
    assert passed is None
    assert problem in stated
    assert "married" not in stated


def test_a_broken_limit_stays_broken_whatever_the_attack_does_on_planted_leaks() -> None:
    assert verdict(leak(0.05), guesses((0.1, 0.4), (0.1, 0.4), planted=fails))[0] is False


@pytest.mark.parametrize("top", [5, 40, 200])
def test_a_predictive_value_of_one_value_is_the_mean_over_orders_of_ties(top: int) -> None:
    rng = np.random.default_rng(top)
    truth, posterior = rng.integers(0, 3, 300), rng.dirichlet(np.ones(3), 300).round(1)
    sure = posterior[:, 2].round(9)
    orders = [np.lexsort((rng.random(300), -sure))[:top] for _ in range(4000)]
    counted = np.mean([(truth[order] == 2).mean() for order in orders])
    assert measured("ppv", truth, posterior, top, 2) == pytest.approx(counted, abs=0.01)


# --- Certain people ---


def proofs(certain: np.ndarray, truth: np.ndarray, **more: Any) -> AskedCase:
    people = len(truth) // 2
    even = guess_of(np.zeros(len(truth), dtype=np.int64), 2)
    return asked(truth, groups(people), even, even, certain=certain, **more)


def test_certain_people_of_the_table_are_counted_and_those_of_the_control_stated() -> None:
    truth = np.tile([0, 1], 20)
    certain = np.full(40, -1)
    certain[:6] = truth[:6]
    certain[20:24] = (0, 0, 0, 1)
    case = proofs(certain, truth)
    score = case.score(AttributeCertain(at_most=5))
    assert (score.value, score.interval, score.insufficient) == (6, (6, 6), "")
    assert [verdict(AttributeCertain(at_most=limit), case)[0] for limit in (5, 6)] == [False, True]
    evidence = evidence_of(AttributeCertain(at_most=5), case)
    assert (evidence["proved"], evidence["proved_rightly"], evidence["proved_and_imputed"]) == (6, 6, 3)
    assert evidence["on_control"] == {"people": 20, "proved": 4, "right": 3}
    assert "75.0%" in evidence["says"]


def test_a_wrong_proof_leaves_a_limit_open_unless_right_ones_break_it() -> None:
    truth = np.tile([0, 1], 20)
    certain = np.full(40, -1)
    certain[:6] = truth[:6]
    certain[5] = 1 - truth[5]
    assert verdict(AttributeCertain(at_most=20), proofs(certain, truth)) == (None, WRONG_PROOF)
    assert verdict(AttributeCertain(at_most=5), proofs(certain, truth))[0] is None
    assert verdict(AttributeCertain(at_most=4), proofs(certain, truth))[0] is False


def test_certain_people_of_a_sample_stand_for_the_whole_table() -> None:
    truth = np.zeros(200, dtype=np.int64)
    nobody, few = np.full(200, -1), np.where(np.arange(200) < 3, 0, -1)
    score = proofs(nobody, truth, others_in_table=900).score(AttributeCertain(at_most=5))
    assert score.interval == (0, np.ceil(1000 * (1 - 0.05 ** (1 / 100))))
    assert verdict(AttributeCertain(at_most=5), proofs(nobody, truth, others_in_table=900))[0] is None
    assert verdict(AttributeCertain(at_most=5), proofs(nobody, truth)) == (True, "")
    found = proofs(few, truth, others_in_table=900).score(AttributeCertain(at_most=5))
    assert found.interval is not None
    low, high = found.interval
    assert low == 3
    assert binom.cdf(3, 100, high / 1000) <= 0.05 < binom.cdf(3, 100, (high - 1) / 1000)


def test_an_attack_that_proves_nothing_is_not_judged_by_proofs() -> None:
    with pytest.raises(UnreadableError):
        harmless().score(AttributeCertain(at_most=0))


def test_a_repetition_count_of_twenty_lets_nine_of_ten_through() -> None:
    calls = []

    def planting(imputation: np.ndarray) -> Planted:
        def planted(values: np.ndarray, leaking: np.ndarray, repetition: int) -> np.ndarray:
            calls.append(repetition)
            return imputation if repetition in (0, 7) else seeing(imputation)(values, leaking, repetition)

        return planted

    assert verdict(leak(POWER_LIMIT), harmless(planting=planting)) == (True, "")
    assert calls[-1] == REPEATS - 1


def test_the_true_gains_of_an_attack_are_those_of_a_large_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3] / "docs" / "reproduce"))
    attributes, rng = importlib.import_module("interval_coverage_attributes"), np.random.default_rng(0)
    for law in attributes.LEAKS.values():
        for group in (law.table, law.control):
            assert group.probabilities.sum() == pytest.approx(1)
            drawn = group.draw(40_000, rng)
            people = group.people(drawn)
            for measure in attributes.MEASURES:
                attack, imputation = (
                    measured(measure, people.truth, posterior, 20_000)
                    for posterior in (people.attack, people.imputation)
                )
                assert attack - imputation == pytest.approx(group.true_gain(measure, drawn, 20_000), abs=0.04)
