"""Lowering a test on a feature to a test on the column that the feature is computed from."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.ir.features import (
    ArithmeticStep,
    CategoryCodes,
    MissingIndicator,
    Numeric,
    Origin,
    missing_if_zero,
    rounded,
)
from leafgate.ir.model import FLAGS, LEAF, ModelIR, TreeIR
from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.schema import Column, Value
from leafgate.kernel.tree import Fan

MOST = sys.float_info.max


@dataclass(frozen=True)
class Split:
    """A test on a feature: a threshold, or a set of categories."""

    at: float
    strict: bool
    float32: bool
    missing_low: bool
    chosen: frozenset[str | float] | None = None

    def low(self, number: float) -> bool:
        """Does the feature's number go low?"""
        if math.isnan(number):
            return self.missing_low
        seen = rounded(number) if self.float32 else number
        if self.chosen is not None:
            return seen in self.chosen
        return seen < self.at if self.strict else seen <= self.at


def splits_in(tree: TreeIR, nodes: Ids | None = None) -> Iterator[tuple[int, Split]]:
    """Some nodes of a tree, by default all that ask something, each with its test."""
    nodes = np.flatnonzero(tree.feature != LEAF) if nodes is None else nodes
    at = np.where(tree.compares[nodes], tree.threshold[nodes], 0.0).tolist()
    flags = zip(*(tree.flag(name)[nodes].tolist() for name in FLAGS), strict=True)
    for node, threshold, (strict, float32, missing_low) in zip(nodes.tolist(), at, flags, strict=True):
        yield node, Split(threshold, strict, float32, missing_low, tree.subsets.get(node))


@dataclass(frozen=True)
class NumericTest:
    """The fields of a `NumericSplit` besides its children."""

    column: str
    at: float
    missing: Literal["low", "high"]
    strict: bool = False
    float32: bool = False


LOW, HIGH = True, False


@dataclass(frozen=True)
class LoweredTest:
    """A test of a model over the policy's columns.

    Attributes:
        test: None where it asks nothing, so that everybody takes one way.
        ways: which of the model's two ways each child of the test is, or the way that everybody takes.
        joins_high: the test below the high way is part of this one, whose second child is the first of that one.
    """

    test: NumericTest | Fan | None
    ways: tuple[bool, ...]
    joins_high: bool = False


KnownTests = dict[tuple[int, float, bool, bool, bool], LoweredTest]
"""Tests of codes that a model has again and again, by the identity of the feature's origin, the threshold and how it is
compared."""


def is_plain(origin: Origin) -> bool:
    """Is the feature the number of its column as it stands, missing where that is?"""
    return isinstance(origin, Numeric) and not origin.steps and origin.fill is None and not origin.zero_is_missing


def ask_absence(at: Floats, strict: Mask) -> Mask:
    """Which tests of a number ask nothing but whether it is missing?"""
    return np.asarray((at == MOST) & ~strict)


def lower_test(
    asked: Split, origin: Origin, column: Column, known: KnownTests, high: LoweredTest | None, *, high_is_silent: bool
) -> LoweredTest:
    """The test on `column` that sends the same people low and high.

    `known` keeps tests of codes, for the next one that asks the same. `high` is the test below the high way, if there
    is one. Where `high_is_silent`, a leaf that predicts nothing, its values get no branch, which predicts nothing for
    them either.
    """
    match origin:
        case Numeric() if _asks_absence(asked, origin) and not column.missing:
            return LoweredTest(None, (LOW,))
        case Numeric():
            _refuse_zero_apart(asked, origin, column)
            return LoweredTest(_numeric_test(asked, origin), (LOW, HIGH))
        case MissingIndicator() if column.numeric:
            return _by_absence(asked, origin)
        case MissingIndicator():
            absent = asked.low(origin.gone), asked.low(origin.there)
            return ValueSides.of(lambda value: absent[value is not None], column).split()
        case CategoryCodes() if asked.chosen is not None:  # sets of categories are asked for once, so they are not kept
            return ValueSides.of(_side(asked, origin), column).joined(high, high_is_silent=high_is_silent)
        case CategoryCodes():
            key = id(origin), asked.at, asked.strict, asked.float32, asked.missing_low
            if key not in known:
                known[key] = ValueSides.of(_side(asked, origin), column).split()
            return known[key]
    raise AssertionError("an unknown origin is refused before")


def _asks_absence(asked: Split, origin: Numeric) -> bool:
    """Does it ask nothing but whether the number is missing?"""
    return asked.chosen is None and asked.at == MOST and not asked.strict and not origin.steps


def _refuse_zero_apart(asked: Split, origin: Numeric, column: Column) -> None:
    """Refuse a test that sends the number 0, missing to the model, elsewhere than numbers around it, if 0 may occur.

    No test of a release does so.
    """
    if origin.zero_is_missing and asked.low(0.0) != asked.missing_low and _may_be_zero(origin, column):
        raise ReleaseError(
            f"takes 0 for missing in {column.name!r}, and sends it elsewhere than the numbers around it",
            place="model",
            remedy="give the column `values`, if it has few numbers; or fit the model on a dense table, in which 0 is "
            "a number: ColumnTransformer(..., sparse_threshold=0) or OneHotEncoder(sparse_output=False)",
        )


def sends_zero_apart(model: ModelIR, column: Column) -> bool:
    """Does some test of the model send a number that is missing to it, as it comes to 0, elsewhere than its neighbours?

    A release has such tests of a column with `values` alone.
    """
    for feature, origin in enumerate(model.origins or ()):
        if not isinstance(origin, Numeric) or origin.column != column.name or not origin.zero_is_missing:
            continue
        if _may_be_zero(origin, column) and parts_zero(model, feature):
            return True
    return False


def parts_zero(model: ModelIR, feature: int) -> bool:
    """Does some test of a feature send the number 0 elsewhere than a missing one?"""
    for tree in model.trees:
        nodes = np.flatnonzero(tree.feature == feature)
        at, strict, missing_low = tree.threshold[nodes], tree.flag("strict")[nodes], tree.flag("missing_low")[nodes]
        if ((np.where(strict, at > 0, at >= 0)) != missing_low).any():
            return True
    return False


def _may_be_zero(origin: Numeric, column: Column) -> bool:
    """May some number of the column come to 0 after the steps? They rise, so that such numbers follow one another."""
    below, last = np.nextafter(0.0, -math.inf), 0.0
    if origin.steps:
        below, last = (invert_threshold(Split(0.0, strict, False, False), origin.steps) for strict in (True, False))
    least, most = column.bounds or (-math.inf, math.inf)
    last = min(last, most)
    if not math.isfinite(last) or not last > below or last < least:
        return False
    if not column.step:
        return True
    on_grid = math.floor(last / column.step + CLOSE) * column.step
    return on_grid > below - CLOSE * abs(below) and on_grid >= least - CLOSE * abs(least)


CLOSE = 1e-9
"""Relative error of multiples of a step, such as 0.1, in floating point."""


def _numeric_test(asked: Split, origin: Numeric) -> NumericTest:
    fill = missing_if_zero(origin.fill) if origin.fill is not None and origin.zero_is_missing else origin.fill
    missing_low = asked.missing_low if fill is None else asked.low(fill)
    missing: Literal["low", "high"] = "low" if missing_low else "high"
    if not origin.steps:
        return NumericTest(origin.column, asked.at, missing, asked.strict, asked.float32)
    top = invert_threshold(asked, origin.steps)
    if top == math.inf:
        return NumericTest(origin.column, MOST, missing)
    return NumericTest(origin.column, -MOST if top == -math.inf else top, missing, strict=top == -math.inf)


def apply_steps(numbers: Floats, steps: tuple[ArithmeticStep, ...]) -> Floats:
    """The numbers after the steps, each in double precision as NumPy does it."""
    act: Mapping[str, Callable[[Floats, float], Floats]] = {
        **{"plus": np.add, "minus": np.subtract, "times": np.multiply, "over": np.divide},
        **{"at_least": np.maximum, "at_most": np.minimum, "single": lambda numbers, _: in_single_precision(numbers)},
    }
    with np.errstate(all="ignore"):
        for step in steps:
            numbers = act[step.operation](numbers, step.by)
    return numbers


def in_single_precision(numbers: Floats) -> Floats:
    """The numbers rounded to single precision; infinite where they are too large for it."""
    with np.errstate(over="ignore"):
        return np.asarray(numbers.astype(np.float32).astype(np.float64))


def invert_threshold(asked: Split, steps: tuple[ArithmeticStep, ...]) -> float:
    """The largest column number whose feature goes low; infinite where all go one way.

    Every step rises (or stays) in floating point too, so one number divides low from high; it is found by halving
    the 2^64 doubles, so it is exact however the steps round.
    """

    def goes_low(key: int) -> bool:
        return asked.low(float(apply_steps(np.array([_double(key)]), steps)[0]))

    least, most = -_key(MOST) - 1, _key(MOST)
    if goes_low(most):
        return math.inf
    if not goes_low(least):
        return -math.inf
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if goes_low(middle) else (least, middle)
    return _double(least)


def _key(number: float) -> int:
    """Doubles in order, as whole numbers; -0.0 just below 0.0."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF) - 1


def _double(key: int) -> float:
    bits = key if key >= 0 else (-key - 1) | -0x8000_0000_0000_0000
    return float(np.int64(bits).view(np.float64))


def _by_absence(asked: Split, origin: MissingIndicator) -> LoweredTest:
    there, gone = asked.low(origin.there), asked.low(origin.gone)
    if there == gone:
        return LoweredTest(None, (there,))
    return LoweredTest(NumericTest(origin.column, MOST, "high"), (there, gone))


def _side(asked: Split, origin: CategoryCodes) -> Callable[[Value], bool | None]:
    """Which side a value of the column takes; None where the model takes no such value."""

    def side(value: Value) -> bool | None:
        if asked.chosen is not None and value in asked.chosen:
            return True
        number = origin.missing if value is None else origin.codes.get(value, origin.otherwise)
        return None if number is None else asked.low(number)

    return side


@dataclass(frozen=True)
class ValueSides:
    """How the values of a column part at a test.

    `few` is the shorter of the two lists, the one that goes low where `low_is_few`; it is `complete` unless the model
    takes some values nowhere.
    """

    column: str
    few: tuple[Value, ...]
    many: tuple[Value, ...]
    low_is_few: bool
    complete: bool

    @classmethod
    def of(cls, side: Callable[[Value], bool | None], column: Column) -> ValueSides:
        """The values of the column by the side that each takes."""
        sides = {value: side(value) for value in column.domain}
        low = tuple([value for value, taken in sides.items() if taken is True])
        high = tuple([value for value, taken in sides.items() if taken is False])
        low_is_few, complete = len(low) <= len(high), len(low) + len(high) == len(sides)
        few, many = (low, high) if low_is_few else (high, low)
        return cls(column.name, few, many, low_is_few, complete)

    def split(self) -> LoweredTest:
        """A branch for the shorter list of values, all others the other way; values nobody takes take none."""
        shorter, longer = self.low_is_few, not self.low_is_few
        if not self.few:
            return LoweredTest(None if self.complete else Fan(self.column, (self.many,), has_default=False), (longer,))
        if self.complete:
            return LoweredTest(Fan(self.column, (self.few,), has_default=True), (shorter, longer))
        return LoweredTest(Fan(self.column, (self.low, self.high), has_default=False), (LOW, HIGH))

    def joined(self, high: LoweredTest | None, *, high_is_silent: bool) -> LoweredTest:
        """The split, without a branch to a silent leaf, and with the one branch of a test below of the same column."""
        if high_is_silent and self.low:
            return LoweredTest(Fan(self.column, (self.low,), has_default=False), (LOW,))
        below = None if high is None else high.test
        if isinstance(below, Fan) and below.column == self.column and self.low:
            values = tuple(value for value in below.branches[0] if value in self.high)
            if not below.has_default and len(below.branches) == 1 and values:
                return LoweredTest(
                    Fan(self.column, (self.low, values), has_default=False), (LOW, HIGH), joins_high=True
                )
        return self.split()

    @property
    def low(self) -> tuple[Value, ...]:
        """The values that go low."""
        return self.few if self.low_is_few else self.many

    @property
    def high(self) -> tuple[Value, ...]:
        """The values that go high."""
        return self.many if self.low_is_few else self.few
