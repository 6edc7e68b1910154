"""The data sets, with all their people, and how they are split into people to learn from and people to test on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from dp_domains import LOANS, MERGED, MUSHROOM, NURSERY, schema
from leafgate.io.tables.reader import read_table
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table, make_table, typed_column
from leafgate.session.run import open_session

POLICIES = Path(__file__).resolve().parents[2] / "policies"
Split = tuple[Table, Table]


@dataclass(frozen=True)
class Data:
    """People, a row each; where the data set's authors split it, `fixed` is their split."""

    name: str
    schema: Schema
    frame: pd.DataFrame
    fixed: Split | None = None

    def split(self, run: int) -> Split:
        """Two thirds to learn from and the rest to test on, drawn anew for each run; or the authors' split."""
        if self.fixed is not None:
            return self.fixed
        order = np.random.default_rng([run, len(self.frame)]).permutation(len(self.frame))
        learned = len(order) * 2 // 3
        one, other = (self.frame.iloc[part].reset_index(drop=True) for part in (order[:learned], order[learned:]))
        return make_table(self.schema, one), make_table(self.schema, other)


def nursery(root: Path) -> Data:
    meaning = schema(NURSERY, "class")
    return Data("Nursery", meaning, _typed(meaning, _read(root / "nursery/nursery.data", meaning)))


def nursery_three(root: Path) -> Data:
    meaning = schema(NURSERY, "class")
    cells = _read(root / "nursery/nursery.data", meaning)
    cells["class"] = cells["class"].replace(MERGED)
    target = replace(meaning["class"], values=("not_recom", "recommended", "priority"))
    merged = Schema((*meaning.features, target))
    return Data("Nursery, three classes", merged, _typed(merged, cells))


def mushroom(root: Path) -> Data:
    meaning = schema(MUSHROOM, "class")
    return Data("Mushroom", meaning, _typed(meaning, _read(root / "mushroom/agaricus-lepiota.data", meaning)))


def loans(root: Path) -> Data:
    meaning = schema(LOANS, "not.fully.paid")
    cells = pd.read_csv(root / "lendingclub/loan_data.csv", dtype=str, keep_default_na=False)
    return Data("LendingClub", meaning, _typed(meaning, cells))


def adult_usual(root: Path) -> Data:
    """The usual split, incomplete people left out: the policy as it is."""
    run = open_session(POLICIES / "adult-all.yaml", root=root)
    assert run.tables.test is not None
    return Data("Adult, usual split", run.table.schema, pd.DataFrame(), (run.table, run.tables.test))


def adult_whole(root: Path) -> Data:
    """All 48,842 people; an unknown cell is a value of its own."""
    data = open_session(POLICIES / "adult-all.yaml", root=root).policy.data
    kept = data.model_copy(update={"on_missing": "keep"})
    assert kept.path is not None
    assert kept.test is not None
    meaning = Schema(tuple(map(_known_gaps, kept.meaning().columns)))
    tables = read_table(kept, meaning, kept.path), read_table(kept, meaning, kept.test, "data.test")
    return Data("Adult", meaning, pd.concat([_people(table) for table in tables], ignore_index=True))


def _known_gaps(column: Column) -> Column:
    """Only three columns have unknown cells."""
    return replace(column, missing=column.name in {"workclass", "occupation", "native-country"})


def _people(table: Table) -> pd.DataFrame:
    return table.frame.iloc[np.repeat(np.arange(len(table)), table.weight)]


def _read(path: Path, meaning: Schema) -> pd.DataFrame:
    names = [column.name for column in meaning.columns]
    return pd.read_csv(path, names=names, dtype=str, keep_default_na=False)


def _typed(meaning: Schema, cells: pd.DataFrame) -> pd.DataFrame:
    """The cells as a table holds them; DataError for a value that is not declared."""
    fields = {c.name: cells[c.name].astype(float) if c.numeric else cells[c.name] for c in meaning.columns}
    return pd.DataFrame({c.name: typed_column(c, fields[c.name].tolist()) for c in meaning.columns})


PAPER: Mapping[str, Callable[[Path], Data]] = {
    "Nursery": nursery,
    "Nursery, three classes": nursery_three,
    "Adult": adult_whole,
    "Adult, usual split": adult_usual,
    "Mushroom": mushroom,
    "LendingClub": loans,
}
"""As the paper has them, and besides."""

FRONTIER = ("Adult, usual split", "Nursery", "Mushroom")
