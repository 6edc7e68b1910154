"""The smallest groups told in words: the way to their leaves, and for auditors who is in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate import Case
from leafgate.possible import Possible, Rest, both, narrowed
from leafgate.possible_words import conditions
from leafgate.report import People, Private
from leafgate.routing import split_rows
from leafgate.tree import Cut, Fan, Leaf, Node
from leafgate_structure.divisions import Division

SHOWN = 3
"""How many groups a finding shows."""

Marked = tuple[Division, NDArray[np.bool_]]
"""A division, and which of its groups are to be told."""


def worst_groups(case: Case, found: Sequence[Marked], by_public: bool) -> list[dict[str, Any]]:
    """The smallest of the marked groups: how many people, the way to them, and their classes as they are."""
    ranked = [
        (int(division.sizes[group]), place, int(group))
        for place, (division, marked) in enumerate(found)
        for group in np.flatnonzero(marked)
    ]
    return [_told(case, found[place][0], group, by_public) for _, place, group in sorted(ranked)[:SHOWN]]


def _told(case: Case, division: Division, group: int, by_public: bool) -> dict[str, Any]:
    row = int(division.first[group])
    schema = case.table.schema
    told: dict[str, Any] = {"people": People(int(division.sizes[group]))}
    trees = case.release.learned
    asked = trees if division.tree is None else trees[division.tree : division.tree + 1]
    words = " and ".join(conditions(_met(case, asked, row, by_public), schema)) or "everyone"
    told["path"] = Private(words if len(trees) == 1 or division.tree is None else f"tree {division.tree}: {words}")
    if case.release.target in schema:
        classes = schema[case.release.target].domain
        counts = division.counts(case.table.codes(case.release.target), len(classes))[group]
        told["true"] = Private({str(c): People(int(n)) for c, n in zip(classes, counts, strict=True) if n})
    return told


def _met(case: Case, trees: Sequence[Node], row: int, by_public: bool) -> Possible:
    """What the tests on one row's way, or on all its possible ways, leave of the columns that tell people apart."""
    met: dict[str, Rest] = {}
    for tree in trees:
        for possible in _ways(case, tree, row, by_public):
            for name, rest in possible.items():
                if case.table.schema[name].public or not by_public:
                    met[name] = both(met[name], rest) if name in met else rest
    return met


def _ways(case: Case, tree: Node, row: int, by_public: bool) -> list[Possible]:
    """For each leaf the row can reach, what the tests above it leave of each column."""
    schema, ends = case.table.schema, list[Possible]()
    waiting: list[tuple[Node, Possible]] = [(tree, {})]
    while waiting:
        node, possible = waiting.pop()
        if isinstance(node, Leaf):
            ends.append(possible)
            continue
        open_ = by_public and not schema[node.column].public
        taken = _taken(case, node, row, open_)
        ways = zip(narrowed(node, possible, schema), taken, strict=True)
        waiting.extend(
            (child, {**possible, node.column: rest}) for (child, rest), here in ways if here and (rest or not open_)
        )
    return ends


def _taken(case: Case, node: Cut | Fan, row: int, open_: bool) -> list[bool]:
    """Which ways out of a test the row may take; any where its cell is not known."""
    ways = list(split_rows(node, case.table, np.array([row])))
    return [open_ or len(mine) > 0 for _, mine in ways]
