from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leafgate import NoReleaseError, Release, Table
from leafgate.algorithms.induction.encoding import encode
from leafgate.algorithms.induction.growth import GrowingNode, finished
from leafgate.algorithms.induction.pruning import prune
from leafgate.api import AdversaryKnowledge, Node
from leafgate.engine.knowledge import grant_knowledge
from leafgate_plugins.kadet.grow import grow
from leafgate_plugins.kadet.requirements import admissible_of
from leafgate_plugins.kadet.spans import Span, Spans, merge_spans
from leafgate_plugins.linking.attack import link
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
    groups = link(Release({}, table.schema, (tree,)), known).groups
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
