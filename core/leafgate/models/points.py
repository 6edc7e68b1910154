"""Rows of a model's features, and where its tests part numbers: the points at which a misreading would show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.io.json import parse_number
from leafgate.ir import features
from leafgate.ir.model import ModelIR, TreeIR
from leafgate.kernel.arrays import Floats
from leafgate.kernel.schema import Column
from leafgate.kernel.table import Table
from leafgate.models.lowering.tests import apply_steps, invert_threshold, splits_in

Cells = Mapping[str, Sequence[Any]]
"""Columns of numbers or texts; None where missing."""


def known_origins(model: ModelIR) -> list[features.Origin]:
    """Each feature's origin; a feature whose origin is not known is a column of its own."""
    pairs = zip(model.features, model.given_origins, strict=True)
    return [
        features.Numeric(name) if one is None or isinstance(one, features.Unresolved) else one for name, one in pairs
    ]


def column_edges(model: ModelIR) -> dict[str, set[float]]:
    """The last number that goes low for each test on numbers, by column; a column without such a test is not there."""
    edges: dict[str, set[float]] = {}
    for number, origin in enumerate(known_origins(model)):
        if isinstance(origin, features.Numeric) and (found := set(_edges(model, number, origin))):
            edges.setdefault(origin.column, set()).update(found)
    return edges


def _edges(model: ModelIR, feature: int, origin: features.Numeric) -> Iterable[float]:
    for tree in model.trees:
        nodes = np.flatnonzero(tree.compares & (tree.feature == feature))
        if origin.steps:
            yield from (invert_threshold(asked, origin.steps) for _, asked in splits_in(tree, nodes))
        else:
            yield from tree.threshold[nodes].tolist()


def around(edges: Iterable[float], step: float | None = None) -> np.ndarray:
    """Both sides of each edge, and the edge as single precision has it; edges beyond all numbers are left out.

    Where the column's numbers are multiples of a `step`, the nearest of these.
    """
    at = np.array([edge for edge in edges if abs(edge) < 1e30])
    if step:
        return np.unique(np.concatenate([np.floor(at / step) + offset for offset in (-1, 0, 1, 2)]) * step)
    with np.errstate(over="ignore"):
        single = at.astype(np.float32)
    sides = (at, single, np.nextafter(at, np.inf), np.nextafter(at, -np.inf))
    singles = (np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf)))
    return np.unique(np.concatenate([side.astype(np.float64) for side in (*sides, *singles)]))


def numbers_around(
    edges: Iterable[float],
    most: int,
    step: float | None,
    bounds: tuple[float, float] | None,
    rng: np.random.Generator,
) -> np.ndarray:
    """What `around` finds of the edges, of more than `most` of a random choice, within a column's bounds."""
    at = np.sort(list(edges))
    chosen = rng.choice(at, most, replace=False) if len(at) > most else at
    low, high = bounds or (-math.inf, math.inf)
    return np.asarray(np.clip(around(chosen.tolist(), step), low, high))


def cells_of_column(column: Column, rows: Table) -> list[Any]:
    """A column's numbers or texts; None where missing."""
    if column.holds_numbers:
        return [None if math.isnan(number) else number for number in rows.numbers(column.name).tolist()]
    return [None if isinstance(text, float) else str(text) for text in rows.frame[column.name].tolist()]


def rows_of(model: ModelIR, cells: Cells) -> Floats:
    """What the model's features are for these people; a value it does not take is missing to it."""
    n = len(next(iter(cells.values()), ()))
    columns = [_feature(origin, cells.get(origin.column, [None] * n)) for origin in known_origins(model)]
    return np.column_stack(columns) if columns else np.empty((n, 0))


def _feature(origin: features.Origin, cells: Sequence[Any]) -> Floats:
    match origin:
        case features.Numeric(_, steps, fill, zero_is_missing):
            numbers = np.array([math.nan if cell is None else cell for cell in cells], dtype=np.float64)
            changed = apply_steps(numbers, steps)
            filled = changed if fill is None else np.where(np.isnan(numbers), fill, changed)
            return np.where(filled == 0, math.nan, filled) if zero_is_missing else filled
        case features.CategoryCodes(_, codes, other, missing, precision):
            see = features.LOOKUP_ROUNDING[precision]
            looked_up = {see(parse_number(text)): code for text, code in codes.items()} if precision else {}
            rest = math.nan if other is None else other
            absent = math.nan if missing is None else missing
            return np.array(
                [
                    absent
                    if cell is None
                    else looked_up.get(see(cell), rest)
                    if precision and not isinstance(cell, str)
                    else codes.get(cell, rest)
                    for cell in cells
                ],
                dtype=np.float64,
            )
        case features.MissingIndicator(_, there, gone):
            return np.array([gone if cell is None else there for cell in cells], dtype=np.float64)
    return np.full(len(cells), math.nan)


def with_coded_sets(model: ModelIR, origins: Mapping[int, features.Origin]) -> ModelIR:
    """The model whose tests name values by codes, where they named them by their texts; -1 is that of all others.

    Args:
        model: the model.
        origins: by number of each feature that a test reads, whose column the codes are of.
    """
    chosen: dict[int, set[str]] = {}
    for tree in model.trees:
        for node, values in tree.subsets.items():
            chosen.setdefault(int(tree.feature[node]), set()).update(v for v in values if isinstance(v, str))
    codes = {
        i: {value: float(code) for code, value in enumerate(sorted(values))} for i, values in chosen.items() if values
    }
    if not codes:
        return model
    own = list(model.given_origins)
    for i, each in codes.items():
        own[i] = features.CategoryCodes(origins[i].column, each, -1.0)
    trees = tuple(replace(tree, subsets=_coded(tree, codes)) for tree in model.trees)
    return replace(model, trees=trees, origins=tuple(own))


def _coded(tree: TreeIR, codes: Mapping[int, Mapping[str, float]]) -> dict[int, frozenset[str | float]]:
    """The sets of a tree with numbers in place of texts."""
    return {
        node: frozenset(codes[int(tree.feature[node])][v] if isinstance(v, str) else v for v in values)
        for node, values in tree.subsets.items()
    }
