"""What a repair writes predicts in its own runtime what was audited, for every record of table and test."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from installed_readers import Encoding, lower_model, neutral_file, read_foreign
from leafgate.algorithms.prediction import predict
from leafgate.app import open_session
from leafgate.readers import LEAF, ModelIR, TreeIR
from onnx_pipelines import session as onnx_session
from sklearn_zoo import skops_bytes

JOBS, ILL = ("clerk", "nurse", "smith", "tailor"), ("no", "yes")
K: list[dict[str, Any]] = [{"use": "k_anonymity", "at_least": 15}]


def people(seed: int, n: int, *, gaps: bool) -> pd.DataFrame:
    """People with two texts and a number, some missing, and a class that depends on them, with noise."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"job": rng.choice(JOBS, n), "town": rng.choice(["a", "b", "c"], n)})
    table["age"] = rng.integers(18, 60, n).astype(float)
    score = table["age"] / 20 + table["job"].isin(["nurse", "smith"]) * 1.5 + (table["town"] == "b")
    table["ill"] = np.array(ILL)[(score + rng.normal(0, 0.8, n) > 3).astype(int)]
    for name in ("job", "town", "age") if gaps else ():
        table.loc[rng.random(n) < 0.12, name] = None
    return table


def policy_in(folder: Path, table: pd.DataFrame, *, leaves: str = "shares", **build: Any) -> Path:
    """A policy for the people in the folder, of whom the last third is the test."""
    cut = 2 * len(table) // 3
    table[:cut].to_csv(folder / "people.csv", index=False)
    table[cut:].to_csv(folder / "test.csv", index=False)
    columns: dict[str, Any] = {
        "job": {"role": "quasi_identifier", "values": list(JOBS)},
        "town": {"role": "quasi_identifier", "values": ["a", "b", "c"]},
        "age": {"role": "quasi_identifier", "bounds": [18, 60]},
        "ill": {"role": ["class", "sensitive"], "values": list(ILL)},
    }
    document = {
        "leafgate": 1,
        "name": "formats",
        "data": {"path": "people.csv", "test": "test.csv", "on_missing": "keep", "columns": columns},
        "build": {"use": "published", "path": "model", **build},
        "publish": {"leaves": leaves},
        "attacks": [{"use": "linking"}],
        "metrics": K,
    }
    (folder / "policy.yaml").write_text(json.dumps(document))
    return folder / "policy.yaml"


def repaired(folder: Path, model: str, new: str, *options: str) -> Any:
    return leafgate("repair", folder / model, "--policy", folder / "policy.yaml", "--out", folder / new, *options)


def audited(folder: Path, new: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Every record of table and test, and the class that the routing of the audited file predicts for it."""
    session = open_session(folder / "policy.yaml")
    assert session.tables.test is not None
    frames, found = [], []
    for table in (session.table, session.tables.test):
        content = (folder / new).read_bytes()
        release = lower_model(read_foreign(content, new), table.schema, {}, new).release
        frames.append(table.frame)
        found.append(np.array(release.classes)[predict(release, table)])
    return pd.concat(frames, ignore_index=True), np.concatenate(found)


def answered_by_onnxruntime(content: bytes, frame: pd.DataFrame) -> Any:
    """The labels of onnxruntime; a missing text is given as the empty one."""
    running = onnx_session(content)
    cells = {
        each.name: frame[each.name].astype(object).where(frame[each.name].notna(), "").to_numpy()[:, None]
        if "string" in each.type
        else frame[each.name].to_numpy(dtype=np.float64)[:, None]
        for each in running.get_inputs()
    }
    return running.run(None, cells)[0]


ESTIMATORS: dict[str, Any] = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(4, max_depth=4, random_state=0),
    "extra": ExtraTreesClassifier(4, max_depth=4, random_state=0),
}


def fitted(table: pd.DataFrame, estimator: Any) -> Any:
    """A pipeline with encoders of both kinds, fitted on the people."""
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["job"]),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["town"]),
        remainder="passthrough",
    )
    return make_pipeline(prepare, estimator).fit(table.drop(columns="ill"), table["ill"])


@pytest.mark.parametrize(("name", "leaves"), [*((name, "shares") for name in ESTIMATORS), ("forest", "labels")])
@pytest.mark.thorough
def test_a_repaired_pipeline_loads_in_scikit_learn_and_predicts_what_was_audited(
    name: str, leaves: str, tmp_path: Path
) -> None:
    table = people(1, 900, gaps=False)
    (tmp_path / "model.skops").write_bytes(skops_bytes(fitted(table[:600], ESTIMATORS[name])))
    policy_in(tmp_path, table, leaves=leaves)
    ended = repaired(tmp_path, "model.skops", "new.skops")
    assert (ended.code, ended.err) == (0, "")
    frame, expected = audited(tmp_path, "new.skops")
    trusted = skops.io.get_untrusted_types(file=tmp_path / "new.skops")
    loaded = skops.io.load(tmp_path / "new.skops", trusted=trusted)
    assert (loaded.predict(frame[["job", "town", "age"]]) == expected).all()
    assert len(set(expected)) == 2


@pytest.mark.parametrize("name", ["tree", "forest"])
@pytest.mark.thorough
def test_a_repaired_pipeline_over_missing_categories_is_written_as_onnx(name: str, tmp_path: Path) -> None:
    table = people(2, 900, gaps=True)
    (tmp_path / "model.skops").write_bytes(skops_bytes(fitted(table[:600], ESTIMATORS[name])))
    policy_in(tmp_path, table)
    ended = repaired(tmp_path, "model.skops", "new.onnx")
    assert (ended.code, ended.err) == (0, "")
    frame, expected = audited(tmp_path, "new.onnx")
    assert frame["job"].isna().any()
    assert (answered_by_onnxruntime((tmp_path / "new.onnx").read_bytes(), frame) == expected).all()
    assert len(set(expected)) == 2


@pytest.mark.parametrize("name", ["tree", "forest"])
@pytest.mark.thorough
def test_the_script_beside_a_repaired_file_predicts_what_was_audited(name: str, tmp_path: Path) -> None:
    table = people(2, 900, gaps=True)
    (tmp_path / "model.skops").write_bytes(skops_bytes(fitted(table[:600], ESTIMATORS[name])))
    policy = policy_in(tmp_path, table)
    ended = leafgate("repair", tmp_path / "model.skops", "--policy", policy, "--out", tmp_path / "new.json", "--script")
    assert (ended.code, ended.err) == (0, "")
    frame, expected = audited(tmp_path, "new.json")
    frame.to_csv(tmp_path / "everybody.csv", index=False)
    files = (tmp_path / name for name in ("predict.py", "new.json", "everybody.csv"))
    command = [sys.executable, "-I", *map(str, files)]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    assert [line.partition(",")[0] for line in lines[1:]] == expected.tolist()


@pytest.mark.parametrize("library", ["lightgbm", "scikit-learn"])
@pytest.mark.thorough
def test_repaired_boosting_over_sets_of_categories_is_written_as_onnx(library: str, tmp_path: Path) -> None:
    table = people(3, 900, gaps=True)
    typed = table[:600].drop(columns="ill").astype({"job": "category", "town": "category"})
    if library == "lightgbm":
        boosted: Any = LGBMClassifier(n_estimators=3, min_child_samples=15, min_data_per_group=5, n_jobs=1, verbose=-1)
        boosted.fit(typed, table["ill"][:600] == "yes").booster_.save_model(tmp_path / "model.txt")
    else:
        boosted = HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=15, categorical_features="from_dtype")
        (tmp_path / "model.txt").write_bytes(skops_bytes(boosted.fit(typed, table["ill"][:600] == "yes")))
    policy = policy_in(tmp_path, table, leaves="counts", encoding={"ill": {"codes": {"no": 0, "yes": 1}}})
    change_limits(tmp_path, [{"use": "smallest_leaf", "groups": "each_tree", "at_least": 40}])
    ended = repaired(tmp_path, "model.txt", "new.onnx")
    assert (ended.code, ended.err) == (0, "")
    content = (tmp_path / "new.onnx").read_bytes()
    session = open_session(policy)
    model = read_foreign(content, "new.onnx")
    classes = {"ill": session.policy.build.encoding["ill"]}  # type: ignore[attr-defined]
    release = lower_model(model, session.table.schema, classes, "new.onnx").release
    expected = predict(release, session.table)
    named = dict(zip(model.classes, release.classes, strict=True))
    found = answered_by_onnxruntime(content, session.table.frame)
    assert [named[str(label)] for label in found] == np.array(release.classes)[expected].tolist()


@pytest.mark.parametrize("ending", ["json", "onnx", "skops"])
@pytest.mark.thorough
def test_a_feature_that_the_policy_explains_stays_though_no_tree_asks_about_it_any_more(
    ending: str, tmp_path: Path
) -> None:
    table = people(5, 600, gaps=False)
    numbers = table[:400].assign(job=table["job"].map(JOBS.index), town=table["town"].map("abc".index))
    given = numbers[["job", "town", "age"]].to_numpy(dtype=float)
    tree = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(given, numbers["ill"])
    (tmp_path / "model.skops").write_bytes(skops_bytes(tree))
    codes = {"x0": {"column": "job", "codes": {job: code for code, job in enumerate(JOBS)}}}
    codes |= {"x1": {"column": "town", "codes": {"a": 0, "b": 1, "c": 2}}, "x2": {"column": "age"}}
    policy_in(tmp_path, table, leaves="labels", encoding=codes)
    change_limits(tmp_path, [{"use": "k_anonymity", "at_least": 90}])
    ended = repaired(tmp_path, "model.skops", f"new.{ending}")
    assert (ended.code, ended.err) == (0, "")
    asked = read_foreign((tmp_path / f"new.{ending}").read_bytes(), "new")
    assert len({feature for each in asked.trees for feature in each.feature.tolist()} - {-1}) < 3
    document = json.loads((tmp_path / "policy.yaml").read_text())
    document["build"]["path"] = f"new.{ending}"
    (tmp_path / "policy.yaml").write_text(json.dumps(document))
    assert leafgate("audit", tmp_path / "policy.yaml").code == 0


def change_limits(folder: Path, metrics: list[dict[str, Any]]) -> None:
    """The policy with other limits."""
    document = json.loads((folder / "policy.yaml").read_text())
    document["metrics"] = metrics
    (folder / "policy.yaml").write_text(json.dumps(document))


@pytest.mark.thorough
def test_several_features_of_an_explained_column_are_of_that_column(tmp_path: Path) -> None:
    """Each set of categories that a test asks about is a feature of the ONNX file; the policy explains the column."""
    table = people(6, 600, gaps=True)
    policy_in(tmp_path, table, leaves="labels", encoding={"f7": {"column": "job"}})
    tree = TreeIR(
        feature=np.array([0, 1, LEAF, LEAF, 0, LEAF, LEAF]),
        threshold=np.array([math.nan, 30.0, math.nan, math.nan, math.nan, math.nan, math.nan]),
        low=np.array([1, 2, LEAF, LEAF, 5, LEAF, LEAF]),
        high=np.array([4, 3, LEAF, LEAF, 6, LEAF, LEAF]),
        values=np.eye(2)[[0, 0, 0, 1, 0, 1, 0]],
        subsets={0: frozenset({"nurse", "smith"}), 4: frozenset({"clerk"})},
    )
    model = ModelIR("made", ("f7", "age"), ILL, (tree,), "labels", discloses=())
    (tmp_path / "model").write_bytes(neutral_file(model))
    ended = leafgate("convert", tmp_path / "model", tmp_path / "new.onnx")
    assert ended.code == 0, ended.err
    assert len(read_foreign((tmp_path / "new.onnx").read_bytes(), "new").features) == 3
    session = open_session(tmp_path / "policy.yaml")
    answers = []
    for name in ("model", "new.onnx"):
        content = (tmp_path / name).read_bytes()
        encodings = {"f7": Encoding(column="job")}
        release = lower_model(read_foreign(content, name), session.table.schema, encodings, name).release
        answers.append(predict(release, session.table).tolist())
    assert answers[0] == answers[1]
    assert len(set(answers[0])) == 2


@pytest.mark.thorough
def test_a_model_over_codes_that_the_policy_explains_is_written_as_onnx(tmp_path: Path) -> None:
    table = people(4, 600, gaps=False)
    coded = table[:400].assign(job=table["job"].map(JOBS.index))
    boosted = LGBMClassifier(n_estimators=2, min_child_samples=5, min_data_per_group=2, n_jobs=1, verbose=-1)
    boosted.fit(coded[["job", "age"]], coded["ill"] == "yes", categorical_feature=["job"])
    boosted.booster_.save_model(tmp_path / "model.txt")
    jobs = {job: code for code, job in enumerate(JOBS)}
    codes = {"job": {"codes": jobs}, "ill": {"codes": {"no": 0, "yes": 1}}}
    policy = policy_in(tmp_path, table, leaves="counts", encoding=codes)
    change_limits(tmp_path, [{"use": "smallest_leaf", "groups": "each_tree", "at_least": 30}])
    ended = repaired(tmp_path, "model.txt", "new.onnx", "--only-cut")
    assert (ended.code, ended.err) == (0, "")
    content = (tmp_path / "new.onnx").read_bytes()
    assert any(name.endswith("looked up") for name in read_foreign(content, "new").features)
    session = open_session(policy)
    encodings = {name: Encoding(**each) for name, each in codes.items()}
    release = lower_model(read_foreign(content, "new"), session.table.schema, encodings, "new").release
    frame = session.table.frame.assign(job=session.table.frame["job"].map(jobs).astype(float))
    expected = np.array([["no", "yes"].index(release.classes[i]) for i in predict(release, session.table)])
    assert (answered_by_onnxruntime(content, frame).astype(int) == expected).all()


def test_a_format_that_cannot_hold_the_given_model_is_refused_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy_in(tmp_path, people(4, 300, gaps=False), leaves="labels")
    change_limits(tmp_path, [{"use": "k_anonymity", "at_least": 190}])
    tree = TreeIR(
        feature=np.array([0, LEAF, LEAF]),
        threshold=np.array([30.0, math.nan, math.nan]),
        low=np.array([1, LEAF, LEAF]),
        high=np.array([2, LEAF, LEAF]),
        values=np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]),
    )
    (tmp_path / "model.json").write_bytes(neutral_file(ModelIR("made", ("age",), ILL, (tree,), "labels", discloses=())))
    searched: list[str] = []
    monkeypatch.setattr("leafgate.commands.repair.ladder.Ladder.run", lambda plan: searched.append(plan.name))
    ended = repaired(tmp_path, "model.json", "new.onnx")
    assert ended.code == 2
    assert ended.err.startswith("leafgate: new.onnx: files that end so cannot hold the given model: ")
    assert "has a leaf that says no class" in ended.err
    assert "end the new file's name in .json)" in ended.err
    assert not searched
    assert not (tmp_path / "new.onnx").exists()
