"""Rows on which the answers of a model and of a changed one are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluators.answers import Cell, Columns, Questions

MOST_ROWS = 40
"""Rows of the file's own table that are taken."""

RANDOM_ROWS = 300
"""Rows whose cells are chosen at random."""

UNKNOWN = "unheard of"
FILLED = 4.0
"""A number in place of a missing cell, where none may be missing."""


def _pool(name: str, rows: Columns, asked: Sequence[Questions], *, missing_texts: bool, missing: bool) -> list[Cell]:
    """The cells to try in a column: on both sides of every threshold, missing, each category and an unknown one."""
    found: set[float | str] = set()
    categories: set[float | str] = set()
    for questions in asked:
        if name in questions:
            found |= set(questions[name].beside())
            categories |= questions[name].categories
    cells = [cell for cell in rows[name] if cell is not None]
    if any(isinstance(cell, str) for cell in [*cells, *categories]):
        gone = [None] if missing_texts else []
        return [*gone, UNKNOWN, *sorted({str(cell) for cell in [*cells, *categories]})]
    if categories:
        whole = {float(cell) for cell in [*cells, *found] if float(cell) >= 0 and float(cell).is_integer()}
        found = whole | categories | {max(map(float, categories)) + 1}
    return [*([None] if missing else []), *sorted(map(float, found))]


def points(
    rows: Columns,
    asked: Sequence[Questions],
    rng: np.random.Generator,
    *,
    missing_texts: bool = True,
    missing: bool = True,
) -> Columns:
    """Some of the rows, rows that differ from one of them in one cell, and rows of cells chosen at random."""
    names = list(rows)
    pools = {name: _pool(name, rows, asked, missing_texts=missing_texts, missing=missing) for name in names}
    whole = {
        name for name in names if any(isinstance(c, float) for q in asked if name in q for c in q[name].categories)
    }
    cells = [[_whole(cell) for cell in rows[name]] if name in whole else rows[name] for name in names]
    if not missing:
        cells = [[FILLED if cell is None else cell for cell in column] for column in cells]
    own = list(zip(*cells, strict=True))
    chosen = [own[int(i)] for i in rng.permutation(len(own))[:MOST_ROWS]]
    made = list(chosen)
    for column, name in enumerate(names):
        for i, cell in enumerate(pools[name]):
            row = list(chosen[i % len(chosen)])
            row[column] = cell
            made.append(tuple(row))
    for _ in range(RANDOM_ROWS):
        row = list(chosen[int(rng.integers(len(chosen)))])
        for column, name in enumerate(names):
            if rng.random() < 0.7:
                row[column] = pools[name][int(rng.integers(len(pools[name])))]
        made.append(tuple(row))
    return {name: [row[column] for row in made] for column, name in enumerate(names)}


def _whole(cell: Cell) -> Cell:
    """The number of a category: no category is called by a fraction."""
    return None if cell is None or float(cell) < 0 else float(int(float(cell)))
