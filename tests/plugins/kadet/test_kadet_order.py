"""Without private columns the queue's order does not matter, and all open nodes are split at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adult import adult
from leafgate.algorithms.induction.encoding import encode
from leafgate.algorithms.induction.growth import finished, growing_node
from leafgate.algorithms.induction.pruning import prune
from leafgate.algorithms.induction.splits import Measure
from leafgate.types.table import Table
from leafgate.types.tree import Node
from leafgate_kadet.grow import Grower
from leafgate_kadet.requirements import admissible_of
from leafgate_kadet.spans import Spans
from random_tables import tables


def grown(table: Table, k: int, measure: Measure, *, in_order: bool, pruned: bool = False) -> Node:
    """kADET's tree, one split at a time or all open nodes at once."""
    people = encode(table)
    root = growing_node(people, np.arange(len(people.classes)))
    spans = Spans(people, 100_000)
    spans.initial(root, table.schema.target.public)
    grower = Grower(people, admissible_of(people, table.schema, k, ()), measure, measure == "gain_ratio", spans)
    grower.order_matters = in_order
    grower.grow(root)
    if pruned:
        prune(root, 0.25)
    return finished(people, root, table.schema)


def all_public(table: Table) -> bool:
    return all(column.public for column in table.schema.features)


@given(tables().filter(all_public), st.integers(1, 5), st.sampled_from(["gain", "gain_ratio", "gini"]))
def test_all_at_once_grows_the_tree_of_one_at_a_time(table: Table, k: int, measure: Measure) -> None:
    assert grown(table, k, measure, in_order=False) == grown(table, k, measure, in_order=True)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "measure"), [("adult-id3", "gain"), ("adult-all", "gain_ratio")])
@pytest.mark.parametrize("k", [10, 50, 250])
@pytest.mark.parametrize("pruned", [False, True])
def test_all_at_once_grows_the_tree_of_one_at_a_time_on_adult(
    policy: str, measure: Measure, k: int, pruned: bool
) -> None:
    table = adult(policy).table
    one, other = (grown(table, k, measure, in_order=order, pruned=pruned) for order in (False, True))
    assert one == other
