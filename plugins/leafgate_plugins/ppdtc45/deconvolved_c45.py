"""C4.5 on expected counts: trees for original numbers, grown on reconstructed distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from leafgate.api import Codes, Floats, Node
from leafgate_plugins.ppdtc45 import em, split_methods
from leafgate_plugins.ppdtc45.shared import SharedRecords

Groups = Literal["auto"] | int

MAX_DEPTH = 12
"""Expected people never run out, so depth ends what gains little."""


@dataclass(frozen=True)
class Distributions:
    """Possible cuts and expected numbers of people: `densities` over cells with these `edges` of each column."""

    edges: Sequence[Floats]
    densities: em.Densities
    n_classes: int

    @cached_property
    def below(self) -> list[Floats]:
        """For each column the chance of lying below each edge (columns) within each group (rows)."""
        return [np.concatenate([np.zeros((len(of), 1)), of.cumsum(axis=1)], axis=1) for of in self.densities.chances]

    @cached_property
    def classes(self) -> Floats:
        """Which class (columns) each group (rows) is of: 1 or 0."""
        return np.eye(self.n_classes)[self.densities.owner]


@dataclass(kw_only=True)
class BoxNode(split_methods.ExpectedNode):
    """A box of originals: for each column the edges it begins and ends at; `people` expected of each group."""

    begins: Codes
    ends: Codes
    people: Floats


def deconvolved_tree(
    shared: SharedRecords, learner: split_methods.Learner, groups: Groups, rng: np.random.Generator
) -> Node:
    """The tree for original numbers; on its leaves the people expected there, rounded.

    Within a group of one class, columns are taken as independent. Then a box of originals holds, of each group, its
    people times the columns' chances of lying within it, and C4.5 needs no more than that: neither rows nor their
    noise. Cuts lie at the edges of the columns' cells. `groups` a class; auto: one, or two where that predicts
    held-out people better.

    Source: Agrawal, Srikant, SIGMOD 2000, section 4 ("ByClass"); Quinlan's C4.5.
    Departure: they sort rows into the reconstructed cells; no row is assigned here.
    """
    distributions = reconstruct_distributions(shared, groups, rng)
    first = np.zeros(len(distributions.edges), dtype=np.int64)
    root = _box(distributions, first, np.array([len(edges) - 1 for edges in distributions.edges]), None)
    waiting = [root]
    while waiting:
        box = waiting.pop()
        box.split = _best_split(distributions, box, learner) if box.depth < MAX_DEPTH else None
        if box.split is not None:
            box.children = children = _split_box(distributions, box, box.split)
            waiting.extend(children)
    if learner.confidence is not None:
        split_methods.prune_expected(root, learner.confidence)
    return split_methods.to_tree(root, shared.schema)


def reconstruct_distributions(shared: SharedRecords, groups: Groups, rng: np.random.Generator) -> Distributions:
    """How the originals are distributed, in so many groups a class."""
    axes, n_classes = em.noisy_columns(shared), len(shared.schema.classes)
    if groups == "auto":
        groups = 2 if em.mixture_predicts_better(axes, shared.numbers, shared.classes, n_classes, rng) else 1
    if groups == 1:
        result = em.class_densities(axes, shared.classes, n_classes)
    else:
        result = em.mixture_densities(axes, shared.numbers, shared.classes, n_classes, groups, rng)
    return Distributions([axis.edges for axis in axes], result, n_classes)


def _best_split(
    distributions: Distributions, box: BoxNode, learner: split_methods.Learner
) -> split_methods.Split | None:
    splits = []
    for column, (edges, below) in enumerate(zip(distributions.edges, distributions.below, strict=True)):
        begin, end = box.begins[column], box.ends[column]
        inside = below[:, end] - below[:, begin]
        part = below[:, begin + 1 : end] - below[:, [begin]]
        share = np.divide(part, inside[:, None], where=inside[:, None] > 0, out=np.zeros_like(part))
        low = (share * box.people[:, None]).T @ distributions.classes
        splits.append(split_methods.best_cut(column, edges[begin + 1 : end], low, box.counts, learner.min_leaf))
    return split_methods.choose_split(splits, average_gain=learner.average_gain)


def _split_box(distributions: Distributions, box: BoxNode, split: split_methods.Split) -> tuple[BoxNode, BoxNode]:
    middle = box.begins[split.column] + 1 + split.place
    begins, ends = box.begins.copy(), box.ends.copy()
    begins[split.column] = ends[split.column] = middle
    return _box(distributions, box.begins, ends, box), _box(distributions, begins, box.ends, box)


def _box(distributions: Distributions, begins: Codes, ends: Codes, above: BoxNode | None) -> BoxNode:
    people = distributions.densities.people.copy()
    for below, begin, end in zip(distributions.below, begins.tolist(), ends.tolist(), strict=True):
        people *= below[:, end] - below[:, begin]
    counts = people @ distributions.classes
    label = int(counts.argmax()) if counts.sum() > 0 or above is None else above.label
    depth = 0 if above is None else above.depth + 1
    return BoxNode(counts=counts, label=label, depth=depth, begins=begins, ends=ends, people=people)
