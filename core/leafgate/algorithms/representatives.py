"""Representatives: one record for all people whom the trees of a release treat alike.

People are alike where they are in the same leaf of every tree and in the same equivalence class of every tree (which
of its leaves they could reach with other private cells), and have the same class and secrets. Model files count people
without missing cells, so people with a missing cell in a column that a tree tests are not alike those without.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.equivalence import ResidualTrees
from leafgate.algorithms.routing import NOWHERE, route
from leafgate.errors import InconclusiveError
from leafgate.kernel.arrays import Ids
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table, distinct_rows, make_table
from leafgate.kernel.tree import Node, columns_asked

MOST_REPRESENTATIVES = 5_000_000
"""So many records of representatives fit into memory."""
IN_MEMORY = "name attacks and metrics that read tables in memory, and give columns of many values `bins`"


def representatives(tables: Iterable[Table], schema: Schema, release: Release) -> Table:
    """The people of all these tables, one for all whom the trees treat alike.

    That is the one whose record comes first, in the order of the columns and of their values. So everything that
    follows from leaves, equivalence classes, the class and secrets is the same as for the people themselves.

    Args:
        tables: of columns of the schema, without keys and weights; read one after the other.
        schema: the columns.
        release: whose trees route people.

    Raises:
        InconclusiveError: somebody reaches no leaf, the release has records, or there are too many representatives.
    """
    if release.records is not None:
        raise InconclusiveError("published records of a table that does not fit into memory", remedy=IN_MEMORY)
    found: _Representatives | None = None
    residuals: list[ResidualTrees] | None = None
    for table in tables:
        if residuals is None:
            residuals = _residuals(release, table.without_rows)
        leaves = [_leaves(tree, table) for tree in release.fitted_trees]
        gaps = [_gaps(names, table) for names in map(columns_asked, release.fitted_trees)]
        numbers = [*leaves, *(each.numbers_of(table) for each in residuals), *gaps]
        alike = np.array(numbers).reshape(-1, len(table)).T
        new = _Representatives(table.frame, alike, table.weight).merged(schema)
        found = new if found is None else found.with_more(new).merged(schema)
        if len(found.weight) > MOST_REPRESENTATIVES:
            raise InconclusiveError(
                f"people with more than {MOST_REPRESENTATIVES:,} different leaves and secrets do not fit into memory",
                remedy="let the release have fewer leaves, or fewer trees",
            )
    assert found is not None
    return make_table(schema, found.frame, found.weight)


def _residuals(release: Release, nobody: Table) -> list[ResidualTrees]:
    """The residual trees of each tree that tests a column that is not public: of others they are the leaves."""
    schema = nobody.schema
    private = (tree for tree in release.fitted_trees if not all(schema[name].public for name in columns_asked(tree)))
    return [ResidualTrees(tree, nobody, schema) for tree in private]


def _leaves(tree: Node, table: Table) -> Ids:
    """Each row's leaf; InconclusiveError where somebody reaches none."""
    leaf = route(tree, table).leaf
    if (leaf == NOWHERE).any():
        raise InconclusiveError("the table does not fit into memory, and somebody reaches no leaf", remedy=IN_MEMORY)
    return leaf


def _gaps(names: Iterable[str], table: Table) -> Ids:
    """1 for each row with a missing cell in one of these columns, else 0."""
    gaps = np.zeros(len(table), dtype=np.int64)
    for name in names:
        gaps |= table.frame[name].isna().to_numpy()
    return gaps


def _first_of_each(
    key: Ids, frame: pd.DataFrame, weight: NDArray[np.int64], schema: Schema
) -> tuple[Ids, NDArray[np.int64]]:
    """Of the rows with each key the one whose cells come first, and the people of all of them."""
    order = np.argsort(key, kind="stable")
    start = np.flatnonzero(np.append(True, np.diff(key[order]) != 0))
    group = np.repeat(np.arange(len(start)), np.diff(start, append=len(order)))
    first = np.ones(len(order), dtype=bool)
    for column in schema.columns:
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
    """Records, and the people whom they stand for.

    `alike` has a column for each tree, with the leaf of each record, one for each tree that tests a column that is not
    public, with the number of its residual tree, and one for each tree that states whether a tested cell is missing.
    """

    frame: pd.DataFrame
    alike: Ids
    weight: NDArray[np.int64]

    def with_more(self, more: _Representatives) -> _Representatives:
        """The records of both."""
        frame = pd.concat([self.frame, more.frame], ignore_index=True)
        weight = np.concatenate([self.weight, more.weight])
        return _Representatives(frame, np.concatenate([self.alike, more.alike]), weight)

    def merged(self, schema: Schema) -> _Representatives:
        """One record of those that are alike and have the same class and secrets."""
        own = [column.name for column in schema.columns if column.roles & {"class", "sensitive"}]
        key = distinct_rows(self.frame.loc[:, own], Schema(tuple(schema[name] for name in own)))[1]
        for numbers in self.alike.T:
            key = np.asarray(np.unique(key * (int(numbers.max(initial=0)) + 1) + numbers, return_inverse=True)[1])
        chosen, weight = _first_of_each(key, self.frame, self.weight, schema)
        return _Representatives(self.frame.iloc[chosen].reset_index(drop=True), self.alike[chosen], weight)
