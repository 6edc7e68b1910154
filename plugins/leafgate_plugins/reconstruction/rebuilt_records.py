"""The records of a rebuilt table: a cell of each column for each person, within what the leaves leave open."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from leafgate import api
from leafgate.kernel.training_rows import TrainingRows
from leafgate_plugins.reconstruction import leaf_records, marginals
from leafgate_plugins.reconstruction.forest import assignment, regions, targets
from leafgate_plugins.reconstruction.forest.assignment import Assignment
from leafgate_plugins.reconstruction.forest.regions import ColumnParts, Forest, Spans, Subsets
from leafgate_plugins.reconstruction.marginals import Marginal

MAX_REACH = 30_000_000
"""People times parts of a column: where there are more, its numbers are taken from the middle of what is left open."""


def records_of(forest: Forest, found: Sequence[Assignment | None], known: api.AdversaryKnowledge) -> pd.DataFrame:
    """A record for each person: a cell of each column within what her leaves leave open."""
    there = [(name, each) for name, each in zip(forest.classes, found, strict=True) if each is not None]
    order = range(len(forest.trees))
    own = [assignment.regions_of(forest.trees, each.leaf, order) for _, each in there]
    cells: dict[str, Any] = {}
    for j, parts in enumerate(forest.columns):
        name = parts.column.name
        rng = np.random.default_rng([known.seed, *hashlib.sha256(name.encode()).digest()[:8]])
        marginal = marginals.marginal_of(parts.column, known)
        cells[name] = _cells(parts, [each.columns[j] for each in own], rng, marginal)
    if forest.classes != regions.EVERYBODY:
        names = np.array([name for name, _ in there], dtype=object)
        cells[known.schema.target.name] = np.repeat(names, [len(each.leaf) for _, each in there])
    return pd.DataFrame(cells)


def add_predicted(
    records: pd.DataFrame,
    forest: Forest,
    found: Sequence[Assignment | None],
    rows: TrainingRows,
    known: api.AdversaryKnowledge,
) -> None:
    """Add to the records what the model predicts, where sums of it follow from the file."""
    outputs = targets.LeafSums.of(forest, rows)
    if outputs and found[0] is not None:
        records[known.schema.target.name] = targets.predicted_cells(outputs, found[0].leaf, known.schema.target)


def _cells(
    parts: ColumnParts, own: Sequence[Spans | Subsets], rng: np.random.Generator, marginal: Marginal | None
) -> Any:
    """A cell of one column for each person, class by class, whose leaves leave these parts.

    Without a marginal, the people of each class are by themselves; with one, all follow it together.
    """
    n_people = sum(len(each.first if isinstance(each, regions.Spans) else each.reach) for each in own)
    if marginal is None or n_people * parts.n_parts > MAX_REACH:
        return np.concatenate([_cells_of_class(parts, each, rng) for each in own])
    reach = np.concatenate([_reach(parts, each) for each in own])
    return leaf_records.spread_cells(_spread_over(parts, reach), np.ones(len(reach), dtype=np.int64), rng, marginal)


def _cells_of_class(parts: ColumnParts, own: Spans | Subsets, rng: np.random.Generator) -> Any:
    """A cell of one column for each person of a class, by what the counts of the class tell."""
    starts, ends = np.append(parts.starts, np.nan), np.append(parts.ends, np.nan)  # the last part is a missing cell
    if isinstance(own, regions.Spans) and len(own.first) * len(starts) > MAX_REACH:
        middle = np.where(own.first <= own.last, (own.first + own.last) // 2, len(parts.starts))
        return (starts[middle] + ends[middle]) / 2
    reach = _reach(parts, own)
    return leaf_records.spread_cells(_spread_over(parts, reach), np.ones(len(reach), dtype=np.int64), rng)


def _reach(parts: ColumnParts, own: Spans | Subsets) -> api.Mask:
    """Which parts each person can have; the last part of a column of numbers is a missing cell."""
    reach = own.reach
    if not parts.values and not parts.column.missing:
        reach = np.column_stack([reach, np.zeros(len(reach), dtype=bool)])
    return reach


def _spread_over(parts: ColumnParts, reach: api.Mask) -> leaf_records.Parts:
    """The column with the parts that each person can have."""
    starts, ends = np.append(parts.starts, np.nan), np.append(parts.ends, np.nan)  # the last part is a missing cell
    if parts.values:
        starts, ends = np.zeros(0), np.zeros(0)
    return leaf_records.Parts(column=parts.column, values=parts.values, starts=starts, ends=ends, reach=reach)
