"""Build the downgraded release from the options and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from leafgate import api
from leafgate.algorithms.induction.encoding import encode
from leafgate.algorithms.induction.greedy import grow
from leafgate.algorithms.induction.growth import finished
from leafgate.algorithms.induction.pruning import prune
from leafgate.kernel.arrays import Rows
from leafgate_plugins.downgrading.grid import WITHHELD, Cells, secret_cells, table_cells
from leafgate_plugins.downgrading.search import Objective, Search, search_cells_to_withhold

if TYPE_CHECKING:
    from leafgate_plugins.downgrading.options import Downgrading


def refuse_unprotected(search: Search, protected: api.Mask, cells: Cells, options: Downgrading) -> None:
    """NoReleaseError when more protected cells are in rows that were given up than the policy allows."""
    rows = np.array(sorted(search.given_up), dtype=np.int64)
    lost, every = int(protected[rows].sum()), int(protected.sum())
    if lost <= options.allow * every:
        return
    names = [column.name for column in cells.columns]
    where = ", ".join(
        f"{count} of {name!r}" for name, count in zip(names, protected[rows].sum(axis=0), strict=True) if count
    )
    why = Counter(search.given_up.values())
    reasons = "; ".join(f"{count} record(s): {reason}" for reason, count in sorted(why.items()))
    raise api.NoReleaseError(
        "some protected cells cannot be held below the limits",
        people=lost,
        remedy="gather more people, or publish fewer columns beside the protected cells",
        details=f"of {every} protected cells these cannot: {where} ({reasons}). The best table found withholds "
        f"{_withheld(search.hidden, protected)}, and models learned from it err by {search.loss:+.3f}",
    )


def _withheld(hidden: api.Mask, protected: api.Mask) -> str:
    """The further cells withheld, as a count and as a share of the visible cells of threatened rows."""
    threatened = protected.any(axis=1)
    further, visible = int((hidden & ~protected).sum()), int((~protected[threatened]).sum())
    return f"{further} further cells of {visible} in the records concerned"


def reader_tree(schema: api.Schema, records: api.Records) -> api.Node:
    """C4.5's tree from the records without a withheld cell; a leaf where there is none.

    Departure: fractional cases would put broken numbers of people on the leaves; so the tree counts the complete
    records, which are a sample of the people.
    """
    complete = [i for i, row in enumerate(records.rows) if not any(isinstance(cell, dict) for cell in row)]
    if not complete:
        return api.Leaf(schema.classes[0], dict.fromkeys(schema.classes, 0))
    items = zip(*(records.rows[i] for i in complete), strict=True)
    frame = pd.DataFrame(
        {name: api.typed_column(schema[name], some) for name, some in zip(records.columns, items, strict=True)}
    )
    table = encode(api.make_table(schema, frame, np.array([records.weight[i] for i in complete], dtype=np.int64)))
    root = grow(table, "gain_ratio", average_gain=True, min_leaf=2)
    prune(root, 0.25)
    return finished(table, root, schema)


def build(options: Downgrading, table: api.Table, rng: np.random.Generator) -> api.BuildResult:
    """The downgraded table, one record for each row of the table, and where wanted the tree a reader would learn.

    People of a row with a protected cell are published one by one, so that their number does not disclose that
    their withheld cells are equal. NoReleaseError when the limits cannot be kept.
    """
    marked = secret_cells(table)
    if not marked.any():
        raise api.PolicyError(
            "nothing is protected", place="data.protect", remedy="name cells, or a `sensitive` column"
        )
    origins = np.repeat(np.arange(len(table)), np.where(marked.any(axis=1), table.weight, 1))
    protected = marked[origins]
    cells = table_cells(table).select(origins)
    cells = replace(cells, weight=np.where(protected.any(axis=1), 1.0, cells.weight))
    search = search_cells_to_withhold(cells, protected, _objective(options, table))
    refuse_unprotected(search, protected, cells, options)
    return _release(options, table, cells, origins, search, rng)


def _objective(options: Downgrading, table: api.Table) -> Objective:
    columns = table.schema.columns
    weights = np.array([options.weights.get(c.name, 1.0) for c in columns])
    if weights.sum() <= 0:
        raise api.PolicyError("no column has any weight", place="build.weights", remedy="leave one above 0")
    wanted = options.columns
    allowed = [not c.public if wanted is None else c.name in wanted for c in columns]
    return Objective(
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
    options: Downgrading, table: api.Table, cells: Cells, origins: Rows, search: Search, rng: np.random.Generator
) -> api.BuildResult:
    order, records = _published(cells, search.hidden, rng)
    place = np.argsort(order)
    tree = reader_tree(table.schema, records) if options.release == "both" else None
    release = api.Release(
        builder=options.described(),
        schema=table.schema,
        trees=() if tree is None else (tree,),
        model="none" if tree is None else "trees",
        selection=None if tree is None else {"measure": "gain_ratio", "pruned": True, "from": "complete records"},
        count_semantics="exact" if tree is None or not search.hidden.any() else "sampled",
        records=records,
    )
    trail = tuple(_trail_entry(step, cells.columns, place) for step in search.steps)
    return api.BuildResult(release, origins=tuple(origins[order].tolist()), trail=trail)


def _published(cells: Cells, hidden: api.Mask, rng: np.random.Generator) -> tuple[Rows, api.Records]:
    """The records sorted by what they show, withheld cells last; which row each was made from.

    Those that show the same stand in no order: in the table's they would be sorted by what they hide.
    """
    mixed = rng.permutation(len(hidden))
    shown = [np.where(hidden[:, i], np.inf, np.nan_to_num(cell, nan=-np.inf)) for i, cell in enumerate(cells.cells)]
    order = mixed[np.lexsort((cells.weight[mixed], *(cell[mixed] for cell in reversed(shown))))]
    items = [_cells(column, cell[order]) for column, cell in zip(cells.columns, cells.cells, strict=True)]
    for place, column in enumerate(items):
        for i in np.flatnonzero(hidden[order, place]).tolist():
            column[i] = WITHHELD
    names = tuple(column.name for column in cells.columns)
    return order, api.Records(names, tuple(zip(*items, strict=True)), tuple(cells.weight[order].astype(int).tolist()))


def _cells(column: api.Column, cells: Any) -> list[Any]:
    if not column.numeric:
        return [column.domain[code] for code in cells.tolist()]
    return [None if np.isnan(number) else number for number in cells.tolist()]


def _trail_entry(step: Mapping[str, Any], columns: tuple[api.Column, ...], place: Rows) -> dict[str, Any]:
    """A step of the search in the release's terms."""
    return {
        "round": step["round"],
        "record": int(place[step["row"]]),
        "withheld": columns[step["withheld"]].name,
        "because": {"column": columns[step["for"]].name, "believed": round(step["believed"], 6)},
        "loss_of_function": round(step["loss"], 6),
    }
