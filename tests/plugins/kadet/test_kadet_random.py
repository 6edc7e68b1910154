from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from components import linked
from leafgate import NoReleaseError, Release, Table
from leafgate.algorithms.induction.encoding import encode
from leafgate.algorithms.induction.growth import GrowingNode, finished, growing_node
from leafgate.algorithms.induction.pruning import prune
from leafgate.api import AdversaryKnowledge, Node
from leafgate.testing import grant_knowledge
from leafgate_plugins.kadet.grow import Grower, grow
from leafgate_plugins.kadet.requirements import Required, TClosenessRequired, admissible_of
from leafgate_plugins.kadet.spans import SharedSpans, Span, Spans, merge_spans
from literal_kadet import LiteralKadet
from oracles import group_sizes, numbered, people_of, spans
from questions import Measure, class_counts, shape, size
from random_tables import tables

ANY_K = st.integers(1, 8)
ANY_MEASURE: st.SearchStrategy[Measure] = st.sampled_from(["gain", "gini", "gain_ratio"])


def grown(table: Table, k: int, measure: Measure) -> tuple[GrowingNode, Spans]:
    """The unpruned tree and its spans; tables without any are passed over."""
    try:
        return grow(
            encode(table),
            table.schema,
            admissible_of(encode(table), table.schema, k, ()),
            measure,
            average_gain=True,
            max_spans=1000,
        )
    except NoReleaseError:
        assume(False)
        raise


def tree_of(table: Table, root: GrowingNode) -> Node:
    return finished(encode(table), root, table.schema)


def public_rows(table: Table) -> list[int]:
    """The public record of each record."""
    return list(map(int, table.project([column.name for column in table.schema.public])[1]))


def by_spans(table: Table, found: Sequence[Span]) -> list[int]:
    """The records grouped as kADET's own bookkeeping has it; every record is in just one span."""
    rows = len(encode(table).classes)
    group = {int(row): i for i, span in enumerate(found) for row in span.rows}
    assert sum(len(span.rows) for span in found) == len(group) == rows
    first = np.arange(rows) if rows == len(table) else np.cumsum(table.weight) - table.weight
    return numbered(group[row] for row in first.tolist())


def by_linking(table: Table, tree: Node, known: AdversaryKnowledge) -> list[int]:
    """The records grouped as the linking attack has it."""
    groups = linked(Release({}, table.schema, (tree,)), known)
    return numbered(groups[row] for row in public_rows(table))


def by_definition(table: Table, tree: Node, known: AdversaryKnowledge) -> list[int]:
    """The records grouped by Definition 4."""
    found = spans([tree], known)
    return numbered(found[row] for row in public_rows(table))


@given(tables(), ANY_K, ANY_MEASURE)
def test_kadet_the_attack_and_definition_4_agree_on_who_cannot_be_told_apart(
    table: Table, k: int, measure: Measure
) -> None:
    root, found = grown(table, k, measure)
    tree, known = tree_of(table, root), grant_knowledge(table)
    groups = by_spans(table, found.all())
    assert groups == by_linking(table, tree, known) == by_definition(table, tree, known)
    assert min(group_sizes(groups, table.weight).values()) >= k


@given(tables(), ANY_K, st.sampled_from([0.01, 0.25, 0.5]))
def test_pruning_merges_spans_as_definition_4_would(table: Table, k: int, confidence: float) -> None:
    root, found = grown(table, k, "gain")
    before = group_sizes(by_spans(table, found.all()), table.weight)
    prune(root, confidence)
    tree, known = tree_of(table, root), grant_knowledge(table)
    groups = by_spans(table, merge_spans(found.all()))
    assert groups == by_linking(table, tree, known) == by_definition(table, tree, known)
    assert min(group_sizes(groups, table.weight).values()) >= min(before.values()) >= k


@given(tables(), ANY_K, st.sampled_from(["gain", "gini"]))
def test_the_tree_is_the_one_the_pseudo_code_grows(table: Table, k: int, measure: Measure) -> None:
    root, _ = grown(table, k, measure)
    literal = LiteralKadet(table, k, measure, average_gain=False).tree
    assert literal is not None
    assert shape(tree_of(table, root)) == shape(literal)


@given(tables(numbers=False), ANY_K)
def test_with_gain_ratio_tests_below_the_mean_gain_come_after_all_others(table: Table, k: int) -> None:
    root, _ = grown(table, k, "gain_ratio")
    literal = LiteralKadet(table, k, "gain_ratio", average_gain=True).tree
    assert literal is not None
    assert shape(tree_of(table, root)) == shape(literal)


@given(tables(), ANY_K, ANY_MEASURE)
def test_every_test_separates_at_least_two_people(table: Table, k: int, measure: Measure) -> None:
    root, _ = grown(table, k, measure)
    for node in root.below():
        assert not node.children or sum(len(son.rows) > 0 for son in node.children) >= 2


@given(tables(), ANY_K)
def test_there_is_no_tree_exactly_when_one_leaf_is_not_k_anonymous(table: Table, k: int) -> None:
    people = people_of(table)
    counts = class_counts(people, table.schema).values() if table.schema.target.public else [size(people)]
    smallest = min(n for n in counts if n)
    if smallest < k:
        with pytest.raises(NoReleaseError) as caught:
            grow(
                encode(table),
                table.schema,
                admissible_of(encode(table), table.schema, k, ()),
                "gain",
                average_gain=False,
                max_spans=1000,
            )
        assert caught.value.people is not None
        assert caught.value.people < k
    else:
        assert LiteralKadet(table, k, "gain", average_gain=False).tree is not None


MEASURES: st.SearchStrategy[Measure] = st.sampled_from(["gain", "gain_ratio", "gini"])


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


def grown_in_order(
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


@given(tables().filter(all_public), st.integers(1, 5), MEASURES)
def test_all_at_once_grows_the_tree_of_one_at_a_time(table: Table, k: int, measure: Measure) -> None:
    assert grown_in_order(table, k, measure, in_order=False) == grown_in_order(table, k, measure, in_order=True)


@given(tables(), st.integers(1, 8), MEASURES)
def test_looking_ahead_grows_the_tree_of_looking_at_nodes_at_their_turn(table: Table, k: int, measure: Measure) -> None:
    at_their_turn = grown_in_order(table, k, measure, in_order=True, grower=GrowerWithoutLookingAhead)
    assert grown_in_order(table, k, measure, in_order=True) == at_their_turn


@given(tables(public_class=False), st.integers(1, 4), MEASURES, st.sampled_from([0.1, 0.25, 0.5]))
def test_looking_ahead_grows_the_same_tree_when_more_is_required_of_groups(
    table: Table, k: int, measure: Measure, most: float
) -> None:
    required = (TClosenessRequired(at_most=most),)
    ahead, at_their_turn = (
        grown_in_order(table, k, measure, in_order=True, grower=grower, required=required)
        for grower in (Grower, GrowerWithoutLookingAhead)
    )
    assert ahead == at_their_turn
