"""The measured part of docs/measurements/dp-random-trees-results.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dp_frontier import NO_PROMISE, Point
from writing import fixed, table

SETS = {"Adult, usual split": "Adult", "Nursery": "Nursery", "Mushroom": "Mushroom"}
SHOWN = (0.25, 1.0)
"""The values of epsilon on the page; the CSV file has all."""
WAYS = {
    "sampled, evidence": "sampled, no noise",
    "noise, 8 trees, evidence": "noise, 8 trees",
    "noise, 64 trees, evidence": "noise, 64 trees",
    "DP-EBM": "DP-EBM",
    "diffprivlib, positions": "diffprivlib",
}
NO_PRIVACY = "no privacy, evidence"


def lines(points: Sequence[Point]) -> Iterator[str]:
    """Accuracy at equal epsilon, by way and data set."""
    found = {(point.data, point.way, point.epsilon): point for point in points}
    columns = [(data, epsilon) for data in SETS for epsilon in SHOWN]

    def cells(way: str, *, is_private: bool) -> Iterator[str]:
        for data, epsilon in columns:
            point = found.get((data, way, epsilon if is_private else NO_PROMISE))
            yield fixed(None if point is None else point.accuracy)

    body = [[name, *cells(way, is_private=True)] for way, name in WAYS.items()]
    body.append(["no privacy", *cells(NO_PRIVACY, is_private=False)])
    return table(("way", *(f"{SETS[data]}, {epsilon:g}" for data, epsilon in columns)), body, "l" + "r" * len(columns))
