"""Cells into which the tests of a forest divide each column, and features of a release that may disclose a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafgate import api
from leafgate.algorithms.routing import NOWHERE, branch_of_code, goes_low, route
from leafgate.kernel.tree import iterate_nodes
from leafgate_plugins.dp_random_trees.distinguish.neighbours import NeighbouringTables
from leafgate_plugins.dp_random_trees.options import BUILDERS

Cells = Mapping[str, api.Floats]
"""For each column the chance of its cells (rows) among the people of each class (columns)."""


@dataclass(frozen=True)
class Grid:
    """The cells into which a forest's tests divide each column: values, or intervals between neighbouring cuts."""

    schema: api.Schema
    cuts: Mapping[str, api.Floats]

    @classmethod
    def of(cls, trees: Sequence[api.Node], schema: api.Schema) -> Grid:
        """The coarsest cells that no test of these trees divides."""
        at: dict[str, set[float]] = {}
        for node in iterate_nodes(*trees):
            if isinstance(node, api.NumericSplit):
                at.setdefault(node.column, set()).add(node.at)
        return cls(schema, {name: np.array(sorted(places)) for name, places in at.items()})

    def size(self, name: str) -> int:
        """How many cells a column has; a numeric one has a last cell for missing numbers."""
        return len(self.cuts[name]) + 2 if name in self.cuts else len(self.schema[name].domain)

    def child_of_cell(self, node: api.NumericSplit | api.CategoricalSplit) -> api.Ids:
        """For each cell of the node's column the child that takes it, -1 if none does."""
        if isinstance(node, api.NumericSplit):
            low = np.arange(self.size(node.column)) <= np.searchsorted(self.cuts[node.column], node.at)
            low[-1] = node.missing == "low"
            return np.where(low, 0, 1).astype(np.int64)
        position = {value: i for i, branch in enumerate(node.branches) for value in branch.values}
        other = -1 if node.default is None else len(node.branches)
        return np.array([position.get(value, other) for value in self.schema[node.column].domain], dtype=np.int64)


@dataclass(frozen=True)
class TreeCounters:
    """What one tree released: counters (leaves by classes) and for each column asked the cells of each leaf."""

    tree: api.Node
    counts: api.Floats
    boxes: Mapping[str, api.Floats]

    @classmethod
    def of(cls, tree: api.Node, grid: Grid) -> TreeCounters:
        """The tree's counters, left to right."""
        names = grid.schema.classes
        counts = [[float((leaf.counts or {}).get(name, 0)) for name in names] for leaf in api.leaves(tree)]
        paths = list(_paths(tree, grid))
        asked = sorted({name for path in paths for name in path})
        boxes = {name: np.array([path.get(name, np.ones(grid.size(name))) for path in paths]) for name in asked}
        return cls(tree, np.array(counts), {name: box.astype(np.float64) for name, box in boxes.items()})

    @property
    def unsuppressed_share(self) -> float:
        """How much to trust its totals: less, the more of its counters are suppressed."""
        return float(1 / (1 + (self.counts == 0).sum()) ** 2)

    def expected(self, cells: Cells, total: api.Floats) -> api.Floats:
        """Expected counters, shape (n_leaves, n_classes), if columns were independent within each class."""
        values = np.tile(total, (len(self.counts), 1))
        for name, box in self.boxes.items():
            values = values * (box @ cells[name])
        return values

    def where(self, people: Mapping[str, api.Ids], size: int, grid: Grid) -> api.Ids:
        """The leaf of each of `size` people, the number of leaves for those who reach none."""
        found = np.full(size, len(self.counts), dtype=np.int64)
        waiting: list[tuple[api.Node, api.Ids]] = [(self.tree, np.arange(size))]
        leaf = 0
        while waiting:
            node, rows = waiting.pop()
            if isinstance(node, api.Leaf):
                found[rows], leaf = leaf, leaf + 1
                continue
            way = grid.child_of_cell(node)[people[node.column][rows]]
            waiting.extend((child, rows[way == i]) for i, child in reversed(list(enumerate(api.children(node)))))
        return found


def _paths(tree: api.Node, grid: Grid) -> Iterator[dict[str, api.Mask]]:
    """For each leaf, left to right, the columns on its path and which of their cells get there."""
    waiting: list[tuple[api.Node, dict[str, api.Mask]]] = [(tree, {})]
    while waiting:
        node, path = waiting.pop()
        if isinstance(node, api.Leaf):
            yield path
            continue
        way, name = grid.child_of_cell(node), node.column
        below = [
            (child, {**path, name: path.get(name, True) & (way == i)}) for i, child in enumerate(api.children(node))
        ]
        waiting.extend(reversed(below))


MAX_LIST_LENGTH = 2_000
"""So many numbers beside the trees are looked at."""


def released_features(release: api.Release, world: NeighbouringTables) -> dict[str, float]:
    """Numbers that may be larger, or smaller, with the person: their counters, cuts and all other published values."""
    shown, others = _where_counted(release, world)
    fields = {"people shown": shown.sum(), "times shown": (shown > 0).sum(), "most shown": shown.max(initial=0)}
    fields |= {"above the others": np.sign(shown - others).sum(), "evidence": _log_odds(shown, others, release)}
    fields |= {"everybody shown": _everybody(release), **_structure(release)}
    if release.builder.get("use") not in BUILDERS:
        fields |= _beside_the_noise(release, world)
    beside = {"builder": release.builder, "selection": release.selection, "guarantee": release.guarantee}
    return {name: float(value) for name, value in fields.items()} | dict(_numbers(beside, ""))


def _where_counted(release: api.Release, world: NeighbouringTables) -> tuple[api.Floats, api.Floats]:
    """For each tree what is shown where the person would be counted, and how many others are there."""
    label = str(world.person.frame[release.target].iloc[0])
    same = np.flatnonzero(world.without_person.codes(release.target) == world.person.codes(release.target)[0])
    found = [_leaf_of_person(tree, world.person, world.without_person, same) for tree in release.trees]
    shown = [float((leaf.counts or {}).get(label, 0)) for leaf, _ in found]
    return np.array(shown), np.array([float(world.without_person.weight[rows].sum()) for _, rows in found])


def _beside_the_noise(release: api.Release, world: NeighbouringTables) -> dict[str, float]:
    """What shows the person where numbers share their noise, or labels have none; sums over the trees.

    Noise of leafgate's own builders is drawn for each number, and their labels follow from noisy ones.
    """
    names = release.classes
    mine = int(world.person.codes(release.target)[0])
    classes, weight = world.without_person.codes(release.target), world.without_person.weight
    in_leaf = elsewhere = labels = 0.0
    for tree in release.trees:
        person, others = route(tree, world.person), route(tree, world.without_person)
        leaf, reached = int(person.leaf[0]), others.leaf != NOWHERE
        if leaf == NOWHERE:
            continue
        shown = np.array([[float((each.counts or {}).get(name, 0)) for name in names] for each in person.leaves])
        true = np.zeros_like(shown)
        np.add.at(true, (others.leaf[reached], classes[reached]), weight[reached])
        noise = shown - true  # where the person is counted, with the person
        in_leaf += noise[leaf, mine] - np.delete(noise[leaf], mine).mean()
        if len(noise) > 1:
            elsewhere += noise[leaf, mine] - np.delete(noise[:, mine], leaf).mean()
        labels += person.leaves[leaf].label == names[mine]
    return {"own class beside the others": in_leaf, "own leaf beside the others": elsewhere, "own labels": labels}


def _leaf_of_person(node: api.Node, person: api.Table, others: api.Table, rows: api.Ids) -> tuple[api.Leaf, api.Ids]:
    """The leaf the person comes to, and which of these rows of others do so too."""
    while not isinstance(node, api.Leaf):
        if isinstance(node, api.NumericSplit):
            low = bool(goes_low(node, person.numbers(node.column))[0])
            rows = rows[goes_low(node, others.numbers(node.column)[rows]) == low]
            node = node.low if low else node.high
            continue
        taken = branch_of_code(node.fan, person)
        mine = int(taken[person.codes(node.column)[0]])
        if mine == NOWHERE:
            return api.Leaf(), rows[:0]
        rows = rows[taken[others.codes(node.column)[rows]] == mine]
        node = api.children(node)[mine]
    return node, rows


def _log_odds(shown: api.Floats, others: api.Floats, release: api.Release) -> float:
    """How much likelier the person makes what is shown, by the chances the builder states it has; 0 if it does not."""
    from scipy.stats import binom

    k, beta = release.builder.get("k"), release.builder.get("beta")
    if not isinstance(k, int) or not isinstance(beta, float) or not len(shown):
        return 0.0

    def log_chance(people: api.Floats) -> api.Floats:
        hidden = binom.logcdf(k - 1, people, beta)
        return np.asarray(np.where(shown >= k, binom.logpmf(shown, people, beta), hidden))

    with np.errstate(invalid="ignore"):
        result = log_chance(others + 1) - log_chance(others)
    return float(np.nan_to_num(np.clip(result, -50, 50)).sum())


def _everybody(release: api.Release) -> float:
    return float(sum(sum((leaf.counts or {}).values()) for tree in release.trees for leaf in api.leaves(tree)))


def _structure(release: api.Release) -> dict[str, float]:
    """How many tests and leaves there are, and where the outermost cuts of each number are."""
    document: dict[str, float] = {"nodes": 0}
    for node in iterate_nodes(*release.trees):
        document["nodes"] += 1
        if isinstance(node, api.NumericSplit):
            low, high = f"lowest cut of {node.column}", f"highest cut of {node.column}"
            document[low] = min(document.get(low, node.at), node.at)
            document[high] = max(document.get(high, node.at), node.at)
    return document


def _numbers(document: Any, name: str) -> Iterator[tuple[str, float]]:
    """Every number in a JSON document, by its path; of lists also the sum."""
    if isinstance(document, bool | int | float):
        yield name, float(document)
    elif isinstance(document, Mapping):
        for key, value in document.items():
            yield from _numbers(value, f"{name}.{key}")
    elif isinstance(document, list | tuple) and len(document) <= MAX_LIST_LENGTH:
        for i, value in enumerate(document):
            yield from _numbers(value, f"{name}[{i}]")
        yield f"{name}: sum", float(sum(n for n in document if isinstance(n, int | float)))
