"""How many people are in some cells at least and at most, by what the leaves of several trees state together.

A cell is what a leaf of each tree has in common. Where the cells of all trees are few the limits are the best there
are, shown by a table for each; those of a part of the trees hold, too, and may not be the best.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from leafgate.algorithms.joint_bounds import UpperBound, most_people, system_of_one_class
from leafgate.algorithms.joint_classes import JointSystem
from leafgate.algorithms.joint_proofs import check_witness
from leafgate.api import Ids, Mask
from leafgate_plugins.reconstruction.forest.regions import CountedTree, Regions

MAX_CELLS = 30_000
"""So many cells of one class are looked at together at most; where there are more, fewer trees are."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Cells that people of one class can be in.

    Attributes:
        leaf: shape (n_cells, n_trees), the leaf of each tree, as a position among all its leaves.
        regions: what the leaves have in common.
        numbers: the trees, as positions in the forest.
    """

    leaf: Ids
    regions: Regions
    numbers: tuple[int, ...]


def joint_cells(trees: Sequence[CountedTree], leaves: Sequence[Ids], most: int, numbers: Sequence[int]) -> Cells | None:
    """The cells of some leaves of each tree: what one leaf of each has in common.

    Args:
        trees: of the forest.
        leaves: for each of these trees the positions of its leaves.
        most: how many cells there may be.
        numbers: which trees these are.

    Returns:
        None where there are more cells, after any of the trees.
    """
    regions = trees[0].regions.take(leaves[0])
    leaf = leaves[0][:, None]
    for tree, chosen in zip(trees[1:], leaves[1:], strict=True):
        other, ones, twos, n = tree.regions.take(chosen), list[Ids](), list[Ids](), 0
        for one, two in regions.meeting_pairs(other):
            n += len(one)
            if n > most:
                return None
            ones.append(one)
            twos.append(two)
        one, two = (np.concatenate(each) if each else np.zeros(0, dtype=np.int64) for each in (ones, twos))
        regions = regions.take(one).common(other.take(two))
        leaf = np.column_stack([leaf[one], chosen[two]])
    return Cells(leaf=leaf, regions=regions, numbers=tuple(numbers)) if len(leaf) <= most else None


def largest_cells(trees: Sequence[CountedTree], label: int, most: int) -> Cells | None:
    """The cells of as many trees as have few enough of them, by the trees with the most leaves first.

    Returns:
        None where one tree alone has too many.
    """
    counted = [np.flatnonzero(tree.people[:, label]) for tree in trees]
    order = sorted(range(len(trees)), key=lambda t: -len(counted[t]))
    found: Cells | None = None
    for t in order:
        if found is None:
            found = joint_cells([trees[t]], [counted[t]], most, [t])
        else:
            found = _with_tree(found, trees[t], counted[t], most, t) or found
    return found


def _with_tree(cells: Cells, tree: CountedTree, leaves: Ids, most: int, number: int) -> Cells | None:
    every = np.arange(len(cells.leaf))
    joined = CountedTree(regions=cells.regions, people=np.zeros((len(every), 1), dtype=np.int64), leaf=every)
    found = joint_cells([joined, tree], [every, leaves], most, [])
    if found is None:
        return None
    leaf = np.column_stack([cells.leaf[found.leaf[:, 0]], found.leaf[:, 1]])
    return Cells(leaf=leaf, regions=found.regions, numbers=(*cells.numbers, number))


def cell_system(trees: Sequence[CountedTree], cells: Cells, label: int) -> JointSystem:
    """What the leaves of these trees state of the people of one class in each cell."""
    from scipy.sparse import coo_array, vstack

    n = len(cells.leaf)
    people = [trees[0].people[:, label].sum()[None]]
    matrices = [coo_array(np.ones((1, n), dtype=np.int64))]
    for place, number in enumerate(cells.numbers):
        counts = trees[number].people[:, label]
        used = np.flatnonzero(counts)
        position = np.full(len(counts), -1)
        position[used] = np.arange(len(used))
        at = (position[cells.leaf[:, place]], np.arange(n))
        matrices.append(coo_array((np.ones(n, dtype=np.int64), at), shape=(len(used), n)))
        people.append(counts[used])
    stated = np.concatenate(people)
    return system_of_one_class(vstack(matrices, format="csr"), stated, stated)


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """How many people of a class have something, by their cells.

    Attributes:
        may: shape (n_cells,), the cells in which people can have it.
        must: shape (n_cells,), those in which everybody has it.
    """

    may: Mask
    must: Mask


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How many people have something.

    Attributes:
        low: at least so many.
        high: at most so many.
        is_best: whether a table that agrees with all trees has so few, and another one so many.
        is_possible: whether a table that agrees with all trees was found in which somebody has it.
    """

    low: int
    high: int
    is_best: bool
    is_possible: bool


@dataclass(eq=False)
class CellSearch:
    """Limits for one question after another; assignments that are found for one answer others.

    Attributes:
        system: what the leaves state.
        is_whole: whether the cells are those of all trees, so that an assignment is a table that could be.
        deadline: by `time.monotonic`, after which no question is put to the solver.
        shown: assignments.
    """

    system: JointSystem
    is_whole: bool
    deadline: float
    shown: list[Ids] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """What is left of the time."""
        return self.deadline - time.monotonic()

    def add(self, assignment: Ids) -> None:
        """Take an assignment that somebody else found into account, where it agrees with everything."""
        if check_witness(self.system, assignment):
            self.shown.append(assignment)

    def answer(self, question: Question, low: int, high: int) -> Answer:
        """How many people at least and at most, given that so many are proved already."""
        people = int(self.system.size[0])
        least_shown = min((int(each[question.must].sum()) for each in self.shown), default=people + 1)
        most_shown = max((int(each[question.may].sum()) for each in self.shown), default=-1)
        if low < least_shown:
            rest = self._most(~question.must)
            low = max(low, people - rest.people)
            least_shown = min(least_shown, people - rest.found) if rest.found >= 0 else least_shown
        if most_shown < high:
            rest = self._most(question.may)
            high = min(high, rest.people)
            most_shown = max(most_shown, rest.found)
        is_best = self.is_whole and low == least_shown and high == most_shown
        return Answer(low=low, high=high, is_best=is_best, is_possible=self.is_whole and most_shown > 0)

    def _most(self, cells: Mask) -> UpperBound:
        if self.seconds <= 0 or not cells.any():
            is_nobody = not cells.any()
            return UpperBound(
                people=0 if is_nobody else int(self.system.size[0]), proof=None, found=0 if is_nobody else -1
            )
        found = most_people(self.system, cells, whole=self.is_whole, time_limit=self.seconds)
        if found.assignment is not None:
            self.shown.append(found.assignment)
        return found


def pair_bounds(one: Ids, other: Ids, meets: Mask) -> tuple[Ids, Ids]:
    """How many people of a class are in a leaf of one tree and a leaf of another at least and at most.

    Args:
        one: shape (n_leaves,), the people of the leaves of one tree.
        other: shape (n_others,), those of the other tree.
        meets: shape (n_leaves, n_others), which leaves have something in common.

    Returns:
        Both of shape (n_leaves, n_others). They hold, and may not be the best.

    Source: M. Fréchet, Annales de l'Université de Lyon 14, 1951: bounds of a table by its margins.
    Departure: leaves that have nothing in common have nobody together.

    >>> pair_bounds(np.array([3, 2]), np.array([4, 1]), np.array([[True, True], [True, False]]))
    (array([[2, 1],
           [2, 0]]), array([[3, 1],
           [2, 0]]))
    """
    high = np.minimum(one[:, None], other[None]) * meets
    low = np.maximum(one[:, None] - (high.sum(axis=1)[:, None] - high), other[None] - (high.sum(axis=0)[None] - high))
    return np.maximum(low, 0) * meets, high


def touched(regions: Regions, column: int, inside: Mask) -> Question:
    """Which cells have one of some parts of a column, and which have no other part.

    Args:
        regions: of the cells.
        column: the position of the column.
        inside: shape (n_parts,), the parts.
    """
    may, must = regions.columns[column].with_parts(inside)
    return Question(may=may, must=must)
