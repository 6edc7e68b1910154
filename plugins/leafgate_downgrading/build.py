"""From options and a table to the downgraded release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from leafgate.errors import PolicyError
from leafgate.release import Records, Release
from leafgate.schema import Column
from leafgate.table import Table
from leafgate_downgrading.coding import WITHHELD, Cells, cells_of, secret_cells
from leafgate_downgrading.downgrading import downgraded
from leafgate_downgrading.failing import refuse_unprotected
from leafgate_downgrading.grid import Mask, Rows
from leafgate_downgrading.reading_tree import reader_tree
from leafgate_downgrading.searching import Aim, Search

if TYPE_CHECKING:
    from leafgate_downgrading import Downgrading


def build(options: Downgrading, table: Table, rng: np.random.Generator) -> Release:
    """The downgraded table, one record for each row of the table, and where wanted the tree a reader would learn.

    People of a row with a protected cell are published one by one, so that their number does not tell that
    their withheld cells are equal. NoReleaseError when the limits cannot be kept.
    """
    marked = secret_cells(table)
    if not marked.any():
        raise PolicyError("nothing is protected", place="data.protect", remedy="name cells, or a `sensitive` column")
    origins = np.repeat(np.arange(len(table)), np.where(marked.any(axis=1), table.weight, 1))
    protected = marked[origins]
    cells = cells_of(table).only(origins)
    cells = replace(cells, weight=np.where(protected.any(axis=1), 1.0, cells.weight))
    search = downgraded(cells, protected, _aim(options, table))
    refuse_unprotected(search, protected, cells, options)
    return _release(options, table, cells, origins, search, rng)


def _aim(options: Downgrading, table: Table) -> Aim:
    columns = table.schema.columns
    weights = np.array([options.weights.get(c.name, 1.0) for c in columns])
    if weights.sum() <= 0:
        raise PolicyError("no column has any weight", place="build.weights", remedy="leave one above 0")
    wanted = options.columns
    allowed = [not c.public if wanted is None else c.name in wanted for c in columns]
    return Aim(
        options.against,
        options.tau,
        options.rho if options.ramify else 1.0,
        options.v,
        weights,
        np.array(allowed, dtype=np.bool_),
        options.allow,
        options.believed == "truth",
        options.width,
    )


def _release(
    options: Downgrading, table: Table, cells: Cells, origins: Rows, search: Search, rng: np.random.Generator
) -> Release:
    order, records = _published(cells, search.hidden, rng)
    place = np.argsort(order)
    tree = reader_tree(table.schema, records) if options.release == "both" else None
    return Release(
        builder=options.described(),
        schema=table.schema,
        trees=() if tree is None else (tree,),
        model="none" if tree is None else "trees",
        selection=None if tree is None else {"measure": "gain_ratio", "pruned": True, "from": "complete records"},
        counted="exact" if tree is None or not search.hidden.any() else "sampled",
        records=records,
        origins=tuple(origins[order].tolist()),
        trail=tuple(_told(step, cells.columns, place) for step in search.steps),
    )


def _published(cells: Cells, hidden: Mask, rng: np.random.Generator) -> tuple[Rows, Records]:
    """The records sorted by what they show, withheld cells last; which row each was made from.

    Those that show the same stand in no order: in the table's they would be sorted by what they hide.
    """
    mixed = rng.permutation(len(hidden))
    shown = [np.where(hidden[:, i], np.inf, np.nan_to_num(cell, nan=-np.inf)) for i, cell in enumerate(cells.cells)]
    order = mixed[np.lexsort((cells.weight[mixed], *(cell[mixed] for cell in reversed(shown))))]
    told = [_cells(column, cell[order]) for column, cell in zip(cells.columns, cells.cells, strict=True)]
    for place, column in enumerate(told):
        for i in np.flatnonzero(hidden[order, place]).tolist():
            column[i] = WITHHELD
    names = tuple(column.name for column in cells.columns)
    return order, Records(names, tuple(zip(*told, strict=True)), tuple(cells.weight[order].astype(int).tolist()))


def _cells(column: Column, cells: Any) -> list[Any]:
    if not column.numeric:
        return [column.domain[code] for code in cells.tolist()]
    return [None if np.isnan(number) else number for number in cells.tolist()]


def _told(step: Mapping[str, Any], columns: tuple[Column, ...], place: Rows) -> dict[str, Any]:
    """A step of the search in the release's terms."""
    return {
        "round": step["round"],
        "record": int(place[step["row"]]),
        "withheld": columns[step["withheld"]].name,
        "because": {"column": columns[step["for"]].name, "believed": round(step["believed"], 6)},
        "loss_of_function": round(step["loss"], 6),
    }
