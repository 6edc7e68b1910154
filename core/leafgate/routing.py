"""Where the rows of a table end up in a tree, and what the trees then predict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leafgate.bins import bin_of
from leafgate.errors import InconclusiveError
from leafgate.release import Release
from leafgate.table import Table
from leafgate.tree import Cut, Fan, Leaf, Node, leaves

Rows = NDArray[np.int64]
NOWHERE = -1


def goes_low(cut: Cut, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers take the low side; missing ones (NaN) go where the cut says, else high."""
    return _low(cut, _single(numbers) if cut.float32 else numbers)


def _single(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32).astype(np.float64)


def _low(cut: Cut, seen: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The same of numbers as the test sees them; what is missing is not smaller than anything."""
    low = seen < cut.at if cut.strict else seen <= cut.at
    return low | np.isnan(seen) if cut.missing == "low" else low


def branch_of_code(fan: Fan, table: Table) -> NDArray[np.int64]:
    """For each code of the column's domain the child that takes it, NOWHERE if none does."""
    position = {value: i for i, branch in enumerate(fan.branches) for value in branch.values}
    elsewhere = NOWHERE if fan.other is None else len(fan.branches)
    return np.array([position.get(value, elsewhere) for value in table.schema[fan.column].domain])


Cells = dict[tuple[str, bool], NDArray[np.float64]]
"""Columns of numbers, in single precision or not, that were looked up before: who asks many nodes keeps them."""


def split_rows(node: Cut | Fan, table: Table, rows: Rows, cells: Cells | None = None) -> Iterator[tuple[Node, Rows]]:
    """Each child with the rows that go there; rows that no branch names go nowhere."""
    if isinstance(node, Cut):
        cells = {} if cells is None else cells
        seen = node.column, node.float32
        if seen not in cells:
            numbers = table.numbers(node.column)
            cells[seen] = _single(numbers) if node.float32 else numbers
        low = _low(node, cells[seen].take(rows))
        yield node.low, rows.compress(low)
        yield node.high, rows.compress(~low)
        return
    taken = branch_of_code(node, table).take(table.codes(node.column).take(rows))
    for i, branch in enumerate(node.branches):
        yield branch.node, rows.compress(taken == i)
    if node.other is not None:
        yield node.other, rows.compress(taken == len(node.branches))


@dataclass(frozen=True)
class Routed:
    """The leaves of one tree from left to right, and each row's leaf (NOWHERE if it has none)."""

    leaves: tuple[Leaf, ...]
    leaf: NDArray[np.int64]


def route(tree: Node, table: Table) -> Routed:
    """Send every row of the table down the tree."""
    where = np.full(len(table), NOWHERE, dtype=np.int64)
    found: list[Leaf] = []
    waiting: list[tuple[Node, Rows]] = [(tree, np.arange(len(table)))]
    cells: Cells = {}
    while waiting:
        node, rows = waiting.pop()
        if isinstance(node, Leaf):
            where[rows] = len(found)
            found.append(node)
        elif not len(rows):
            found.extend(leaves(node))
        else:
            waiting.extend(reversed(list(split_rows(node, table, rows, cells))))
    return Routed(tuple(found), where)


def predict(release: Release, table: Table) -> NDArray[np.int64]:
    """Each row's class as a position in the release's classes, -1 where no leaf speaks.

    Naive Bayes says the likeliest. One tree says its leaf's label; `vote` counts labels, `sum` adds the leaves'
    counts, `mean_per_tree` their shares and `boost` their scores; a tie goes to the first class. Numbers are
    predicted by the interval they lie in, beyond the intervals by the outermost. Raises
    InconclusiveError for what cannot be combined from what is published.
    """
    votes = class_votes(release, table)
    return np.where(np.isnan(votes[:, 0]), NOWHERE, np.nan_to_num(votes).argmax(axis=1))


def class_votes(release: Release, table: Table) -> NDArray[np.float64]:
    """What all trees together say for each class, a row for each of the table; NaN where no leaf speaks.

    Raises InconclusiveError for what cannot be combined from what is published.
    """
    if release.bayes is not None:
        return release.bayes.chances(table, release.classes)
    votes = np.zeros((len(table), len(release.classes)))
    spoken = np.zeros(len(table), dtype=bool)
    if release.predicts_numbers:
        return _number_votes(release, table)
    for tree in release.trees:
        routed = route(tree, table)
        added = leaf_votes(release, routed.leaves)[routed.leaf]
        if np.isnan(added).any():
            raise InconclusiveError(f"cannot combine trees by {release.combine!r} from what is published")
        votes += added
        spoken |= (routed.leaf != NOWHERE) if release.combine == "boost" else added.sum(axis=1) > 0
    votes[~spoken] = np.nan
    return votes


def predicted_numbers(release: Release, table: Table) -> NDArray[np.float64]:
    """The number that regression trees predict for each row: their sum, or their mean with `mean_per_tree`."""
    total = np.zeros(len(table))
    for tree in release.trees:
        routed = route(tree, table)
        told = np.array([np.nan if leaf.value is None else leaf.value for leaf in routed.leaves] + [np.nan])
        total += told[routed.leaf]
    return total / len(release.trees) if release.combine == "mean_per_tree" else total


def _number_votes(release: Release, table: Table) -> NDArray[np.float64]:
    """One vote, for the interval in which the predicted number lies."""
    numbers = predicted_numbers(release, table)
    inside = bin_of(numbers, release.schema.target.edges or ())
    votes = np.eye(len(release.classes))[np.minimum(inside, len(release.classes) - 1)]
    votes[np.isnan(numbers)] = np.nan
    return votes


def leaf_votes(release: Release, tree_leaves: Sequence[Leaf]) -> NDArray[np.float64]:
    """What each leaf adds to each class, and a last row of zeros, which NOWHERE picks.

    A row of NaN belongs to a leaf that does not publish the numbers which `release.combine` needs, such as a leaf of
    nobody among leaves with shares. It matters only if a record is routed there.
    """
    votes = [_leaf_vote(leaf, release) for leaf in tree_leaves]
    return np.array([*votes, [0.0] * len(release.classes)])


def _leaf_vote(leaf: Leaf, release: Release) -> list[float]:
    if release.combine in {"one", "vote"}:
        return [float(leaf.label == label) for label in release.classes]
    numbers = leaf.scores if release.combine == "boost" else leaf.counts if leaf.counts is not None else leaf.shares
    if numbers is None:
        return [math.nan] * len(release.classes)
    added = [float(numbers.get(label, 0)) for label in release.classes]
    total = max(sum(added), 1e-300) if release.combine == "mean_per_tree" else 1.0
    return [number / total for number in added]


def label_accuracies(release: Release, table: Table) -> dict[str, float]:
    """For each class that is predicted for somebody in the table, the share of these people who have it.

    This is the precision of each label. Where the published leaves cannot be combined as the model combines
    them, the labels of the trees are counted as votes, as somebody who sees the labels alone would do.
    """
    return _precisions(predicted_classes(release, table), release, table)


def vote_accuracies(release: Release, table: Table) -> dict[str, float] | None:
    """As `label_accuracies`, of the class that most trees' labels say; None where the trees vote to predict.

    Whoever sees labels beside the numbers that the model adds up can count the labels as votes all the same.
    """
    if not release.votes_beside_prediction:
        return None
    return _precisions(predict(replace(release, combine="vote"), table), release, table)


def _precisions(predicted: NDArray[np.int64], release: Release, table: Table) -> dict[str, float]:
    """For each class that is predicted for somebody, the share of these people who have it."""
    truth = np.array(table.schema[release.target].domain, dtype=object)[table.codes(release.target)]
    accuracies = {}
    for position, label in enumerate(release.classes):
        people = table.weight * (predicted == position)
        if people.sum():
            accuracies[label] = float(people[truth == label].sum() / people.sum())
    return accuracies


def predicted_classes(release: Release, table: Table) -> NDArray[np.int64]:
    """As `predict`; by a vote of the trees' labels where what the model adds up is not published."""
    try:
        return predict(release, table)
    except InconclusiveError:
        return predict(replace(release, combine="vote"), table)


def count_leaves(release: Release) -> int:
    """How many leaves the release has over all its trees."""
    return sum(1 for tree in release.trees for _ in leaves(tree))
