"""Tables of which bootstraps were drawn: the likeliest numbers of people in cells."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from leafgate.api import (
    AdversaryKnowledge,
    Floats,
    Ids,
    InconclusiveError,
    ScoringContext,
    Table,
    make_table,
    typed_column,
)
from leafgate.testing import grant_knowledge
from leafgate_plugins.reconstruction.forest import draws
from leafgate_plugins.reconstruction.forest.regions import Forest
from leafgate_plugins.reconstruction.rebuild import Rebuild
from leafgate_plugins.reconstruction.table_metric import ReconstructedCells
from rebuilt_tables import Case, drawn_case, leaf_of


def cost(n: Floats, leaf: Ids, counts: list[Ids]) -> float:
    """The logarithm of how unlikely Poisson draws are, but for a constant."""
    inside = [np.maximum(np.bincount(leaf[:, t], weights=n, minlength=3), 1e-9) for t in range(4)]
    return float(sum((s - y * np.log(s))[(s > 1e-9) | (y > 0)].sum() for s, y in zip(inside, counts, strict=True)))


@pytest.mark.thorough
def test_the_numbers_are_those_under_which_the_draws_are_likeliest() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        leaf = rng.integers(0, 3, (5, 4))
        people = rng.integers(0, 4, 5)
        counts = [rng.poisson(np.bincount(leaf[:, t], weights=people, minlength=3)) for t in range(4)]
        if not sum(each.sum() for each in counts):
            continue
        there = [np.bincount(leaf[:, t], minlength=3) > 0 for t in range(4)]
        counts = [np.where(some, y, 0) for some, y in zip(there, counts, strict=True)]
        found = draws.likeliest(leaf, counts, float("inf"))
        best = min(
            (minimize(cost, start, args=(leaf, counts), bounds=[(0, None)] * 5) for start in rng.random((5, 5)) * 3),
            key=lambda each: float(each.fun),
        )
        assert cost(found, leaf, counts) <= best.fun + 0.02


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.thorough
def test_bootstraps_of_many_trees_give_back_most_of_the_table(seed: int) -> None:
    case = drawn_case(seed, 200, 80)
    (belief,) = Rebuild().infer(case.release, known_of(case))
    assert belief.proved_cells is None  # draws prove no cell
    assert belief.evidence == {"trees": 80, "trees_together": 80}
    assert len(belief.records) == 200
    truth = Counter((*case.leaf_of[i].tolist(), case.records[i][2]) for i in case.people)
    rebuilt = Counter(
        (*(leaf_of(tree, (x, z, y)) for tree in case.release.trees), y)
        for x, z, y in belief.records[["x", "z", "y"]].itertuples(index=False)
    )
    assert (truth & rebuilt).total() >= 160


def test_sums_over_combinations_and_over_joined_leaves_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    case = drawn_case(1, 40, 3)
    forest = Forest.of(case.release, known_of(case).schema)
    points, by_point = draws._cells(forest, case.release)
    monkeypatch.setattr(draws, "MAX_CELLS", 1)
    joined, by_leaf = draws._cells(forest, case.release)
    assert {*map(tuple, points.tolist())} == {*map(tuple, joined[:, np.argsort(by_leaf)].tolist())}
    assert sorted(by_leaf) == [*by_point]


def test_a_search_that_ends_with_the_time_or_without_some_trees_is_unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    case = drawn_case(1, 40, 3)
    known = known_of(case)
    (whole,) = Rebuild().infer(case.release, known)
    (short,) = Rebuild(time_limit=1e-9).infer(case.release, known)
    monkeypatch.setattr(draws, "MAX_CELLS", 1)
    monkeypatch.setattr(draws, "MAX_JOINED", 3)
    (partly,) = Rebuild().infer(case.release, known)
    assert partly.evidence["trees_together"] < 3
    assert whole.unfinished == ""
    assert "ended with its time" in short.unfinished
    assert "did not use all trees" in partly.unfinished


def test_trees_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    case = drawn_case(1, 40, 3)
    monkeypatch.setattr(draws, "MAX_CELLS", 1)
    monkeypatch.setattr(draws, "MAX_JOINED", 1)
    with pytest.raises(InconclusiveError, match="more than 1 leaves"):
        Rebuild().infer(case.release, known_of(case))


def test_what_draws_cannot_prove_is_inconclusive() -> None:
    case = drawn_case(0, 30, 5)
    known = known_of(case)
    (belief,) = Rebuild().infer(case.release, known)
    table = table_of(case)
    with pytest.raises(InconclusiveError, match="proves no cells"):
        ReconstructedCells(at_most=0.5, counted="proved").score(
            ScoringContext(table, table, case.release, known, belief)
        )


def known_of(case: Case) -> AdversaryKnowledge:
    return grant_knowledge(table_of(case))


def table_of(case: Case) -> Table:
    rows = [case.records[i] for i in case.people]
    cells = {column.name: [row[j] for row in rows] for j, column in enumerate(case.schema.columns)}
    frame = pd.DataFrame({column.name: typed_column(column, cells[column.name]) for column in case.schema.columns})
    return make_table(case.schema, frame)


def test_the_time_limit_ends_the_iteration() -> None:
    leaf = np.array([[0], [1]])
    even = draws.likeliest(leaf, [np.array([3, 1])], time.monotonic() - 1)
    assert even.tolist() == [2.0, 2.0]
