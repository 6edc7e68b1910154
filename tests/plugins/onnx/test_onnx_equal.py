"""ONNX's tests whether a number is another, or not: both are of single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from feature_rows import predicted
from installed_readers import Encoding, lower_model, read_foreign
from leafgate.algorithms.prediction import predict
from onnx_graphs import classifier
from random_tables import categorical, numeric, table_of

TENTHS = [0.1, 0.3, 0.2, float(np.float32(0.1)), float(np.nextafter(np.float32(0.1), np.float32(1))), -1.0]


def model(first: str, second: str) -> Any:
    """Two tests one after another, of a first number that is 0.3 and a second that is 0.1."""
    return classifier(
        [(0, first, 0.3, 1, 4), (1, second, 0.1, 2, 3)],
        {2: (0.8, 0.1, 0.1), 3: (0.1, 0.7, 0.2), 4: (0.1, 0.3, 0.6)},
        ["no", "yes", "perhaps"],
        width=2,
    )


@pytest.mark.parametrize("first", ["BRANCH_EQ", "BRANCH_NEQ", "BRANCH_LEQ"])
@pytest.mark.parametrize("second", ["BRANCH_EQ", "BRANCH_NEQ"])
def test_equal_numbers_are_equal_in_single_precision(first: str, second: str) -> None:
    document = model(first, second)
    read = read_foreign(document.SerializeToString(), "m.onnx")
    rows = np.array([(x, z) for x in TENTHS for z in TENTHS])
    answered: Any = ReferenceEvaluator(document).run(None, {"X": rows.astype(np.float32)})
    assert np.array_equal(np.array(read.classes)[predicted(read, rows)], answered[0])


@pytest.mark.parametrize("mode", ["BRANCH_EQ", "BRANCH_NEQ"])
def test_codes_of_the_policys_values_are_compared_in_single_precision(mode: str) -> None:
    columns = (
        categorical("x", "quasi_identifier", values=("a", "b")),
        numeric("z", "quasi_identifier"),
        categorical("y", "class", "sensitive", values=("no", "yes", "perhaps")),
    )
    table = table_of(columns, [(value, z, "no") for value in ("a", "b") for z in (0.05, 0.1, 0.5)])
    document = model(mode, "BRANCH_LEQ")
    read = read_foreign(document.SerializeToString(), "m.onnx")
    x, z = read.features
    said = {x: Encoding(column="x", codes={"a": 0.3, "b": 0.1}), z: Encoding(column="z")}
    release = lower_model(read, table.schema, said, "m.onnx").release
    rows = np.column_stack([np.where(table.codes("x") == 0, 0.3, 0.1), table.numbers("z")]).astype(np.float32)
    answered: Any = ReferenceEvaluator(document).run(None, {"X": rows})
    assert np.array_equal(np.array(table.schema.classes)[predict(release, table)], answered[0])
