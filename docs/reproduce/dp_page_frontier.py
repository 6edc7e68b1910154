"""The part of the page about accuracy at equal epsilon."""

from __future__ import annotations

from collections.abc import Iterator

from dp_account import DELTA
from dp_data import FRONTIER
from dp_findings import Findings
from dp_frontier import EPSILONS, NO_PROMISE, NOISY, Point
from dp_told import mean_with_error
from writing import fixed, table

SHOWN = ("sampled, evidence", *(f"noise, {trees} trees, evidence" for trees in NOISY))
FEW = 64
"""With noise, the number of trees whose other ways to combine are in the page; the CSV file has all."""


def most_trees(found: Findings) -> Iterator[str]:
    """How many trees, and how much noise, an epsilon allows: the same on all data."""
    yield f"What an epsilon allows at delta {DELTA:g}, on any data:\n"
    ways = [way for way in _ways(found, FRONTIER[0]) if way in SHOWN]
    rows = []
    for way in ways:
        points = [found.point(FRONTIER[0], way, epsilon) for epsilon in EPSILONS]
        rows.append((_name(way), *map(_allowed, points)))
    yield from table(("", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)), rows, "l" + "r" * len(EPSILONS))


def _name(way: str) -> str:
    plain = way.removesuffix(", evidence")
    return "sampled, k = 20: trees, beta" if plain == "sampled" else f"{plain}: scale"


def _allowed(point: Point | None) -> str:
    if point is None or point.scale is None:
        return "-"
    return f"{point.trees}, {point.scale:g}" if point.way.startswith("sampled") else fixed(point.scale)


def frontier(found: Findings, name: str) -> Iterator[str]:
    """Accuracy by way and epsilon and, for two classes, the area under the curve."""
    tree = found.tree(name)
    bare = found.point(name, "no privacy, evidence", NO_PROMISE)
    assert bare is not None
    yield (
        f"Accuracy. Without privacy: the default forest, by evidence, "
        f"{mean_with_error(bare.accuracy, bare.accuracy_error)}; C4.5 "
        f"{mean_with_error(tree.accuracy, tree.accuracy_error)}; "
        f"always the most frequent class {fixed(tree.most, 3)}.\n"
    )
    yield from _by_epsilon(found, name, area=False)
    if bare.area is None:
        return
    yield ""
    yield f"Area under the curve. Without privacy: the default forest {mean_with_error(bare.area, bare.area_error)}.\n"
    yield from _by_epsilon(found, name, area=True)


def _by_epsilon(found: Findings, name: str, *, area: bool) -> Iterator[str]:
    rows = []
    for way in _ways(found, name):
        points = [found.point(name, way, epsilon) for epsilon in EPSILONS]
        pairs = [(None, None) if p is None else _told(p, area=area) for p in points]
        rows.append((way, *(mean_with_error(value, error) for value, error in pairs)))
    return table(("", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)), rows, "l" + "r" * len(EPSILONS))


def _told(point: Point, *, area: bool) -> tuple[float | None, float | None]:
    return (point.area, point.area_error) if area else (point.accuracy, point.accuracy_error)


def _ways(found: Findings, name: str) -> list[str]:
    ways = dict.fromkeys(p.way for p in found.points if p.data == name and p.epsilon != NO_PROMISE)
    return [way for way in ways if not way.startswith("noise") or way in SHOWN or f" {FEW} " in way]
