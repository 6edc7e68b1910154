"""Trees of cuts on probable numbers of people, while they grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.induction.pruning import SLACK, pessimistic_errors
from leafgate.schema import Schema
from leafgate.tree import Cut, Leaf, Node

Floats = NDArray[np.float64]
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Split:
    """A test `column <= at`, the cut's number among those tried, and what it gains: bits a person, and gain ratio."""

    column: int
    at: float
    place: int
    gain: float
    ratio: float


@dataclass(kw_only=True)
class Twig:
    """A node: probable people per class, the most probable class (an empty node's parent's), and its sons."""

    counts: Floats
    label: int
    depth: int = 0
    split: Split | None = None
    sons: Sequence[Twig] = ()


def best_cut(column: int, at: Floats, low: Floats, total: Floats, min_leaf: float) -> Split | None:
    """A column's cut with the largest gain, None where none gains; rows of `low` are probable people per class below.

    Both sides need `min_leaf` probable people.
    """
    high = np.maximum(total - low, 0)
    people = total.sum()
    fits = np.flatnonzero((low.sum(axis=1) >= min_leaf) & (high.sum(axis=1) >= min_leaf))
    if not len(fits):
        return None
    low, high = low[fits], high[fits]
    gain = (bits(total[None])[0] - bits(low) - bits(high)) / people
    best = int(np.round(gain, 12).argmax())
    info = bits(np.array([[low[best].sum(), high[best].sum()]]))[0] / people
    if gain[best] <= TOLERANCE or info <= TOLERANCE:
        return None
    return Split(column, float(at[fits[best]]), int(fits[best]), float(gain[best]), float(gain[best] / info))


def chosen(splits: Sequence[Split | None], *, average_gain: bool) -> Split | None:
    """The split with the largest gain ratio, of those with at least the mean gain if that is asked for."""
    found = [split for split in splits if split is not None]
    if not found:
        return None
    mean = float(np.mean([split.gain for split in found])) if average_gain else 0.0
    return max((split for split in found if split.gain >= mean - TOLERANCE), key=lambda split: round(split.ratio, 12))


def bits(counts: Floats) -> Floats:
    """n H of each row of counts, in bits."""

    def n_log_n(n: Floats) -> Floats:
        return np.where(n > 0, n * np.log2(np.maximum(n, 1e-300)), 0)

    return np.asarray(n_log_n(counts.sum(axis=1)) - n_log_n(counts).sum(axis=1))


def prune(twig: Twig, confidence: float) -> float:
    """Replace subtrees by leaves, bottom up, as C4.5 does; returns the errors to expect."""
    people = float(twig.counts.sum())
    as_leaf = pessimistic_errors(people, people - float(twig.counts[twig.label]), confidence)
    if not twig.sons:
        return as_leaf
    as_tree = sum(prune(son, confidence) for son in twig.sons)
    if as_leaf > as_tree + SLACK:
        return as_tree
    twig.sons, twig.split = (), None
    return as_leaf


def finished(twig: Twig, schema: Schema) -> Node:
    """The tree as a value, probable people on its leaves, rounded."""
    if twig.split is None:
        counts = dict(zip(schema.classes, map(int, np.round(twig.counts).tolist()), strict=True))
        return Leaf(schema.classes[twig.label], counts)
    low, high = (finished(son, schema) for son in twig.sons)
    return Cut(schema.features[twig.split.column].name, twig.split.at, low, high)
