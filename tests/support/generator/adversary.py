"""A simple honest adversary, who reads the released document and the public columns, and nothing of leafgate's.

It groups people by the leaves that the document sends them to, whatever their unknown columns may be, and believes what
the document says: the composition of a group, and that nobody is in a leaf that counts nobody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.published import Cells, Document, Ids, Mask, cells_of, leaves_of, nodes_of, split, walk
from leafgate import Table

MOST_LIVES = 400
"""Combinations of unknown cells that are tried; a document that asks for more is left alone."""


@dataclass(frozen=True)
class Certainty:
    """Rows of the table whose secret is certain: by the group's composition, and by what the numbers rule out.

    A group's composition counts where the release is about the secret: its class, a column of its tests, or a column of
    its records that is not withheld in all of them.
    `surest` is the share of the commonest value in each one's group (0 where the composition does not count), `people`
    the people of the group.
    """

    composition: Mask
    derived: Mask
    surest: NDArray[np.float64]
    people: NDArray[np.float64]


@dataclass(frozen=True)
class Ends:
    """Where the people end, whatever their unknown cells are: for each life and tree each person's leaf."""

    lives: Sequence[Mapping[str, Any]]
    ends: Ids
    leaves: Sequence[Sequence[Document]]
    cells: Cells


def certain_people(document: Document, table: Table) -> dict[str, Certainty] | None:
    """For each secret who is known with certainty; None where the unknown cells are too many to try."""
    asked = _unknown_asked(document)
    if math.prod(map(len, asked.values())) > MOST_LIVES:
        return None
    lives = [dict(zip(asked, chosen, strict=True)) for chosen in product(*asked.values())]
    cells, size = cells_of(document, table.frame), len(table)
    reached = _all_ends(document, lives, cells, size)
    matches = _matching_records(document, cells, size)
    keys = [*reached.ends.reshape(-1, size), *([cells[document["target"]]] if _public_class(document) else [])]
    keys += [] if matches is None else list(matches.T.astype(np.int64))
    group = np.unique(np.array(keys), axis=1, return_inverse=True)[1].reshape(-1) if keys else np.zeros(size, np.int64)
    found = {}
    for name in (column.name for column in table.schema.secrets if column.countable):
        spec = document["schema"].get(name)
        if spec is not None:
            truth = _coded(spec, cells[name])
            counts = np.zeros((group.max() + 1, truth.max() + 1))
            np.add.at(counts, (group, truth), table.weight)
            people = counts.sum(axis=1)
            surest = (counts.max(axis=1) / people)[group] * _is_about(document, name)
            possible = _possible_values(document, name, reached, matches)
            found[name] = Certainty(surest == 1, possible.sum(axis=1) == 1, surest, people[group])
    return found


def _all_ends(document: Document, lives: Sequence[Mapping[str, Any]], cells: Cells, size: int) -> Ends:
    trees = document["trees"]
    ends = np.empty((len(lives), len(trees), size), dtype=np.int64)
    for i, life in enumerate(lives):
        filled = cells | {name: np.full(size, cell) for name, cell in life.items()}
        for t, tree in enumerate(trees):
            ends[i, t] = walk(document, tree, filled, size)
    return Ends(lives, ends, [leaves_of(tree) for tree in trees], cells)


def _public_class(document: Document) -> bool:
    target = document["target"]
    return bool(document["trees"]) and "quasi_identifier" in document["schema"][target]["role"]


def _is_about(document: Document, name: str) -> bool:
    """Is the release about a secret: its class, a column of its tests, or one that some record does not withhold?

    A column withheld in every record tells nothing of anybody: the release is that without the column.
    """
    records = document["records"]
    in_records = records is not None and name in records["columns"]
    shown = in_records and any(cell != {"withheld": True} for cell in _column(document, name))
    asked = any(name == node.get("column") for tree in document["trees"] for node in nodes_of(tree))
    return bool(shown or asked or name == document["target"])


def _possible_values(document: Document, name: str, reached: Ends, matches: Mask | None) -> Mask:
    """Which values of a secret each person can have, by what each tree and the matching records rule out."""
    spec, (n_lives, n_trees, size) = document["schema"][name], reached.ends.shape
    n_values = len(spec["values"]) if "values" in spec else len(spec["bins"]) - 1
    possible = np.ones((size, n_values), dtype=bool)
    for t in range(n_trees):
        result = _possible_classes(document, reached.leaves[t])[reached.ends[:, t]]
        if _public_class(document):
            result = result & np.eye(result.shape[2], dtype=bool)[reached.cells[document["target"]]]
        if name == document["target"]:
            possible &= result.any(axis=0)
        elif name in reached.lives[0]:
            value = _coded(spec, np.array([reached.lives[i][name] for i in range(n_lives)]))
            alive: Mask = np.asarray(result.any(axis=2))
            possible &= np.array([alive[value == v].any(axis=0) for v in range(n_values)]).T
    if matches is not None and name in document["records"]["columns"]:
        fits = np.array([_fits(spec, cell, n_values) for cell in _column(document, name)])
        possible &= (matches.astype(np.int64) @ fits.astype(np.int64)) > 0
    return possible


def _coded(spec: Document, cells: NDArray[Any]) -> Ids:
    """Positions in the secret's domain, of numbers those of their bins (an edge belongs to the bin above)."""
    return np.searchsorted(spec["bins"][1:-1], cells, side="right") if "bins" in spec else cells.astype(np.int64)


def _possible_classes(document: Document, leaves: Sequence[Document]) -> Mask:
    """For each leaf which classes somebody there has, by its own numbers; in the last row, of no leaf, any."""
    classes, level = document["classes"], document["publish"]["leaves"]
    bare_is_empty = document["counted"] == "exact" and document.get("file") is None and level != "labels"
    rows = []
    for leaf in leaves:
        numbers = leaf.get("counts") or leaf.get("shares")
        if numbers is not None:
            rows.append([numbers.get(name, 0) > 0 for name in classes])
        elif "error_rate" in leaf:
            wrong = leaf["error_rate"]
            rows.append([wrong < 1 if name == leaf["label"] else wrong > 0 for name in classes])
        else:
            rows.append([not bare_is_empty] * len(classes))
    return np.array([*rows, [True] * len(classes)], dtype=bool).reshape(len(rows) + 1, len(classes))


def _unknown_asked(document: Document) -> dict[str, list[Any]]:
    """Each unknown column that a tree asks about, with one cell for each way through its tests and each bin."""
    asked: dict[str, list[Document]] = {}
    for tree in document["trees"]:
        for node in nodes_of(tree):
            if node["kind"] != "leaf" and "quasi_identifier" not in document["schema"][node["column"]]["role"]:
                asked.setdefault(node["column"], []).append(node)
    return {name: _representatives(document["schema"][name], nodes) for name, nodes in sorted(asked.items())}


def _representatives(spec: Document, nodes: Sequence[Document]) -> list[Any]:
    if "values" in spec:
        return list(range(len(spec["values"]) + (1 if spec.get("missing") else 0)))
    thresholds = sorted({node["at"] for node in nodes})
    low, high = spec.get("bounds") or (spec["bins"][0], spec["bins"][-1])
    points = [low, high, *thresholds, *spec.get("bins", [])]
    near = [float(np.nextafter(p, side)) for p in points for side in (-np.inf, np.inf)]
    single = [float(np.nextafter(np.float32(t), np.float32(s))) for t in thresholds for s in (-np.inf, 0, np.inf)]
    edges = np.unique([p for p in [*points, *near, *single] if low <= p <= high])
    tried = np.unique([*edges, *((edges[1:] + edges[:-1]) / 2)])
    tried = np.append(tried, np.nan) if spec.get("missing") else tried
    ways = [split(spec, node, tried)[0][1] for node in nodes]
    bins = [_coded(spec, tried)] if "bins" in spec else []
    first = np.unique(np.array([*ways, *bins, np.isnan(tried)], dtype=np.int64), axis=1, return_index=True)[1]
    return list(tried[np.sort(first)])


def _column(document: Document, name: str) -> list[Any]:
    place = document["records"]["columns"].index(name)
    return [row[place] for row in document["records"]["rows"]]


def _matching_records(document: Document, cells: Cells, size: int) -> Mask | None:
    """Which published records agree with each person's public cells."""
    if document["records"] is None:
        return None
    fits = np.ones((size, len(document["records"]["rows"])), dtype=bool)
    for name in document["records"]["columns"]:
        spec = document["schema"][name]
        if "quasi_identifier" not in spec["role"]:
            continue
        for r, cell in enumerate(_column(document, name)):
            fits[:, r] &= _agrees(spec, cell, cells[name])
    return fits


def _agrees(spec: Document, cell: Any, mine: NDArray[Any]) -> Mask:
    if cell == {"withheld": True}:
        return np.ones(len(mine), dtype=bool)
    if isinstance(cell, dict) and "from" in cell:
        return np.asarray((mine >= cell["from"]) & (mine <= cell["to"]))
    result = cell["in"] if isinstance(cell, dict) else [cell]
    if "values" in spec:
        domain = [*spec["values"], None]
        return np.isin(mine, [domain.index(value) for value in result])
    numbers = np.isin(mine, [value for value in result if value is not None])
    return np.asarray(numbers | np.isnan(mine)) if None in result else numbers


def _fits(spec: Document, cell: Any, n_values: int) -> list[bool]:
    """Which values of a secret a published cell can mean."""
    if "values" in spec:
        return [bool(_agrees(spec, cell, np.array([v]))[0]) for v in range(n_values)]
    if cell == {"withheld": True}:
        return [True] * n_values
    if isinstance(cell, dict) and "from" in cell:
        low, high = _coded(spec, np.array([cell["from"], cell["to"]], dtype=float))
        return [bool(low <= v <= high) for v in range(n_values)]
    result = cell["in"] if isinstance(cell, dict) else [cell]
    return [v in _coded(spec, np.array(result, dtype=float)) for v in range(n_values)]
