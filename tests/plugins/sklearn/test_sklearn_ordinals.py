"""What an OrdinalEncoder makes of missing cells: NaN has a number of its own, None an ordinal like any category."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import leafgate
from installed_readers import read_foreign, rows_of
from leafgate import ReleaseError
from sklearn_zoo import skops_bytes

OPTIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "unknown ones": {"handle_unknown": "use_encoded_value", "unknown_value": -1},
    "missing ones": {"encoded_missing_value": -2},
    "rare ones": {"min_frequency": 60, "encoded_missing_value": -2},
    "rare and unknown ones": {
        "min_frequency": 60,
        "handle_unknown": "use_encoded_value",
        "unknown_value": math.nan,
    },
}
CELLS = ["u", "v", "w", "x", "u", "v", "u"] * 30


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("gone", [None, math.nan], ids=["None", "NaN"])
def test_the_numbers_are_those_that_scikit_learn_gives(gone: Any, options: dict[str, Any]) -> None:
    table = pd.DataFrame({"job": pd.Series([*CELLS, *[gone] * 70], dtype=object)})
    encoder = OrdinalEncoder(**options)
    model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=2)).fit(table, ["a", "b"] * 140)
    cells = {"job": [*CELLS, *[None] * 70]}
    for read in (leafgate.from_sklearn(model), read_foreign(skops_bytes(model), "m.skops")):
        np.testing.assert_array_equal(rows_of(read, cells), encoder.transform(table).astype(float))


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()])
def test_none_and_nan_side_by_side_are_refused_by_name(encoder: Any) -> None:
    table = pd.DataFrame({"job": pd.Series([*CELLS, None, math.nan], dtype=object)})
    model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=2)).fit(table, ["a", "b"] * 106)
    with pytest.raises(ReleaseError, match="tells None and NaN apart"):
        leafgate.from_sklearn(model)
