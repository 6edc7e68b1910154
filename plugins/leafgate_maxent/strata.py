"""Who can be where: every public row with each of the ways its unknown cells can fall."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from leafgate.errors import InconclusiveError
from leafgate.possible import Interval, Rest, both, edge, rest_of
from leafgate.routing import NOWHERE
from leafgate.schema import Column, Schema
from leafgate.table import Table
from leafgate.tree import Cut, Node, children
from leafgate_maxent.walk import Floats, Ids, Way, ways_through

MOST = 4_000_000
"""More strata than this are not told apart: too many unknown cells are asked about."""


@dataclass(frozen=True)
class Strata:
    """The people of one public row whose unknown cells lead to the same leaves; sorted by row.

    `share` is the part of the row's possible unknown cells (values of categories, intervals between
    the cuts of numbers) that each stratum holds: what somebody who knows nothing would think.
    `leaf` has a column for each tree. `value` tells, of unknown columns that are secrets or that
    facts speak of, the code of the value; `member` which strata are of the people the tree was
    learned from.
    """

    row: Ids
    share: Floats
    leaf: Ids
    value: Mapping[str, Ids] = field(default_factory=dict)
    member: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.row)


def strata_of(
    trees: Sequence[Node], public: Table, schema: Schema, told: Sequence[str], *, members: bool = True
) -> Strata:
    """All strata of the people in `public`; `told` are unknown columns whose values must be told apart.

    Unless `members`, everybody is there twice: among those the trees were learned from, and not.
    Raises InconclusiveError when there are more than MOST.
    """
    ways = [Way(np.arange(len(public)))]
    for tree in trees:
        ways = _counted(way for one in ways for way in ways_through(tree, one, public, schema))
    for name in told:
        ways = _counted(part for way in ways for part in _by_value(way, schema[name]))
    cells = _cells_of(trees, schema)
    strata = _gathered(ways, len(trees), cells, schema, told)
    return _sorted(strata if members else _with_outsiders(strata, ways, cells, schema, told))


def _counted(ways: Iterable[Way]) -> list[Way]:
    kept, total = [], 0
    for way in ways:
        kept.append(way)
        total += len(way.rows)
        if total > MOST:
            raise InconclusiveError(
                f"the trees ask about so many unknown columns that there are more than {MOST} cases to tell apart",
                remedy="declare more columns public, or attack with fewer trees",
            )
    return kept


def _by_value(way: Way, column: Column) -> Iterable[Way]:
    rest = rest_of(column, way.possible)
    assert isinstance(rest, frozenset)
    for value in column.domain:
        if value in rest:
            yield Way(way.rows, {**way.possible, column.name: frozenset([value])}, way.leaf)


Cells = Mapping[str, Sequence[Rest]]
"""What of an unknown column is counted: its values, or the intervals between all cuts."""


def _cells_of(trees: Sequence[Node], schema: Schema) -> Cells:
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


def _share(way: Way, cells: Cells, schema: Schema) -> float:
    """The part of the unknown cells' possible values that this way takes."""
    share = 1.0
    for name, rest in way.possible.items():
        if isinstance(rest, frozenset):
            share *= len(rest) / len(schema[name].domain)
        else:
            share *= sum(bool(both(rest, cell)) for cell in cells[name]) / len(cells[name])
    return share


def _gathered(ways: Sequence[Way], n_trees: int, cells: Cells, schema: Schema, told: Sequence[str]) -> Strata:
    sizes = [len(way.rows) for way in ways]
    leaf = np.array([way.leaf for way in ways], dtype=np.int64).reshape(len(ways), n_trees)
    value = {}
    for name in told:
        code = {value: i for i, value in enumerate(schema[name].domain)}
        value[name] = np.repeat([code[_only(way.possible[name])] for way in ways], sizes)
    return Strata(
        np.concatenate([way.rows for way in ways]),
        np.repeat([_share(way, cells, schema) for way in ways], sizes),
        np.repeat(leaf, sizes, axis=0),
        value,
    )


def _only(rest: Rest) -> str | None:
    assert isinstance(rest, frozenset)
    return next(iter(rest))


def _with_outsiders(strata: Strata, ways: Sequence[Way], cells: Cells, schema: Schema, told: Sequence[str]) -> Strata:
    """The same people once more, in no leaf of any tree; each half as likely."""
    whole = [Way(np.arange(strata.row.max(initial=-1) + 1))]
    for name in told:
        whole = [part for way in whole for part in _by_value(way, schema[name])]
    none = _gathered(whole, 0, cells, schema, told)
    nowhere = np.full((len(none), strata.leaf.shape[1]), NOWHERE)
    return Strata(
        np.concatenate([strata.row, none.row]),
        np.concatenate([strata.share, none.share]) / 2,
        np.concatenate([strata.leaf, nowhere]),
        {name: np.concatenate([strata.value[name], none.value[name]]) for name in told},
        np.arange(len(strata) + len(none)) < len(strata),
    )


def _sorted(strata: Strata) -> Strata:
    order = np.argsort(strata.row, kind="stable")
    member = None if strata.member is None else strata.member[order]
    value = {name: codes[order] for name, codes in strata.value.items()}
    return Strata(strata.row[order], strata.share[order], strata.leaf[order], value, member)
