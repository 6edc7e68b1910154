"""What convert and scrub write answers as the model does, for fills, gaps, unseen values and truth values too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from installed_readers import onnx_file, read_foreign
from leafgate import ReleaseError
from leafgate.commands.convert.witness import check_written
from leafgate.readers import LEAF

N = 300
ORDINAL = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99)
ONE_HOT = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
IMPUTERS: dict[str, tuple[Sequence[Any], Any, Any]] = {
    "the commonest number": ([1, 2, 3], SimpleImputer(strategy="most_frequent"), ORDINAL),
    "the commonest text": (["1", "2", "3"], SimpleImputer(strategy="most_frequent"), ORDINAL),
    "a constant text": (["clerk", "nurse", "pilot"], SimpleImputer(strategy="constant", fill_value="clerk"), ORDINAL),
    "an indicator": (["clerk", "nurse", "pilot"], SimpleImputer(strategy="constant", fill_value="clerk"), ONE_HOT),
    "a word for gaps": (["clerk", "nurse", "pilot"], SimpleImputer(strategy="constant", fill_value="none"), ONE_HOT),
}


def filled_model(folder: Path, name: str) -> tuple[Any, pd.DataFrame]:
    """A pipeline that fills gaps, its file, its answers, and people: of each value, of none, and of one never seen."""
    values, imputer, encoder = IMPUTERS[name]
    rng = np.random.default_rng(0)
    code = rng.choice(3, N, p=[0.6, 0.25, 0.15])
    job = np.array(values, dtype=object)[code]
    job[rng.random(N) < 0.1] = np.nan
    table = pd.DataFrame({"job": pd.Series(job, dtype=object), "age": rng.integers(18, 90, N).astype(float)})
    prepare = make_column_transformer((make_pipeline(imputer, encoder), ["job"]), remainder="passthrough")
    ill = (rng.random(N) < np.where(code == 0, 0.8, 0.2)).astype(int)
    model = make_pipeline(prepare, DecisionTreeClassifier(max_depth=1, random_state=0)).fit(table, ill)
    skops.io.dump(model, folder / "model.skops")
    unseen = 7 if values[0] == 1 else "7"
    asked = pd.DataFrame({"job": pd.Series([*values, np.nan, unseen], dtype=object), "age": [40.0] * 5})
    shares = model.predict_proba(asked)
    asked.assign(**{"0": shares[:, 0], "1": shares[:, 1]}).to_csv(folder / "answers.csv", index=False)
    return model, asked


@pytest.mark.parametrize("name", IMPUTERS)
def test_onnxruntime_answers_for_people_with_the_value_that_fills_gaps(tmp_path: Path, name: str) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model, asked = filled_model(tmp_path, name)
    ended = leafgate("convert", tmp_path / "model.skops", tmp_path / "m.onnx", "--witness", tmp_path / "answers.csv")
    assert ended.code == 0, ended.err
    texts = np.array(["" if cell != cell else str(cell) for cell in asked["job"]], dtype=object)
    given = {"job": texts[:, None], "age": asked["age"].to_numpy()[:, None]}
    running = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    own = {each.name: given[each.name] for each in running.get_inputs()}
    np.testing.assert_allclose(running.run(None, own)[1], model.predict_proba(asked), atol=1e-6)


def truth_model(folder: Path) -> tuple[Any, pd.DataFrame]:
    """Histogram boosting on a column of truth values, which scikit-learn keeps as 0 and 1, and its answers."""
    rng = np.random.default_rng(0)
    smokes, gone = rng.random(2 * N) < 0.4, rng.random(2 * N) < 0.1
    cells = pd.Series(smokes, dtype=object)
    cells[gone] = None
    people = pd.DataFrame(
        {"smokes": pd.Categorical(cells, categories=[False, True]), "age": rng.integers(18, 90, 2 * N)}
    )
    ill = (rng.random(2 * N) < np.where(gone, 0.5, np.where(smokes, 0.8, 0.2))).astype(int)
    options: dict[str, Any] = {"max_iter": 5, "early_stopping": False, "max_leaf_nodes": 4}
    model = HistGradientBoostingClassifier(categorical_features=[0], **options).fit(people, ill)
    skops.io.dump(model, folder / "model.skops")
    shares, asked = model.predict_proba(people), people.assign(smokes=people["smokes"].astype(object))
    asked.assign(**{"0": shares[:, 0], "1": shares[:, 1]}).to_csv(folder / "answers.csv", index=False)
    asked.assign(ill=ill).to_csv(folder / "people.csv", index=False)
    return model, asked


@pytest.mark.thorough
def test_the_script_takes_truth_values_for_the_numbers_that_they_are(tmp_path: Path) -> None:
    truth_model(tmp_path)
    words = ("convert", tmp_path / "model.skops", tmp_path / "new.json", "--script")
    assert leafgate(*words, "--witness", tmp_path / "answers.csv").code == 0
    run: list[str | Path] = [
        sys.executable,
        "-I",
        tmp_path / "predict.py",
        tmp_path / "new.json",
        tmp_path / "answers.csv",
    ]
    (tmp_path / "found.csv").write_text(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    found, wanted = (pd.read_csv(tmp_path / name)["1"] for name in ("found.csv", "answers.csv"))
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_an_audit_takes_truth_values_for_the_numbers_that_they_are(tmp_path: Path) -> None:
    truth_model(tmp_path)
    known = {"role": "quasi_identifier"}
    columns = {
        "smokes": {**known, "values": ["False", "True"]},
        "age": {**known, "bounds": [0, 120]},
        "ill": {"role": ["class", "sensitive"], "values": ["0", "1"]},
    }
    policy = {
        **{"leafgate": 1, "name": "smokers", "publish": {"leaves": "counts", "measure": False}},
        "data": {"path": "people.csv", "on_missing": "keep", "columns": columns},
        "build": {"use": "published", "path": "model.skops", "witness": "answers.csv"},
        **{"attacks": [{"use": "linking"}], "metrics": [{"use": "k_anonymity", "at_least": 2}]},
    }
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    ended = leafgate("audit", tmp_path / "policy.yaml")
    assert (ended.code, "what was read answers as the witness does" in ended.out) == (0, True)


def test_a_file_that_answers_otherwise_than_its_model_is_refused(tmp_path: Path) -> None:
    filled_model(tmp_path, "a constant text")
    model = read_foreign((tmp_path / "model.skops").read_bytes(), "model.skops")
    again = read_foreign(onnx_file(model), "new.onnx")
    check_written(model, again, "new.onnx")
    tree = again.trees[0]
    turned = replace(tree, low=tree.high, high=tree.low)
    moved = replace(tree, threshold=np.where(tree.feature == LEAF, np.nan, 1e9))
    for other in (turned, moved):
        with pytest.raises(ReleaseError, match="would predict otherwise than the model that it is written of"):
            check_written(model, replace(again, trees=(other,)), "new.onnx")


def test_convert_says_where_classes_alone_were_compared(tmp_path: Path) -> None:
    model, asked = filled_model(tmp_path, "a constant text")
    words = ("convert", tmp_path / "model.skops", tmp_path / "new.json", "--witness", tmp_path / "answers.csv")
    assert "classes alone" not in leafgate(*words).out
    asked.assign(prediction=model.predict(asked)).to_csv(tmp_path / "answers.csv", index=False)
    assert "(classes alone were compared, no scores)" in leafgate(*words).out


def test_convert_names_the_file_that_answers_otherwise_than_the_witness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled_model(tmp_path, "a constant text")
    words = ("convert", tmp_path / "model.skops", tmp_path / "new.json", "--witness", tmp_path / "answers.csv")
    frame = pd.read_csv(tmp_path / "answers.csv")
    exchanged = frame.rename(columns={"0": "1", "1": "0"})
    exchanged.to_csv(tmp_path / "answers.csv", index=False)
    assert "model.skops: does not answer as the witness does, first in its row 1" in leafgate(*words).err
    frame.to_csv(tmp_path / "answers.csv", index=False)
    from leafgate.commands.convert import neutral

    own = neutral.written
    monkeypatch.setattr(
        neutral,
        "written",
        lambda model: own(
            replace(model, trees=tuple(replace(each, low=each.high, high=each.low) for each in model.trees))
        ),
    )
    ended = leafgate(*words)
    assert (ended.code, (tmp_path / "new.json").exists()) == (2, False)
    assert "new.json: would not answer as the witness does, first in its row 1; model.skops is read as" in ended.err


def test_a_forest_of_ties_is_written_as_onnx(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"a": rng.integers(0, 3, 60).astype(float), "b": rng.integers(0, 3, 60).astype(float)})
    model = RandomForestClassifier(4, max_depth=2, random_state=0).fit(table, rng.integers(0, 2, 60))
    skops.io.dump(model, tmp_path / "model.skops")
    assert leafgate("convert", tmp_path / "model.skops", tmp_path / "new.onnx").code == 0
