"""What is made of published numbers: a forest that asks evenly, and scores that tell chances."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import poisson

from dp_survey import COLUMNS, dp_trees, released, survey
from leafgate import Release, Table
from leafgate.algorithms.prediction import class_votes
from leafgate.api import CategoricalSplit, Leaf, NumericSplit, Schema, leaves
from leafgate_plugins.dp_random_trees.leaf_scores import impute_suppressed, leaf_scores
from leafgate_plugins.dp_random_trees.options import RandomTrees
from leafgate_plugins.dp_random_trees.structure import (
    CUTS,
    assign_columns,
    balanced_structure_violations,
    draw_balanced_trees,
)

SCHEMA = Schema(COLUMNS)
TABLE = survey()


@pytest.mark.parametrize("trees", [6, 16, 26, 96])
def test_every_column_and_every_pair_of_columns_is_asked_about_equally_often(trees: int) -> None:
    names = [column.name for column in SCHEMA.features]
    dealt = assign_columns(SCHEMA, 2, trees, np.random.default_rng(0))
    assert len(dealt) == trees
    assert dealt[:6] == [(), *((name,) for name in names)]
    pairs = Counter(frozenset(asked) for asked in dealt[6:])
    often = [pairs[frozenset(pair)] for pair in combinations(names, 2)]
    assert max(often) - min(often) <= 1


@given(st.integers(0, 3), st.integers(1, 30), st.integers(0, 2**32))
def test_every_forest_that_is_dealt_is_recognised(depth: int, trees: int, seed: int) -> None:
    found = list(draw_balanced_trees(SCHEMA, depth, trees, np.random.default_rng(seed)))
    assert len(found) == trees
    assert not list(balanced_structure_violations(found, SCHEMA, depth))
    if any(not isinstance(tree, Leaf) for tree in found):
        assert list(balanced_structure_violations(found, SCHEMA, 0))


def test_what_cannot_have_been_dealt_is_seen() -> None:
    (asked,) = (t for t in draw_balanced_trees(SCHEMA, 1, 6, np.random.default_rng(0)) if isinstance(t, NumericSplit))
    (fan, *_) = (
        t for t in draw_balanced_trees(SCHEMA, 1, 6, np.random.default_rng(0)) if isinstance(t, CategoricalSplit)
    )
    uneven = replace(fan, branches=(replace(fan.branches[0], node=asked), *fan.branches[1:]))
    for strange in (
        replace(asked, at=101.0),
        replace(asked, low=asked, high=asked),
        uneven,
        replace(fan, branches=fan.branches[:2], default=Leaf()),
        replace(fan, branches=fan.branches[::-1]),
    ):
        assert list(balanced_structure_violations([strange], SCHEMA, 2))
    assert sum(1 for _ in leaves(asked)) == CUTS + 1


@given(st.floats(0, 60), st.integers(1, 30))
def test_a_hidden_number_is_taken_for_the_mean_of_those_below_k(expected: float, k: int) -> None:
    chances = poisson.pmf(np.arange(k), expected)
    if chances.sum() < 1e-9:
        return
    mean = (np.arange(k) * chances).sum() / chances.sum()
    found = impute_suppressed(np.array([[0.0, 50.0]]), np.array([[expected, 3.0]]), k)
    assert found[0].tolist() == pytest.approx([mean, 50.0], abs=1e-6)


def chances(release: Release, table: Table) -> np.ndarray:
    return np.asarray(softmax(class_votes(release, table), axis=1)[:, 1])


def true_chances(table: Table) -> np.ndarray:
    """By which the survey's answers were drawn."""
    first, second = table.codes("q0"), table.codes("q1")
    return np.asarray(0.1 + 0.25 * first + 0.15 * (second == 1) + 0.2 * (table.numbers("age") > 60))


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.thorough
def test_scores_tell_about_the_chances_the_answers_were_drawn_with(private: bool) -> None:
    table = survey(people=20_000)
    builder = dp_trees(trees=60, beta=0.2, k=20) if private else RandomTrees(trees=60)
    release, test = released(builder, table), survey(people=3_000, seed=2)
    found, true = chances(release, test), true_chances(test)
    off, without = (np.average(np.abs(result - true), weights=test.weight) for result in (found, true.mean()))
    assert off < without / 3  # the answers' chances add up, and the model's odds multiply: it cannot be exact
    assert np.average(found, weights=test.weight) == pytest.approx(np.average(true, weights=test.weight), abs=0.02)


@pytest.mark.thorough
def test_scores_repeat() -> None:
    release = released(dp_trees(), TABLE)
    one, two = (leaf_scores(release.trees, TABLE.schema, 10)[1] for _ in range(2))
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
