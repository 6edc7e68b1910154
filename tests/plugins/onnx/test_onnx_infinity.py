"""Thresholds that are infinite, which part missing cells from numbers: onnxruntime says what is predicted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from installed_readers import lower_model, read_foreign
from leafgate.algorithms.prediction import predict
from onnx_five import ensemble, graph
from onnx_graphs import classifier
from onnx_pipelines import document_of, session
from random_tables import categorical, numeric, table_of

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")
CELLS = [-3.4e38, -1.0, 0.0, 2.5, 3.4e38, math.nan]


def predicted(content: bytes, names: tuple[str, ...], rows: np.ndarray, *, missing: bool) -> list[str]:
    """What the release says of rows of numbers, by the labels `0` and `1`."""
    columns = [numeric(name, "quasi_identifier", bounds=(-4e38, 4e38), missing=missing) for name in names]
    schema_columns = [*columns, categorical("label", "class", values=("0", "1"))]
    cells = [(*(None if math.isnan(x) else float(x) for x in row), "0") for row in rows]
    table = table_of(schema_columns, cells)
    release = lower_model(read_foreign(content, "m.onnx"), table.schema, {}, "m.onnx").release
    keys = [tuple(map(str, row)) for row in table.frame[list(names)].astype(float).itertuples(index=False, name=None)]
    found = dict(zip(keys, predict(release, table).tolist(), strict=True))
    return [str(found[tuple(str(float(x)) for x in row)]) for row in rows]


def one_test(mode: str, threshold: float, tracks: int) -> bytes:
    """A tree of one test: 1 where it is true."""
    document = classifier([(0, mode, threshold, 1, 2)], {1: (0.0, 1.0), 2: (1.0, 0.0)}, [0, 1], width=1, tracks=tracks)
    content: bytes = document.SerializeToString()
    return content


def newer_test(mode: str, threshold: float, tracks: int) -> bytes:
    """The same tree by the newer operator."""
    nodes = [(0, threshold, mode, ("leaf", 1), ("leaf", 0))]
    node = ensemble([0], nodes, [(0, 1.0), (1, 1.0)], 2, nodes_missing_value_tracks_true=[tracks])
    content: bytes = graph(node, 1, 2, [0, 1]).SerializeToString()
    return content


@pytest.mark.parametrize("written", [one_test, newer_test])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tracks", [0, 1])
def test_an_infinite_threshold_parts_missing_cells_alone(
    mode: str, tracks: int, written: Callable[[str, float, int], bytes]
) -> None:
    content = written(mode, math.inf, tracks)
    rows, running = np.array(CELLS, dtype=np.float32)[:, None], session(content)
    theirs: Any = running.run([running.get_outputs()[0].name], {running.get_inputs()[0].name: rows})[0].ravel()
    columns = read_foreign(content, "m.onnx").features
    assert predicted(content, columns, rows.astype(float), missing=True) == list(map(str, theirs.tolist()))
    rows = rows[:-1]
    assert predicted(content, columns, rows.astype(float), missing=False) == list(map(str, theirs.tolist()[:-1]))


MODELS = [DecisionTreeClassifier(max_depth=4, random_state=0), RandomForestClassifier(5, max_depth=4, random_state=0)]


@pytest.mark.parametrize("model", MODELS, ids=["tree", "forest"])
def test_trees_of_scikit_learn_that_split_missing_cells_off_are_read(model: Any) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.integers(0, 50, 400).astype(float), "b": rng.integers(0, 100, 400) / 4})
    rows.loc[rng.random(400) < 0.3, "a"] = np.nan
    label = np.where(rows["a"].isna(), rng.random(400) < 0.9, rows["b"] > 12).astype(int)
    model.fit(rows.to_numpy(), label)
    trees = [model] if isinstance(model, DecisionTreeClassifier) else model.estimators_
    assert any(np.isinf(tree.tree_.threshold).any() for tree in trees)
    pipeline = make_pipeline(make_column_transformer(("passthrough", ["a", "b"])), model).fit(rows, label)
    document: onnx.ModelProto = document_of(pipeline, rows)
    content = document.SerializeToString()
    names = tuple(given.name for given in document.graph.input)
    feeds = {name: rows[[name]].to_numpy(dtype=np.float32) for name in names}
    theirs: Any = session(content).run(None, feeds)[0]
    assert predicted(content, ("a", "b"), rows.to_numpy(), missing=True) == list(map(str, theirs.tolist()))
