"""What is proved of the people of random models' files, and sums of what they predict, and the people themselves."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

from leafgate import InconclusiveError, Table
from leafgate.algorithms import routing
from leafgate.api import Ids
from leafgate_plugins.reconstruction.forest.bounds import (
    ForestBounds,
    bounds_by_columns,
    bounds_of_columns,
    forest_bounds,
)
from leafgate_plugins.reconstruction.forest.column_bounds import ColumnBounds
from leafgate_plugins.reconstruction.forest.regions import Forest
from random_files import random_models, random_people, read_model

MODELS = ("tree", "forest", "part", "extra trees", "histograms", "xgboost", "lightgbm", "boosting")
CASES = 30


def people_of(column: ColumnBounds, table: Table) -> Ids:
    """How many people of the table have each block of parts."""
    parts, number = column.parts, table.numbers(column.parts.column.name)
    inside = np.minimum(np.searchsorted(parts.ends, number), parts.n_intervals - 1)
    part = np.where(np.isnan(number), parts.n_intervals, inside)
    n = np.bincount(part, weights=table.weight, minlength=parts.n_parts)
    return np.bincount(column.block, weights=n, minlength=len(column.low)).astype(np.int64)


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
def test_what_is_proved_is_so(name: str) -> None:
    tried = summed = 0
    for seed in range(CASES):
        rng = np.random.default_rng([seed, MODELS.index(name)])
        people = random_people(rng)
        models = random_models(rng, people)
        if name not in models:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = read_model(name, models[name](), people)
        rows = loaded.provenance.training_rows
        if rows is None:
            continue
        for tree, sums, output, on_leaves in zip(
            loaded.release.trees, rows.sums, rows.outputs, rows.on_leaves, strict=True
        ):
            if sums is None or rows.drawn or on_leaves is None or on_leaves.sum() < people.table.total_weight:
                continue
            is_of = people.table.numbers("y") if output is None else people.table.frame["y"].astype(str) == output
            amount = np.asarray(is_of, dtype=float) * people.table.weight
            true = np.bincount(routing.leaf_numbers(tree, people.table), weights=amount, minlength=len(sums))
            assert sums == pytest.approx(true, rel=1e-4, abs=1e-2)
            summed += 1
        try:
            forest = Forest.of_rows(loaded.release, people.table.schema, rows)
        except InconclusiveError:
            continue
        columns = bounds_of_columns(forest, [20.0] * len(forest.columns))
        found: ForestBounds = (
            bounds_by_columns(columns) if rows.drawn else forest_bounds(forest, columns, time.monotonic() + 1)
        )
        for column, limits in zip(found.columns, found.limits, strict=True):
            true_people = people_of(column, people.table)
            assert (limits.low[:, 0] <= true_people).all()
            if forest.people.sum() == people.table.total_weight:  # XGBoost counts those whom a tree was grown on
                assert (limits.high[:, 0] >= true_people).all()
        tried += 1
    assert tried > CASES / 3
    assert summed > 0 or name in {"part", "forest", "extra trees", "tree"}
