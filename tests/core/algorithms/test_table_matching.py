"""The best matching of reconstructed with true records, compared with all matchings; closed forms of the baseline."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import InconclusiveError
from leafgate.algorithms import table_matching
from leafgate.algorithms.table_matching import Cells, baseline, coded_cells, commonest_right, most_right, true_cells
from leafgate.api import Table
from leafgate.testing.scenarios import relabelled, reordered, shuffled, written_out
from random_tables import tables

NUMBERS = (0.0, 1.0, 2.0, 3.0, 4.5, math.nan)
MOST_PEOPLE = 5
"""Of them all 120 matchings are tried."""


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[tuple[Cells, ...], dict[str, np.ndarray]]:
    """Some people's cells in one to three columns, and those of as many records or fewer."""
    people = draw(st.integers(1, MOST_PEOPLE))
    records = draw(st.integers(1, people))

    def cells(n: int) -> np.ndarray:
        return np.array(draw(st.lists(st.sampled_from(NUMBERS), min_size=n, max_size=n)))

    def column(name: str) -> Cells:
        width, share = draw(st.sampled_from([(0.0, 0.0), (1.0, 0.0), (0.0, 0.4)]))
        return Cells(name=name, true=cells(people), width=width, share=share)

    names = "abc"[: draw(st.integers(1, 3))]
    columns = tuple(map(column, names))
    return columns, {name: cells(records) for name in names}


def is_right(column: Cells, cell: float, true: float) -> bool:
    """The definition, cell by cell, of numbers that no rounding error brings to the other side."""
    if math.isnan(cell) or math.isnan(true):
        return math.isnan(cell) and math.isnan(true)
    return abs(cell - true) <= column.width + column.share * max(cell, true) + 1e-12


@given(comparisons())
def test_no_matching_of_all_has_more_cells_right(both: tuple[tuple[Cells, ...], dict[str, np.ndarray]]) -> None:
    columns, cells = both
    records, people = len(cells["a"]), len(columns[0].true)
    best = max(
        sum(is_right(each, cells[each.name][i], each.true[j]) for each in columns for i, j in enumerate(matched))
        for matched in permutations(range(people), records)
    )
    assert most_right(columns, cells) == pytest.approx(best / (records * len(columns)), abs=1e-12)


@given(comparisons())
def test_no_cell_is_right_of_more_people_than_the_commonest(
    both: tuple[tuple[Cells, ...], dict[str, np.ndarray]],
) -> None:
    tried = np.append(np.arange(0, 8, 0.05), [*NUMBERS])  # where the middle of the best window lies between numbers
    for column in both[0]:
        most = max(sum(is_right(column, cell, true) for true in column.true) for cell in tried)
        assert column.commonest().sum() >= most


@given(comparisons())
def test_the_commonest_cells_have_the_closed_form_of_their_best_matching(
    both: tuple[tuple[Cells, ...], dict[str, np.ndarray]],
) -> None:
    """Each column's commonest cell is found again by trying all of them: its people are those it is right of."""
    columns, cells = both
    records = len(cells["a"])
    people = [sum(bool(column.commonest()[person]) for column in columns) for person in range(len(columns[0].true))]
    best = max(sum(people[person] for person in matched) for matched in permutations(range(len(people)), records))
    assert commonest_right(columns, records) == pytest.approx(best / (records * len(columns)), abs=1e-12)


@given(tables(most=12))
def test_the_table_itself_is_right_in_every_cell(table: Table) -> None:
    names = [column.name for column in table.schema.columns]
    columns = true_cells(table, names)
    assert most_right(columns, coded_cells(written_out(table).frame[names], table.schema)) == 1


@given(tables(most=12))
def test_one_column_is_known_by_its_distribution(table: Table) -> None:
    for column in table.schema.columns:
        assert baseline(true_cells(table, [column.name]), table.total_weight, seed=3).drawn == (1.0,) * 7


@given(tables(most=8), st.integers(1, 8))
def test_a_baseline_depends_on_no_order_of_people_columns_or_values(table: Table, records: int) -> None:
    names = sorted(column.name for column in table.schema.columns)
    records = min(records, table.total_weight)
    twins = (table, shuffled(table), reordered(table), relabelled(table), written_out(table))
    found = {baseline(true_cells(twin, names), records, seed=1) for twin in twins}
    assert len(found) == 1


def test_fewer_cells_are_drawn_at_even_distances_of_the_true_ones() -> None:
    column = Cells(name="age", true=np.arange(10.0, 20.0))
    assert sorted(column.drawn(5, np.random.default_rng(0)).tolist()) == [11, 13, 15, 17, 19]
    assert sorted(column.drawn(10, np.random.default_rng(1)).tolist()) == column.true.tolist()


@given(tables(most=8))
def test_cells_of_a_domain_are_cells_that_the_column_may_have(table: Table) -> None:
    for column, cells in zip(
        table.schema.columns, true_cells(table, [each.name for each in table.schema.columns]), strict=True
    ):
        drawn = cells.drawn_of_domain(200, np.random.default_rng(0))
        if column.values is None:
            assert 0 <= drawn.min() < 1
            assert 9 < drawn.max() <= 10
        else:
            assert set(drawn) == set(range(len(column.values)))


def test_a_baseline_of_domains_knows_no_distribution() -> None:
    """Of 300 people 3 have the second of two values: half of the cells are right by the domain alone."""
    column = Cells(name="ill", true=np.repeat([0.0, 1.0], [297, 3]), domain=(0.0, 1.0))
    found = baseline([column], 300, seed=0, known="domains")
    assert found.commonest == 0
    assert found.value == pytest.approx(0.51, abs=0.06)
    assert baseline([column], 300, seed=0).value == 1


def test_a_number_is_right_within_a_share_of_the_range_its_end_included() -> None:
    column = Cells(name="age", true=np.array([40.0]), width=0.05 * 90)
    assert column.right(np.array([35.49, 35.5, 44.5, 44.51]))[:, 0].tolist() == [False, True, True, False]


def test_a_table_that_is_too_large_is_not_matched_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_matching, "MAX_PAIRS", 11)
    column = Cells(name="age", true=np.arange(4.0))
    assert most_right([column], {"age": np.arange(2.0)}) == 1
    with pytest.raises(InconclusiveError, match="of which no best matching is computed"):
        most_right([column], {"age": np.arange(3.0)})


def test_blocks_of_records_are_all_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_matching, "BLOCK", 2)
    cells: dict[str, Any] = {"age": np.arange(5.0)}
    assert most_right([Cells(name="age", true=np.arange(5.0)[::-1])], cells) == 1
