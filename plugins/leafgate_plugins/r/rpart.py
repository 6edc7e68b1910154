"""Trees of R's rpart, with surrogate splits as further tests.

Where the cell that a node tests is missing, or a level that nobody at the node had in training, R asks the node's
surrogate splits in turn, and at last sends the person where most people went, or leaves them at the node. A neutral
tree has no surrogates, so that each is a test of its own below a test for missing cells; what was found missing on the
way is asked no more.

Source: rpart 4.1.19, src/pred_rpart.c and R/pred.rpart.R.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Floats
from leafgate.readers import LEAF, LeafValueKind, ModelIR, NodeNumbers, NumberKind, TreeIR, TreeIRBuilder
from leafgate_plugins.r.features import Features
from leafgate_plugins.r.serialisation import Kind, RObject
from leafgate_plugins.r.vectors import Place, dimension_names, is_null, shape_of

MAX_NODES = 20_000
"""Nodes of a tree with its surrogates as tests."""

MANY_SURROGATES = "its surrogate splits, which decide where they go, would take too many tests"
METHODS = ("class", "anova", "poisson")
PRESENT = sys.float_info.max
"""Every number that is there is at most this one."""

Side = Literal["left", "right", "rest"]


@dataclass(frozen=True)
class RSplit:
    """A split by a threshold, below which people go left or right, or by the codes of levels that go left and right."""

    feature: int
    threshold: float = math.nan
    below_is_left: bool = True
    codes: Mapping[Side, frozenset[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Cells:
    """What the cells of one feature may be: numbers from `least` to below `most`, or `codes`; there, or missing."""

    codes: frozenset[float] | None = None
    least: float = -math.inf
    most: float = math.inf
    present: bool = True
    missing: bool = True

    @property
    def possible(self) -> bool:
        """May there be any?"""
        return self.missing or self.present

    def among(self, codes: frozenset[float], *, missing: bool) -> Cells:
        """Those of some levels, and missing ones or not."""
        left = (self.codes or frozenset()) & codes
        return Cells(left, present=self.present and bool(left), missing=self.missing and missing)

    def between(self, least: float, most: float) -> Cells:
        """Those of a range, none of which is missing."""
        least, most = max(least, self.least), min(most, self.most)
        return replace(self, least=least, most=most, present=self.present and least < most, missing=False)


Reached = Mapping[int, Cells]
"""What the cells of people may be who come somewhere, by feature; of others nothing is known."""


@dataclass(frozen=True)
class RTree:
    """The nodes of an rpart tree, by their positions in its frame; the root is at 0.

    Attributes:
        numbers: R's numbers of the nodes: 2i and 2i + 1 are below i.
        children: the positions of the left and right child of each test.
        splits: the primary split of each test, and its surrogates.
        rows: how many training rows each node has.
        counted: how many of them have a cell for the primary split.
        majority: whether people go where most went when all else fails.
    """

    numbers: list[int]
    children: Mapping[int, tuple[int, int]]
    splits: Mapping[int, Sequence[RSplit]]
    rows: NDArray[np.int64]
    counted: Mapping[int, int]
    majority: bool

    def last_resort(self, node: int) -> Side:
        """Where people of a test go whom no split sends anywhere; `rest` where they stay."""
        left, right = (int(self.rows[child]) for child in self.children[node])
        if not self.majority or left == right:
            return "rest"
        return "left" if left > right else "right"


def read(fit: RObject, features: Features, place: Place, *, gaps_are_answered: bool = True) -> ModelIR:
    """The tree of an object of class `rpart`; what else the object contains is for others to disclose."""
    method = place.one_text(fit.get("method"), "method")
    if method not in METHODS:
        raise place.refuse(f"is an rpart tree of a method that is not read; these are: {', '.join(METHODS)}")
    frame = fit.get("frame")
    tree = _nodes(fit, features, place)
    classes = place.texts(fit.attributes.get("ylevels"), "ylevels") if method == "class" else []
    n_nodes = len(tree.numbers)
    label = place.numbers(None if frame is None else frame.get("yval"), "frame$yval", n_nodes)
    values, counts = label[:, None], None
    kind: LeafValueKind = "values"
    if classes:
        values, counts, kind = _of_classes(None if frame is None else frame.get("yval2"), label, len(classes), place)
    growing = _Growing(tree, features, gaps=gaps_are_answered)
    unspecified = "" if growing.grow() else MANY_SURROGATES
    if unspecified:
        growing = _Growing(tree, features, gaps=False)
        if not growing.grow():
            raise place.refuse(f"has surrogate splits for levels that take more than {MAX_NODES:,} tests")
    weights = place.numbers(None if frame is None else frame.get("wt"), "frame$wt", n_nodes)
    numbers: list[tuple[str, NumberKind, Floats]] = [("n", "rows", tree.rows.astype(np.float64))]
    is_exact = bool((weights == tree.rows).all())
    if counts is not None:
        numbers.append(("yval2", "rows" if is_exact else "weight", counts))
        if kind == "shares":  # `parms = list(prior = ...)` weighs the classes
            is_exact &= bool(np.allclose(values * counts.sum(axis=1, keepdims=True), counts, rtol=1e-9))
            is_exact &= not growing.has_leaves_of_nobody
    return ModelIR(
        format="R",
        features=tuple(features.names),
        classes=tuple(classes),
        trees=(growing.tree(values, numbers),),
        values=kind,
        origins=features.origins,
        counted="exact" if is_exact else "unknown",
        unspecified_missing=unspecified,
        category_lists=features.lists,
    )


def _of_classes(
    table: RObject | None, label: Floats, n_classes: int, place: Place
) -> tuple[Floats, Floats, Literal["labels", "shares"]]:
    """Of each node the shares of the classes, or 1 for the class it predicts where losses make it another, and counts.

    Args:
        table: a row for each node: the class, counts, shares, and in newer versions the share of all people.
        label: the class of each node, from 1.
        n_classes: how many there are.
        place: for errors.
    """
    found = place.matrix(table, "frame$yval2", len(label))
    if found.shape[1] not in {1 + 2 * n_classes, 2 + 2 * n_classes} or not np.isfinite(found).all():
        raise place.refuse("has another table of classes in `frame$yval2` than rpart writes")
    if not np.isin(label, np.arange(1, n_classes + 1)).all():
        raise place.refuse("has a node of a class that there is not")
    counts, shares = found[:, 1 : 1 + n_classes], found[:, 1 + n_classes : 1 + 2 * n_classes]
    position = label.astype(np.int64) - 1
    if (shares.argmax(axis=1) == position).all():
        return shares, counts, "shares"
    return np.eye(n_classes)[position], counts, "labels"


def _nodes(fit: RObject, features: Features, place: Place) -> RTree:
    """The nodes of the tree, and their splits."""
    frame = fit.get("frame")
    if frame is None:
        raise place.refuse("is an rpart tree without a frame")
    variables = place.texts(frame.get("var"), "frame$var")
    numbers = _row_numbers(frame.attributes.get("row.names"), place)
    n_nodes = len(variables)
    if numbers[:1] != [1] or len(set(numbers)) != n_nodes or len(numbers) != n_nodes or 0 in numbers:
        raise place.refuse("has nodes that are not numbered as rpart numbers them")
    rows, competing, surrogates = (
        place.whole(frame.get(name), f"frame${name}", n_nodes) for name in ("n", "ncompete", "nsurrogate")
    )
    use = place.one_whole(fit.get("control", "usesurrogate"), "control$usesurrogate")
    splits = _Splits(fit, features, place)
    position = {number: i for i, number in enumerate(numbers)}
    children, used, counted = dict[int, tuple[int, int]](), dict[int, list[RSplit]](), dict[int, int]()
    first = 0
    for i, (number, variable) in enumerate(zip(numbers, variables, strict=True)):
        if number != 1 and number // 2 not in position:
            raise place.refuse("has a node without the one above it")
        if variable == "<leaf>":
            continue
        if 2 * number not in position or 2 * number + 1 not in position:
            raise place.refuse("has a test without both nodes below it")
        if min(competing[i], surrogates[i]) < 0:
            raise place.refuse("has fewer than no splits at a node")
        start = first + 1 + int(competing[i])
        first = start + int(surrogates[i])
        where = [start - 1 - int(competing[i]), *(range(start, first) if use > 0 else ())]
        children[i] = position[2 * number], position[2 * number + 1]
        used[i] = [splits.at(each) for each in where]
        counted[i] = int(splits.table[where[0], 0])
        if features.names[used[i][0].feature] != variable:
            raise place.refuse("has splits in another order than its nodes")
    inner = {number // 2 for number in numbers if number != 1}
    if inner != {numbers[i] for i in children}:
        raise place.refuse("has nodes below a leaf")
    return RTree(numbers, children, used, rows, counted, use > 1)


def _row_numbers(names: RObject | None, place: Place) -> list[int]:
    """The numbers that name a frame's rows, 0 for what is none; R writes 1, 2, ..., n as a missing number and -n."""
    if names is not None and names.kind == Kind.TEXTS:
        texts = place.texts(names, "row.names")
        return [int(text) if text.isdecimal() and len(text) < 11 else 0 for text in texts]
    numbers = place.numbers(names, "row.names")
    if len(numbers) == 2 and math.isnan(numbers[0]) and abs(numbers[1]) <= MAX_NODES:
        return list(range(1, int(abs(numbers[1])) + 1))
    return [int(number) for number in place.whole(names, "row.names")]


class _Splits:
    """The table of all splits: of each the people counted, levels or direction, gain, threshold or row, agreement."""

    def __init__(self, fit: RObject, features: Features, place: Place) -> None:
        self.features, self.place = features, place
        splits, codes = fit.get("splits"), fit.get("csplit")
        self.table = np.zeros((0, 5)) if is_null(splits) else place.matrix(splits, "splits")
        self.variables = [] if splits is None else dimension_names(splits, 0)
        self.sides = np.zeros((0, 0)) if is_null(codes) or codes is None else self._sides(codes)
        if self.table.shape[1] < 4 or len(self.variables) != len(self.table):
            raise place.refuse("has a table of splits that rpart does not write")

    def _sides(self, codes: RObject) -> Floats:
        return self.place.matrix(codes, "csplit") if shape_of(codes) else np.zeros((0, 0))

    def at(self, row: int) -> RSplit:
        """The split in a row."""
        if not 0 <= row < len(self.table):
            raise self.place.refuse("has fewer splits than its nodes have")
        feature = self.features.position(self.variables[row], self.place)
        levels = self.features.levels.get(self.variables[row])
        ncat, index = float(self.table[row, 1]), float(self.table[row, 3])
        if ncat in {-1.0, 1.0} and math.isfinite(index):
            return RSplit(feature, index, ncat < 0) if levels is None else _by_order(feature, len(levels), index, ncat)
        set_of = int(index) - 1 if 1 <= index <= len(self.sides) and index == int(index) else -1
        if levels is None or set_of < 0 or ncat != len(levels) or self.sides.shape[1] < ncat:
            raise self.place.refuse("has a split of levels that are not in the file")
        sides = self.sides[set_of, : len(levels)].tolist()
        return RSplit(feature, codes={"left": _codes(sides, 1), "right": _codes(sides, 3)})


def _by_order(feature: int, n_levels: int, threshold: float, direction: float) -> RSplit:
    """The split of an ordered factor's codes by a threshold; those below go left with the direction -1."""
    below = frozenset(float(code) for code in range(1, n_levels + 1) if code < threshold)
    above = frozenset(map(float, range(1, n_levels + 1))) - below
    left, right = (below, above) if direction < 0 else (above, below)
    return RSplit(feature, codes={"left": left, "right": right})


def _codes(sides: Sequence[float], side: int) -> frozenset[float]:
    return frozenset(float(code) for code, each in enumerate(sides, 1) if each == side)


@dataclass(frozen=True)
class _Task:
    """What is to be added below a node: a file's node, from one of its splits on.

    `above` is the node and the way that lead here, `entered` the file's nodes that begin here, `usual` whether
    nobody has come by a missing cell.
    """

    node: int
    split: int
    reached: Reached
    above: tuple[int, int] | None
    entered: tuple[int, ...]
    usual: bool


class _Growing:
    """A neutral tree as it grows from an rpart tree; `gaps`: cells may be missing."""

    def __init__(self, tree: RTree, features: Features, *, gaps: bool) -> None:
        self.file, self.features, self.gaps = tree, features, gaps
        self.built = TreeIRBuilder()
        self.origin: list[int] = []
        self.starts: list[tuple[int, int]] = []
        self.is_usual: list[bool] = []

    def grow(self) -> bool:
        """Add all nodes; returns whether they are not too many."""
        waiting = [_Task(0, 0, {}, None, (0,), True)]
        while waiting and len(self.built) <= MAX_NODES:
            waiting += self._add(waiting.pop())
        return not waiting

    def tree(self, values: Floats, numbers: Sequence[tuple[str, NumberKind, Floats]]) -> TreeIR:
        """The tree, with a row of values for each of the file's nodes.

        Where everybody in training had the cells that were tested, the file's numbers are those of the nodes to which
        no missing cell leads. Else a node of the file stands for all nodes that are made of it.
        """
        origin, usual = np.array(self.origin), np.array(self.is_usual)
        complete = all(self.file.counted[node] == self.file.rows[node] for node in self.file.children)
        pairs = np.array(self.starts).T
        members = None if complete else (pairs[0], pairs[1])
        found = []
        for name, kind, of_file in numbers:
            of_nodes = of_file
            if complete:
                of_nodes = np.where(usual if of_file.ndim == 1 else usual[:, None], of_file[origin], 0.0)
            found.append(NodeNumbers(name, kind, of_nodes, members))
        return self.built.build(values[origin], numbers=found)

    @property
    def has_leaves_of_nobody(self) -> bool:
        """Are there leaves, with the shares of another one, for levels that nobody at the node had in training?"""
        leaves = [node for node, (low, _) in enumerate(self.built.children) if low == LEAF]
        return not all(self.is_usual[node] for node in leaves)

    def _sides(self, split: RSplit, reached: Reached) -> dict[Side, Cells]:
        """What the cells may be of those whom a split sends left, right, and nowhere, of each that is possible."""
        levels = self.features.levels.get(self.features.names[split.feature])
        codes = None if levels is None else frozenset(map(float, range(1, len(levels) + 1)))
        cells = reached.get(split.feature, Cells(codes, missing=self.gaps))
        if split.codes:
            left, right = split.codes["left"], split.codes["right"]
            others = (cells.codes or frozenset()) - left - right
            found: dict[Side, Cells] = {
                "left": cells.among(left, missing=False),
                "right": cells.among(right, missing=False),
                "rest": cells.among(others, missing=True),
            }
        else:
            below, above = cells.between(-math.inf, split.threshold), cells.between(split.threshold, math.inf)
            found = {
                "left": below if split.below_is_left else above,
                "right": above if split.below_is_left else below,
                "rest": replace(cells, present=False),
            }
        return {side: each for side, each in found.items() if each.possible}

    def _sent(self, node: int, split: int, reached: Reached) -> Side:
        """Where the splits from one on send everybody; `rest` where they stay, or further tests decide."""
        for each in self.file.splits[node][split:]:
            sides = self._sides(each, reached)
            if len(sides) > 1:
                return "rest"
            ((side, cells),) = sides.items()
            if side != "rest":
                return side
            reached = {**reached, each.feature: cells}
        return self.file.last_resort(node)

    def _add(self, task: _Task) -> list[_Task]:
        """Add one test, or a leaf; returns what is to be added below it."""
        while task.node in self.file.children:
            splits = self.file.splits[task.node]
            if task.split >= len(splits):
                side = self.file.last_resort(task.node)
                if side == "rest":
                    break
                task = self._below(task, side, task.reached)
                continue
            split = splits[task.split]
            sides = self._sides(split, task.reached)
            if "rest" in sides:
                sent = self._sent(task.node, task.split + 1, {**task.reached, split.feature: sides["rest"]})
                if sent != "rest":
                    sides[sent] = _joined(sides.get(sent), sides.pop("rest"))
            if len(sides) == 1:
                ((side, cells),) = sides.items()
                task = self._below(task, side, {**task.reached, split.feature: cells})
                continue
            return self._test(task, split, sides)
        self._placed(task, self.built.add())
        return []

    def _below(self, task: _Task, side: Side, reached: Reached) -> _Task:
        """The same place in the neutral tree, at the file's node to which a side leads, or at the next split."""
        if side == "rest":
            return replace(task, split=task.split + 1, reached=reached, usual=False)
        child = self.file.children[task.node][side == "right"]
        return replace(task, node=child, split=0, reached=reached, entered=(*task.entered, child))

    def _test(self, task: _Task, split: RSplit, sides: Mapping[Side, Cells]) -> list[_Task]:
        """Add a test that parts the sides; those who go nowhere are parted from the others first."""
        below, feature = replace(task, entered=()), split.feature
        if "rest" in sides:
            low, high = _joined(sides.get("left"), sides.get("right")), sides["rest"]
            then = replace(below, reached={**task.reached, feature: low})
            others = self._below(below, "rest", {**task.reached, feature: high})
        else:
            is_low: Side = (
                "left" if sides["left"].present and (split.below_is_left or not sides["right"].present) else "right"
            )
            is_high: Side = "right" if is_low == "left" else "left"
            low, high = sides[is_low], sides[is_high]
            then = self._below(below, is_low, {**task.reached, feature: low})
            others = self._below(below, is_high, {**task.reached, feature: high})
        if split.codes:
            node = self.built.add(feature, subset=low.codes or (), missing_low=low.missing)
        elif high.present:
            node = self.built.add(feature, split.threshold, strict=True, missing_low=low.missing)
        else:
            node = self.built.add(feature, PRESENT)
        self._placed(task, node)
        return [replace(others, above=(node, 1)), replace(then, above=(node, 0))]

    def _placed(self, task: _Task, node: int) -> None:
        if task.above is not None:
            self.built.children[task.above[0]][task.above[1]] = node
        self.starts += [(each, node) for each in task.entered]
        self.origin.append(task.node)
        self.is_usual.append(task.usual)


def _joined(one: Cells | None, other: Cells | None) -> Cells:
    """The cells of both, which are of one range, or of levels; of one alone where there is no other."""
    if one is None or other is None:
        return one or other or Cells(present=False)
    codes = None if one.codes is None else one.codes | (other.codes or frozenset())
    ranges = [each for each in (one, other) if each.present] or [one]
    return Cells(
        codes,
        min(each.least for each in ranges),
        max(each.most for each in ranges),
        one.present or other.present,
        one.missing or other.missing,
    )
