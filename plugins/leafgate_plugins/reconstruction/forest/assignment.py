"""A leaf of each tree for each person, so that every leaf has the people it counts.

Where the cells of all trees are few, the solver finds whole people for these. Else each tree's leaves are given to the
people as the trees before it leave them, as many as fit, by a transport of maximum likelihood. Each person then is a
point, a part of each column, and one part of one person is changed at a time, until leaves have the people that they
count or the time is over; how many people are in a wrong leaf is counted.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leafgate.algorithms.joint_bounds import best_assignment
from leafgate.api import Floats, Ids, Mask
from leafgate_plugins.reconstruction.forest.cell_bounds import MAX_CELLS, cell_system, joint_cells
from leafgate_plugins.reconstruction.forest.regions import CountedTree, Regions, Spans, Subsets

NO_LEAF = -1
"""In place of a leaf, for people beyond those that it counts, or whom no leaf that still lacks people fits."""
SOLVED = 0.5
"""The share of the time after which it ends, and annealing begins."""
GAP = 0.1
"""The solver ends with a table that is about as likely as the likeliest: there are others anyway."""
EDGES_EACH = 24
"""A transport tries so many leaves for each group of people, and so many groups for each leaf: the likeliest."""
ROUNDS = (0.01, 0.05, 0.2, 0.74)
"""The shares of all steps in rounds of annealing, each of which begins with the best that was found."""
STEPS = 1_000
"""Changes that annealing tries for each person."""
HOT = 1.3
"""Of how many people a change that makes more people wrong is still likely at the beginning of a round."""
COLD = 0.3
"""And at its end."""
CONTEST = 6
"""Of so many people at random the one in the most leaves with too many people is changed."""
WEIGHT = 0.5
"""How much more often a part is tried that is likelier, as a power of how likely it is."""
LEAST_MASS = 1e-12
"""Probabilities below this count as this."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignment:
    """The people of one class.

    Attributes:
        leaf: shape (n_people, n_trees), the leaf of each person, as a position; some record can be in all of them.
            NO_LEAF for people beyond those that a leaf counts.
        missed: how many NO_LEAF there are; with 0 it is a table that agrees with all trees.
    """

    leaf: Ids
    missed: int


def assign(
    trees: Sequence[CountedTree], label: int, rng: np.random.Generator, *, deadline: float, steps: int = STEPS
) -> Assignment:
    """A leaf of each tree for each person of a class.

    Args:
        trees: of the forest.
        label: the position of the class.
        rng: chooses whom to change, and how.
        steps: how many changes are tried for each person.
        deadline: by `time.monotonic`, after which none is tried, and no further tree is looked at.

    Source: J. Ferry, R. Fukasawa, T. Pascal, T. Vidal, "Trained Random Forests Completely Reveal your Dataset", ICML
    2024: the table that agrees with all trees; S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, Science 220, 1983.
    Departure: their constraint solver ends with a table that agrees, or with none. Here what does not agree is counted.
    """
    start, counts = time.monotonic(), [tree.people[:, label] for tree in trees]
    leaf = np.full((int(counts[0].sum()), len(trees)), NO_LEAF, dtype=np.int64)
    order = sorted(range(len(trees)), key=lambda t: -int((counts[t] > 0).sum()))
    leaf[:, order[0]] = np.repeat(np.arange(len(counts[order[0]])), counts[order[0]])
    masses = [_masses(trees, place, label) for place in range(len(trees[0].regions.columns))]
    if not len(leaf) or not masses:
        return Assignment(leaf=np.maximum(leaf, 0), missed=0)
    solved = _solve(trees, label, masses, start + SOLVED * (deadline - start) if np.isfinite(deadline) else deadline)
    if solved is not None:
        return Assignment(leaf=solved, missed=0)
    for number in range(1, len(order)):
        if time.monotonic() < deadline:
            _add_tree(trees, counts, leaf, order[:number], order[number], masses)
    if time.monotonic() > deadline:
        return Assignment(leaf=leaf, missed=int((leaf == NO_LEAF).sum()))
    points = _Points.of(trees, counts, regions_of(trees, leaf, order), masses, rng)
    points.anneal(steps * len(leaf), rng, deadline)
    leaf = points.counted_leaves([len(each) for each in counts], rng)
    return Assignment(leaf=leaf, missed=int((leaf == NO_LEAF).sum()))


def _solve(trees: Sequence[CountedTree], label: int, masses: Sequence[Floats], deadline: float) -> Ids | None:
    """A likely table that agrees with all trees, by the cells of all of them: shape (n_people, n_trees).

    None where there are too many cells, or none was found in time.
    """
    seconds = deadline - time.monotonic()
    counted = [np.flatnonzero(tree.people[:, label]) for tree in trees]
    cells = joint_cells(trees, counted, MAX_CELLS, range(len(trees))) if seconds > 0 else None
    if cells is None:
        return None
    system = cell_system(trees, cells, label)
    found, _ = best_assignment(system, _log_mass(cells.regions, masses), gap=GAP, time_limit=seconds)
    return None if found is None else np.repeat(cells.leaf, found, axis=0)


def regions_of(trees: Sequence[CountedTree], leaf: Ids, used: Sequence[int]) -> Regions:
    """What the leaves of each person in these trees have in common: a region for each row of `leaf`."""
    found: Regions | None = None
    for t in used:
        has = np.flatnonzero(leaf[:, t] >= 0)
        if found is None:
            found = _everything(trees[t].regions, len(leaf))
        found = _replaced(found, has, found.take(has).common(trees[t].regions.take(leaf[has, t])))
    assert found is not None
    return found


def _everything(regions: Regions, n: int) -> Regions:
    """So many regions that have every part of every column."""
    columns: list[Spans | Subsets] = []
    for each in regions.columns:
        if isinstance(each, Subsets):
            columns.append(Subsets(reach=np.ones((n, each.reach.shape[1]), dtype=bool)))
            continue
        first, last = np.zeros(n, dtype=np.int64), np.full(n, each.n_intervals - 1)
        columns.append(replace(each, first=first, last=last, missing=np.full(n, each.may_miss)))
    return Regions(tuple(columns), n)


def _replaced(regions: Regions, rows: Ids, others: Regions) -> Regions:
    """The regions with others in some rows."""
    columns: list[Spans | Subsets] = []
    for own, other in zip(regions.columns, others.columns, strict=True):
        if isinstance(own, Spans) and isinstance(other, Spans):
            first, last, missing = own.first.copy(), own.last.copy(), own.missing.copy()
            first[rows], last[rows], missing[rows] = other.first, other.last, other.missing
            columns.append(replace(own, first=first, last=last, missing=missing))
        elif isinstance(own, Subsets) and isinstance(other, Subsets):
            reach = own.reach.copy()
            reach[rows] = other.reach
            columns.append(Subsets(reach=reach))
    return Regions(tuple(columns), len(regions))


def _masses(trees: Sequence[CountedTree], place: int, label: int) -> Floats:
    """About how likely each part of a column is, the people of each leaf spread evenly over its parts.

    Returns:
        Shape (n_parts,), sums to 1.
    """
    total: Floats = np.zeros(0)
    for tree in trees:
        column, people = tree.regions.columns[place], tree.people[:, label]
        if isinstance(column, Subsets) or column.may_miss:
            spread = people @ (column.reach / np.maximum(column.reach.sum(axis=1, keepdims=True), 1))
        else:
            has = column.last >= column.first
            each = people[has] / (column.last - column.first + 1)[has]
            change = np.bincount(column.first[has], weights=each, minlength=column.n_intervals + 1)
            change -= np.bincount(column.last[has] + 1, weights=each, minlength=column.n_intervals + 1)
            spread = np.cumsum(change)[:-1]
        total = spread if not len(total) else total + spread
    total = np.maximum(total, LEAST_MASS)
    return np.asarray(total / total.sum())


def _log_mass(regions: Regions, masses: Sequence[Floats]) -> Floats:
    """The logarithm of about how likely each region is, columns taken to be independent."""
    found = np.zeros(len(regions))
    for column, mass in zip(regions.columns, masses, strict=True):
        if isinstance(column, Subsets) or column.may_miss:
            share = column.reach @ mass
        else:
            before = np.append(0.0, np.cumsum(mass))
            share = before[np.maximum(column.last, column.first - 1) + 1] - before[column.first]
        found += np.log(np.maximum(share, LEAST_MASS))
    return found


def _add_tree(
    trees: Sequence[CountedTree],
    counts: Sequence[Ids],
    leaf: Ids,
    used: Sequence[int],
    new: int,
    masses: Sequence[Floats],
) -> None:
    """Give each person a leaf of a further tree, as far as one fits."""
    vectors, group, sizes = np.unique(leaf[:, used], axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    rows = np.full((len(vectors), leaf.shape[1]), NO_LEAF, dtype=np.int64)
    rows[:, used] = vectors
    groups = regions_of(trees, rows, used)
    wanted = np.flatnonzero(counts[new])
    leaves = trees[new].regions.take(wanted)
    of_group, of_leaf, gain = _edges(groups, leaves, masses)
    moved = _transport(of_group, of_leaf, gain, sizes, counts[new][wanted])
    by_group = np.argsort(group, kind="stable")
    place = np.cumsum(sizes) - sizes
    for one, two, n in zip(of_group.tolist(), of_leaf.tolist(), moved.tolist(), strict=True):
        if n:
            leaf[by_group[place[one] : place[one] + n], new] = wanted[two]
            place[one] += n


def _edges(groups: Regions, leaves: Regions, masses: Sequence[Floats]) -> tuple[Ids, Ids, Floats]:
    """Pairs of a group and a leaf that fit, and the logarithm of how likely the leaf is for the group."""
    own, found = _log_mass(groups, masses), list[tuple[Ids, Ids, Floats]]()
    for one, two in groups.meeting_pairs(leaves):
        gain = _log_mass(groups.take(one).common(leaves.take(two)), masses) - own[one]
        keep = _likeliest(one, gain)
        found.append((one[keep], two[keep], gain[keep]))
        rest = ~keep & _likeliest(two, gain)
        found.append((one[rest], two[rest], gain[rest]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    one, two, gain = (np.concatenate(each) for each in zip(*found, strict=True))
    return one, two, gain


def _likeliest(of: Ids, gain: Floats) -> Mask:
    """Which are among the EDGES_EACH with the largest gain of the same number in `of`."""
    order = np.lexsort((-gain, of))
    new = np.append(True, np.diff(of[order]) != 0)
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    keep = np.zeros(len(of), dtype=bool)
    keep[order] = np.arange(len(order)) - start < EDGES_EACH
    return keep


def _transport(one: Ids, two: Ids, gain: Floats, sizes: Ids, wanted: Ids) -> Ids:
    """How many people go along each pair: as many as possible, then with the largest gain; a linear program."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    n = len(one)
    if not n:
        return np.zeros(0, dtype=np.int64)
    ones, at = np.ones(n), np.arange(n)
    matrix = vstack(
        [coo_array((ones, (one, at)), shape=(len(sizes), n)), coo_array((ones, (two, at)), shape=(len(wanted), n))],
        format="csr",
    )
    worth = gain - gain.min() + 1 + 2 * (gain.max() - gain.min())
    result = linprog(
        -worth, A_ub=matrix, b_ub=np.concatenate([sizes, wanted]).astype(float), bounds=(0, None), method="highs"
    )
    if result.x is None:
        return np.zeros(n, dtype=np.int64)
    return np.asarray(np.rint(result.x).astype(np.int64))  # a network: basic solutions are whole


@dataclass(eq=False)
class _Points:
    """A part of each column for each person, and how many people each leaf has too many or too few.

    Attributes:
        reach: for each column, shape (n_parts, n_leaves of all trees), which parts are in which leaves.
        part: shape (n_people, n_columns).
        leaf: shape (n_people, n_trees), the leaf of each person, counted through all trees.
        excess: shape (n_leaves of all trees,), people in the leaf less those that it counts.
        likely: the logarithm of about how likely each part is, the parts of all columns after another.
        ends: shape (n_columns,), where the parts of each column end there.
    """

    reach: list[Mask]
    part: Ids
    leaf: Ids
    excess: Ids
    likely: Floats
    ends: Ids

    @classmethod
    def of(
        cls,
        trees: Sequence[CountedTree],
        counts: Sequence[Ids],
        regions: Regions,
        masses: Sequence[Floats],
        rng: np.random.Generator,
    ) -> _Points:
        """A point in each region."""
        reach, part = list[Mask](), np.zeros((len(regions), len(masses)), dtype=np.int64)
        for j, mass in enumerate(masses):
            reach.append(np.concatenate([tree.regions.columns[j].by_part for tree in trees], axis=1))
            chance = np.cumsum(regions.columns[j].reach * mass, axis=1)
            part[:, j] = (chance > rng.random((len(regions), 1)) * chance[:, -1:]).argmax(axis=1)
        likely, ends = np.concatenate([np.log(mass) for mass in masses]), np.cumsum([len(mass) for mass in masses])
        leaf = np.zeros((len(part), len(trees)), dtype=np.int64)
        points = cls(reach, part, leaf, np.zeros(sum(map(len, counts)), dtype=np.int64), likely, ends)
        for person in range(len(part)):
            points.leaf[person] = np.flatnonzero(points._outside(person) == 0)
        points.excess = np.bincount(points.leaf.ravel(), minlength=len(points.excess)) - np.concatenate(counts)
        return points

    @property
    def missed(self) -> int:
        """How many people are in a leaf that has more than it counts."""
        return int(np.maximum(self.excess, 0).sum())

    def _outside(self, person: int) -> Ids:
        """How many parts of a point are outside of each leaf."""
        found = np.full(len(self.excess), len(self.reach), dtype=np.int64)
        for reach, part in zip(self.reach, self.part[person].tolist(), strict=True):
            found -= reach[part]
        return found

    def counted_leaves(self, n_leaves: Sequence[int], rng: np.random.Generator) -> Ids:
        """The leaf of each person in each tree, as a position among its leaves; NO_LEAF for those beyond its people."""
        found = self.leaf - np.cumsum([0, *n_leaves])[:-1]
        for number in np.flatnonzero(self.excess > 0).tolist():
            here = np.argwhere(self.leaf == number)
            beyond = rng.choice(len(here), int(self.excess[number]), replace=False)
            found[here[beyond, 0], here[beyond, 1]] = NO_LEAF
        return np.asarray(found)

    def anneal(self, steps: int, rng: np.random.Generator, deadline: float) -> None:
        """Change parts until every leaf has its people, the steps are done or the time is over."""
        best = (self.missed, self.part.copy(), self.leaf.copy(), self.excess.copy())
        for share in ROUNDS:
            missed = best[0]
            self.part, self.leaf, self.excess = (each.copy() for each in best[1:])
            for heat in np.geomspace(HOT, COLD, max(int(share * steps), 1)).tolist():
                if missed == 0 or time.monotonic() > deadline:
                    break
                missed += self._step(heat, rng)
                if missed < best[0]:
                    best = (missed, self.part.copy(), self.leaf.copy(), self.excess.copy())
        self.part, self.leaf, self.excess = best[1:]

    def _step(self, heat: float, rng: np.random.Generator) -> int:
        """Change a part of a person, or none; how many people more are in a leaf that has more than it counts."""
        some = rng.integers(len(self.part), size=CONTEST)
        person = int(some[(self.excess[self.leaf[some]] > 0).sum(axis=1).argmax()])
        leaf, part = self.leaf[person], self.part[person]
        outside = self._outside(person)
        near = np.flatnonzero(outside <= 1)
        more = self.excess[near] >= 0  # one person more makes one more wrong here, else one fewer
        less = self.excess[leaf] > 0
        worse = np.where(more, 1, -1).astype(np.float32)
        taken_out = np.where(less, -1, 1)
        is_own = outside[near] == 0
        # somebody who stays in a leaf is neither taken out nor put in
        worse[is_own] = -taken_out
        start = int(taken_out.sum())
        change = list[Floats]()
        for reach, own in zip(self.reach, part.tolist(), strict=True):
            allowed = is_own | ~reach[own, near]
            found = reach[:, near[allowed]] @ worse[allowed] + start
            found[own] = 0
            change.append(found)
        every = np.concatenate(change)
        chosen = int((every / heat - WEIGHT * self.likely - rng.gumbel(size=len(every))).argmin())
        j = int(np.searchsorted(self.ends, chosen, side="right"))
        new = chosen - (int(self.ends[j - 1]) if j else 0)
        if new == part[j]:
            return 0
        outside += self.reach[j][part[j]]
        outside -= self.reach[j][new]
        part[j] = new
        self.excess[leaf] -= 1
        leaf[:] = np.flatnonzero(outside == 0)
        self.excess[leaf] += 1
        return round(float(every[chosen]) / 2)
