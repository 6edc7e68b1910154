"""The measured part of docs/measurements/maxent-on-adult.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maxent_rows import NAMES, Line
from writing import fixed, table

COLUMNS = {
    "labels": ("labels", False),
    "error rates": ("error_rates", False),
    "error rates and choices": ("error_rates", True),
    "counts": ("counts", False),
    "counts and choices": ("counts", True),
}
"""What the leaves state, and whether the attack uses the choices of tests."""


def lines(rows: Sequence[Line]) -> Iterator[str]:
    """D_overall by tree and by what is published and used."""
    paper = [row for row in rows if not row.label_accuracies]
    found = {(row.measure, row.leaves, row.leaves_tell, row.internal): row for row in paper}
    trees = dict.fromkeys((row.measure, row.leaves) for row in paper)
    body = [
        [
            f"{NAMES[measure]}, {leaves:,} leaves",
            *(_overall(found.get((measure, leaves, *key))) for key in COLUMNS.values()),
        ]
        for measure, leaves in trees
    ]
    return table(("tree", *COLUMNS), body, "l" + "r" * len(COLUMNS))


def _overall(row: Line | None) -> str:
    """D_overall; where the optima found differ in it, from the lowest to the highest."""
    if row is None:
        return "-"
    low, high = (fixed(end, 4) for end in (row.divergence_lowest, row.divergence_highest))
    return low if low == high else f"{low} to {high}"
