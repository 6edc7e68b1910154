"""The nodes of CatBoost's trees: oblivious ones, which have one test a level, and nested ones.

CatBoost asks whether a number is above a border, whether a category has a hash, or whether a statistic of categories
is above a border, which some combinations of categories are: these are asked for one by one. A test whose answer
follows from tests above it is left out, because no row can take its other branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, Self

import numpy as np

from leafgate.api import Floats, ReleaseError
from leafgate.io.json import list_at, unknown_key
from leafgate.ir.arrays import CategoryBudget, floats_at
from leafgate.readers import NodeNumbers, NumberKind, TreeIR, TreeIRBuilder, is_number, object_at

MAX_DEPTH = 16
"""CatBoost grows no deeper oblivious trees."""

ANY_TEXT = -1
"""The bits of all texts, those among them that have no number."""


@dataclass(frozen=True, kw_only=True)
class Split:
    """A test: whether a number is above `border`, or where there are `texts`, whether the cell is one of these.

    The texts that a file lists have numbers; text i is bit i of `bits`. The texts that are possible are such bits, too;
    they are negative where texts that no file lists are possible.
    """

    feature: int
    border: float = math.inf
    texts: frozenset[str] | None = None
    bits: int = 0
    missing_low: bool = False

    @classmethod
    def of_texts(cls, feature: int, numbers: Sequence[int], texts: Sequence[str]) -> Self:
        """The test whether a category is one of the texts with these numbers."""
        chosen = frozenset(texts[number] for number in numbers)
        return cls(feature=feature, texts=chosen, bits=sum(1 << number for number in numbers))

    def resolve(self, known: Known) -> Split | bool:
        """The test itself, or its answer where that follows from what is known."""
        answers = _possible_answers(self, known)
        return self if len(answers) == 2 else answers[0][0]


@dataclass(frozen=True, kw_only=True)
class StatisticTest:
    """Whether a statistic of a combination is above a border.

    Attributes:
        bits: tests whose answers are combined with categories.
        exceptions: by these answers, the combinations of categories that are not answered as all others.
        otherwise: the answer for all others.
    """

    bits: tuple[Split, ...]
    exceptions: Mapping[tuple[bool, ...], Groups]
    otherwise: bool

    def resolve(self, known: Known) -> Split | bool:
        """The first test of one feature that is needed for the answer, or this where it follows from what is known."""
        answers = []
        for bit in self.bits:
            answer = bit.resolve(known)
            if isinstance(answer, Split):
                return answer
            answers.append(answer)
        if tuple(answers) not in self.exceptions:
            return self.otherwise
        groups = self.exceptions[tuple(answers)]
        while groups:
            possible = known.get(groups[0][0].feature, ANY_TEXT)
            there = [(split, rest) for split, rest in groups if split.bits & possible]
            if not there:
                return self.otherwise
            (first, rest), *_ = there
            if len(there) > 1 or possible & ~first.bits:
                return _any_of([split for split, _ in there[: (len(there) + 1) // 2]])
            groups = rest
        return not self.otherwise


def _any_of(splits: Sequence[Split]) -> Split:
    """Whether a category is one of the texts of any of these tests of it."""
    texts = frozenset[str]().union(*(split.texts or () for split in splits))
    return Split(feature=splits[0].feature, texts=texts, bits=reduce(or_, (split.bits for split in splits)))


Groups = tuple[tuple[Split, "Groups"], ...]
"""Tests of a category for groups of its texts, each with those of the next category; empty after the last one.

With a text of no group a combination is no exception. Half of the groups are asked for at a time.
"""

Test = Split | StatisticTest
Known = Mapping[int, Any]
"""What tests say of a feature: of a number the interval that it is in, of a category the bits of the possible texts."""


@dataclass(frozen=True, kw_only=True)
class LeafTable:
    """The leaves of a tree: shape (n_leaves, n_outputs), and shape (n_leaves,) or None where the file has none.

    Where tests of the tree ask for statistics (`of_statistics`), the weights are of the people who were at a leaf while
    the model was trained, when the statistics of each were of others before it: other people are there now.
    """

    values: Floats
    weights: Floats | None
    of_statistics: bool


@dataclass(frozen=True, kw_only=True)
class LeafWeights:
    """What the weights of leaves are, and what a person of each class weighs, where classes have weights."""

    kind: NumberKind
    class_weights: tuple[float, ...] = ()


Position = tuple[int, int]
"""A place in a tree: level and number of the node in it of an oblivious tree, number and 0 of a nested one."""

Step = Callable[[Position], tuple[Test, Position, Position] | int]
"""The test at a position with the positions after `no` and `yes`, or the number of a leaf."""

ReadSplit = Callable[[Any, str], Test]


def read_oblivious(
    document: Mapping[str, Any], read_split: ReadSplit, outputs: int, place: str
) -> tuple[Step, LeafTable]:
    """The tests and leaves of an oblivious tree: bit i of a leaf's number is the answer to the test i."""
    # A tree without a test has null in place of a list.
    items = [] if document.get("splits", ()) is None else list_at(document, "splits", place)
    if len(items) > MAX_DEPTH:
        raise ReleaseError(f"is deeper than {MAX_DEPTH}", place=f"{place}.splits")
    splits = [read_split(each, f"{place}.splits[{i}]") for i, each in enumerate(items)]
    ends = 2 ** len(splits)
    values = floats_at(document, "leaf_values", place, ends * outputs).reshape(ends, outputs)
    weights = floats_at(document, "leaf_weights", place, ends) if document.get("leaf_weights") else None

    def step(position: Position) -> tuple[Test, Position, Position] | int:
        level, number = position
        if level == len(splits):
            return number
        return splits[level], (level + 1, number), (level + 1, number | 1 << level)

    return step, LeafTable(values=values, weights=weights, of_statistics=_ask_statistics(splits))


def _ask_statistics(tests: Iterable[Test]) -> bool:
    return any(isinstance(test, StatisticTest) for test in tests)


def read_nested(document: Mapping[str, Any], read_split: ReadSplit, outputs: int, place: str) -> tuple[Step, LeafTable]:
    """The tests and leaves of a tree whose tests hold their branches, `right` for yes."""
    nodes: list[tuple[Test, Position, Position] | int] = []
    values: list[list[Any]] = []
    weights: list[Any] = []
    waiting: list[tuple[Any, int, bool]] = [(document, -1, False)]
    branches: dict[tuple[int, bool], int] = {}
    splits: dict[int, Test] = {}
    while waiting:
        item, parent, yes = waiting.pop()
        number, node = len(nodes), object_at(item, place)
        branches[parent, yes] = number
        if "split" in node:
            refuse_unknown_keys(node, ("left", "right", "split"), place)
            splits[number] = read_split(node["split"], f"{place}.split")
            nodes.append(-1)
            waiting += [(node.get("right"), number, True), (node.get("left"), number, False)]
            continue
        refuse_unknown_keys(node, ("value", "weight"), place)
        value = node.get("value")
        nodes.append(len(values))
        values.append(value if isinstance(value, list) else [value])
        weights.append(node.get("weight"))
    for number, split in splits.items():
        nodes[number] = (split, (branches[number, False], 0), (branches[number, True], 0))
    if not all(len(each) == outputs and all(map(is_number, each)) for each in values):
        raise ReleaseError("must have a finite number for each score on every leaf", place=f"{place}.value")
    known = [each for each in weights if each is not None]
    if not all(map(is_number, known)) or len(known) not in {0, len(weights)}:
        raise ReleaseError("must be a number on every leaf, or on none", place=f"{place}.weight")
    table = LeafTable(
        values=np.array(values, dtype=float),
        weights=np.array(weights, dtype=float) if known else None,
        of_statistics=_ask_statistics(splits.values()),
    )
    return lambda position: nodes[position[0]], table


def borders_at(document: Mapping[str, Any], place: str) -> list[float]:
    """The borders of a feature or a statistic, which ascend: CatBoost counts how many of them a number is above."""
    borders: list[float] = floats_at(document, "borders", place).astype(np.float32).tolist()
    if not all(below < above for below, above in pairwise(borders)):
        raise ReleaseError("must ascend", place=f"{place}.borders")
    return borders


def refuse_unknown_keys(document: Mapping[str, Any], known: Collection[str], place: str) -> None:
    """Refuse a table of the part that decides predictions with a key that the reader does not know."""
    strange = next((key for key in document if key not in known), None)
    if strange is not None:
        raise unknown_key(strange, place, "save it with CatBoost 1.2, which writes no such key")


def build_tree(
    step: Step, leaves: LeafTable, of_leaves: LeafWeights, scale: float, budget: CategoryBudget
) -> tuple[TreeIR, int]:
    """The tree, and how many numbers stand on leaves that no row can reach.

    Args:
        step: the tests.
        leaves: the leaves, whose values are multiplied by `scale`.
        of_leaves: what the weights of leaves are.
        scale: the file's scale.
        budget: how many categories the tests of the file may name.
    """
    builder, leaf_of = TreeIRBuilder(), dict[int, int]()
    waiting: list[tuple[Position, int, int, Known]] = [((0, 0), -1, 0, {})]
    while waiting:
        position, parent, branch, known = waiting.pop()
        position, asked = _first_asked(step, position, known)
        if isinstance(asked, Split):
            # A test of a combination becomes many nodes: each counts, whatever it asks for.
            budget.spend(len(asked.texts or ()) + leaves.of_statistics)
            node = _add(builder, asked)
            for yes, after in _possible_answers(asked, known):
                # A category of the subset goes low, a number above the border high.
                waiting.append((position, node, int(yes == (asked.texts is None)), after))
        else:
            node = builder.add()
            leaf_of[node] = asked
        if parent >= 0:
            builder.children[parent][branch] = node
    return _with_numbers(builder, leaf_of, leaves, of_leaves, scale)


def _first_asked(step: Step, position: Position, known: Known) -> tuple[Position, Split | int]:
    """The first test from a position on whose answer is not known, and its position; or a leaf."""
    found = step(position)
    while not isinstance(found, int):
        answer = found[0].resolve(known)
        if isinstance(answer, Split):
            return position, answer
        position = found[2] if answer else found[1]
        found = step(position)
    return position, found


def _add(builder: TreeIRBuilder, split: Split) -> int:
    """Add the node of a test."""
    if split.texts is None:
        return builder.add(split.feature, split.border, float32=True, missing_low=split.missing_low)
    return builder.add(split.feature, subset=split.texts)


def _with_numbers(
    builder: TreeIRBuilder, leaf_of: Mapping[int, int], leaves: LeafTable, of_leaves: LeafWeights, scale: float
) -> tuple[TreeIR, int]:
    nodes, numbers = list(leaf_of), list(leaf_of.values())
    away = np.ones(len(leaves.values), dtype=bool)
    away[numbers] = False
    unreachable = int(np.count_nonzero(leaves.values[away]))
    scores = np.zeros((len(builder), leaves.values.shape[1]))
    scores[nodes] = scale * leaves.values[numbers]
    if leaves.weights is None:
        return builder.build(values=scores), unreachable
    unreachable += int(np.count_nonzero(leaves.weights[away]))
    counted, size = np.full(len(builder), np.nan), None
    if leaves.of_statistics:
        counted[0] = leaves.weights.sum()
    else:
        counted[nodes] = leaves.weights[numbers]
        size = _sums(builder, counted) if of_leaves.kind == "rows" else None
    weights = NodeNumbers("leaf_weights", of_leaves.kind, counted, class_weights=of_leaves.class_weights)
    return builder.build(values=scores, size=size, numbers=[weights]), unreachable


def _sums(builder: TreeIRBuilder, counted: Floats) -> Floats:
    """The people of every node, of inner ones those of both children, which come after them."""
    sums = counted.copy()
    for node in reversed(range(len(builder))):
        low, high = builder.children[node]
        if low >= 0:
            sums[node] = sums[low] + sums[high]
    return sums


def _possible_answers(split: Split, known: Known) -> Sequence[tuple[bool, Known]]:
    """The answers that are possible after what is known, each with what is known then."""
    if split.texts is None:
        above, up_to = known.get(split.feature, (-math.inf, math.inf))
        answers = [(False, {**known, split.feature: (above, min(up_to, split.border))})] if split.border > above else []
        if split.border < up_to:
            answers.append((True, {**known, split.feature: (max(above, split.border), up_to)}))
        return answers
    possible = known.get(split.feature, ANY_TEXT)
    parts = ((False, possible & ~split.bits), (True, possible & split.bits))
    return [(yes, {**known, split.feature: bits}) for yes, bits in parts if bits]
