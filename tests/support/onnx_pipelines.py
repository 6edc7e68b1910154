"""scikit-learn's pipelines as skl2onnx writes them, and what onnxruntime answers: the oracle for ONNX graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import (
    BooleanTensorType,
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from leafgate import Table
from leafgate.api import Schema, make_table, typed_column
from leafgate.models.lowering.encoding import plainly
from sklearn_pipelines import NUMBERS, TEXTS
from sklearn_pipelines import PIPELINES as FITTED

KINDS: Mapping[int, Any] = {1: np.float32, 7: np.int64, 8: object, 9: np.bool_, 11: np.float64}
"""For each of ONNX's types what NumPy calls it."""


def document_of(model: Any, frame: pd.DataFrame, *, double: bool = False, **options: Any) -> Any:
    """The fitted pipeline with one input for each column of the frame."""
    given = [(str(name), _type(frame[name], double=double)) for name in frame]
    return convert_sklearn(model, initial_types=given, options={"zipmap": False}, **options)


def _type(column: pd.Series, *, double: bool) -> Any:
    kind = column.dtype.kind
    if kind == "b":
        return BooleanTensorType([None, 1])
    if kind in "iu":
        return Int64TensorType([None, 1])
    if kind == "f":
        return (DoubleTensorType if double else FloatTensorType)([None, 1])
    return StringTensorType([None, 1])


def answers(document: onnx.ModelProto, frame: pd.DataFrame) -> Any:
    """What onnxruntime says of each row: its label; of a graph without labels its number."""
    running = session(document.SerializeToString())
    kinds = {one.name: one.type.tensor_type.elem_type for one in document.graph.input}
    cells = frame.rename(columns=plainly)
    given = {
        one.name: cells[one.name].to_numpy().astype(KINDS[kinds[one.name]])[:, None] for one in running.get_inputs()
    }
    return np.asarray(running.run([document.graph.output[0].name], given)[0]).reshape(len(frame))


@cache
def session(content: bytes) -> Any:
    """onnxruntime with the graph loaded."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def tree(depth: int = 8) -> Any:
    return DecisionTreeClassifier(max_depth=depth, random_state=0)


PIPELINES: Mapping[str, Callable[[], Any]] = {
    "one-hot": lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(), TEXTS), remainder="passthrough"), tree()
    ),
    "zeros": lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), TEXTS), (StandardScaler(), NUMBERS)), tree()
    ),
    "ordinal": lambda: make_pipeline(
        make_column_transformer(("passthrough", NUMBERS), (OrdinalEncoder(), TEXTS)),
        tree(),
    ),
    "min and max": lambda: make_pipeline(
        make_column_transformer(
            (MinMaxScaler(clip=True), NUMBERS),
            (OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist"), TEXTS),
        ),
        tree(),
    ),
    "robust": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(RobustScaler(), MaxAbsScaler()), NUMBERS),
            (
                make_pipeline(OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), StandardScaler()),
                TEXTS,
            ),
        ),
        tree(),
    ),
    "both ways": FITTED["both ways"],
    "filled": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), NUMBERS), (OneHotEncoder(), TEXTS)
        ),
        GradientBoostingClassifier(n_estimators=8, random_state=0),
    ),
    "nested": lambda: make_pipeline(
        make_pipeline(make_column_transformer((OrdinalEncoder(), TEXTS), remainder=MinMaxScaler())),
        make_pipeline(StandardScaler(), tree()),
    ),
}


def with_texts(table: Table) -> Table:
    """The people whose texts are all there: an ONNX graph has no missing texts. Full columns are never missing."""
    texts = [column.name for column in table.schema.columns if not column.numeric]
    frame = table.frame[table.frame[texts].notna().all(axis=1)]
    columns = tuple(replace(c, missing=bool(frame[c.name].isna().any())) for c in table.schema.columns)
    frame = frame.loc[frame.index.repeat(table.weight[frame.index])]
    typed = {c.name: typed_column(c, [None if pd.isna(cell) else cell for cell in frame[c.name]]) for c in columns}
    return make_table(Schema(columns), pd.DataFrame(typed))
