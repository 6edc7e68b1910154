"""The nodes of CatBoost's trees: oblivious ones, which have one test a level, and nested ones.

CatBoost asks whether a number is above a border, or a category has a hash. A test whose answer follows from tests
above it is left out, because no row can take its other branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafgate.api import Floats, ReleaseError
from leafgate.io.json import list_at, unknown_key
from leafgate.ir.arrays import floats_at
from leafgate.readers import NodeNumbers, NumberKind, TreeIR, TreeIRBuilder, is_number, object_at

MAX_DEPTH = 16
"""CatBoost grows no deeper oblivious trees."""


@dataclass(frozen=True, kw_only=True)
class Split:
    """A test: whether a number is above `border`, or where there is a `category`, whether this is the cell."""

    feature: int
    border: float = math.inf
    category: str | None = None
    missing_low: bool = False


@dataclass(frozen=True, kw_only=True)
class LeafTable:
    """The leaves of a tree: shape (n_leaves, n_outputs), and shape (n_leaves,) or None where the file has none."""

    values: Floats
    weights: Floats | None


@dataclass(frozen=True, kw_only=True)
class LeafWeights:
    """What the weights of leaves are, and what a person of each class weighs, where classes have weights."""

    kind: NumberKind
    class_weights: tuple[float, ...] = ()


Position = tuple[int, int]
"""A place in a tree: level and number of the node in it of an oblivious tree, number and 0 of a nested one."""

Step = Callable[[Position], tuple[Split, Position, Position] | int]
"""The test at a position with the positions after `no` and `yes`, or the number of a leaf."""

ReadSplit = Callable[[Any, str], Split]


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

    def step(position: Position) -> tuple[Split, Position, Position] | int:
        level, number = position
        if level == len(splits):
            return number
        return splits[level], (level + 1, number), (level + 1, number | 1 << level)

    return step, LeafTable(values=values, weights=weights)


def read_nested(document: Mapping[str, Any], read_split: ReadSplit, outputs: int, place: str) -> tuple[Step, LeafTable]:
    """The tests and leaves of a tree whose tests hold their branches, `right` for yes."""
    nodes: list[tuple[Split, Position, Position] | int] = []
    values: list[list[Any]] = []
    weights: list[Any] = []
    waiting: list[tuple[Any, int, bool]] = [(document, -1, False)]
    branches: dict[tuple[int, bool], int] = {}
    splits: dict[int, Split] = {}
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
    table = LeafTable(values=np.array(values, dtype=float), weights=np.array(weights, dtype=float) if known else None)
    return lambda position: nodes[position[0]], table


def refuse_unknown_keys(document: Mapping[str, Any], known: Collection[str], place: str) -> None:
    """Refuse a table of the part that decides predictions with a key that the reader does not know."""
    strange = next((key for key in document if key not in known), None)
    if strange is not None:
        raise unknown_key(strange, place, "save it with CatBoost 1.2, which writes no such key")


def build_tree(step: Step, leaves: LeafTable, of_leaves: LeafWeights, scale: float) -> tuple[TreeIR, int]:
    """The tree, and how many numbers stand on leaves that no row can reach.

    Args:
        step: the tests.
        leaves: the leaves, whose values are multiplied by `scale`.
        of_leaves: what the weights of leaves are.
        scale: the file's scale.
    """
    builder, leaf_of = TreeIRBuilder(), dict[int, int]()
    # What the tests above say: of a number the interval, of a category the one it is and those that it is not.
    waiting: list[tuple[Position, int, int, dict[int, Any]]] = [((0, 0), -1, 0, {})]
    while waiting:
        position, parent, branch, known = waiting.pop()
        found = step(position)
        while not isinstance(found, int) and len(answers := _possible_answers(found[0], known)) == 1:
            ((yes, known),) = answers
            found = step(found[2] if yes else found[1])
        if isinstance(found, int):
            node = builder.add()
            leaf_of[node] = found
        else:
            split = found[0]
            if split.category is None:
                node = builder.add(split.feature, split.border, float32=True, missing_low=split.missing_low)
            else:
                node = builder.add(split.feature, subset=[split.category])
            for yes, after in _possible_answers(split, known):
                # A category of the subset goes low, a number above the border high.
                goes_high = yes == (split.category is None)
                waiting.append((found[2] if yes else found[1], node, int(goes_high), after))
        if parent >= 0:
            builder.children[parent][branch] = node
    return _with_numbers(builder, leaf_of, leaves, of_leaves, scale)


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
    counted = np.full(len(builder), np.nan)
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


def _possible_answers(split: Split, known: Mapping[int, Any]) -> list[tuple[bool, dict[int, Any]]]:
    """The answers that are possible after what is known, each with what is known then."""
    if split.category is None:
        above, up_to = known.get(split.feature, (-math.inf, math.inf))
        answers = [(False, {**known, split.feature: (above, min(up_to, split.border))})] if split.border > above else []
        if split.border < up_to:
            answers.append((True, {**known, split.feature: (max(above, split.border), up_to)}))
        return answers
    only, never = known.get(split.feature, (None, frozenset()))
    if only is not None or split.category in never:
        return [(only == split.category, dict(known))]
    return [
        (False, {**known, split.feature: (None, never | {split.category})}),
        (True, {**known, split.feature: (split.category, never)}),
    ]
