"""What evaluators are given, and what they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]
Cell = float | str | None
Columns = Mapping[str, Sequence[Cell]]
"""Cells by the name of their column, None where one is missing."""

MAX_DEPTH = 400
"""Deeper trees are no trees: their links lead in a circle."""


class NoModelError(Exception):
    """The producer would not open the file, or nothing says what it answers."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers of a model.

    Attributes:
        scores: shape (n_rows, n_scores): before the last transform, or the shares of classes, or a number.
        size: shape (n_rows,): the sum of the absolute terms of a row's scores, to which rounding is relative.
        labels: the class of each row as a text; None for numbers.
        classes: the names of the classes: in the order of the scores, or of one score the second is the one it is of.
        shares: what the producer says of each class, shape (n_rows, n_classes); None where it says no shares.
    """

    scores: Floats
    size: Floats
    labels: tuple[str, ...] | None = None
    classes: tuple[str, ...] = ()
    shares: Floats | None = None

    def by_class(self) -> Floats:
        """The scores in the order of the names of the classes, as far as a softmax or a sign sees them.

        Shape (n_rows, n_classes), or (n_rows, 1) of numbers.
        """
        if self.labels is None:
            return self.scores
        both = np.column_stack([-self.scores / 2, self.scores / 2]) if self.scores.shape[1] == 1 else self.scores
        order = np.argsort(self.classes, kind="stable")
        return np.asarray((both - both.mean(axis=1, keepdims=True))[:, order])


def of_logarithms(scores: Floats, size: Floats) -> Answers:
    """The numbers whose logarithms are these scores, and how large what was added up made them."""
    with np.errstate(over="ignore"):
        numbers = np.exp(scores)
        return Answers(scores=numbers, size=numbers[:, 0] * (1 + size))


def softmax(scores: Floats, factor: float = 1.0) -> Floats:
    """Shares of classes of their scores; of one score, which is of the second of two classes, those of both."""
    with np.errstate(all="ignore"):
        both = np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores
        powers = np.exp(factor * (both - both.max(axis=1, keepdims=True)))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass
class Question:
    """What the tests of a model ask about one column: thresholds in `precision`, and categories."""

    thresholds: set[float] = field(default_factory=set)
    categories: set[float | str] = field(default_factory=set)
    precision: type[np.float32] | type[np.float64] = np.float32

    def beside(self) -> Iterator[float]:
        """Every threshold and the numbers right below and above it, in the precision of the test."""
        for threshold in sorted(self.thresholds):
            with np.errstate(over="ignore"):
                at = self.precision(threshold)
                most = self.precision(np.inf)
                beside = (np.nextafter(at, -most), at, np.nextafter(at, most))
            yield from (float(each) for each in beside if np.isfinite(each))


Questions = dict[str, Question]


def numbers(cells: Sequence[Cell]) -> Floats:
    """Cells as numbers, NaN where one is missing."""
    return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64)


Step = Callable[[int, Ids], tuple[int, int, Flags] | None]
"""Of a node and the rows at it: its two children and which rows go to the first; None at a leaf."""


def leaves(n_rows: int, step: Step) -> Ids:
    """The leaf in which each row ends, from node 0 on."""
    ends = np.zeros(n_rows, dtype=np.int64)
    waiting: list[tuple[int, Ids, int]] = [(0, np.arange(n_rows), 0)]
    while waiting:
        node, rows, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise NoModelError("the links lead in a circle")
        found = step(node, rows)
        if found is None:
            ends[rows] = node
            continue
        first, second, takes = found
        for child, some in ((first, rows[takes]), (second, rows[~takes])):
            if len(some):
                waiting.append((child, some, depth + 1))
    return ends
