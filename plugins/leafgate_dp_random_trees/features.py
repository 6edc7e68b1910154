"""What of a release may betray a person: a few numbers a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.release import Release
from leafgate.routing import NOWHERE, branch_of_code, goes_low
from leafgate.table import Table
from leafgate.tree import Cut, Leaf, Node, children, leaves
from leafgate_dp_random_trees.coins import Ids
from leafgate_dp_random_trees.worlds import World

Floats = NDArray[np.float64]
MANY = 2_000
"""So many numbers beside the trees are looked at."""


def features(release: Release, world: World) -> dict[str, float]:
    """Numbers that may be larger, or smaller, with the person: their counters, cuts, all else told."""
    shown, others = _where_counted(release, world)
    told = {"people shown": shown.sum(), "times shown": (shown > 0).sum(), "most shown": shown.max(initial=0)}
    told |= {"above the others": np.sign(shown - others).sum(), "evidence": _log_odds(shown, others, release)}
    told |= {"everybody shown": _everybody(release), **_structure(release)}
    beside = {"builder": release.builder, "selection": release.selection, "guarantee": release.guarantee}
    return {name: float(value) for name, value in told.items()} | dict(_numbers(beside, ""))


def _where_counted(release: Release, world: World) -> tuple[Floats, Floats]:
    """For each tree what is shown where the person would be counted, and how many others are there."""
    label = str(world.person.frame[release.target].iloc[0])
    same = np.flatnonzero(world.without.codes(release.target) == world.person.codes(release.target)[0])
    found = [_followed(tree, world.person, world.without, same) for tree in release.trees]
    shown = [float((leaf.counts or {}).get(label, 0)) for leaf, _ in found]
    return np.array(shown), np.array([float(world.without.weight[rows].sum()) for _, rows in found])


def _followed(node: Node, person: Table, others: Table, rows: Ids) -> tuple[Leaf, Ids]:
    """The leaf the person comes to, and which of these rows of others do so too."""
    while not isinstance(node, Leaf):
        if isinstance(node, Cut):
            low = bool(goes_low(node, person.numbers(node.column))[0])
            rows = rows[goes_low(node, others.numbers(node.column)[rows]) == low]
            node = node.low if low else node.high
            continue
        taken = branch_of_code(node, person)
        mine = int(taken[person.codes(node.column)[0]])
        if mine == NOWHERE:
            return Leaf(), rows[:0]
        rows = rows[taken[others.codes(node.column)[rows]] == mine]
        node = children(node)[mine]
    return node, rows


def _log_odds(shown: Floats, others: Floats, release: Release) -> float:
    """How much likelier the person makes what is shown, by the chances the builder says it has; 0 if it does not."""
    from scipy.stats import binom

    k, beta = release.builder.get("k"), release.builder.get("beta")
    if not isinstance(k, int) or not isinstance(beta, float) or not len(shown):
        return 0.0

    def log_chance(people: Floats) -> Floats:
        hidden = binom.logcdf(k - 1, people, beta)
        return np.asarray(np.where(shown >= k, binom.logpmf(shown, people, beta), hidden))

    with np.errstate(invalid="ignore"):
        told = log_chance(others + 1) - log_chance(others)
    return float(np.nan_to_num(np.clip(told, -50, 50)).sum())


def _everybody(release: Release) -> float:
    return float(sum(sum((leaf.counts or {}).values()) for tree in release.trees for leaf in leaves(tree)))


def _structure(release: Release) -> dict[str, float]:
    """How many tests and leaves there are, and where the outermost cuts of each number are."""
    told: dict[str, float] = {"nodes": 0}
    waiting = list(release.trees)
    while waiting:
        node = waiting.pop()
        told["nodes"] += 1
        if isinstance(node, Cut):
            low, high = f"lowest cut of {node.column}", f"highest cut of {node.column}"
            told[low] = min(told.get(low, node.at), node.at)
            told[high] = max(told.get(high, node.at), node.at)
        waiting += children(node)
    return told


def _numbers(told: Any, name: str) -> Iterator[tuple[str, float]]:
    """Every number in a JSON document, by its path; of lists also the sum."""
    if isinstance(told, bool | int | float):
        yield name, float(told)
    elif isinstance(told, Mapping):
        for key, value in told.items():
            yield from _numbers(value, f"{name}.{key}")
    elif isinstance(told, list | tuple) and len(told) <= MANY:
        for i, value in enumerate(told):
            yield from _numbers(value, f"{name}[{i}]")
        yield f"{name}: sum", float(sum(n for n in told if isinstance(n, int | float)))
