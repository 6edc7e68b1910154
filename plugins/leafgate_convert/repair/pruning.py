"""Pruning: subtrees that become leaves, what these leaves say, and who of the training people is at each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from leafgate.algorithms.prediction import predict
from leafgate.algorithms.routing import NOWHERE, route
from leafgate.api import LEAF, Ids, Mask, ModelIR, NodeNumbers, Release, Table, TreeIR, bin_of, columns_asked
from leafgate.app import Encoding, lower_model, topological_order
from leafgate_convert.merging import compact
from leafgate_convert.scrub import folded


@dataclass(frozen=True, eq=False)
class PrunableTree:
    """One tree with what each node would say as a leaf, and with the training people of each node.

    Attributes:
        tree: The tree; `values`, `counts` and `size` are there for inner nodes too.
        given: The same tree with the tests that the file has, before scalers were worked into them.
        parent: The parent of each node; LEAF for the root.
        order: All nodes, each after its parent.
        at: For each record of the table the leaf that it reaches; NOWHERE where it reaches none.
        people: People of the table at each node, as limits count them.
        errors: People of the table at each node (by their weight) whom it would predict wrongly as a leaf.
        lost: People who reach no leaf: they are errors of every pruning.
    """

    tree: TreeIR
    given: TreeIR
    parent: Ids
    order: Ids
    at: Ids
    people: Ids
    errors: Ids
    lost: int

    @cached_property
    def is_leaf(self) -> Mask:
        return np.asarray(self.tree.feature == LEAF)

    @property
    def given_errors(self) -> int:
        """Training people whom the tree itself predicts wrongly."""
        return int(self.errors[self.is_leaf].sum()) + self.lost

    def nothing_pruned(self) -> Mask:
        """The cut that leaves the tree as it is: its own leaves."""
        return np.array(self.is_leaf)

    def root_alone(self) -> Mask:
        """The cut that leaves the root as the only leaf."""
        cut = np.array(self.is_leaf)
        cut[0] = True
        return cut

    def leaf_below(self, cut: Mask) -> Ids:
        """For each node the node of the cut at or above it; LEAF for nodes above the cut.

        Args:
            cut: shape (n_nodes,), the nodes that become leaves; nodes below others in it change nothing.
        """
        top = np.full(self.tree.nodes, LEAF, dtype=np.int64)
        for node in self.order.tolist():
            above = top[self.parent[node]] if node else LEAF
            top[node] = above if above != LEAF else node if cut[node] else LEAF
        return top

    def leaves(self, cut: Mask) -> Ids:
        """The nodes that are leaves after pruning by the cut."""
        top = self.leaf_below(cut)
        return np.unique(top[top != LEAF])

    def errors_of(self, cut: Mask) -> int:
        """Training people whom the pruned tree predicts wrongly."""
        return int(self.errors[self.leaves(cut)].sum()) + self.lost

    def pruned(self, cut: Mask, *, as_given: bool = False) -> TreeIR:
        """The tree whose nodes in the cut are leaves, with the file's own tests where it is to be `as_given`."""
        tree = self.given if as_given else self.tree
        values, counts, size = self.tree.values, self.tree.counts, self.tree.size
        feature = np.where(cut, LEAF, tree.feature)
        return compact(replace(tree, feature=feature, values=values, counts=counts, size=size, numbers=()))


@dataclass(frozen=True, eq=False)
class PrunableModel:
    """A model whose trees can be pruned.

    Attributes:
        given: The model as its file gives it.
        plain: The same over the columns' own numbers, without scalers and fills.
        trees: Its trees.
        errors: Training people (by their weight) whom it predicts wrongly, all trees together.
        is_public: Is every column that some tree tests a quasi-identifier? Then who shares a leaf of one tree is one
            equivalence class.
    """

    given: ModelIR
    plain: ModelIR
    trees: tuple[PrunableTree, ...]
    errors: int
    is_public: bool

    def pruned(self, cuts: Sequence[Mask], *, as_given: bool = False) -> ModelIR:
        """The model of the first trees, as many as there are cuts, each pruned by its cut."""
        kept = tuple(tree.pruned(cut, as_given=as_given) for tree, cut in zip(self.trees, cuts, strict=False))
        return replace(self.given if as_given else self.plain, trees=kept)

    def alone(self, number: int) -> PrunableModel:
        """The model of one of the trees alone."""
        tree = self.trees[number]
        given, plain = (replace(model, trees=(model.trees[number],)) for model in (self.given, self.plain))
        return PrunableModel(given, plain, (tree,), tree.given_errors, self.is_public)


def prunable(model: ModelIR, table: Table, encoding: Mapping[str, Encoding], place: str) -> PrunableModel:
    """The model made ready to be pruned.

    Raises ReleaseError for a model that cannot be told in the policy's columns.
    """
    plain = folded(model)
    numbered = tuple(
        replace(tree, numbers=(NodeNumbers("node", "rows", np.zeros(tree.nodes)),)) for tree in plain.trees
    )
    lowered = lower_model(replace(plain, trees=numbered), b"", table.schema, encoding, place, table.people)
    if lowered.node_numbers is None:
        raise AssertionError("a lowered model has numbers of nodes")
    truth = _truth(model, lowered.node_numbers.classes, table)
    placed = lowered.release.trees[-len(model.trees) :]
    found = []
    for given, tree, node, numbers in zip(model.trees, plain.trees, placed, lowered.node_numbers.trees, strict=True):
        leaf_at = np.full(int(numbers.last.max(initial=0)) + 1, NOWHERE, dtype=np.int64)
        own = np.flatnonzero((tree.feature == LEAF) & (numbers.last > numbers.first))
        leaf_at[numbers.first[own]] = own
        found.append(_prunable(model, given, tree, leaf_at[route(node, table).leaf], truth, table))
    asked = {name for tree in lowered.release.trees for name in columns_asked(tree)}
    is_public = all(table.schema[name].public for name in asked)
    return PrunableModel(model, plain, tuple(found), _errors(lowered.release, table), is_public)


def _truth(model: ModelIR, names: Sequence[str], table: Table) -> Ids:
    """Each record's class as the model numbers them, -1 for one it does not know; of numbers the interval."""
    target = table.schema.target
    codes = table.codes(target.name)
    if not model.classes:
        return codes
    number = {name: i for i, name in enumerate(names)}
    return np.array([number.get(str(value), -1) for value in target.domain], dtype=np.int64)[codes]


def _prunable(model: ModelIR, given: TreeIR, tree: TreeIR, at: Ids, truth: Ids, table: Table) -> PrunableTree:
    order = topological_order(tree)
    inner = np.flatnonzero(tree.feature != LEAF)
    parent = np.full(tree.nodes, LEAF, dtype=np.int64)
    parent[tree.low[inner]] = parent[tree.high[inner]] = inner
    reached = at != NOWHERE
    width = max(len(model.classes), len(table.schema.target.domain), int(truth.max(initial=0)) + 1)
    known = reached & (truth >= 0)
    by_class = np.zeros((tree.nodes, width), dtype=np.int64)
    np.add.at(by_class, (at[known], truth[known]), table.weight[known])
    weight = np.bincount(at[reached], weights=table.weight[reached], minlength=tree.nodes).astype(np.int64)
    persons = np.bincount(at[reached], weights=table.persons[reached], minlength=tree.nodes).astype(np.int64)
    by_class, weight, persons = (_summed_up(tree, order, each) for each in (by_class, weight, persons))
    full = _with_inner_values(model, tree, order, by_class)
    predicted = _predictions(model, full, table)
    right = np.where(predicted >= 0, by_class[np.arange(tree.nodes), np.maximum(predicted, 0)], 0)
    lost = int(table.weight[~reached].sum())
    return PrunableTree(full, given, parent, order, at, persons, weight - right, lost)


def _summed_up(tree: TreeIR, order: Ids, numbers: Any) -> Any:
    """Numbers of leaves added up over all nodes above them; what stood on inner nodes does not count."""
    total = np.where((tree.feature == LEAF).reshape(-1, *[1] * (numbers.ndim - 1)), np.nan_to_num(numbers), 0)
    for node in order[::-1].tolist():
        if tree.feature[node] != LEAF:
            total[node] = total[tree.low[node]] + total[tree.high[node]]
    return total


def _with_inner_values(model: ModelIR, tree: TreeIR, order: Ids, by_class: Ids) -> TreeIR:
    """The tree whose inner nodes have the numbers that they would have as leaves.

    Counts and sizes are sums of those below; shares, scores and numbers are means of those below by the file's own
    counts or sizes, or where it has none by the table's people. A label is that of most people, by the file's
    counts or else the table's.
    """
    counts = None if tree.counts is None else _summed_up(tree, order, tree.counts)
    size = None if tree.size is None else _summed_up(tree, order, tree.size)
    own = by_class.sum(axis=1).astype(np.float64)
    weight = counts.sum(axis=1) if counts is not None else size if size is not None else own
    leaves = tree.feature == LEAF
    if model.values == "counts":
        values = _summed_up(tree, order, tree.values)
    elif model.values == "labels":
        numbers = counts if counts is not None else by_class[:, : len(model.classes)].astype(np.float64)
        numbers = np.where(numbers.any(axis=1, keepdims=True), numbers, _summed_up(tree, order, tree.values))
        values = (np.arange(numbers.shape[1]) == numbers.argmax(axis=1)[:, None]) & numbers.any(axis=1, keepdims=True)
    else:
        weighted = _summed_up(tree, order, tree.values * weight[:, None])
        plain = _summed_up(tree, order, tree.values)
        number = _summed_up(tree, order, leaves.astype(np.float64))
        some = weight > 0
        values = np.where(
            some[:, None], weighted / np.where(some, weight, 1)[:, None], plain / np.maximum(number, 1)[:, None]
        )
    values = np.where(leaves[:, None], tree.values, values)
    return replace(tree, values=values, counts=counts, size=size, numbers=())


def _predictions(model: ModelIR, tree: TreeIR, table: Table) -> Ids:
    """What each node predicts as the only leaf of the only tree: a class, or the interval of a number; -1 for none."""
    if not model.classes:
        edges = table.schema.target.edges or ()
        return bin_of(tree.values[:, 0], edges)
    if tree.values.shape[1] == 1:
        return np.asarray(tree.values[:, 0] > 0, dtype=np.int64)
    silent = (model.values == "labels") & ~tree.values.any(axis=1)
    return np.asarray(np.where(silent, -1, tree.values.argmax(axis=1)))


def training_errors(model: ModelIR, table: Table, encoding: Mapping[str, Encoding], place: str) -> int:
    """Training people (by their weight) whom the whole model predicts wrongly, all trees together."""
    return _errors(lower_model(model, b"", table.schema, encoding, place, table.people).release, table)


def _errors(release: Release, table: Table) -> int:
    wrong = predict(release, table) != table.codes(release.target)
    return int(table.weight[wrong].sum())
