"""Publish a table's records as they are, and make records from columns of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leafgate.api import Column, PolicyError, Records, Release, Schema, TreeBuilder, lazy
from leafgate.errors import nearest_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.algorithms.induction.encoding import EncodedTable
    from leafgate.api import Table
    from leafgate.kernel.arrays import CompactIds
else:
    np = lazy("numpy")


class PublishedTable(TreeBuilder):
    """Publish the records themselves, cell by cell as the table has them; no tree is learned."""

    use: Literal["table"] = "table"
    columns: tuple[str, ...] | None = Field(
        None, min_length=1, description="The published columns; by default all but the key."
    )

    public_algorithm = False
    threat_model = "None: this builder protects nobody. It is how a table, anonymised elsewhere or not, is audited."
    formula = "the release is the table"
    source = "the practice of publishing microdata"

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        """The release that is the table's chosen columns; PolicyError for a column it does not have."""
        wanted = self.columns or tuple(column.name for column in table.schema.columns)
        for i, name in enumerate(wanted):
            if name not in table.schema or wanted.index(name) < i:
                once = "name each column of the policy once; dropped ones are not in the table"
                names = [column.name for column in table.schema.columns]
                remedy = once if name in names else nearest_name(name, names, once)
                raise PolicyError("no such column, or named twice", place=f"build.columns[{i}]", remedy=remedy)
        published = [_published_column(table, table.schema[name]) for name in wanted]
        records = records_of(published, table.weight)
        return Release(builder=self.described(), schema=table.schema, model="none", records=records)


@dataclass(frozen=True)
class PublishedColumn:
    """One published column: the cells it can show, and for each row which of them it does."""

    column: Column
    cells: Sequence[Any]
    which: CompactIds


def records_of(published: Sequence[PublishedColumn], weight: NDArray[Any]) -> Records:
    """One record for each combination of cells that occurs, with its people as weight; sorted by the cells' order."""
    key = np.zeros(len(weight), dtype=np.int64)
    for each in published:
        _, key = np.unique(key * len(each.cells) + each.which, return_inverse=True)
    first, inverse = np.unique(key, return_index=True, return_inverse=True)[1:]
    people = np.bincount(inverse.reshape(-1), weights=weight).astype(np.int64)
    columns = [[each.cells[cell] for cell in each.which[first].tolist()] for each in published]
    names = tuple(each.column.name for each in published)
    return Records(names, tuple(zip(*columns, strict=True)), tuple(people.tolist()))


def as_they_are(coded: EncodedTable, feature: int) -> PublishedColumn:
    """A feature's cells, published unchanged."""
    chosen = coded.features[feature]
    if chosen.numbers is None:
        return PublishedColumn(chosen.column, chosen.values, coded.codes[:, feature])
    cells = [None if np.isneginf(number) else float(number) for number in chosen.numbers]
    return PublishedColumn(chosen.column, cells, coded.codes[:, feature])


def class_column(coded: EncodedTable, schema: Schema) -> PublishedColumn:
    """The class as published: unchanged, for every row."""
    return PublishedColumn(schema.target, schema.classes, coded.classes)


def _published_column(table: Table, column: Column) -> PublishedColumn:
    if column.values is not None:
        return PublishedColumn(column, column.domain, table.codes(column.name))
    numbers, which = np.unique(table.numbers(column.name), return_inverse=True)
    cells = [None if np.isnan(number) else float(number) for number in numbers]
    return PublishedColumn(column, cells, which.reshape(-1).astype(np.int64))
