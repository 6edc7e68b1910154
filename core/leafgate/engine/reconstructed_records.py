"""Validation of beliefs about reconstructed records, which `validation` imports where an attack returns one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from leafgate.engine.validation import are_real_numbers
from leafgate.errors import InconclusiveError
from leafgate.kernel.belief import TableBelief

if TYPE_CHECKING:
    from leafgate.kernel.knowledge import AdversaryKnowledge
    from leafgate.kernel.schema import Column

MAX_TABLE_CELLS = 20_000_000
"""A table of more reconstructed cells is refused: it would be copied for each metric, and no matching is that large."""


def validated_table(belief: TableBelief, known: AdversaryKnowledge) -> TableBelief:
    """The belief, its cells typed as those of a table are: categoricals over values or intervals, and floats.

    Raises InconclusiveError where no table of the policy's columns and so many people could have such records.
    """
    records = belief.records
    if not isinstance(records, pd.DataFrame):
        raise InconclusiveError("its belief needs a DataFrame of `records`")
    names = list(records.columns)
    if not names or len(set(names)) < len(names) or not all(isinstance(n, str) and n in known.schema for n in names):
        raise InconclusiveError("its belief needs `records` with columns of the policy, each once")
    if not 0 < len(records) <= known.public.people:
        raise InconclusiveError("its belief needs from one record to as many `records` as the table has people")
    if records.size > MAX_TABLE_CELLS:
        raise InconclusiveError(f"its belief has `records` with more than {MAX_TABLE_CELLS:,} cells")
    proved, most = belief.proved_cells, len(records) * (len(names) - (known.schema.target.name in names))
    if proved is not None and (not isinstance(proved, int) or not 0 <= proved <= most):
        raise InconclusiveError("its belief has `proved_cells` that are no whole number up to all cells of its records")
    if belief.proved_most is not None and (
        not isinstance(belief.proved_most, int) or belief.proved_most < (proved or 0)
    ):
        raise InconclusiveError("its belief has `proved_most` that is no whole number from `proved_cells` up")
    cells = {name: _typed_cells(known.schema[name], records[name]) for name in names}
    return replace(belief, records=pd.DataFrame(cells))


def _typed_cells(column: Column, cells: pd.Series) -> pd.Series:
    """Cells as a categorical over the column's values or intervals, or as floats; InconclusiveError for others."""
    cells = cells.reset_index(drop=True)
    if not column.countable:
        if not are_real_numbers(cells):
            raise InconclusiveError(f"its belief has `records` with cells of {column.name!r} that are not numbers")
        numbers = pd.to_numeric(cells, errors="coerce").astype(float)
        if np.isinf(numbers).any() or (numbers.isna().any() and not column.missing):
            raise InconclusiveError(f"its belief has `records` with numbers of {column.name!r} that are not finite")
        return numbers
    values = [value for value in column.domain if value is not None]
    missing = cells.isna()
    position = {value: place for place, value in enumerate(values)}
    codes = [position.get(cell, -1) if isinstance(cell, str) else -1 for cell in cells.astype(object)]
    typed = pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(values, dtype=object)))
    if (typed.isna() & ~missing).any() or (missing.any() and None not in column.domain):
        raise InconclusiveError(f"its belief has `records` with cells of {column.name!r} outside its domain")
    return typed
