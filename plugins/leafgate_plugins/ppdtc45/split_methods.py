"""Split selection on expected counts, and the methods that move cuts of perturbed numbers to original ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from leafgate.algorithms.deconvolution import cells_between, reconstructed
from leafgate.algorithms.induction.encoding import encode
from leafgate.algorithms.induction.greedy import grow
from leafgate.algorithms.induction.growth import finished
from leafgate.algorithms.induction.pruning import SLACK, pessimistic_errors, prune
from leafgate.api import CategoricalSplit, Codes, Floats, Leaf, Node, Noise, NumericSplit, Schema
from leafgate_plugins.ppdtc45.scoring import expected_accuracy, reconstruct_records
from leafgate_plugins.ppdtc45.shared import SharedRecords

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
class ExpectedNode:
    """A node: probable people per class, the most probable class (an empty node's parent's), and its children."""

    counts: Floats
    label: int
    depth: int = 0
    split: Split | None = None
    children: Sequence[ExpectedNode] = ()


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
    gain = (total_entropy(total[None])[0] - total_entropy(low) - total_entropy(high)) / people
    best = int(np.round(gain, 12).argmax())
    info = total_entropy(np.array([[low[best].sum(), high[best].sum()]]))[0] / people
    if gain[best] <= TOLERANCE or info <= TOLERANCE:
        return None
    return Split(column, float(at[fits[best]]), int(fits[best]), float(gain[best]), float(gain[best] / info))


def choose_split(splits: Sequence[Split | None], *, average_gain: bool) -> Split | None:
    """The split with the largest gain ratio, of those with at least the mean gain if that is asked for."""
    found = [split for split in splits if split is not None]
    if not found:
        return None
    mean = float(np.mean([split.gain for split in found])) if average_gain else 0.0
    return max((split for split in found if split.gain >= mean - TOLERANCE), key=lambda split: round(split.ratio, 12))


def total_entropy(counts: Floats) -> Floats:
    """Total entropy n H(counts / n) of each row, in bits."""

    def n_log_n(n: Floats) -> Floats:
        return np.where(n > 0, n * np.log2(np.maximum(n, 1e-300)), 0)

    return np.asarray(n_log_n(counts.sum(axis=1)) - n_log_n(counts).sum(axis=1))


def prune_expected(twig: ExpectedNode, confidence: float) -> float:
    """Replace subtrees by leaves, bottom up, as C4.5 does; returns the errors to expect."""
    people = float(twig.counts.sum())
    as_leaf = pessimistic_errors(people, people - float(twig.counts[twig.label]), confidence)
    if not twig.children:
        return as_leaf
    as_tree = sum(prune_expected(child, confidence) for child in twig.children)
    if as_leaf > as_tree + SLACK:
        return as_tree
    twig.children, twig.split = (), None
    return as_leaf


def to_tree(twig: ExpectedNode, schema: Schema) -> Node:
    """The tree as a value, probable people on its leaves, rounded."""
    if twig.split is None:
        counts = dict(zip(schema.classes, map(int, np.round(twig.counts).tolist()), strict=True))
        return Leaf(schema.classes[twig.label], counts)
    low, high = (to_tree(child, schema) for child in twig.children)
    return NumericSplit(schema.features[twig.split.column].name, twig.split.at, low, high)


MIN_PEOPLE_TO_RECONSTRUCT = 200
"""A node with fewer people has its columns' distributions from the nearest node above with more."""

RECONSTRUCTION_CELLS = 256
"""A column's originals are taken to lie in so many even cells."""


class QuantileMatch:
    """One column at one node: the originals reconstructed from what its people share, and what they share."""

    def __init__(self, shared: SharedRecords, rows: Codes, column: int) -> None:
        numbers, noise = shared.numbers[rows, column], shared.laws[column]
        self.edges = cells_between(numbers, noise, shared.schema.features[column].bounds, RECONSTRUCTION_CELLS)
        chances = reconstructed(numbers, np.ones(len(rows)), noise, self.edges)
        self.below = np.concatenate([[0.0], chances.cumsum()])
        self.numbers = np.sort(numbers)

    def original(self, cut: float) -> float:
        """t = F_X^-1(F_W(c)): the original number with as many people below as share a number up to `cut`."""
        rank = np.searchsorted(self.numbers, cut, side="right") / len(self.numbers)
        return float(np.interp(rank, self.below, self.edges))


def matched_tree(perturbed: Node, shared: SharedRecords) -> Node:
    """The tree for original numbers: each cut c of the tree on shared ones at t = F_X^-1(F_W(c)).

    F_W and F_X, reconstructed, are those of the people at the node where a path first asks about the column, whom
    tests on other columns have chosen; further cuts of the column below are matched by the same ranks, so that the
    cuts of a path keep their order.

    Source: Agrawal, Srikant, SIGMOD 2000 (the reconstruction); the matching is ours, against the paper's constant
    shift, which is wrong away from the centre.
    """
    everyone = np.arange(len(shared.classes))
    return _match_node(perturbed, shared, everyone, everyone, {})


def _match_node(
    node: Node, shared: SharedRecords, rows: Codes, many: Codes, ranks: Mapping[int, QuantileMatch]
) -> Node:
    match node:
        case Leaf() | CategoricalSplit():
            return node
        case NumericSplit():
            many = rows if len(rows) >= MIN_PEOPLE_TO_RECONSTRUCT else many
            column = [feature.name for feature in shared.schema.features].index(node.column)
            mine = ranks.get(column) or QuantileMatch(shared, many, column)
            low = shared.numbers[rows, column] <= node.at
            below = {**ranks, column: mine}
            return replace(
                node,
                at=mine.original(node.at),
                low=_match_node(node.low, shared, rows[low], many, below),
                high=_match_node(node.high, shared, rows[~low], many, below),
            )


@dataclass(frozen=True)
class Learner:
    """C4.5's options; pruned unless `confidence` is None."""

    average_gain: bool = True
    min_leaf: int = 2
    confidence: float | None = 0.25
    penalty: bool = True


def direct_tree(shared: SharedRecords, learner: Learner) -> Node:
    """The tree for shared numbers, the shared rows counted on its leaves."""
    table = shared.table
    cells = encode(table)
    root = grow(
        cells,
        "gain_ratio",
        average_gain=learner.average_gain,
        min_leaf=learner.min_leaf,
        penalty=learner.penalty,
    )
    if learner.confidence is not None:
        prune(root, learner.confidence)
    return finished(cells, root, table.schema)


THETAS: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Candidates for `theta: auto`."""

FOLDS = 3
"""Folds of the cross-validation that chooses theta."""

MAX_VALIDATION_PEOPLE = 4000
"""Largest number of validation people in one fold; more only cost time."""


def threshold_tree(perturbed: Node, noise: Mapping[str, Noise], theta: float) -> Node:
    """The tree for original numbers: each cut c of the tree on shared ones at t = c - F_R^-1(1 - theta).

    Source: Liu, Kantarcioglu, Thuraisingham, sections 6.1 to 6.3.
    Departure: the paper evaluates p_S1(w|t) > theta, which says w < t + F_R^-1(1 - theta), at every candidate t;
    the partitions it can make of the people are those of C4.5 on w, so that is what is grown.
    """
    return shift_cuts(perturbed, lambda column, at: at - noise[column].quantile(1 - theta))


def shift_cuts(tree: Node, move: Callable[[str, float], float]) -> Node:
    """The tree with each threshold replaced by `move(column, threshold)`."""
    match tree:
        case NumericSplit():
            low, high = shift_cuts(tree.low, move), shift_cuts(tree.high, move)
            return replace(tree, at=move(tree.column, tree.at), low=low, high=high)
        case Leaf() | CategoricalSplit():
            return tree


def choose_theta(shared: SharedRecords, learner: Learner, rng: np.random.Generator) -> float:
    """The theta whose trees, each grown without a part of the people, are expected to do best on that part's originals.

    What a tree would say of somebody's original numbers is only known by chance: by the noise law and the
    reconstructed distribution of each column within the class. Ties go to the theta nearest .5.

    Departure: the paper would choose it "just like C4.5 finds the best splitting point"; by gain that chooses
    nothing, for theta changes no partition of the people.
    """
    order = rng.permutation(len(shared.classes))
    expected = np.zeros(len(THETAS))
    for held in np.array_split(order, FOLDS):
        tree = direct_tree(shared.select(np.setdiff1d(order, held)), learner)
        judges = reconstruct_records(shared.select(held[:MAX_VALIDATION_PEOPLE]))
        expected += [expected_accuracy(threshold_tree(tree, shared.noise, theta), judges) for theta in THETAS]
    return max(THETAS, key=lambda theta: (round(expected[THETAS.index(theta)], 12), -abs(theta - 0.5)))


MAX_CANDIDATE_CUTS = 128
"""So many places to cut a column are tried at a node, spread evenly over its different numbers."""

MAX_DISTINCT_NUMBERS = 512
"""Different numbers at a node are taken together until there are no more than that."""


def best_split(
    numbers: Floats, classes: Codes, weight: Floats, laws: Sequence[Noise], n_classes: int, learner: Learner
) -> Split | None:
    """The test with the largest gain ratio over probable numbers of people; None where none gains.

    A person with the shared number w counts with p_S1(w|t) = 1 - F_R(w - t) below a cut t and with the rest above.
    Both sides need `min_leaf` probable people; with `average_gain` only columns of at least the mean gain compete.

    Source: Liu, Kantarcioglu, Thuraisingham, section 6.4, equations 13 to 22.
    Departure: Prob needs its class index (15 and 17 lack it), and is normalised by the sum of freq'', as w(S_i) is;
    each column's cut is chosen by gain, then columns by gain ratio, as in C4.5; cuts lie midway between two shared
    numbers, not at them; where a node has more than CELLS different numbers, neighbours are taken together, and
    CANDIDATES cuts are tried.
    """
    splits = []
    for column, law in enumerate(laws):
        at, low, total = probable_counts(numbers[:, column], classes, weight, law, n_classes)
        splits.append(best_cut(column, at, low, total, learner.min_leaf))
    return choose_split(splits, average_gain=learner.average_gain)


def probable_counts(
    numbers: Floats, classes: Codes, weight: Floats, law: Noise, n_classes: int
) -> tuple[Floats, Floats, Floats]:
    """The cuts that are tried, probable people per class below each of them (rows), and per class altogether."""
    middles, cell = _cells(numbers)
    counts = np.zeros((len(middles), n_classes))
    np.add.at(counts, (cell, classes), weight)
    between = (middles[:-1] + middles[1:]) / 2
    at = between[np.unique(np.linspace(0, len(between) - 1, min(MAX_CANDIDATE_CUTS, len(between))).astype(np.int64))]
    below = 1 - law.below(middles[:, None] - at[None, :])
    return at, below.T @ counts, counts.sum(axis=0)


def _cells(numbers: Floats) -> tuple[Floats, Codes]:
    """Different numbers, or where there are too many the middles of runs of them; and each person's."""
    distinct, cell = np.unique(numbers, return_inverse=True)
    if len(distinct) <= MAX_DISTINCT_NUMBERS:
        return distinct, cell.reshape(-1)
    run = np.arange(len(distinct)) * MAX_DISTINCT_NUMBERS // len(distinct)
    middles = np.bincount(run, weights=distinct) / np.bincount(run)
    return middles, run[cell.reshape(-1)]
