"""Columns of truth values in LightGBM's files, whose tables spell them in other ways than Python does."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest

from installed_readers import lower_model, read_foreign
from leafgate import ReleaseError
from leafgate.algorithms.prediction import predict
from random_tables import categorical, numeric, table_of

SPELLINGS = [("False", "True"), ("FALSE", "TRUE"), ("false", "true")]


def people() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"age": rng.integers(20, 90, 400), "smoker": rng.random(400) < 0.4})
    return rows, ((rows["age"] / 90 + rows["smoker"] * 0.5 + rng.normal(size=400) * 0.2) > 0.9).astype(int).to_numpy()


@pytest.mark.parametrize("category", [False, True], ids=["bool", "category"])
@pytest.mark.parametrize("spelling", SPELLINGS, ids=map(str, SPELLINGS))
@pytest.mark.thorough
def test_truth_values_are_read_however_the_table_spells_them(spelling: tuple[str, str], category: bool) -> None:
    rows, ill = people()
    given = rows.assign(smoker=pd.Categorical(rows["smoker"])) if category else rows
    booster = lgb.train({"objective": "binary", "verbose": -1, "num_leaves": 6}, lgb.Dataset(given, ill), 5)
    content = booster.model_to_string().encode()
    columns = [
        numeric("age", "quasi_identifier", bounds=(0, 100)),
        categorical("smoker", "quasi_identifier", values=spelling),
        categorical("ill", "class", values=("0", "1")),
    ]
    cells = [(float(age), spelling[int(smoker)], "0") for age, smoker in rows.itertuples(index=False)]
    table = table_of(columns, cells)
    release = lower_model(read_foreign(content, "m.txt"), table.schema, {}, "m.txt").release
    theirs = dict(zip(cells, np.asarray(booster.predict(given)) > 0.5, strict=True))
    mine = zip(table.frame["age"], table.frame["smoker"], predict(release, table), strict=True)
    assert all(theirs[age, smoker, "0"] == label for age, smoker, label in mine)
    assert len(set(theirs.values())) == 2


def test_truth_values_are_not_taken_for_other_values() -> None:
    rows, ill = people()
    given = rows.assign(smoker=pd.Categorical(rows["smoker"]))
    booster = lgb.train({"objective": "binary", "verbose": -1}, lgb.Dataset(given, ill), 3)
    content = booster.model_to_string().encode()
    columns = [
        numeric("age", "quasi_identifier", bounds=(0, 100)),
        categorical("smoker", "quasi_identifier", values=("no", "yes")),
        categorical("ill", "class", values=("0", "1")),
    ]
    with pytest.raises(ReleaseError, match="knows 2 value"):
        lower_model(read_foreign(content, "m.txt"), table_of(columns, []).schema, {}, "m.txt")
