"""Who can be where: every public row with each of the ways its unknown cells can fall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from leafgate.errors import InconclusiveError
from leafgate.possible import Rest, rest_of
from leafgate.routing import NOWHERE
from leafgate.schema import Column, Schema
from leafgate.table import Table
from leafgate.tree import Node
from leafgate_maxent.cells import Cells, cells_of, share_of
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
    cells = cells_of(trees, schema)
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


def _gathered(ways: Sequence[Way], n_trees: int, cells: Cells, schema: Schema, told: Sequence[str]) -> Strata:
    sizes = [len(way.rows) for way in ways]
    leaf = np.array([way.leaf for way in ways], dtype=np.int64).reshape(len(ways), n_trees)
    value = {}
    for name in told:
        code = {value: i for i, value in enumerate(schema[name].domain)}
        value[name] = np.repeat([code[_only(way.possible[name])] for way in ways], sizes)
    return Strata(
        np.concatenate([way.rows for way in ways]),
        np.repeat([share_of(way, cells, schema) for way in ways], sizes),
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
