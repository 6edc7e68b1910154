"""Representatives: one record for all people whom the trees of a release treat alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.routing import NOWHERE, route
from leafgate.errors import InconclusiveError
from leafgate.types.arrays import Ids
from leafgate.types.release import Release
from leafgate.types.schema import Schema
from leafgate.types.table import Table, distinct_rows, make_table
from leafgate.types.tree import Node, columns_asked

MOST_REPRESENTATIVES = 5_000_000
"""So many records of representatives fit into memory."""
IN_MEMORY = "name attacks and metrics that read tables in memory, and give columns of many values `bins`"


def representatives(tables: Iterable[Table], schema: Schema, release: Release) -> Table:
    """The people of all these tables, those in the same leaf of every tree with the public cells of one of them.

    Their class, secrets and other cells that are not public stay their own. Of the people who share a leaf and these
    cells, the one whose public cells come first, in the order of the columns and of their values, stands for all. So
    everything that follows from leaves and from cells that are not public is the same as for the people themselves.

    Args:
        tables: of columns of the schema, without keys and weights; read one after the other.
        schema: the columns.
        release: whose trees route people.

    Raises:
        InconclusiveError: leaves do not follow from public cells alone, somebody reaches no leaf, the release has
            records, or there are too many representatives.
    """
    _refuse(schema, release)
    found: _Representatives | None = None
    for table in tables:
        key = _own_cells(table.frame, schema)
        for tree in release.fitted_trees:
            key = _combined(key, _leaves(tree, table))
        chosen, weight = _first_of_each(key, table.frame, table.weight, schema)
        people = Table(schema, table.frame.iloc[chosen].reset_index(drop=True), weight)
        leaves = np.array([_leaves(tree, people) for tree in release.fitted_trees]).reshape(-1, len(people)).T
        new = _Representatives(people.frame, leaves, weight)
        found = new if found is None else found.with_more(new, schema)
        if len(found.weight) > MOST_REPRESENTATIVES:
            raise InconclusiveError(
                f"people with more than {MOST_REPRESENTATIVES:,} different leaves and secrets do not fit into memory",
                remedy="let the release have fewer leaves, or fewer trees",
            )
    assert found is not None
    return make_table(schema, found.frame, found.weight)


def _refuse(schema: Schema, release: Release) -> None:
    """InconclusiveError where representatives would not do."""
    if release.records is not None:
        raise InconclusiveError("published records of a table that does not fit into memory", remedy=IN_MEMORY)
    asked = dict.fromkeys(name for tree in release.fitted_trees for name in columns_asked(tree))
    private = [name for name in asked if not schema[name].public]
    if private:
        message = f"the column {private[0]!r} is not public and the table does not fit into memory"
        raise InconclusiveError(message, remedy=IN_MEMORY)


def _leaves(tree: Node, table: Table) -> Ids:
    """Each row's leaf; InconclusiveError where somebody reaches none."""
    leaf = route(tree, table).leaf
    if (leaf == NOWHERE).any():
        raise InconclusiveError("the table does not fit into memory, and somebody reaches no leaf", remedy=IN_MEMORY)
    return leaf


def _own_cells(frame: pd.DataFrame, schema: Schema) -> Ids:
    """A number for each row, equal for rows with equal cells in all columns that are not public."""
    own = [column.name for column in schema.columns if not column.public]
    return distinct_rows(frame.loc[:, own], Schema(tuple(schema[name] for name in own)))[1]


def _combined(key: Ids, more: Ids) -> Ids:
    """A number for each row, equal where both numbers are."""
    return np.asarray(np.unique(key * (int(more.max(initial=0)) + 1) + more, return_inverse=True)[1])


def _first_of_each(
    key: Ids, frame: pd.DataFrame, weight: NDArray[np.int64], schema: Schema
) -> tuple[Ids, NDArray[np.int64]]:
    """Of the rows with each key the one whose public cells come first, and the people of all of them."""
    order = np.argsort(key, kind="stable")
    start = np.flatnonzero(np.append(True, np.diff(key[order]) != 0))
    group = np.repeat(np.arange(len(start)), np.diff(start, append=len(order)))
    first = np.ones(len(order), dtype=bool)
    for column in schema.public:
        cells = frame[column.name]
        if isinstance(cells.dtype, pd.CategoricalDtype):
            codes = cells.cat.codes.to_numpy().astype(np.float64)
        else:
            codes = np.nan_to_num(cells.to_numpy(dtype=np.float64), nan=np.inf)
        codes = np.where(first, codes[order], np.inf)
        first &= codes == np.minimum.reduceat(codes, start)[group]
    chosen = order[np.flatnonzero(first)[np.unique(group[first], return_index=True)[1]]]
    return chosen, np.add.reduceat(weight[order], start)


@dataclass(frozen=True)
class _Representatives:
    """Records with their leaves, shape (n_records, n_trees), and the people whom they stand for."""

    frame: pd.DataFrame
    leaves: Ids
    weight: NDArray[np.int64]

    def with_more(self, more: _Representatives, schema: Schema) -> _Representatives:
        """One record of those with equal leaves and equal cells that are not public."""
        frame = pd.concat([self.frame, more.frame], ignore_index=True)
        leaves = np.concatenate([self.leaves, more.leaves])
        key = _own_cells(frame, schema)
        for leaf in leaves.T:
            key = _combined(key, leaf)
        chosen, weight = _first_of_each(key, frame, np.concatenate([self.weight, more.weight]), schema)
        return _Representatives(frame.iloc[chosen].reset_index(drop=True), leaves[chosen], weight)
