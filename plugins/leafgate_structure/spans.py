"""Which people a tree cannot tell apart by their public cells: who can reach the same leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.possible import Possible, narrowed, unanswered
from leafgate.routing import Cells, split_rows
from leafgate.schema import Schema
from leafgate.table import Table
from leafgate.tree import Cut, Fan, Leaf, Node

Ids = NDArray[np.int64]


@dataclass
class Parted:
    """A partition of rows, made finer one set of rows at a time."""

    group: Ids
    _next: int = 1

    def part(self, rows: Ids) -> None:
        """Part every group into its rows that are among `rows`, and the rest."""
        held = self.group[rows]
        if len(rows) and (held == held[0]).all():
            self.group[rows] = self._next
            self._next += 1
            return
        distinct, place = np.unique(held, return_inverse=True)
        self.group[rows] = self._next + place
        self._next += len(distinct)


def spans(tree: Node, public: Table, schema: Schema) -> Ids:
    """For each public record the number of its span: the set of leaves its people can reach.

    Columns that the adversary does not know can be whatever the tests above leave of them; to end in no leaf is one
    end more.

    Source: A. Friedman, A. Schuster, R. Wolff, PKDD 2006, Definition 4, without the class. This shares no code with
    the attack `linking`, which compares what remains of the tree instead.
    """
    found = Parted(np.zeros(len(public), dtype=np.int64))
    nowhere = np.zeros(len(public), dtype=bool)
    cells: Cells = {}
    waiting: list[tuple[Node, Ids, Possible]] = [(tree, np.arange(len(public)), {})]
    while waiting:
        node, rows, possible = waiting.pop()
        if not len(rows):
            continue
        if isinstance(node, Leaf):
            found.part(rows)
        elif schema[node.column].public:
            ways = list(split_rows(node, public, rows, cells))
            waiting.extend((child, mine, possible) for child, mine in ways)
            if sum(len(mine) for _, mine in ways) < len(rows):
                nowhere[np.setdiff1d(rows, np.concatenate([mine for _, mine in ways]))] = True
        else:
            waiting.extend(_ways(node, rows, possible, schema))
            nowhere[rows] |= bool(unanswered(node, possible, schema))
    found.part(np.flatnonzero(nowhere))
    return np.unique(found.group, return_inverse=True)[1].astype(np.int64)


def _ways(node: Cut | Fan, rows: Ids, possible: Possible, schema: Schema) -> list[tuple[Node, Ids, Possible]]:
    """Each way out of a test of an unknown column that some value can still take; all rows may take it."""
    return [(child, rows, {**possible, node.column: rest}) for child, rest in narrowed(node, possible, schema) if rest]
