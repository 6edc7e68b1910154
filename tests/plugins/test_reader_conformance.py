"""Each bundled reader passes the conformance kit on a file that its library wrote."""

from __future__ import annotations

import io
import json
import struct
import unittest
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from installed_readers import BY_NAME, minimise, neutral_file
from leafgate.api import Column, Schema
from leafgate.readers import ModelReader
from leafgate.testing import Check, KnownModel, reader_conformance
from pmml_of import pmml_of
from r_files import files, model_in, rows_of, schema_of, table_in
from sklearn_zoo import skops_bytes

pytestmark = pytest.mark.thorough

LABELS = ("high", "low")
PUBLIC = tuple(Column(name, frozenset({"quasi_identifier"}), bounds=(0, 99)) for name in ("age", "hours"))
AGES, HOURS = (grid.ravel().astype(np.float64) for grid in np.meshgrid(range(18, 90, 6), range(10, 70, 10)))
PEOPLE = pd.DataFrame({"age": AGES, "hours": HOURS})
CODES = ((AGES > 40) & (HOURS < 45)).astype(int)
ANSWERS = np.array(LABELS)[CODES]


def planted(content: bytes) -> bytes:
    """The file with a text and a number that nobody needs."""
    note = "a-strangers-cell 73190210.5"
    if content.startswith(b"PK"):
        changed = io.BytesIO(content)
        with zipfile.ZipFile(changed, "a") as archive:
            archive.writestr("note.txt", note)
        return changed.getvalue()
    if content.startswith(b"X\n"):
        text, end = note.encode(), content[-4:]  # an attribute more of the outermost object, before their end
        words = [0x402, 1, 9, 4, b"note", 16, 1, 9, len(text), text]
        more = b"".join(each if isinstance(each, bytes) else struct.pack(">i", each) for each in words)
        return content[:-4] + more + end
    if content.startswith(b"{"):
        return json.dumps({**json.loads(content), "note": note.split()}).encode()
    if b"<Node" in content:
        return content.replace(b"<Node", f'<Node note="{note}"'.encode(), 1)
    return content + f"note={note}\n".encode()


def known(name: str, content: bytes, predictions: Any) -> KnownModel:
    """A file with these predictions: labels, or of libraries that know classes by numbers alone these numbers."""
    rows: list[dict[str, Any]] = PEOPLE.to_dict("records")  # type: ignore[assignment]
    values = LABELS if isinstance(predictions[0], str) else ("0", "1")
    schema = Schema((*PUBLIC, Column("risk", frozenset({"class", "sensitive"}), values=values)))
    return KnownModel(
        name=name,
        content=content,
        schema=schema,
        rows=rows,
        predictions=list(map(str, predictions)),
        planted={"a note": planted(content)},
    )


def tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(PEOPLE, ANSWERS)


def skops_file() -> KnownModel:
    return known("a tree in a skops file", skops_bytes(tree()), tree().predict(PEOPLE))


def pmml_file() -> KnownModel:
    return known("a tree in PMML", pmml_of(tree(), ["age", "hours"], "risk", list(LABELS)), tree().predict(PEOPLE))


def onnx_file() -> KnownModel:
    pytest.importorskip("skl2onnx")
    from onnx_pipelines import document_of

    model = make_pipeline(make_column_transformer(("passthrough", ["age", "hours"])), tree()).fit(PEOPLE, ANSWERS)
    return known("a tree in ONNX", document_of(model, PEOPLE).SerializeToString(), model.predict(PEOPLE))


def xgboost_file() -> KnownModel:
    xgboost = pytest.importorskip("xgboost")
    rows = xgboost.DMatrix(PEOPLE, label=CODES)
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 2, "base_score": 0.5}, rows, 2)
    content = bytes(booster.save_raw("json"))
    return known("two trees of XGBoost's", content, (booster.predict(rows) > 0.5).astype(int))


def lightgbm_file() -> KnownModel:
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"objective": "binary", "num_leaves": 4, "min_data_in_leaf": 2, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(PEOPLE, label=CODES), 2)
    likely = booster.predict(PEOPLE) > 0.5
    return known("two trees of LightGBM's", booster.model_to_string().encode(), likely.astype(int))


def catboost_file() -> KnownModel:
    """A file with the labels that CatBoost predicts of the made-up people (`make_catboost_files.py`)."""
    folder = Path(__file__).parent / "catboost" / "producers"
    with zipfile.ZipFile(next(folder.glob("*.zip"))) as archive:
        content, answers = archive.read("logloss.json"), archive.read("logloss.csv")
    rows = pd.read_csv(io.BytesIO(answers)).query("age < 99 and 0 <= hours < 99")
    schema = Schema((*PUBLIC, Column("risk", frozenset({"class", "sensitive"}), values=("low", "some"))))
    people: list[dict[str, Any]] = rows[["age", "hours"]].to_dict("records")  # type: ignore[assignment]
    return KnownModel(
        name="three trees of CatBoost's",
        content=content,
        schema=schema,
        rows=people,
        predictions=list(rows["label"]),
        planted={"a note": planted(content)},
    )


def r_file() -> KnownModel:
    """A tree of rpart with the classes that R predicts."""
    table, model = table_in(files()["rpart-008.csv"]), model_in("rpart-008.rds")
    names = ["town", "smoker", "visits", "age"]
    content = files()["rpart-008.rds"]
    return KnownModel(
        name="a tree of rpart",
        content=content,
        schema=schema_of(model, names),
        rows=[dict(zip(names, row, strict=True)) for row in rows_of(table, names)],
        predictions=table["label"],
        planted={"a note": planted(content)},
    )


def scrubbed_tree() -> KnownModel:
    model = minimise(BY_NAME["skops"].read(skops_bytes(tree()), "skops"), "labels", "skops")
    return known("a scrubbed tree", neutral_file(replace(model, format="by hand")), tree().predict(PEOPLE))


FILES: dict[str, tuple[ModelReader, Callable[[], KnownModel]]] = {
    "catboost": (BY_NAME["catboost"], catboost_file),
    "lightgbm": (BY_NAME["lightgbm"], lightgbm_file),
    "neutral": (BY_NAME["neutral"], scrubbed_tree),
    "onnx": (BY_NAME["onnx"], onnx_file),
    "pmml": (BY_NAME["pmml"], pmml_file),
    "r": (BY_NAME["r"], r_file),
    "skops": (BY_NAME["skops"], skops_file),
    "xgboost": (BY_NAME["xgboost"], xgboost_file),
}


@pytest.mark.parametrize("name", FILES)
def test_it_conforms(name: str) -> None:
    reader, make = FILES[name]
    checks: list[Check] = reader_conformance(reader, [make()])
    assert len(checks) == 5
    failed = []
    for check in checks:
        try:
            check()
        except (AssertionError, unittest.SkipTest) as error:
            failed.append(f"{check}: {error}")
    assert not failed, "\n".join(failed)
