"""Limits on numbers of people by the counts of a forest, compared with all tables that have these counts."""

from __future__ import annotations

import math
import time
import warnings

import numpy as np
import pytest

from leafgate import InconclusiveError, Table
from leafgate.algorithms import routing
from leafgate.algorithms.joint_bounds import most_people
from leafgate.algorithms.joint_proofs import check_witness, people_at_most
from leafgate.api import Branch, CategoricalSplit, Ids, Leaf, NumericSplit, Release
from leafgate_plugins.reconstruction.forest import assignment
from leafgate_plugins.reconstruction.forest import bounds as bounds_module
from leafgate_plugins.reconstruction.forest.assignment import assign, regions_of
from leafgate_plugins.reconstruction.forest.bounds import (
    ForestBounds,
    bounds_by_columns,
    bounds_of_columns,
    forest_bounds,
)
from leafgate_plugins.reconstruction.forest.cell_bounds import cell_system, largest_cells
from leafgate_plugins.reconstruction.forest.column_bounds import ColumnBounds, column_bounds
from leafgate_plugins.reconstruction.forest.regions import ColumnParts, Forest
from random_files import random_models, random_people, read_model
from rebuilt_tables import CLASSES, Case, random_case

CASES = 90


def single(forest: Forest) -> tuple[ColumnBounds, ...]:
    """The limits of each column by itself, of single parts."""
    return bounds_of_columns(forest, [0.0] * len(forest.columns))


@pytest.fixture(scope="module", name="every_case")
def _every_case() -> list[tuple[Case, Forest, ForestBounds]]:
    """Random cases, every third of which has a column with missing cells, and everything that is proved of each."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds_module, "MAX_WHOLE_PAIRS", 1_000)
        for seed in range(CASES):
            case = random_case(seed, missing=seed % 3 == 0)
            forest = Forest.of(case.release, case.schema)
            found.append((case, forest, forest_bounds(forest, single(forest), math.inf)))
    return found


Every = list[tuple[Case, Forest, ForestBounds]]


def case_classes(case: Case) -> list[int]:
    """The class of each person."""
    return [CLASSES.index(case.records[i][2]) for i in case.people]


def part_of(parts: ColumnParts, case: Case) -> list[int]:
    """The part of a column that each record of a case has."""
    if parts.values:
        return [parts.values.index(record[1]) for record in case.records]
    numbers = [record[0] for record in case.records]
    return [parts.n_intervals if x is None else int(np.searchsorted(parts.ends, x)) for x in numbers]


def true_limits(case: Case, parts: ColumnParts) -> tuple[Ids, Ids]:
    """How many people have each part at least and at most, of all tables that agree: (n_parts, n_classes) each."""
    part, label = np.array(part_of(parts, case)), np.array([CLASSES.index(each[2]) for each in case.records])
    found = [
        [case.extremes(np.flatnonzero((part == p) & (label == k))) for k in range(len(CLASSES))]
        for p in range(parts.n_parts)
    ]
    return np.array(found)[..., 0], np.array(found)[..., 1]


def test_limits_hold_when_the_time_is_over_at_once(every_case: Every) -> None:
    """By the first tree alone: they are no narrower than those of all trees."""
    for _, forest, bounds in every_case[:60]:
        for early, late in zip(
            bounds_of_columns(forest, [0.0] * len(forest.columns), -math.inf), bounds.limits, strict=True
        ):
            assert (early.low <= late.low).all()
            assert (early.high >= late.high).all()


def test_limits_of_columns_are_those_of_all_tables(every_case: Every) -> None:
    """What is proved, possible and excluded, compared with an enumeration of all tables."""
    counted = dict.fromkeys(("proved", "exactly", "excluded", "possible", "open"), 0)
    for case, _, bounds in every_case:
        proved = sum(int(true_limits(case, each.parts)[0][each.is_near].sum()) for each in bounds.columns)
        assert bounds.proved_cells == proved
        for column, limits in zip(bounds.columns, bounds.limits, strict=True):
            low, high = true_limits(case, column.parts)
            assert (limits.low == low).all()
            assert (limits.high == high).all()
            assert (limits.is_possible == (high > 0)).all()
            assert limits.is_best[:, np.unique(case_classes(case))].all()
            for name, n in limits.counted().items():
                counted[name] += n
    assert all(counted[name] > CASES / 4 for name in ("proved", "exactly", "excluded", "possible")), counted
    assert counted["open"] == 0


@pytest.mark.thorough
def test_limits_by_one_column_alone_hold(every_case: Every) -> None:
    """They may be wider than those of all columns together, and of one column alone they are as narrow."""
    narrow = wide = 0
    for case, forest, _ in every_case:
        for place, parts in enumerate(forest.columns):
            found = column_bounds(parts, place, forest.trees, 0.0)
            low, high = true_limits(case, parts)
            assert (found.low <= low).all()
            assert (found.high >= high).all()
            is_same = bool((found.low == low).all() and (found.high == high).all())
            narrow, wide = narrow + is_same, wide + (not is_same)
            if len(forest.columns) == 1:
                assert is_same
    assert narrow > 10 * wide > 0


def most_in_runs(case: Case, parts: ColumnParts, k: int, near: float) -> int:
    """The most people that runs of intervals have, each with its fewest people of all tables."""
    label = np.array([CLASSES.index(each[2]) for each in case.records])
    part, best = np.array(part_of(parts, case)), [0]
    for last in range(parts.n_intervals):
        runs = [first for first in range(last + 1) if parts.ends[last] - parts.starts[first] <= near]
        fewest = [case.extremes(np.flatnonzero((part >= i) & (part <= last) & (label == k)))[0] for i in runs]
        best.append(max([best[last], *(best[i] + n for i, n in zip(runs, fewest, strict=True))]))
    return best[-1]


def test_proved_cells_are_in_every_table(every_case: Every) -> None:
    """What is proved of short intervals together is no more than the fewest people in each of them, of all tables."""
    some = 0
    for case, forest, _ in every_case:
        for place, parts in enumerate(forest.columns):
            if parts.values or parts.column.missing:
                continue
            found = column_bounds(parts, place, forest.trees, 1.0)
            for k in range(len(CLASSES)):
                assert found.low[found.is_near, k].sum() <= found.proved_near[k] <= most_in_runs(case, parts, k, 1.0)
                some += int(found.proved_near[k])
    assert some > CASES / 2


def test_limits_of_pairs_of_leaves_are_those_of_all_tables(every_case: Every) -> None:
    compared = 0
    for case, forest, bounds in every_case:
        if not forest.columns:
            continue
        label = np.array([CLASSES.index(each[2]) for each in case.records])
        for (one, two), limits in bounds.pairs.items():
            first, second = (np.unique(case.leaf_of[:, t], return_inverse=True)[1] for t in (one, two))
            meets = forest.trees[one].regions.meets(forest.trees[two].regions)
            for row, (i, j) in enumerate(np.argwhere(meets).tolist()):
                for k in range(len(CLASSES)):
                    having = np.flatnonzero((first == i) & (second == j) & (label == k))
                    assert (int(limits.low[row, k]), int(limits.high[row, k])) == case.extremes(having)
                    compared += 1
    assert compared > CASES


@pytest.mark.parametrize("solved", [True, False])
def test_an_assignment_is_one_of_the_tables(every_case: Every, monkeypatch: pytest.MonkeyPatch, solved: bool) -> None:
    """So few people always get a leaf of each tree, by the solver and by annealing; a record can be in all of these."""
    if not solved:
        monkeypatch.setattr(assignment, "MAX_CELLS", 0)
    for _, forest, _ in every_case[::3]:
        for k in np.flatnonzero(forest.people).tolist():
            found = assign(forest.trees, k, np.random.default_rng(0), steps=500, deadline=math.inf)
            assert found.missed == 0
            for t, tree in enumerate(forest.trees):
                assert np.bincount(found.leaf[:, t], minlength=len(tree.people)).tolist() == tree.people[:, k].tolist()
            if forest.columns:
                regions = regions_of(forest.trees, found.leaf, range(len(forest.trees)))
                assert regions.meets(regions).diagonal().all()


@pytest.mark.thorough
def test_proofs_and_assignments_are_checked_without_the_solver(every_case: Every) -> None:
    """Each limit is that of a sum of constraints in fractions, and shown by an assignment, or was searched for."""
    proofs = searched = 0
    for _, forest, _ in every_case:
        for k in np.flatnonzero(forest.people).tolist():
            cells = largest_cells(forest.trees, k, 10_000)
            assert cells is not None
            system = cell_system(forest.trees, cells, k)
            inside = np.arange(len(cells.leaf)) % 2 == 0
            most = most_people(system, inside)
            assert most.is_exact
            assert most.assignment is not None
            assert check_witness(system, most.assignment)
            assert int(most.assignment[inside].sum()) == most.people
            proofs, searched = proofs + (most.proof is not None), searched + (most.proof is None)
            if most.proof is not None:
                assert people_at_most(system, most.proof) == most.people
    assert proofs > CASES > 20 * searched


@pytest.mark.thorough
def test_without_time_limits_hold_and_are_wider(every_case: Every) -> None:
    for case, forest, _ in every_case[:60]:
        bounds = forest_bounds(forest, single(forest), -math.inf)
        for column, limits in zip(bounds.columns, bounds.limits, strict=True):
            low, high = true_limits(case, column.parts)
            assert (limits.low <= low).all()
            assert (limits.high >= high).all()
            assert not limits.is_best.any()


def test_trees_of_different_people_are_refused() -> None:
    case = random_case(1)
    trees = tuple(NumericSplit("x", 1.0, Leaf(None, {"a": n}), Leaf(None, {"b": 1})) for n in (1, 2))
    with pytest.raises(InconclusiveError, match="different numbers of people"):
        Forest.of(Release({}, case.schema, trees, combine="vote"), case.schema)


def test_counts_that_no_people_can_have_together_are_refused() -> None:
    case = random_case(1)
    trees = tuple(
        NumericSplit("x", at, Leaf(None, {"a": low}), Leaf(None, {"a": 2 - low})) for at, low in ((1.0, 2), (2.0, 1))
    )
    forest = Forest.of(Release({}, case.schema, trees, combine="vote"), case.schema)
    with pytest.raises(InconclusiveError, match="no people can have together"):
        bounds_of_columns(forest, [0.0])


def test_a_tree_that_leaves_people_out_is_not_used() -> None:
    case = random_case(1)
    part = CategoricalSplit("z", (Branch(("p",), Leaf(None, {"a": 1})),))
    whole = NumericSplit("x", 1.0, Leaf(None, {"a": 2}), Leaf(None, {"a": 1}))
    forest = Forest.of(Release({}, case.schema, (part, whole), combine="vote"), case.schema)
    assert len(forest.trees) == 1
    assert forest.unused == ("some values have no branch in it, so that it counts a part of the people",)
    with pytest.raises(InconclusiveError, match="no branch"):
        Forest.of(Release({}, case.schema, (part,)), case.schema)


MODELS = ("tree", "forest", "part", "extra trees", "histograms", "xgboost", "lightgbm", "boosting")


RANDOM_CASES = 30


def people_of(column: ColumnBounds, table: Table) -> Ids:
    """How many people of the table have each block of parts."""
    parts, number = column.parts, table.numbers(column.parts.column.name)
    inside = np.minimum(np.searchsorted(parts.ends, number), parts.n_intervals - 1)
    part = np.where(np.isnan(number), parts.n_intervals, inside)
    n = np.bincount(part, weights=table.weight, minlength=parts.n_parts)
    return np.bincount(column.block, weights=n, minlength=len(column.low)).astype(np.int64)


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
def test_what_is_proved_is_so(name: str) -> None:
    tried = summed = 0
    for seed in range(RANDOM_CASES):
        rng = np.random.default_rng([seed, MODELS.index(name)])
        people = random_people(rng)
        models = random_models(rng, people)
        if name not in models:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = read_model(name, models[name](), people)
        rows = loaded.provenance.training_rows
        if rows is None:
            continue
        for tree, sums, output, on_leaves in zip(
            loaded.release.trees, rows.sums, rows.outputs, rows.on_leaves, strict=True
        ):
            if sums is None or rows.drawn or on_leaves is None or on_leaves.sum() < people.table.total_weight:
                continue
            is_of = people.table.numbers("y") if output is None else people.table.frame["y"].astype(str) == output
            amount = np.asarray(is_of, dtype=float) * people.table.weight
            true = np.bincount(routing.leaf_numbers(tree, people.table), weights=amount, minlength=len(sums))
            assert sums == pytest.approx(true, rel=1e-4, abs=1e-2)
            summed += 1
        try:
            forest = Forest.of_rows(loaded.release, people.table.schema, rows)
        except InconclusiveError:
            continue
        columns = bounds_of_columns(forest, [20.0] * len(forest.columns))
        found: ForestBounds = (
            bounds_by_columns(columns) if rows.drawn else forest_bounds(forest, columns, time.monotonic() + 1)
        )
        for column, limits in zip(found.columns, found.limits, strict=True):
            true_people = people_of(column, people.table)
            assert (limits.low[:, 0] <= true_people).all()
            if forest.people.sum() == people.table.total_weight:  # XGBoost counts those whom a tree was grown on
                assert (limits.high[:, 0] >= true_people).all()
        tried += 1
    assert tried > RANDOM_CASES / 3
    assert summed > 0 or name in {"part", "forest", "extra trees", "tree"}
