"""What leaves publish: of one leaf (`Leaf`), and of all leaves of a tree as arrays (`LeafStatistics`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from leafgate.errors import ReleaseError
from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np

    from leafgate.kernel.arrays import Floats, Ids, Mask
else:
    np = lazy("numpy")

Statistic = Literal["counts", "shares", "error_rate", "value", "scores"]
"""What a leaf can publish in numbers."""
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
"""Every statistic, in the order in which release files have them."""

OF_CLASSES = frozenset[Statistic]({"counts", "shares", "scores"})
"""The statistics with a number for each class."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a path: the class it predicts and the statistics that are published about it.

    `counts` are people per class, `shares` fractions per class, `error_rate` the fraction of
    the leaf's people that have another class than `label`. A leaf nobody reaches has neither
    shares nor an error rate. `value` is a predicted number, or its part of a sum or a mean.
    `scores` are what it adds to each class where several trees are added up.
    """

    label: str | None = None
    counts: Mapping[str, int | float] | None = None
    shares: Mapping[str, float] | None = None
    error_rate: float | None = None
    value: float | None = None
    scores: Mapping[str, float] | None = None

    @property
    def has_no_statistic(self) -> bool:
        """Does it publish no statistic of its people's classes?"""
        return self.counts is None and self.shares is None and self.error_rate is None

    @property
    def size(self) -> float | None:
        """People in the leaf, where the counts are published."""
        return None if self.counts is None else sum(self.counts.values())

    @property
    def words(self) -> str:
        """Its statistic as text."""
        if self.counts is not None:
            return ", ".join(f"{count} {name}" for name, count in self.counts.items() if count) or "nobody"
        if self.value is not None and self.label is None:
            return f"{self.value:.6g}"
        if self.shares is not None:
            return ", ".join(f"{share:.3g} {name}" for name, share in self.shares.items() if share)
        if self.scores is not None and self.label is None:
            return ", ".join(f"{name} {score:+.3g}" for name, score in self.scores.items() if score) or "no score"
        label = self.label or "no class"
        return label + (f", error rate {self.error_rate:.3g}" if self.error_rate is not None else "")


@dataclass(frozen=True, eq=False)
class Numbers:
    """One statistic of all leaves.

    Attributes:
        values: shape (n_leaves, n_classes), or (n_leaves, 1) where it is no statistic of classes; a row of NaN where a
            leaf does not publish it.
        whole: which of them are whole numbers, and written as such; one flag where that is the same for all.
    """

    values: Floats
    whole: Mask | bool

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any] | None], width: int) -> Numbers:
        """From each leaf's numbers, None where it has none; ReleaseError where one is not finite, or no double."""
        silent = (math.nan,) * width
        every = [number for row in rows for number in (silent if row is None else row)]
        kinds = set(map(type, every))
        if not kinds <= {int, float}:
            every = [_plain_number(number) for number in every]
            kinds = set(map(type, every))
        try:
            values = np.array(every, dtype=np.float64).reshape(len(rows), width)
        except OverflowError:
            raise ReleaseError("has a number on a leaf that is too large") from None
        expected = sum(row is not None for row in rows) * width
        if int(np.isfinite(values).sum()) != expected:
            raise ReleaseError("has a number on a leaf that is not finite")
        values.setflags(write=False)
        large = every if int in kinds and (np.abs(values) >= 2**53).any() else []
        if any(type(number) is int and int(float(number)) != number for number in large):
            raise ReleaseError("has a whole number on a leaf that is too large")
        if len(kinds) < 2:
            return cls(values, kinds == {int})
        return cls(values, np.array([type(number) is int for number in every], dtype=np.bool_).reshape(values.shape))

    def part(self, first: int, last: int) -> Numbers:
        """Those of the leaves from the first to before the last."""
        whole = self.whole if isinstance(self.whole, bool) else self.whole[first:last]
        part = Numbers(self.values[first:last], whole)
        part.__dict__["published"] = self.published[first:last]  # which need not be computed for each part
        return part

    @cached_property
    def published(self) -> Mask:
        """Which leaves publish it."""
        return np.asarray(~np.isnan(self.values).any(axis=1))

    def rows(self) -> list[tuple[Any, ...] | None]:
        """Each leaf's numbers, as they were given to `of`."""
        columns = [as_numbers(self.values[:, i], self._whole_of(i)) for i in range(self.values.shape[1])]
        rows: list[tuple[Any, ...] | None] = [*zip(*columns, strict=True)]
        for leaf in np.flatnonzero(~self.published).tolist():
            rows[leaf] = None
        return rows

    def _whole_of(self, column: int) -> Mask | bool:
        return self.whole if isinstance(self.whole, bool) else self.whole[:, column]


def as_numbers(values: Floats, whole: Mask | bool) -> list[int | float]:
    """An array as numbers of Python: int where they are whole, else float; NaN stays NaN."""
    numbers: list[int | float] = values.tolist()
    if whole is False:
        return numbers
    if whole is True and np.abs(values).max(initial=0) < 2**53:  # which NaN is not
        whole_numbers: list[int | float] = values.astype(np.int64).tolist()
        return whole_numbers
    flags = np.broadcast_to(whole, values.shape) & ~np.isnan(values)
    return [int(number) if flag else number for number, flag in zip(numbers, flags.tolist(), strict=True)]


def _plain_number(number: Any) -> int | float:
    """A number of NumPy as one of Python; ReleaseError for what is none."""
    if isinstance(number, bool | np.bool_) or not isinstance(number, int | float | np.integer | np.floating):
        raise ReleaseError("has something on a leaf that is no number")
    return float(number) if isinstance(number, float | np.floating) else int(number)


def _row(stated: Any, classes: tuple[str, ...], statistic: Statistic) -> tuple[Any, ...] | None:
    """What a leaf states of a statistic as one row of its numbers."""
    if stated is None:
        return None
    return tuple([stated.get(name, 0) for name in classes]) if statistic in OF_CLASSES else (stated,)


@dataclass(frozen=True, eq=False)
class LeafStatistics:
    """What the leaves of a tree publish.

    Attributes:
        label: shape (n_leaves,), the position of each leaf's label in `labels`, -1 where it has none.
        labels: the labels that some leaf has, or may have.
        classes: the classes that the columns of statistics of classes are about.
        numbers: each statistic that some leaf publishes.
    """

    label: Ids
    labels: tuple[str, ...]
    classes: tuple[str, ...]
    numbers: Mapping[Statistic, Numbers]

    @classmethod
    def of(cls, leaves: Sequence[Leaf]) -> LeafStatistics:
        """The content of some leaves; a class that a leaf leaves out counts nobody there."""
        labels = {leaf.label: i for i, leaf in enumerate(leaves) if leaf.label is not None}
        position = {label: i for i, label in enumerate(labels)} | {None: -1}
        label = np.array([position[leaf.label] for leaf in leaves], dtype=np.int64)
        classes, numbers = dict[str, None](), dict[Statistic, Numbers]()
        stated = {name: [getattr(leaf, name) for leaf in leaves] for name in STATISTICS}
        for name in OF_CLASSES:
            for each in stated[name]:
                classes |= dict.fromkeys(each or ())
        names = tuple(classes)
        for name, of_leaves in stated.items():
            if any(each is not None for each in of_leaves):
                width = len(names) if name in OF_CLASSES else 1
                numbers[name] = Numbers.of([_row(each, names, name) for each in of_leaves], width)
        return cls(label, tuple(each for each in labels if each is not None), names, numbers)

    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves; equal numbers of classes are one object, for most leaves of a large forest share theirs."""
        labels = (*self.labels, None)
        columns: list[list[Any]] = [[labels[i] for i in self.label.tolist()]]
        for name in STATISTICS:
            found = self.numbers.get(name)
            rows: list[Any] = [None] * len(self.label) if found is None else found.rows()
            if found is None or name not in OF_CLASSES:
                columns.append([None if row is None else row[0] for row in rows])
                continue
            shared = {row: self._of_classes(row) for row in set(rows) if row} if found.whole is True else {}
            columns.append([shared.get(row) or self._of_classes(row) for row in rows])
        return tuple([Leaf(*each) for each in zip(*columns, strict=True)])

    def _of_classes(self, row: tuple[Any, ...] | None) -> dict[str, Any] | None:
        return None if row is None else dict(zip(self.classes, row, strict=True))

    def publishes(self, statistic: Statistic) -> Mask:
        """Which leaves publish it."""
        found = self.numbers.get(statistic)
        return np.zeros(len(self.label), dtype=np.bool_) if found is None else found.published

    def split(self, n_leaves: Sequence[int]) -> list[LeafStatistics]:
        """Those of some leaves after another, so many each; they share their numbers with these."""
        parts, first = list[LeafStatistics](), 0
        for n in n_leaves:
            last = first + n
            numbers = {
                name: each.part(first, last) for name, each in self.numbers.items() if each.published[first:last].any()
            }
            parts.append(LeafStatistics(self.label[first:last], self.labels, self.classes, numbers))
            first = last
        return parts

    def over(self, classes: tuple[str, ...]) -> LeafStatistics:
        """The same statistics with these classes in this order; ReleaseError where they are about another class."""
        if classes == self.classes or not OF_CLASSES & self.numbers.keys():
            return self
        if not set(self.classes) <= set(classes):
            raise ReleaseError("has statistics of a class that the schema does not have")
        position = {name: i for i, name in enumerate(self.classes)}
        order, numbers = [position.get(name, -1) for name in classes], dict[Statistic, Numbers]()
        for name, each in self.numbers.items():
            if name in OF_CLASSES:
                whole = np.column_stack([np.broadcast_to(each.whole, each.values.shape), np.ones(len(self), np.bool_)])
                numbers[name] = Numbers(self.per_class(name, classes), whole[:, order])
            else:
                numbers[name] = each
        return LeafStatistics(self.label, self.labels, classes, numbers)

    def per_class(self, statistic: Statistic, classes: tuple[str, ...]) -> Floats:
        """The statistic of some classes in their order; NaN where a leaf does not publish it, 0 for other classes."""
        found = self.numbers.get(statistic)
        if found is None:
            numbers = np.full((len(self), len(classes)), math.nan)
        elif classes == self.classes:
            return found.values
        else:
            position = {name: i for i, name in enumerate(self.classes)}
            with_zero = np.column_stack([found.values, np.zeros(len(self))])
            numbers = with_zero[:, [position.get(name, -1) for name in classes]]
            numbers[~found.published] = math.nan
        numbers.setflags(write=False)
        return numbers

    def __len__(self) -> int:
        return len(self.label)
