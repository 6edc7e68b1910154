"""Expansion: the first trees of an ensemble as one tree with labels, which predicts much as they do together.

What an ensemble adds up on its leaves is not worked out by every attack, and people who share a leaf in all trees are
few. One tree with the labels of the sum discloses less, and can be pruned exactly. Its leaves are the cells into which
the trees cut the people together: below each leaf of the first tree stands what the second one still asks there. A test
that would send few or none of a node's training people to one side is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leafgate.algorithms.routing import NOWHERE
from leafgate.api import Floats, Ids, Mask
from leafgate.commands.convert.scrub import base_scores, scores_of_nodes
from leafgate.commands.repair.pruning import PrunableModel, PrunableTree
from leafgate.readers import LEAF, NO_SAMPLING, ModelIR, TreeIR

MAX_EXPANDED_NODES = 4_000
"""An ensemble is not expanded to a larger tree."""

MIN_PEOPLE = 5
"""A test of an expanded tree sends at least so many training people to each side."""

QUARTER = 2
"""So many halvings lie between two numbers of rounds that are tried: all, a quarter of them, a sixteenth."""


def expansions(model: PrunableModel, cuts: Sequence[Mask], persons: Ids) -> list[ModelIR]:
    """The first trees as one tree: all rounds of them, a quarter, a sixteenth and so on to the first.

    Args:
        model: a classifier, with the training people at the nodes of its trees.
        cuts: for each tree the nodes that become leaves before it is expanded.
        persons: shape (n_records,), how many people share each record of the table.

    Returns:
        Models of one tree with labels over the same features, without those that would be too large.
    """
    step = max(len({each.tree.output for each in model.trees} - {None}), 1)
    pruned = [
        replace(each, at=np.where(each.at == NOWHERE, NOWHERE, each.leaf_below(cut)[each.at]))
        for each, cut in zip(model.trees, cuts, strict=True)
    ]
    rounds = len(model.trees) // step
    counts = {max(rounds >> halvings, 1) for halvings in range(0, rounds.bit_length() + QUARTER, QUARTER)}
    grown = [expanded(model.given, pruned[: count * step], persons) for count in sorted(counts, reverse=True)]
    return [_with_labels(model.given, tree) for tree in grown if tree is not None]


def _with_labels(model: ModelIR, tree: TreeIR) -> ModelIR:
    """The model with this tree alone, which has labels on its leaves."""
    return replace(
        model,
        trees=(tree,),
        values="labels",
        combine="one",
        base=(),
        counted="unknown",
        discloses=(),
        sampling=NO_SAMPLING,
        hessians=None,
    )


def expanded(model: ModelIR, trees: Sequence[PrunableTree], persons: Ids) -> TreeIR | None:
    """One tree that predicts what these trees say together, for all people but those whom the tests left out part.

    Args:
        model: the classifier that they are the first trees of.
        trees: one or more; `at` may be inner nodes, which are leaves then.
        persons: shape (n_records,), how many people share each record of the table.

    Returns:
        The tree; None where it would have more than `MAX_EXPANDED_NODES` nodes.
    """
    scores = [scores_of_nodes(model, each.tree) for each in trees]
    first_last = [_intervals(each) for each in trees]
    reached = np.logical_and.reduce([each.at != NOWHERE for each in trees])
    source: list[tuple[int, int] | None] = []
    labels: list[int] = []
    children: list[list[int]] = []
    base = base_scores(model)
    waiting: list[tuple[int, int, Ids, Floats, tuple[int, int]]] = [(0, 0, np.flatnonzero(reached), base, (LEAF, 0))]
    while waiting:
        number, node, people, total, (parent, side) = waiting.pop()
        low = high = people
        while number < len(trees):
            each = trees[number]
            if node == each.at[people[0]]:
                total, number, node = total + scores[number][node], number + 1, 0
                continue
            first, last = first_last[number]
            child = int(each.tree.low[node])
            place = first[each.at[people]]
            goes_low = (first[child] <= place) & (place < last[child])
            low = people[goes_low]
            high = people[~goes_low]
            if min(persons[low].sum(), persons[high].sum()) >= MIN_PEOPLE:
                break
            most_low = persons[low].sum() > persons[high].sum()
            node, people = (child, low) if most_low else (int(each.tree.high[node]), high)
        own = len(source)
        if own >= MAX_EXPANDED_NODES:
            return None
        if parent != LEAF:
            children[parent][side] = own
        children.append([LEAF, LEAF])
        silent = model.values == "labels" and not total.any()
        labels.append(LEAF if silent else int(total.argmax()))
        if number == len(trees):
            source.append(None)
            continue
        source.append((number, node))
        tree = trees[number].tree
        waiting.append((number, int(tree.high[node]), high, total, (own, 1)))
        waiting.append((number, int(tree.low[node]), low, total, (own, 0)))
    values = (np.arange(len(base)) == np.array(labels)[:, None]).astype(np.float64)
    return _joined([each.given for each in trees], source, np.array(children, dtype=np.int64), values)


def _intervals(tree: PrunableTree) -> tuple[Ids, Ids]:
    """For each node its place in an order in which all nodes below it follow it, and the place after the last."""
    first = np.zeros(tree.tree.nodes, dtype=np.int64)
    size = np.ones(tree.tree.nodes, dtype=np.int64)
    for node in tree.order[::-1].tolist():
        if not tree.is_leaf[node]:
            size[node] += size[tree.tree.low[node]] + size[tree.tree.high[node]]
    for node in tree.order.tolist():
        if not tree.is_leaf[node]:
            low, high = int(tree.tree.low[node]), int(tree.tree.high[node])
            first[low] = first[node] + 1
            first[high] = first[low] + size[low]
    return first, first + size


def _joined(trees: Sequence[TreeIR], source: Sequence[tuple[int, int] | None], children: Ids, values: Floats) -> TreeIR:
    """A tree whose inner nodes are nodes of other trees."""
    inner = [(own, *at) for own, at in enumerate(source) if at is not None]
    feature = np.full(len(source), LEAF, dtype=np.int64)
    threshold = np.full(len(source), np.nan)
    strict, float32, missing_low = (np.zeros(len(source), dtype=bool) for _ in range(3))
    flags = [(tree.flag("strict"), tree.flag("float32"), tree.flag("missing_low")) for tree in trees]
    for own, number, node in inner:
        feature[own], threshold[own] = trees[number].feature[node], trees[number].threshold[node]
        strict[own], float32[own], missing_low[own] = (flag[node] for flag in flags[number])
    subsets = {own: trees[number].subsets[node] for own, number, node in inner if node in trees[number].subsets}
    low, high = children.T
    return TreeIR(feature, threshold, low, high, values, strict, float32, missing_low, subsets)
