"""Pruning: subtrees that become leaves, what these leaves say, and who of the training people is at each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leafgate.algorithms.routing import NOWHERE, route
from leafgate.algorithms.usefulness import Goal
from leafgate.api import Floats, Ids, Mask, Table, bin_of, columns_asked
from leafgate.commands.convert.merging import compact
from leafgate.commands.convert.scrub import folded
from leafgate.ir.model import summed_up, topological_order
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate.readers import LEAF, ModelIR, NodeNumbers, TreeIR


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
        loss: What each node loses as a leaf on the people of the table, by the goal (see `_loss`), in whole numbers.
        lost: What is lost on people who reach no leaf, in every pruning.
    """

    tree: TreeIR
    given: TreeIR
    parent: Ids
    order: Ids
    at: Ids
    people: Ids
    loss: Ids
    lost: int

    @cached_property
    def is_leaf(self) -> Mask:
        return np.asarray(self.tree.feature == LEAF)

    @property
    def given_loss(self) -> int:
        """What the tree itself loses."""
        return int(self.loss[self.is_leaf].sum()) + self.lost

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
        goal: What its prunings are chosen by.
        is_public: Is every column that some tree tests a quasi-identifier? Then who shares a leaf of one tree is one
            equivalence class.
    """

    given: ModelIR
    plain: ModelIR
    trees: tuple[PrunableTree, ...]
    goal: Goal
    is_public: bool

    def pruned(self, cuts: Sequence[Mask], *, as_given: bool = False) -> ModelIR:
        """The model of the first trees, as many as there are cuts, each pruned by its cut."""
        kept = tuple(tree.pruned(cut, as_given=as_given) for tree, cut in zip(self.trees, cuts, strict=False))
        return replace(self.given if as_given else self.plain, trees=kept)

    def alone(self, number: int) -> PrunableModel:
        """The model of one of the trees alone."""
        tree = self.trees[number]
        given, plain = (
            replace(model, trees=(model.trees[number],), calibrated_sums=()) for model in (self.given, self.plain)
        )
        return PrunableModel(given, plain, (tree,), self.goal, self.is_public)


def prunable(
    model: ModelIR, table: Table, encoding: Mapping[str, Encoding], place: str, goal: Goal = "accuracy"
) -> PrunableModel:
    """The model made ready to be pruned.

    Raises ReleaseError for a model that cannot be expressed in the policy's columns.
    """
    plain = folded(model)
    numbered = tuple(
        replace(tree, numbers=(NodeNumbers("node", "rows", np.zeros(tree.nodes)),)) for tree in plain.trees
    )
    lowered = lower_model(replace(plain, trees=numbered), table.schema, encoding, place, table.total_weight)
    if lowered.provenance.node_numbers is None:
        raise AssertionError("a lowered model has numbers of nodes")
    truth = _truth(model, lowered.provenance.node_numbers.classes, table)
    placed = lowered.release.trees[-len(model.trees) :]
    found = []
    for given, tree, node, numbers in zip(
        model.trees, plain.trees, placed, lowered.provenance.node_numbers.trees, strict=True
    ):
        leaf_at = np.full(int(numbers.last.max(initial=0)) + 1, NOWHERE, dtype=np.int64)
        own = np.flatnonzero((tree.feature == LEAF) & (numbers.last > numbers.first))
        leaf_at[numbers.first[own]] = own
        found.append(_prunable(model, given, tree, leaf_at[route(node, table).leaf], truth, table, goal))
    asked = {name for tree in lowered.release.trees for name in columns_asked(tree)}
    is_public = all(table.schema[name].public for name in asked)
    return PrunableModel(model, plain, tuple(found), goal, is_public)


def _truth(model: ModelIR, names: Sequence[str], table: Table) -> Ids:
    """Each record's class as the model numbers them, -1 for one it does not know; of numbers the interval."""
    target = table.schema.target
    codes = table.codes(target.name)
    if not model.classes:
        return codes
    number = {name: i for i, name in enumerate(names)}
    return np.array([number.get(str(value), -1) for value in target.domain], dtype=np.int64)[codes]


def _prunable(
    model: ModelIR, given: TreeIR, tree: TreeIR, at: Ids, truth: Ids, table: Table, goal: Goal
) -> PrunableTree:
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
    by_class, weight, persons = (summed_up(tree, each) for each in (by_class, weight, persons))
    full = _with_inner_values(model, tree, by_class)
    lost = int(table.weight[~reached].sum()) if goal == "accuracy" else 0
    if goal == "loss":
        loss = _squares(full, at, table)
    else:
        loss = _loss(goal, by_class, weight, _predictions(model, full, table))
    return PrunableTree(full, given, parent, order, at, persons, loss, lost)


SCALE = 1_000
"""What is lost is counted in thousandths of people."""


def _loss(goal: Goal, by_class: Ids, weight: Ids, predicted: Ids) -> Ids:
    """What each node loses as a leaf that predicts a class, in whole numbers.

    accuracy           the people whom it predicts wrongly
    balanced_accuracy  the same, each class weighted so that all have as many
    auc                people times Gini impurity: a leaf that is parted ranks no worse

    Source: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984, section 4.3.
    """
    right = np.where(predicted >= 0, by_class[np.arange(len(weight)), np.maximum(predicted, 0)], 0)
    if goal == "accuracy":
        return np.asarray(weight - right)
    counts = by_class.astype(np.float64)
    if goal == "auc":
        people = np.maximum(counts.sum(axis=1), 1)
        return _whole(people - (counts**2).sum(axis=1) / people)
    of_class = counts[0]
    there = of_class > 0
    worth = np.where(there, of_class.sum() / np.where(there, of_class, 1) / there.sum(), 0)
    wrong = (counts * worth).sum(axis=1) - right * worth[np.maximum(predicted, 0)]
    return _whole(wrong)


def _squares(tree: TreeIR, at: Ids, table: Table) -> Ids:
    """The squared differences of people's numbers from each node's, in units of their variance among everybody."""
    truth = table.numbers(table.schema.target.name)
    known = (at != NOWHERE) & ~np.isnan(truth)
    mean = np.average(truth[known], weights=table.weight[known]) if known.any() else 0.0
    variance = max(float(np.average((truth[known] - mean) ** 2, weights=table.weight[known])), 1e-300)
    powers = np.zeros((tree.nodes, 3))
    for i in range(3):
        powers[:, i] = np.bincount(
            at[known], weights=table.weight[known] * (truth[known] - mean) ** i, minlength=tree.nodes
        )
    people, first, second = summed_up(tree, powers).T
    value = tree.values[:, 0] - mean
    return _whole((second - 2 * value * first + people * value**2) / variance)


def _whole(loss: Floats) -> Ids:
    return np.asarray(np.rint(SCALE * loss), dtype=np.int64)


def _with_inner_values(model: ModelIR, tree: TreeIR, by_class: Ids) -> TreeIR:
    """The tree whose inner nodes have the numbers that they would have as leaves.

    Counts and sizes are sums of those below; shares, scores and numbers are means of those below by the file's own
    counts or sizes, or where it has none by the table's people. A label is that of most people, by the file's
    counts or else the table's.
    """
    counts = None if tree.counts is None else summed_up(tree, tree.counts)
    size = None if tree.size is None else summed_up(tree, tree.size)
    own = by_class.sum(axis=1).astype(np.float64)
    weight = counts.sum(axis=1) if counts is not None else size if size is not None else own
    leaves = tree.feature == LEAF
    if model.values == "counts":
        values = summed_up(tree, tree.values)
    elif model.values == "labels":
        numbers = counts if counts is not None else by_class[:, : len(model.classes)].astype(np.float64)
        numbers = np.where(numbers.any(axis=1, keepdims=True), numbers, summed_up(tree, tree.values))
        values = (np.arange(numbers.shape[1]) == numbers.argmax(axis=1)[:, None]) & numbers.any(axis=1, keepdims=True)
    else:
        weighted = summed_up(tree, tree.values * weight[:, None])
        plain = summed_up(tree, tree.values)
        number = summed_up(tree, leaves.astype(np.float64))
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
