"""The measured part of docs/measurements/how-the-audit-is-tested.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from writing import count, table

DOCS = Path(__file__).resolve().parents[1]
PAGE = "measurements/how-the-audit-is-tested.md"
ROWS = (60, 8_000)
"""The fewest and the most rows of a data set."""
CLASS_VALUES = (2, 6)
"""The fewest and the most different values of a class."""
FOLDS, REPETITIONS = 10, 5
"""Of cross-validation."""


@dataclass(frozen=True)
class Row:
    """One data set: its shape and class, and what init and the audit made of it.

    `verdict` is the name of an exit code, with `init: ` before it where there was no audit. Where the release has one
    leaf, `leaves_unpruned` is how many the same tree has without pruning, `right` the share of people whom that tree
    predicts rightly by cross-validation, and `most_frequent_right` that of the most frequent class. `problem` is what
    was printed where the code is not 0.
    """

    data_set: str
    rows: int
    columns: int
    target: str
    verdict: str
    leaves: int | None
    k: int | None
    seconds: float
    leaves_unpruned: int | None
    right: float | None
    most_frequent_right: float | None
    problem: str

    @property
    def is_tree(self) -> bool:
        """Did it pass with a tree of more than one leaf?"""
        return self.verdict == "pass" and (self.leaves or 0) > 1

    @property
    def allows_tree(self) -> bool:
        """Do the data allow one? One that was built shows it, else one that predicts better than one leaf."""
        better = self.right is not None and self.most_frequent_right is not None
        return (self.leaves or 0) > 1 or (better and (self.right or 0) > (self.most_frequent_right or 0))

    @property
    def has_split(self) -> bool:
        """Is there a test that keeps the limits, whether or not it predicts anything?"""
        return (self.leaves or 0) > 1 or (self.leaves_unpruned or 0) > 1


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """How many data sets there are of each kind, and what did not pass."""
    yield from summary(rows)
    stopped = [row for row in rows if row.verdict != "pass"]
    if stopped:
        yield ""
        yield from (f"- {row.data_set}: {row.verdict}: {row.problem}" for row in stopped)


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """How many there are of each kind."""
    trees = sum(row.is_tree for row in rows)
    body = [
        ("all", len(rows), ""),
        ("crash: exit code 4", sum(row.verdict.endswith("internal") for row in rows), _share(rows, rows, "internal")),
        ("invalid: exit code 2", sum(row.verdict.endswith("invalid") for row in rows), _share(rows, rows, "invalid")),
        ("pass at the first try", sum(row.verdict == "pass" for row in rows), _share(rows, rows, "pass")),
        ("pass with a tree of more than one leaf", trees, _of(trees, len(rows))),
        ("the same, of those whose data allow one", trees, _of(trees, sum(row.allows_tree for row in rows))),
        ("the same, of those where any test keeps the limits", trees, _of(trees, sum(row.has_split for row in rows))),
    ]
    yield from table(
        ("what", "how many", "share"), ([what, count(number), share] for what, number, share in body), "lrr"
    )
    yield ""
    seconds = [row.seconds for row in rows]
    yield f"Both commands together take {median(seconds):.2f} s in the median and {max(seconds):.1f} s at most."


def _share(part: Sequence[Row], whole: Sequence[Row], verdict: str) -> str:
    return _of(sum(row.verdict.endswith(verdict) for row in part), len(whole))


def _of(number: int, whole: int) -> str:
    return f"{100 * number / whole:.1f} % of {whole}" if whole else "-"
