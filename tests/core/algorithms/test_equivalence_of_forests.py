"""Residual trees by arrays; the reference walks the tree for each person, by the paper's definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leafgate import Table
from leafgate.algorithms.equivalence import ResidualTrees, distinct_ids, group_by_keys
from leafgate.algorithms.feasible import Possible, branch_domains, unrouted_values
from leafgate.algorithms.routing import leaf_numbers, split_rows
from leafgate.api import Leaf, Node, NumericSplit, Schema
from random_tables import numeric, table_of, tables
from random_trees import trees

Residual = tuple[object, ...]


def residual_of(
    node: Node, public: Table, row: int, possible: Possible, schema: Schema, path: tuple[int, ...]
) -> Residual:
    """The residual tree of one person: a leaf by its path, a private test over others, or () for no leaf."""
    if isinstance(node, Leaf):
        return ("leaf", path)
    ways = branch_domains(node, possible, schema)
    if schema[node.column].public:
        for i, (child, taken) in enumerate(split_rows(node, public, np.array([row]))):
            if len(taken):
                remaining = {**possible, node.column: ways[i][1]}
                return residual_of(child, public, row, remaining, schema, (*path, i))
        return ()
    below = [
        residual_of(child, public, row, {**possible, node.column: rest}, schema, (*path, i))
        for i, (child, rest) in enumerate(ways)
        if rest
    ]
    below += [()] if unrouted_values(node, possible, schema) else []
    if len(below) == 1:
        return below[0]
    return () if set(below) == {()} else ("test", path, *below)


@given(st.data())
def test_people_share_a_number_exactly_where_they_share_a_residual_tree(data: st.DataObject) -> None:
    table = data.draw(tables(most=12))
    tree = data.draw(trees(table.schema, whole=False))
    public, _ = table.public
    residuals = ResidualTrees(tree, public, table.schema)
    ids = residuals.numbers()
    compact = ResidualTrees(tree, public, table.schema).compact_numbers()
    assert compact.of(np.arange(len(public))).tolist() == ids.tolist()
    by_person = [residual_of(tree, public, row, {}, table.schema, ()) for row in range(len(public))]
    assert len(set(zip(ids.tolist(), by_person, strict=True))) == len(set(ids.tolist())) == len(set(by_person))
    for number, residual in zip(ids.tolist(), by_person, strict=True):
        reached = residuals.leaves(number)
        assert len(reached) == str(residual).count("'leaf'")
        assert residuals.labels(number) == [each.leaf.label for each in reached]
        for each in reached:
            assert isinstance(dict(each.possible), dict)


def test_linking_by_public_columns_holds_no_array_beside_that_of_routing() -> None:
    age = numeric("age", "quasi_identifier")
    table = table_of((age,), [(1.0,), (9.0,)])
    tree = NumericSplit("age", 5.0, Leaf("good"), Leaf("bad"))
    assert ResidualTrees(tree, table, table.schema).compact_numbers().ids is leaf_numbers(tree, table)


@given(st.lists(st.integers(0, 30), max_size=40))
def test_distinct_ids_are_those_of_numpy(numbers: list[int]) -> None:
    ids = np.array(numbers, dtype=np.int16)
    keys, which = np.unique(ids, return_inverse=True)
    own_keys, own_which = distinct_ids(ids)
    assert (own_keys.tolist(), own_which.tolist()) == (keys.tolist(), which.tolist())


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_groups_are_numbered_by_their_first_row(rows: list[tuple[int, int, int]]) -> None:
    group, first = group_by_keys([np.array(key) for key in zip(*rows, strict=True)])
    number = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    assert group.tolist() == [number[row] for row in rows]
    assert first.tolist() == [rows.index(row) for row in number]


@given(st.integers(1, 30).flatmap(lambda n: st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1)))
def test_rows_are_grouped_by_all_keys_in_the_order_in_which_groups_occur(keys: list[list[int]]) -> None:
    group, first = group_by_keys([np.array(ids) for ids in keys])
    rows = list(zip(*keys, strict=True))
    distinct = list(dict.fromkeys(rows))
    assert group.tolist() == [distinct.index(row) for row in rows]
    assert first.tolist() == [rows.index(row) for row in distinct]
