"""Random people for models to be compared on: cells of columns, and what each model makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from leafgate.models.points import column_edges, known_origins
from leafgate.readers import CategoryCodes, MissingIndicator, ModelIR, Numeric

MISSING = 0.05
"""The share of missing cells."""

MOST_EDGES = 5_000
"""Thresholds of one column that are tried; of more a random choice."""


def random_cells(models: Iterable[ModelIR], n: int, rng: np.random.Generator) -> dict[str, list[Any]]:
    """`n` people with a cell in every column that some model asks about: values it knows, numbers near thresholds."""
    texts: dict[str, set[str]] = {}
    edges: dict[str, set[float]] = {}
    for model in models:
        _collect(model, texts, edges)
    cells: dict[str, list[Any]] = {}
    for column in sorted({*texts, *edges}):
        chosen = (
            _of_texts(sorted(texts[column]), n, rng) if column in texts else _of_numbers(sorted(edges[column]), n, rng)
        )
        gone = rng.random(n) < MISSING
        cells[column] = [None if missing else cell for cell, missing in zip(chosen, gone.tolist(), strict=True)]
    return cells


def _collect(model: ModelIR, texts: dict[str, set[str]], edges: dict[str, set[float]]) -> None:
    for column, found in column_edges(model).items():
        edges.setdefault(column, set()).update(found)
    for origin in known_origins(model):
        if isinstance(origin, CategoryCodes):
            texts.setdefault(origin.column, set()).update(origin.codes)
        elif isinstance(origin, MissingIndicator | Numeric):
            edges.setdefault(origin.column, set())
    for column in set(texts) & set(edges):
        del edges[column]


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
