"""Leaks of known size: nothing is found where nothing is planted, and what is planted by all but blunted attacks."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blunted_attacks import BLUNTED
from leafgate.api import Column, Schema, Table
from leafgate_plugins.inference.game import Answers, canonical_order
from leafgate_plugins.inference.membership.learned_attacks import Quantile, WorstCase
from leafgate_plugins.inference.membership.likelihood_ratios import RMIA, LiRA
from leafgate_plugins.inference.membership.planted import (
    PLANTED_ODDS,
    PlantedLeaks,
    Scorer,
    planted_in_answers,
    planted_in_shadows,
    planted_score,
    strengthened,
    uninformative_target,
)
from leafgate_plugins.inference.membership.score_attacks import LossScorer, ShadowAttack
from leafgate_plugins.inference.membership.shadows import ShadowModels

PEOPLE = 3000
REPEATS = 12
COLUMNS = (
    Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 99.0)),
    Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes")),
)


def one_row_each(rows: list[tuple[float, str]]) -> Table:
    """The people, a row for each, as candidates are; those with equal cells have several rows."""
    frame = pd.DataFrame(
        {"age": [age for age, _ in rows], "ill": pd.Categorical([ill for _, ill in rows], ("no", "yes"))}
    )
    return Table(Schema(COLUMNS), frame, np.ones(len(rows), dtype=np.int64))


@cache
def models() -> tuple[ShadowModels, Table]:
    """Shadow models that leak moderately: logits N(m, .7) without a person and N(m + 1, .7) with; m is their own."""
    rng = np.random.default_rng(11)
    trained_on = rng.random((16, PEOPLE)).argsort(axis=0) < 8
    phi = rng.normal(0.5, 1.0, PEOPLE) + rng.normal(0, 0.7, (16, PEOPLE)) + trained_on
    p = 1 / (1 + np.exp(-phi))
    own = rng.integers(0, 2, PEOPLE)
    scores = np.where((own == 0)[None, :, None], np.stack([p, 1 - p], axis=-1), np.stack([1 - p, p], axis=-1))
    people = one_row_each([(float(rng.integers(0, 99)), ("no", "yes")[label]) for label in own])
    return ShadowModels(scores, trained_on, own), people


def planted_for(attack: ShadowAttack) -> PlantedLeaks:
    shadows, people = models()

    def fit(others: ShadowModels) -> Scorer:
        return attack.fit(others, people, 3)

    return planted_in_shadows(shadows, PEOPLE // 3, 3, attack.fit(shadows, people, 3) if attack.fitted_once else fit)


def area(scores: NDArray[np.float64], member: NDArray[np.bool_]) -> float:
    others = np.sort(scores[~member])
    low = np.searchsorted(others, scores[member], side="left")
    high = np.searchsorted(others, scores[member], side="right")
    return float((low + high).mean() / 2 / len(others))


def areas(planted: PlantedLeaks, share: float) -> NDArray[np.float64]:
    leaks = [planted(share, repetition) for repetition in range(REPEATS)]
    return np.array([area(leak.scores, leak.in_table) for leak in leaks])


STANDARD_ERROR = math.sqrt((PEOPLE + 1) / (12 * (PEOPLE // 3) * (PEOPLE - PEOPLE // 3)) / REPEATS)
"""Of the mean area over the repetitions where scores say nothing: Mann and Whitney's."""
ATTACKS: dict[str, ShadowAttack] = {
    "online": LiRA(),
    "offline": LiRA(mode="offline"),
    "fixed": LiRA(variance="fixed"),
    "as in the paper": LiRA(variance="per_example"),
    "rmia": RMIA(),
    "worst case": WorstCase(correct=True),
    "quantile": Quantile(),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.thorough if ATTACKS[name].fitted_once else ()) for name in ATTACKS],
)
def test_a_leak_of_nobody_is_not_found(name: str) -> None:
    found = areas(planted_for(ATTACKS[name]), 0.0)
    assert found.mean() == pytest.approx(0.5, abs=4 * STANDARD_ERROR)


@pytest.mark.parametrize("name", ["online", "offline", "fixed", "rmia"])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_leak_is_found_as_large_as_it_was_planted(name: str, share: float) -> None:
    """An adversary who knew all laws would have an area of .5 + share / 2."""
    assert areas(planted_for(ATTACKS[name]), share).mean() == pytest.approx(0.5 + share / 2, abs=0.03)


@pytest.mark.parametrize("name", ["online", "offline", "fixed", "rmia"])
def test_a_leak_of_everybody_is_found_nearly_everywhere(name: str) -> None:
    assert areas(planted_for(ATTACKS[name]), 1.0).mean() > 0.93


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["worst case", "quantile"])
def test_learned_attacks_find_large_leaks(name: str) -> None:
    small, large = (areas(planted_for(ATTACKS[name]), share).mean() for share in (0.1, 0.5))
    assert large > small > 0.5
    assert large > 0.65


@pytest.mark.parametrize("name", BLUNTED)
def test_blunted_attacks_do_not_find_a_leak_of_half_of_the_members(name: str) -> None:
    """An adversary who knew all laws would have an area of .75."""
    found = areas(planted_for(BLUNTED[name]()), 0.5)
    assert found.mean() < 0.6
    assert areas(planted_for(LiRA()), 0.5).mean() > 0.7


def test_a_repetition_is_the_same_each_time_and_in_any_order() -> None:
    first, second = planted_for(LiRA()), planted_for(LiRA())
    second(0.7, 2)
    second(0.1, 1)
    for repetition in (0, 1):
        one, other = first(0.3, repetition), second(0.3, repetition)
        assert np.array_equal(one.scores, other.scores)
        assert np.array_equal(one.in_table, other.in_table)


def test_a_share_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        planted_for(RMIA())(1.2, 0)


@st.composite
def any_shadows(draw: st.DrawFn) -> ShadowModels:
    models, people = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    flags = draw(st.lists(st.booleans(), min_size=models * people, max_size=models * people))
    scores = np.arange(models * people * 2, dtype=float).reshape(models, people, 2)
    return ShadowModels(scores, np.array(flags).reshape(models, people), np.zeros(people, dtype=np.int64))


@given(any_shadows(), st.integers(0, 2**32))
def test_a_made_up_model_answers_as_models_without_the_candidate_do(shadows: ShadowModels, seed: int) -> None:
    """Each answer of the shadow models is used just once, by the made-up model or as what it was before."""
    answers, others = uninformative_target(shadows, np.random.default_rng(seed))
    assert len(others) == len(shadows) - 1
    for person in range(len(shadows.own)):
        before = Counter(zip(shadows.scores[:, person, 0], shadows.trained_on[:, person], strict=True))
        after = Counter(zip(others.scores[:, person, 0], others.trained_on[:, person], strict=True))
        assert after <= before
        [(answer, trained_on)] = (before - after).elements()
        assert answer == answers.scores[person, 0]
        assert not trained_on or shadows.trained_on[:, person].all()


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=6),
    st.integers(0, 3),
)
def test_planting_multiplies_the_odds_of_the_own_class(counts: list[list[int]], own: int) -> None:
    numbers = np.array(counts, dtype=float)
    totals = numbers.sum(axis=1, keepdims=True)
    answers = Answers(numbers / np.maximum(totals, 1), np.full(len(counts), own))
    after = strengthened(answers, np.arange(len(counts)), np.zeros(len(counts)))
    if own == 3:  # the class is missing
        assert np.array_equal(after.scores, answers.scores)
        return
    assert after.scores.sum(axis=1) == pytest.approx(1)
    for old, new in zip(answers.scores, after.scores, strict=True):
        odds = old[own] / (1 - old[own]) if old[own] < 1 else math.inf
        expected = PLANTED_ODDS * max(odds, 1)
        assert new[own] == pytest.approx(expected / (1 + expected) if expected < math.inf else 1)
        others = np.delete(old, own)
        if others.sum() > 0:
            assert np.delete(new, own) == pytest.approx(others / others.sum() * (1 - new[own]))


def test_only_those_whose_membership_leaks_are_strengthened() -> None:
    answers = Answers(np.array([[0.5, 0.5]] * 4), np.array([0, 1, 0, 1]))
    after = strengthened(answers, np.array([1, 2]), np.array([1.0, 0.0, 1.0, 1.0]))
    strong = float(planted_score(np.array([0.5]))[0])
    assert after.scores == pytest.approx(np.array([[0.5, 0.5], [1 - strong, strong], [1.0, 0.0], [0.5, 0.5]]))
    assert np.array_equal(answers.scores, np.array([[0.5, 0.5]] * 4))


@pytest.mark.parametrize("labels", [True, False])
def test_loss_thresholds_find_leaks_in_random_members(labels: bool) -> None:
    rng = np.random.default_rng(12)
    p = rng.random((PEOPLE, 1))
    p = (p > 0.4).astype(float) if labels else p
    answers = Answers(np.hstack([p, 1 - p]), np.zeros(PEOPLE, dtype=np.int64))
    planted = planted_in_answers(answers, PEOPLE // 3, 1, LossScorer())
    assert areas(planted, 0.0).mean() == pytest.approx(0.5, abs=4 * STANDARD_ERROR)
    if labels:  # of those who are left, 1000 of 2800 have a wrong label: ties are half
        wrong = float((p == 0).sum() - 200) / (PEOPLE - 200)
        assert areas(planted, 0.2).mean() == pytest.approx(0.5 + 0.2 * wrong / 2, abs=4 * STANDARD_ERROR)
    else:
        assert areas(planted, 0.2).mean() == pytest.approx(0.6, abs=4 * STANDARD_ERROR + 0.005)
    assert set(np.unique(planted(0.5, 0).scores)) == {0.0, 1.0} or not labels


def test_planted_leaks_are_put_where_they_show() -> None:
    """The model is certain of four people in ten; a leak of two members in five is planted in the others."""
    rng = np.random.default_rng(13)
    certain = rng.random(1000) < 0.4
    scores = np.where(certain[:, None], [[1.0, 0.0]], [[0.3, 0.7]])
    answers = Answers(scores, np.zeros(1000, dtype=np.int64))
    leak = planted_in_answers(answers, 400, 1, LossScorer())(0.4, 0)
    strong = float(planted_score(np.zeros(1))[0])
    assert int(np.isclose(leak.scores, strong).sum()) == 160
    assert not np.isclose(leak.scores[~leak.in_table], strong).any()
    assert set(leak.scores[~leak.in_table]) == {0.3, 1.0}


def test_the_canonical_order_follows_the_cells_alone() -> None:
    rng = np.random.default_rng(14)
    rows = [(float(rng.integers(0, 30)), ("no", "yes")[int(rng.integers(0, 2))]) for _ in range(200)]
    people = one_row_each(rows)
    order = rng.permutation(len(people))
    frame = people.frame.iloc[order, ::-1].reset_index(drop=True)
    frame["ill"] = frame["ill"].cat.set_categories(["yes", "no"])
    columns = (replace(COLUMNS[1], values=("yes", "no")), COLUMNS[0])
    twin = Table(Schema(columns), frame, np.ones(len(frame), dtype=np.int64))
    first = people.frame.iloc[canonical_order(people)].astype(str)[["age", "ill"]]
    second = twin.frame.iloc[canonical_order(twin)].astype(str)[["age", "ill"]]
    assert first.to_numpy().tolist() == second.to_numpy().tolist()
