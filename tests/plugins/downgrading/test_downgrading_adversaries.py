"""The adversaries of withheld cells, against slow copies of their definitions and against printed numbers."""

from __future__ import annotations

import numpy as np
import pytest

from leafgate.algorithms.induction.encoding import encode as code_table
from leafgate.algorithms.induction.greedy import grow
from leafgate.algorithms.induction.growth import finished
from leafgate.algorithms.induction.pruning import prune
from leafgate.algorithms.routing import route
from leafgate.api import Codes
from leafgate_plugins.downgrading.adversaries import RestorationAdversary, TreeAdversary
from leafgate_plugins.downgrading.c45_missing import TreeOptions, best_split, class_posterior, grow_tree
from leafgate_plugins.downgrading.conditioning import ConditioningAdversary
from leafgate_plugins.downgrading.grid import HIDDEN, Grid, indicators
from leafgate_plugins.downgrading.naive_bayes import (
    NaiveBayesAdversary,
    mutual_information,
    pair_counts,
    update_pair_counts,
)
from literal_cells import asked, bits_told, completed, conditioned, naively
from random_tables import categorical, table_of

H = HIDDEN


def random_grid(seed: int, rows: int = 14, hidden: float = 0.25) -> Grid:
    """Four columns that have something to do with each other, and some withheld cells."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, rows)
    codes = np.stack([first, (first + (rng.random(rows) < 0.3)) % 3, first % 2, rng.integers(0, 2, rows)], axis=1)
    codes[rng.random(codes.shape) < hidden] = HIDDEN
    return Grid(codes.astype(np.int64), (3, 3, 2, 2), (False,) * 4, rng.integers(1, 4, rows).astype(float))


def every_row(grid: Grid) -> Codes:
    return np.arange(len(grid.codes))


SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_information_is_that_of_the_visible_pairs(seed: int) -> None:
    grid = random_grid(seed)
    result = mutual_information(pair_counts(grid), grid, 0)
    assert result[1:] == pytest.approx([bits_told(grid, 0, other) for other in (1, 2, 3)], abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_brought_up_to_date_are_those_counted_anew(seed: int) -> None:
    grid = random_grid(seed)
    fewer = grid.with_codes(np.where(np.random.default_rng(seed).random(grid.codes.shape) < 0.2, HIDDEN, grid.codes))
    assert update_pair_counts(pair_counts(grid), grid, fewer) == pytest.approx(pair_counts(fewer))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("least", [1.0, 4.0])
def test_conditioning_counts_who_agrees_on_the_most_telling_visible_cells(seed: int, least: float) -> None:
    grid = random_grid(seed)
    for column, (rows, chances) in ConditioningAdversary(grid, least).posterior(grid.codes, every_row(grid)).items():
        for row, mine in zip(rows.tolist(), chances, strict=True):
            assert mine == pytest.approx(conditioned(grid, row, grid.codes[row].tolist(), column, least))


@pytest.mark.parametrize("seed", SEEDS)
def test_conditioning_uses_what_a_record_that_hides_more_still_shows(seed: int) -> None:
    """Its own visible cell is never a witness of itself."""
    grid = random_grid(seed)
    records = grid.codes.copy()
    records[:, 0] = HIDDEN
    rows, chances = ConditioningAdversary(grid).posterior(records, every_row(grid))[0]
    for row, mine in zip(rows.tolist(), chances, strict=True):
        assert mine == pytest.approx(conditioned(grid, row, records[row].tolist(), 0, 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_naive_bayes_multiplies_the_evidence_of_visible_cells(seed: int) -> None:
    grid = random_grid(seed)
    for column, (rows, chances) in NaiveBayesAdversary(grid).posterior(grid.codes, every_row(grid)).items():
        for row, mine in zip(rows.tolist(), chances, strict=True):
            assert mine == pytest.approx(naively(grid, grid.codes[row].tolist(), column))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tree_mixes_the_branches_a_hidden_cell_could_take(seed: int) -> None:
    grid = random_grid(seed)
    learned = TreeAdversary(grid, TreeOptions(least=1, confidence=None))
    shown = indicators(grid.codes, grid)
    for column, (rows, chances) in learned.posterior(grid.codes, every_row(grid)).items():
        for row, mine in zip(rows.tolist(), chances, strict=True):
            items = [None if grid.codes[row, c] == HIDDEN else shown[row, grid.values_of(c)].tolist() for c in range(4)]
            assert mine == pytest.approx(asked(learned.tree(column), items))


@pytest.mark.parametrize("seed", SEEDS)
def test_filling_in_beliefs_is_the_mean_over_every_completion(seed: int) -> None:
    """No column is asked twice on a path of a tree of categorical columns, so they may be drawn on their own."""
    grid = random_grid(seed)
    trees = TreeAdversary(grid, TreeOptions(least=1, confidence=None))
    restoration = RestorationAdversary(trees, rounds=1)
    fill = trees.from_known_cells(grid.codes, indicators(grid.codes, grid), grid.codes == HIDDEN, restoration.without)
    for column, (rows, chances) in restoration.posterior(grid.codes, every_row(grid)).items():
        for row, mine in zip(rows.tolist(), chances, strict=True):
            shares = [
                fill[c][1][fill[c][0].tolist().index(row)].tolist() if grid.codes[row, c] == HIDDEN else [0.0] * size
                for c, size in enumerate(grid.sizes)
            ]
            assert mine == pytest.approx(completed(trees.tree(column), grid.codes[row].tolist(), shares))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("confidence", [None, 0.25])
def test_where_nothing_is_withheld_the_tree_is_that_of_the_other_c45(seed: int, confidence: float | None) -> None:
    grid = random_grid(seed, rows=40, hidden=0)
    names = "abcd"
    columns = [
        categorical(name, "class" if name == "d" else "private", values=[f"{name}{v}" for v in range(size)])
        for name, size in zip(names, grid.sizes, strict=True)
    ]
    rows = [[f"{name}{code}" for name, code in zip(names, row, strict=True)] for row in grid.codes.tolist()]
    table = table_of(columns, rows, grid.weight.astype(int).tolist())
    coded = code_table(table)
    root = grow(coded, "gain_ratio", average_gain=True, min_leaf=2)
    if confidence is not None:
        prune(root, confidence)
    routed = route(finished(coded, root, table.schema), table)
    counts = [routed.leaves[leaf].counts or {} for leaf in routed.leaf]
    expected = np.array([[c["d0"], c["d1"]] for c in counts], dtype=float)
    seen = np.stack([table.codes(name) for name in names], axis=1)
    mine = grow_tree(grid, 3, TreeOptions(2, confidence))
    chances = class_posterior(mine, grid, indicators(seen, grid), np.zeros(seen.shape, dtype=np.bool_))
    total = expected.sum(axis=1, keepdims=True)
    assert chances[total[:, 0] > 0] == pytest.approx((expected / total)[total[:, 0] > 0])


GOLF = """sunny 75 70 true Play, sunny 80 90 true Don't, sunny 85 85 false Don't, sunny 72 95 false Don't,
sunny 69 70 false Play, ? 72 90 true Play, overcast 83 78 false Play, overcast 64 65 true Play,
overcast 81 75 false Play, rain 71 80 true Don't, rain 65 70 true Don't, rain 75 80 false Play,
rain 68 80 false Play, rain 70 96 false Play"""


def golf() -> tuple[Grid, list[list[str]]]:
    """Quinlan's weather with one outlook unknown; every number is a code of its own."""
    cells = [case.split() for case in GOLF.split(",")]
    domains = [["sunny", "overcast", "rain"], *(sorted({c[i] for c in cells}, key=int) for i in (1, 2))]
    domains += [["true", "false"], ["Play", "Don't"]]
    codes = [[HIDDEN if cell == "?" else domains[i].index(cell) for i, cell in enumerate(case)] for case in cells]
    sizes = tuple(map(len, domains))
    return Grid(np.array(codes), sizes, (False, True, True, False, False), np.ones(len(codes))), domains


def test_quinlans_example_of_an_unknown_cell_sends_the_case_down_every_branch() -> None:
    """C4.5, chapter 3: the unknown case goes to sunny, overcast and rain with 5/13, 3/13 and 5/13."""
    grid, _ = golf()
    root = grow_tree(grid, 4, TreeOptions(2, None))
    assert root.column == 0
    assert root.share == pytest.approx([5 / 13, 3 / 13, 5 / 13])
    sunny = root.children[0]
    assert sunny.column == 2
    assert [son.counts.tolist() for son in sunny.children] == [[2.0, 0.0], [pytest.approx(5 / 13), 3.0]]


def test_quinlans_case_with_an_unknown_humidity_is_play_with_44_percent() -> None:
    """Outlook sunny, temperature 70, humidity unknown, no wind: 2.0 / 5.4 x 100 % + 3.4 / 5.4 x 12 % = 44 %."""
    grid, domains = golf()
    root = grow_tree(grid, 4, TreeOptions(2, None))
    case = np.array([[0, domains[1].index("70"), HIDDEN, 1, HIDDEN]])
    chances = class_posterior(root, grid, indicators(case, grid), case == HIDDEN)
    assert chances[0] == pytest.approx([0.44, 0.56], abs=0.005)


def test_the_unknown_outlook_lowers_its_gain_ratio_as_quinlan_computes() -> None:
    """Gain 13/14 (0.961 - 0.747) = 0.199 bits, split information 1.809."""
    from leafgate_plugins.downgrading.c45_missing import _class_counts, _tests

    grid, _ = golf()
    tests = _tests(grid, _class_counts(grid, 4, np.arange(14), grid.weight), 14.0, 2.0)
    assert tests.gain[0] == pytest.approx(0.199, abs=0.001)
    assert tests.split[0] == pytest.approx(1.809, abs=0.001)


def test_a_column_that_may_not_be_asked_is_not() -> None:
    grid, _ = golf()
    barred = np.array([True, False, False, True, False])
    chosen = best_split(grid, 4, np.arange(14), grid.weight, 2.0, barred)
    assert chosen is None or chosen.column in (1, 2)


def test_restoration_undoes_the_withholding_of_a_copy() -> None:
    """Three columns are the same; two are withheld in one record. The tree asks for the first of them it learned."""
    codes = np.array([[0, 0, 0], [1, 1, 1]] * 6)
    codes[0] = [H, H, 0]
    codes[1] = [H, H, 1]
    grid = Grid(codes, (2, 2, 2), (False,) * 3, np.ones(12))
    trees = TreeAdversary(grid, TreeOptions())
    assert trees.posterior(codes, np.arange(12))[0][1] == pytest.approx(0.5)
    restored = RestorationAdversary(trees, 1).posterior(codes, np.arange(12))[0][1]
    assert restored == pytest.approx(np.eye(2))


def test_without_anything_to_learn_from_every_value_is_as_likely() -> None:
    grid = Grid(np.array([[H, 0], [H, 1]]), (4, 2), (False, False), np.ones(2))
    for learned in (ConditioningAdversary(grid), NaiveBayesAdversary(grid), TreeAdversary(grid, TreeOptions())):
        assert learned.posterior(grid.codes, np.arange(2))[0][1] == pytest.approx(0.25)
