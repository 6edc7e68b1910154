"""Random trees that no builder would grow, as documents of `leafgate/release/1`, and releases made of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.published import cells_of, leaves_of, walk
from generator.tables import DeclaredPeople, Rng
from leafgate import Table
from leafgate.api import Column

LEVELS = ("labels", "error_rates", "shares", "counts")
MOST_NAMED = 4


def draw_tree(rng: Rng, people: DeclaredPeople, depth: int) -> dict[str, Any]:
    """A tree that may ask a column again, with thresholds on cells, between them, and a hair beside them."""
    features = people.schema.features
    if depth == 0 or rng.random() < 0.15:
        return {"kind": "leaf"}
    odds = np.array([3.0 if column.bins else 1.0 for column in features])
    column = features[int(rng.choice(len(features), p=odds / odds.sum()))]
    return _draw_cut(rng, people, column, depth) if column.numeric else _draw_fan(rng, people, column, depth)


def _draw_cut(rng: Rng, people: DeclaredPeople, column: Column, depth: int) -> dict[str, Any]:
    cells = people.table.numbers(column.name)
    present = np.unique(cells[~np.isnan(cells)])
    pool = [*present.tolist(), *((present[1:] + present[:-1]) / 2).tolist(), *(column.bins or ())]
    at = float(rng.choice(pool)) if pool else 0.5
    if column.bins and rng.random() < 0.5:
        return _with_sides(rng, people, column, depth, float(rng.choice(column.bins[1:-1])))
    at = float(rng.choice([at, at, at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), float(np.float32(at))]))
    return _with_sides(rng, people, column, depth, at)


def _with_sides(rng: Rng, people: DeclaredPeople, column: Column, depth: int, at: float) -> dict[str, Any]:
    cut: dict[str, Any] = {"kind": "cut", "column": column.name, "at": at}
    cut |= {name: True for name in ("strict", "float32") if rng.random() < 0.4}
    cut |= {"missing": str(rng.choice(["low", "high"]))} if column.missing and rng.random() < 0.7 else {}
    return cut | {side: draw_tree(rng, people, depth - 1) for side in ("low", "high")}


def _draw_fan(rng: Rng, people: DeclaredPeople, column: Column, depth: int) -> dict[str, Any]:
    domain = list(column.domain)
    place = rng.integers(0, min(len(domain), MOST_NAMED), len(domain)) if rng.random() < 0.5 else np.arange(len(domain))
    unnamed = rng.random() < 0.35 and len(set(place.tolist())) > 1
    named = sorted(set(place.tolist()))[1 if unnamed else 0 :]
    groups = [[value for value, p in zip(domain, place, strict=True) if p == name] for name in named]
    fan: dict[str, Any] = {"kind": "fan", "column": column.name}
    fan["branches"] = [{"values": values, "node": draw_tree(rng, people, depth - 1)} for values in groups]
    return fan | ({"other": draw_tree(rng, people, depth - 1)} if unnamed and rng.random() < 0.9 else {})


def leaf_counts(document: Mapping[str, Any], tree: Mapping[str, Any], table: Table) -> NDArray[np.int64]:
    """People of each class in each leaf, by walking the document."""
    where = walk(document, tree, cells_of(document, table.frame), len(table))
    counts = np.zeros((len(leaves_of(tree)), len(document["classes"])), dtype=np.int64)
    there = where >= 0
    np.add.at(counts, (where[there], table.codes(document["target"])[there]), table.weight[there])
    return counts


@dataclass(frozen=True)
class HandMade:
    """Trees and what their leaves truly count, from which releases of every level are written.

    `counts` holds for each tree an array over its leaves and the classes; `counted` says what they are of.
    """

    people: DeclaredPeople
    trees: Sequence[Mapping[str, Any]]
    counts: Sequence[NDArray[Any]]
    counted: str = "exact"
    combine: str = "one"

    def document(self, level: str, *, counted: str = "", records: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The release at one level; `counted` claims something else of the same numbers."""
        document = blank(self.people, level, counted or self.counted, self.combine)
        document["trees"] = [copy.deepcopy(dict(tree)) for tree in self.trees]
        for tree, counts in zip(document["trees"], self.counts, strict=True):
            for leaf, row in zip(leaves_of(tree), counts, strict=True):
                _tell(leaf, row, level, document["classes"])
        return document | ({"records": dict(records)} if records is not None else {})


def blank(people: DeclaredPeople, level: str, counted: str, combine: str = "one") -> dict[str, Any]:
    """A release document without trees."""
    schema = people.schema
    return {
        "format": "leafgate/release/1",
        "builder": {"use": "made_by_hand"},
        "target": schema.target.name,
        "classes": list(schema.classes),
        "publish": {"leaves": level, "measure": None},
        "counted": counted,
        "selection": None,
        "schema": schema.described(),
        "guarantee": {},
        "combine": combine,
        "model": "trees",
        "alternatives": {},
        "records": None,
        "trees": [],
    }


def _tell(leaf: Any, counts: NDArray[Any], level: str, classes: Sequence[str]) -> None:
    size = counts.sum()
    leaf["label"] = classes[int(counts.argmax())]
    if level == "counts":
        leaf["counts"] = dict(zip(classes, counts.tolist(), strict=True))
    elif level == "shares" and size > 0:
        leaf["shares"] = dict(zip(classes, (counts / size).tolist(), strict=True))
    elif level == "error_rates" and size > 0:
        leaf["error_rate"] = float(1 - counts.max() / size)


def draw_hand_made(rng: Rng, people: DeclaredPeople) -> HandMade:
    """One to three trees whose numbers count everybody, a sample, or a bootstrap of the table."""
    n_trees = int(rng.choice([1, 1, 1, 2, 3]))
    trees = [draw_tree(rng, people, int(rng.integers(1, 4))) for _ in range(n_trees)]
    counted = str(rng.choice(["exact", "exact", "exact", "sampled", "bootstrap"]))
    document = blank(people, "counts", counted)
    drawn = [_drawn(rng, people.table, counted) for _ in trees]
    counts = [leaf_counts(document, tree, table) for tree, table in zip(trees, drawn, strict=True)]
    return HandMade(people, trees, counts, counted, "one" if n_trees == 1 else "vote")


def _drawn(rng: Rng, table: Table, counted: str) -> Table:
    """The people that a tree's numbers count."""
    if counted == "exact":
        return table
    if counted == "sampled":
        weight = rng.binomial(table.weight, 0.7)
    else:
        weight = rng.multinomial(table.total_weight, table.weight / table.total_weight)
    return Table(table.schema, table.frame, weight.astype(np.int64))


def records_of(rng: Rng, people: DeclaredPeople, shown: float) -> dict[str, Any]:
    """Everybody's record, each cell shown with this chance, else withheld."""
    columns = [column.name for column in people.schema.columns]
    rows = []
    for record in people.table.frame.astype(object).itertuples(index=False):
        cells = [None if cell != cell else cell for cell in record]
        rows.append([cell if rng.random() < shown else {"withheld": True} for cell in cells])
    return {"columns": columns, "rows": rows, "weight": people.table.weight.tolist()}
