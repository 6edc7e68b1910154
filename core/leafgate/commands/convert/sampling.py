"""Random people for models to be compared on: cells of columns, and what each model makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from leafgate.io.json import parse_number
from leafgate.models.points import column_edges, known_origins
from leafgate.readers import CategoryCodes, MissingIndicator, ModelIR, Numeric, Origin

MISSING = 0.05
"""The share of missing cells."""

MOST_EDGES = 5_000
"""Thresholds of one column that are tried; of more a random choice."""


UNSEEN = "a value that no model knows"


def random_cells(models: Sequence[ModelIR], n: int, rng: np.random.Generator) -> dict[str, list[Any]]:
    """`n` people with a cell in every column that some model asks about: values it knows, numbers near thresholds.

    Some cells are missing, and some texts are no value that a model knows, unless a model refuses such cells.
    """
    origins = [one for model in models for one in known_origins(model)]
    texts, numbers = _values(origins), _numbers(models, origins)
    coded = [one for one in origins if isinstance(one, CategoryCodes)]
    takes_no_unseen = {one.column for one in coded if one.otherwise is None}
    for column in texts.keys() - takes_no_unseen - {one.column for one in origins if isinstance(one, Numeric)}:
        texts[column].add(UNSEEN)
    complete = {one.column for one in coded if one.missing is None}
    for model in models:
        if model.unspecified_missing:
            complete |= model.unspecified_missing_features or texts.keys() | numbers.keys()
    cells: dict[str, list[Any]] = {}
    for column in sorted({*texts, *numbers}):
        chosen = (
            _of_texts(sorted(texts[column]), n, rng)
            if column in texts
            else _of_numbers(sorted(numbers[column]), n, rng)
        )
        gone = (rng.random(n) < MISSING) & (column not in complete)
        cells[column] = [None if missing else cell for cell, missing in zip(chosen, gone.tolist(), strict=True)]
    return cells


def _values(origins: Iterable[Origin]) -> dict[str, set[str]]:
    """The values that are known of each column of texts, and what fills its missing cells."""
    found: dict[str, set[str]] = {}
    for origin in origins:
        if isinstance(origin, CategoryCodes) and not origin.lookup_precision:
            found.setdefault(origin.column, set()).update(origin.codes, {origin.fill_value} - {""})
    return found


def _numbers(models: Iterable[ModelIR], origins: Iterable[Origin]) -> dict[str, set[float]]:
    """The numbers of each other column at which tests part it, that are looked up, and that fill missing cells."""
    found: dict[str, set[float]] = {}
    for model in models:
        for column, edges in column_edges(model).items():
            found.setdefault(column, set()).update(edges)
    for origin in origins:
        if isinstance(origin, CategoryCodes):
            looked_up = map(parse_number, origin.codes) if origin.lookup_precision else ()
            found.setdefault(origin.column, set()).update(looked_up)
        elif isinstance(origin, MissingIndicator | Numeric):
            fill = origin.fill if isinstance(origin, Numeric) and not origin.steps else None
            found.setdefault(origin.column, set()).update(() if fill is None else (fill,))
    return found


def _of_texts(values: Sequence[str], n: int, rng: np.random.Generator) -> list[Any]:
    return [values[i] for i in rng.integers(0, len(values), n)] if values else [None] * n


def _of_numbers(edges: Sequence[float], n: int, rng: np.random.Generator) -> list[float]:
    """Half of them at a threshold or right beside it, half anywhere between and around the thresholds."""
    at = np.array([edge for edge in edges if abs(edge) < 1e30] or [0.0])
    at = rng.choice(at, MOST_EDGES) if len(at) > MOST_EDGES else at
    near = np.concatenate([at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), at.astype(np.float32)])
    least, most = float(at.min()), float(at.max())
    margin = (most - least) / 10 or 1.0
    anywhere = rng.uniform(least - margin, most + margin, n)
    chosen: list[float] = np.where(rng.random(n) < 0.5, rng.choice(near, n), anywhere).tolist()
    return chosen
