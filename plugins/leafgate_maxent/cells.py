"""What of unknown columns is counted, and how much of it a way through the trees takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from leafgate.possible import Interval, Rest, both, edge, rest_of
from leafgate.schema import Column, Schema
from leafgate.tree import Cut, Node, children
from leafgate_maxent.walk import Way

Cells = Mapping[str, Sequence[Rest]]
"""What of an unknown column is counted: its values, or the intervals between all cuts."""


def cells_of(trees: Sequence[Node], schema: Schema) -> Cells:
    edges: dict[str, set[float]] = {}
    waiting: list[Node] = list(trees)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Cut):
            edges.setdefault(node.column, set()).add(edge(node))
        waiting += children(node)
    return {name: _intervals(schema[name], sorted(at)) for name, at in edges.items() if not schema[name].public}


def _intervals(column: Column, edges: Sequence[float]) -> list[Rest]:
    whole = rest_of(column, {})
    assert isinstance(whole, Interval)
    inside = [at for at in edges if whole.low < at < whole.high]
    limits = [whole.low, *inside, whole.high]
    parts: list[Rest] = [Interval(low, high, False) for low, high in pairwise(limits)]
    return [*parts, *([Interval(math.inf, -math.inf, True)] if column.missing else [])]


def share_of(way: Way, cells: Cells, schema: Schema) -> float:
    """The part of the unknown cells' possible values that this way takes."""
    share = 1.0
    for name, rest in way.possible.items():
        if isinstance(rest, frozenset):
            share *= len(rest) / len(schema[name].domain)
        else:
            share *= sum(bool(both(rest, cell)) for cell in cells[name]) / len(cells[name])
    return share
