"""The queue: all open nodes at once without private columns, and looking ahead of a node's turn with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leafgate import Table
from leafgate.algorithms.induction.encoding import encode
from leafgate.algorithms.induction.growth import GrowingNode, finished, growing_node
from leafgate.algorithms.induction.pruning import prune
from leafgate.algorithms.induction.splits import Measure
from leafgate.api import Node
from leafgate_plugins.kadet.grow import Grower
from leafgate_plugins.kadet.requirements import Required, TClosenessRequired, admissible_of
from leafgate_plugins.kadet.spans import SharedSpans, Spans
from random_tables import tables

ANY_MEASURE: st.SearchStrategy[Measure] = st.sampled_from(["gain", "gain_ratio", "gini"])


class GrowerWithoutLookingAhead(Grower):
    """Looks at a node when it is made, and again at its turn whenever a span of it has been parted since."""

    def _is_still_best(self, node: GrowingNode) -> bool:
        shared, look = self.spans.of[node], self.looks.get(node)
        version = self.spans.update(shared)
        return look is not None and look.spans is shared and look.version == version

    def _split_ahead(
        self, head: Sequence[GrowingNode], others: Sequence[GrowingNode]
    ) -> dict[GrowingNode, SharedSpans]:
        return {}


def grown(
    table: Table,
    k: int,
    measure: Measure,
    *,
    in_order: bool,
    pruned: bool = False,
    grower: type[Grower] = Grower,
    required: Sequence[Required] = (),
) -> tuple[Node, set[tuple[int, ...]]]:
    """kADET's tree, one split at a time or all open nodes at once, and the records of each span."""
    people = encode(table)
    root = growing_node(people, np.arange(len(people.classes)))
    spans = Spans(people, 100_000)
    spans.initial(root, table.schema.target.public)
    admissible = admissible_of(people, table.schema, k, required)
    run = grower(people, admissible, measure, measure == "gain_ratio", spans)
    run.order_matters = in_order
    run.grow([root])
    if pruned:
        prune(root, 0.25)
    return finished(people, root, table.schema), {tuple(sorted(span.rows.tolist())) for span in spans.all()}


def all_public(table: Table) -> bool:
    return all(column.public for column in table.schema.features)


@given(tables().filter(all_public), st.integers(1, 5), ANY_MEASURE)
def test_all_at_once_grows_the_tree_of_one_at_a_time(table: Table, k: int, measure: Measure) -> None:
    assert grown(table, k, measure, in_order=False) == grown(table, k, measure, in_order=True)


@given(tables(), st.integers(1, 8), ANY_MEASURE)
def test_looking_ahead_grows_the_tree_of_looking_at_nodes_at_their_turn(table: Table, k: int, measure: Measure) -> None:
    at_their_turn = grown(table, k, measure, in_order=True, grower=GrowerWithoutLookingAhead)
    assert grown(table, k, measure, in_order=True) == at_their_turn


@given(tables(public_class=False), st.integers(1, 4), ANY_MEASURE, st.sampled_from([0.1, 0.25, 0.5]))
def test_looking_ahead_grows_the_same_tree_when_more_is_required_of_groups(
    table: Table, k: int, measure: Measure, most: float
) -> None:
    required = (TClosenessRequired(at_most=most),)
    ahead, at_their_turn = (
        grown(table, k, measure, in_order=True, grower=grower, required=required)
        for grower in (Grower, GrowerWithoutLookingAhead)
    )
    assert ahead == at_their_turn
