"""Tables as rows of numbers for other libraries, and rows that hit what their trees ask about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adult import adult
from data_files import DATA
from installed_readers import read_foreign
from leafgate.algorithms.prediction import predict
from leafgate.kernel.arrays import Floats, Ids
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate.readers import ModelIR


@dataclass(frozen=True)
class Rows:
    """People as numbers, categories as codes; `categorical` says which columns those are; `y` is the class."""

    x: Floats
    y: Ids
    categorical: tuple[bool, ...]

    @property
    def kinds(self) -> list[str]:
        """The columns' types as XGBoost calls them."""
        return ["c" if kind else "q" for kind in self.categorical]

    @property
    def sets(self) -> list[int]:
        """The positions of the categorical columns."""
        return [i for i, kind in enumerate(self.categorical) if kind]


@cache
def adult_rows() -> Rows:
    """Adult's distinct records, one in four, some cells blanked."""
    table = adult("adult-all").table
    columns = [column for column in table.schema.columns if column.name != table.schema.target.name]
    x = np.column_stack([table.numbers(c.name) if c.numeric else table.codes(c.name) for c in columns])
    kept = np.arange(0, len(table), 4)
    return blanked(x[kept], table.codes(table.schema.target.name)[kept], tuple(not c.numeric for c in columns))


@cache
def german_rows() -> Rows:
    """German credit, some cells blanked."""
    file = DATA / "german_credit" / "german.data"
    if not file.exists():
        pytest.skip("German credit is not here: set LEAFGATE_DATA to the folder that holds `german_credit`")
    cells = [line.split() for line in file.read_text().splitlines() if line]
    columns = list(zip(*cells, strict=True))
    texts = [not column[0].isdigit() for column in columns[:-1]]
    made = [np.unique(c, return_inverse=True)[1] if t else c for c, t in zip(columns[:-1], texts, strict=True)]
    x = np.column_stack([np.asarray(column, dtype=np.float64) for column in made])
    return blanked(x, np.asarray(columns[-1], dtype=np.int64) - 1, tuple(texts))


@cache
def random_rows(classes: int = 2) -> Rows:
    """Numbers far apart and close together, two categories, and a class they tell something of."""
    rng = np.random.default_rng(3)
    size = 1500
    x = np.column_stack(
        [
            rng.normal(size=size) * 1e6,
            rng.integers(0, 3, size) / 10,
            np.round(rng.normal(size=size), 1),
            rng.integers(0, 6, size),
            rng.integers(0, 40, size),
        ]
    )
    score = x[:, 0] / 1e6 + x[:, 2] + (x[:, 3] % 2) + (x[:, 4] % 3) + rng.normal(size=size)
    y = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    return blanked(x, y, (False, False, False, True, True))


def blanked(x: np.ndarray, y: Ids, categorical: tuple[bool, ...]) -> Rows:
    """The rows with one cell in twenty missing."""
    holes = np.random.default_rng(5).random(x.shape) < 0.05
    return Rows(np.where(holes, np.nan, x.astype(np.float64)), y, categorical)


TABLES = {"adult": adult_rows, "german": german_rows, "random": random_rows}


def probes(model: ModelIR, rows: Rows, size: int = 3000) -> Floats:
    """Random rows: cells of the table, numbers between, missing ones, and every threshold hit and missed by a hair."""
    rng = np.random.default_rng(11)
    made = []
    for i in range(rows.x.shape[1]):
        at = np.concatenate([tree.threshold[tree.feature == i] for tree in model.trees])
        at = at[abs(at) < np.finfo(np.float32).max]
        single = at.astype(np.float32)
        hairs = [np.nextafter(single, np.float32(side)).astype(np.float64) for side in (-np.inf, np.inf)]
        halves = [np.nextafter(at, side) for side in (-np.inf, np.inf)]
        usual = rows.x[rng.integers(0, len(rows.x), size), i]
        wide = rng.normal(scale=np.nanstd(rows.x[:, i]) + 1, size=size)
        pool = [usual, at, *hairs, *halves, [np.nan] * 20] if not rows.categorical[i] else [usual, [np.nan] * 20]
        pool += [wide] if not rows.categorical[i] else [np.arange(60.0)]
        each = rng.integers(0, len(pool), size)
        cells = [np.asarray(pool[k], dtype=np.float64) for k in range(len(pool))]
        made.append([rng.choice(cells[k]) if len(cells[k]) else np.nan for k in each])
    return np.column_stack(made).astype(np.float64)


def same_leaves(mine: Ids, theirs: Floats) -> bool:
    """Do two ways of numbering leaves part rows alike?"""
    pairs = len(np.unique(np.column_stack([mine, theirs]), axis=0))
    return pairs == len(np.unique(mine)) == len(np.unique(theirs))


def adult_columns() -> tuple[pd.DataFrame, Ids, Ids]:
    """Adult's cells as a data frame, with categories; everybody's class; how many people share each record."""
    table = adult("adult-all").table
    target = table.schema.target.name
    return table.frame.drop(columns=target), table.codes(target), table.weight


def assert_released_alike(content: bytes, scores: Callable[[pd.DataFrame], Any]) -> None:
    """A model of Adult's cells becomes a release that says of training and of test people what its scores say."""
    run = adult("adult-all")
    model = read_foreign(content, "model")
    assert any(isinstance(value, str) for tree in model.trees for chosen in tree.subsets.values() for value in chosen)
    target = run.table.schema.target
    coded = {target.name: Encoding(codes={value: float(i) for i, value in enumerate(run.table.schema.classes)})}
    release = lower_model(model, run.table.schema, coded, "model").release
    assert run.tables.test is not None
    for table in (run.table, run.tables.test):
        said = np.asarray(scores(table.frame.drop(columns=target.name)))
        assert np.array_equal(predict(release, table), (said > 0).astype(int))
