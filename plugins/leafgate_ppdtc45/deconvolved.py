"""C4.5 on expected people: trees for original numbers, grown on their reconstructed distributions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.tree import Node
from leafgate_ppdtc45.densities import Densities, densities
from leafgate_ppdtc45.plain import Learner
from leafgate_ppdtc45.shared import Shared
from leafgate_ppdtc45.twigs import Split, Twig, best_cut, chosen, finished, prune

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

DEEPEST = 12
"""Expected people never run out, so depth ends what gains little."""


@dataclass(kw_only=True)
class Box(Twig):
    """A box of originals: for each column the numbers of the edges it begins and ends at."""

    begins: Places
    ends: Places


def deconvolved_tree(shared: Shared, learner: Learner) -> Node:
    """The tree for original numbers; on its leaves the people expected there, rounded.

    Within a class, columns are taken as independent. Then a box of originals holds, of each class, people times
    the column's chances of lying within it, and C4.5 needs no more than that: neither rows nor their noise. Cuts lie
    at the edges of the columns' cells.

    Source: Agrawal, Srikant, SIGMOD 2000, section 4 ("ByClass" and "Local": a distribution within each class, and at
    each node), Quinlan's C4.5.
    Departure: they sort rows into the reconstructed cells; no row is assigned here.
    """
    laws = densities(shared)
    first = np.zeros(len(laws.edges), dtype=np.int64)
    root = _box(laws, first, np.array([len(edges) - 1 for edges in laws.edges]), None)
    waiting = [root]
    while waiting:
        box = waiting.pop()
        box.split = _best_split(laws, box, learner) if box.depth < DEEPEST else None
        if box.split is not None:
            box.sons = sons = _halves(laws, box, box.split)
            waiting.extend(sons)
    if learner.confidence is not None:
        prune(root, learner.confidence)
    return finished(root, shared.schema)


def _best_split(laws: Densities, box: Box, learner: Learner) -> Split | None:
    splits = []
    for column, (edges, below) in enumerate(zip(laws.edges, laws.below, strict=True)):
        begin, end = box.begins[column], box.ends[column]
        inside = below[:, end] - below[:, begin]
        part = below[:, begin + 1 : end] - below[:, [begin]]
        share = np.divide(part, inside[:, None], where=inside[:, None] > 0, out=np.zeros_like(part))
        low = (share * box.counts[:, None]).T
        splits.append(best_cut(column, edges[begin + 1 : end], low, box.counts, learner.min_leaf))
    return chosen(splits, average_gain=learner.average_gain)


def _halves(laws: Densities, box: Box, split: Split) -> tuple[Box, Box]:
    middle = box.begins[split.column] + 1 + split.place
    begins, ends = box.begins.copy(), box.ends.copy()
    begins[split.column] = ends[split.column] = middle
    return _box(laws, box.begins, ends, box), _box(laws, begins, box.ends, box)


def _box(laws: Densities, begins: Places, ends: Places, above: Box | None) -> Box:
    counts = laws.people.copy()
    for below, begin, end in zip(laws.below, begins.tolist(), ends.tolist(), strict=True):
        counts *= below[:, end] - below[:, begin]
    label = int(counts.argmax()) if counts.sum() > 0 or above is None else above.label
    depth = 0 if above is None else above.depth + 1
    return Box(counts=counts, label=label, depth=depth, begins=begins, ends=ends)
