"""Folders that MLflow saved are audited as a whole: the model in them, and what the other files disclose."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier

import leafgate
from command_line import leafgate as command
from installed_readers import read_foreign
from leafgate import ReleaseError
from leafgate.api import InvalidError
from leafgate.folders import content_digest, folder_files, pack_folder
from leafgate.models.reader import model_bytes
from leafgate.readers import ModelIR
from producer_archive import archives_in, case_of

AGES = np.arange(400) % 60 + 20
PEOPLE = pd.DataFrame({"age": AGES, "ward": np.arange(400) // 100})
ILL = np.where((AGES > 50) & (PEOPLE["ward"] < 2), "yes", "no")
EXAMPLE = '{"columns": ["age", "ward"], "data": [[20, 0], [21, 0]]}'
MLMODEL = """
flavors:
  python_function:
    env: {conda: conda.yaml, virtualenv: python_env.yaml}
    loader_module: mlflow.sklearn
    model_path: model.skops
    predict_fn: predict
    python_version: 3.12.1
  sklearn:
    code: null
    pickled_model: model.skops
    serialization_format: skops
    sklearn_version: 1.9.1
    skops_trusted_types: [sklearn.tree._tree.Tree]
mlflow_version: 3.17.2
model_id: null
model_uuid: 0d0095bae98a4bf0bdec2bde55306c74
saved_input_example_info:
  artifact_path: input_example.json
  pandas_orient: split
  serving_input_path: serving_input_example.json
  type: dataframe
signature:
  inputs: '[{"type": "long", "name": "age", "required": true}, {"type": "long", "name": "ward", "required": true}]'
  outputs: '[{"type": "string", "required": true}]'
  params: null
utc_time_created: '2026-11-27 01:24:46.060774'
"""
"""As MLflow 3.17 writes it."""


def model() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=2, min_samples_leaf=30).fit(PEOPLE, ILL)


def folder_in(parent: Path, **others: str) -> Path:
    """The folder of a decision tree; `others` are more files by their names, with `_` for dots."""
    folder = parent / "model"
    folder.mkdir()
    (folder / "MLmodel").write_text(MLMODEL)
    (folder / "requirements.txt").write_text("mlflow==3.17.2\nscikit-learn==1.9.1\nskops==0.16.0")
    (folder / "python_env.yaml").write_text("python: 3.12.1\nbuild_dependencies:\n- pip==23.2.1\n- setuptools\n")
    skops.io.dump(model(), folder / "model.skops")
    for name, text in others.items():
        (folder / name.replace("_json", ".json").replace("_csv", ".csv")).write_text(text)
    return folder


def read(folder: Path) -> ModelIR:
    return read_foreign(model_bytes(folder), folder.name)


def disclosed(folder: Path) -> dict[str, str]:
    return {item.kind: item.severity for item in read(folder).discloses}


def listed_digest(folder: Path) -> str:
    """The digest of what `sha256sum` prints of the folder's files, sorted by path."""
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def table_in(parent: Path) -> Path:
    path = parent / "people.csv"
    PEOPLE.assign(ill=ILL).to_csv(path, index=False)
    return path


def test_the_model_of_a_folder_is_that_of_its_own_file(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    own, whole = read_foreign((folder / "model.skops").read_bytes(), "m"), read(folder)
    assert (whole.features, whole.classes, whole.producer) == (own.features, own.classes, own.producer)
    assert np.array_equal(whole.trees[0].threshold, own.trees[0].threshold, equal_nan=True)
    assert np.array_equal(whole.trees[0].values, own.trees[0].values)
    assert {item.kind for item in whole.discloses} - {item.kind for item in own.discloses} == {"settings", "time"}


MADE = archives_in(Path(__file__).parent / "mlflow" / "producers")[-1]


@pytest.mark.parametrize("name", MADE.models)
def test_a_folder_that_mlflow_wrote_is_its_own_file_and_nothing_unknown(name: str, tmp_path: Path) -> None:
    case = case_of(name)
    for path, content in MADE.files.items():
        if path.startswith(f"{case}/"):
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(content)
    own, whole = read_foreign(MADE.models[name], name), read(tmp_path / case)
    assert (whole.features, whole.classes, len(whole.trees)) == (own.features, own.classes, len(own.trees))
    for one, other in zip(whole.trees, own.trees, strict=True):
        assert np.array_equal(one.values, other.values, equal_nan=True)
    assert {item.kind for item in whole.discloses} - {item.kind for item in own.discloses} <= {"settings", "time"}


def test_examples_of_a_folder_are_rows_that_it_discloses(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    assert "training_rows" not in disclosed(folder)
    (folder / "input_example.json").write_text(EXAMPLE)
    assert disclosed(folder)["training_rows"] == "high"
    (folder / "input_example.json").rename(folder / "example.json")
    (folder / "MLmodel").write_text(MLMODEL.replace("artifact_path: input_example.json", "artifact_path: example.json"))
    assert disclosed(folder)["training_rows"] == "high"


def test_what_mlflow_does_not_write_into_a_folder_is_other_content(tmp_path: Path) -> None:
    folder = folder_in(tmp_path, notes_csv="name,age\nAnna,41\n")
    says = next(item.says for item in read(folder).discloses if item.kind == "other_content")
    assert "a file that is no part of the model" in says
    assert "notes" not in says
    (folder / "notes.csv").unlink()
    for name, text in (
        ("MLmodel", MLMODEL + "metadata: {people: [Anna, Bert]}\n"),
        ("MLmodel", MLMODEL + "author: Anna Berg\n"),
        ("MLmodel", MLMODEL.replace("    code: null", "    notes: Anna Berg")),
        ("requirements.txt", "mlflow==3.17.2\n# Anna Berg, 41 years old, lives in the north ward\n"),
    ):
        before = (folder / name).read_text()
        assert "other_content" not in disclosed(folder)
        (folder / name).write_text(text)
        assert "other_content" in disclosed(folder), text
        (folder / name).write_text(before)


def test_copies_of_a_registry_are_no_other_content(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    (folder / "metadata").mkdir()
    for name in ("MLmodel", "requirements.txt"):
        shutil.copy(folder / name, folder / "metadata" / name)
    assert "other_content" not in disclosed(folder)
    (folder / "metadata" / "requirements.txt").write_text("Anna Berg")
    assert disclosed(folder)["other_content"] == "high"


def test_a_folder_with_a_pickle_is_refused_with_what_to_save_instead(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    (folder / "model.skops").unlink()
    (folder / "MLmodel").write_text(MLMODEL.replace("model.skops", "model.pkl"))
    (folder / "model.pkl").write_bytes(pickle.dumps(model()))
    with pytest.raises(ReleaseError, match=r"model/model\.pkl: is a pickle, which runs.*skops\.io\.dump"):
        read(folder)
    data = table_in(tmp_path)
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    ended = command("validate", policy)
    assert (ended.code, "model/model.pkl: is a pickle" in ended.err) == (2, True)
    assert command("init", data, "--model", folder, "--out", tmp_path / "new.yaml").code == 2


def test_a_pickle_beside_the_model_is_refused_too(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    (folder / "code").mkdir()
    (folder / "code" / "helper.bin").write_bytes(pickle.dumps([1.0, 2.0]))
    with pytest.raises(ReleaseError, match=r"model/code/helper\.bin: is a pickle"):
        read(folder)


POLICY = """
leafgate: 1
name: folder
data:
  path: people.csv
  columns:
    age: {role: quasi_identifier, bounds: [0, 100]}
    ward: {role: quasi_identifier, bounds: [0, 3]}
    ill: {role: [class, sensitive], values: ["no", "yes"]}
build: {use: published, path: model}
publish: {leaves: counts}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, at_least: 20}, {use: file_disclosure, at_most: 1}]
"""


def test_flavors_that_are_not_read_are_refused_by_their_names(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    (folder / "MLmodel").write_text("flavors: {python_function: {}, pytorch: {data: model.skops}}\n")
    with pytest.raises(ReleaseError, match=r"a flavor that is not read: python_function, pytorch.*read: sklearn, xgb"):
        read(folder)
    (folder / "MLmodel").write_text(MLMODEL.replace("pickled_model: model.skops", "pickled_model: ../people.csv"))
    with pytest.raises(ReleaseError, match="does not name one file of the folder"):
        read(folder)


def test_a_folder_with_a_link_is_refused(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    table_in(tmp_path)
    (folder / "rows.csv").symlink_to(tmp_path / "people.csv")
    with pytest.raises(ReleaseError, match="holds a link"):
        read(folder)


def test_a_folder_is_audited_by_the_digest_of_all_its_files(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    table_in(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)

    def audited() -> tuple[int, dict[str, Any]]:
        ended = command("audit", tmp_path / "policy.yaml", "--out", tmp_path / "out")
        return ended.code, json.loads((tmp_path / "out" / "report.json").read_text())

    code, report = audited()
    assert (code, report["verdict"]) == (0, "pass")
    assert report["release"]["file"] == {"name": "model", "format": "mlflow", "sha256": listed_digest(folder)}
    policy_digest = report["policy"]["sha256"]
    (folder / "input_example.json").write_text(EXAMPLE)
    code, report = audited()
    assert (code, report["verdict"]) == (1, "fail")
    assert report["release"]["file"]["sha256"] == listed_digest(folder)
    assert report["policy"]["sha256"] != policy_digest
    found = {each["id"]: each for each in report["findings"]}
    assert "rows that the model was given as an example" in json.dumps(found["file_disclosure"])
    assert command("report", tmp_path / "out" / "report.json", "--expect-file", folder).code == 1
    (folder / "input_example.json").unlink()
    ended = command("report", tmp_path / "out" / "report.json", "--expect-file", folder)
    assert (ended.code, "is of another" in ended.err) == (2, True)


@pytest.mark.thorough
def test_commands_take_a_folder_as_they_take_a_file(tmp_path: Path) -> None:
    folder, data = folder_in(tmp_path, input_example_json=EXAMPLE), table_in(tmp_path)
    policy = tmp_path / "policy.yaml"
    assert command("init", data, "--model", folder, "--out", policy).code == 0
    assert 'path: "model"' in policy.read_text()
    assert "# The file discloses, beyond its predictions, high: rows that the model was given" in policy.read_text()
    assert command("validate", policy).code == 0
    scrubbed, converted, written = tmp_path / "scrubbed.json", tmp_path / "converted.json", tmp_path / "new.skops"
    assert command("scrub", folder, scrubbed, "--leaves", "shares", "--policy", policy).code == 0
    assert command("convert", folder, converted).code == 0
    assert "training_rows" not in scrubbed.read_text()
    ended = command("convert", folder, written)
    assert (ended.code, "needs the skops file of the model" in ended.err) == (2, True)
    repaired = tmp_path / "repaired.json"
    assert command("repair", folder, "--policy", policy, "--out", repaired).code in {0, 1}


def test_a_folder_in_memory_is_audited_and_written_as_a_folder(tmp_path: Path) -> None:
    folder = folder_in(tmp_path, input_example_json=EXAMPLE)
    audit = leafgate.audit(folder, PEOPLE, ILL, limits={"k_anonymity": 5}, search_remedies=False)
    assert audit.artifact is not None
    assert audit.artifact.provenance.audited_file is not None
    assert audit.artifact.provenance.audited_file.sha256 == listed_digest(folder)
    audit.to_policy(tmp_path / "files")
    assert listed_digest(tmp_path / "files" / "model") == listed_digest(folder)
    assert command("audit", tmp_path / "files" / "policy.yaml").code == (0 if audit.passed else 1)


def test_bytes_that_were_put_together_otherwise_are_no_folder() -> None:
    packed = pack_folder({"MLmodel": b"a", "b": b"c"})
    assert folder_files(packed) == {"MLmodel": b"a", "b": b"c"}
    for other in (packed + b"d", packed[:-1], packed.replace(b'["b", 1]', b'["b",  1]'), packed.replace(b"1]", b"-1]")):
        assert folder_files(other) is None
        assert content_digest(other) == hashlib.sha256(other).hexdigest()
        with pytest.raises(InvalidError):
            read_foreign(other, "model")


def test_a_folder_within_a_folder_is_no_model(tmp_path: Path) -> None:
    packed = model_bytes(folder_in(tmp_path))
    files = {"MLmodel": MLMODEL.encode(), "model.skops": packed}
    with pytest.raises(ReleaseError, match="no model of a format that is known here"):
        read_foreign(pack_folder(files), "model")


SAVE = """
import os, sys, warnings
warnings.filterwarnings("ignore")
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
import mlflow.sklearn, mlflow.xgboost, mlflow.lightgbm
import lightgbm, xgboost, numpy as np, pandas as pd
from sklearn.tree import DecisionTreeClassifier
X = pd.DataFrame({"age": np.arange(400) % 60 + 20, "ward": np.arange(400) // 100})
y = ((X["age"] > 50) & (X["ward"] < 2)).astype(int)
given = {"input_example": X.head(3), "pip_requirements": ["mlflow"]}
tree, forest = DecisionTreeClassifier(max_depth=2).fit(X, y), lightgbm.LGBMClassifier(n_estimators=2, verbose=-1)
mlflow.sklearn.save_model(tree, "sklearn", skops_trusted_types=["sklearn.tree._tree.Tree"], **given)
mlflow.sklearn.save_model(tree, "pickle", serialization_format="cloudpickle", **given)
mlflow.xgboost.save_model(xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, y), "xgboost", **given)
mlflow.lightgbm.save_model(forest.fit(X, y), "lightgbm", **given)
mlflow.lightgbm.save_model(forest.booster_, "booster", **given)
"""


@pytest.mark.thorough
@pytest.mark.skipif(find_spec("mlflow") is None, reason="mlflow-skinny is not installed")
def test_folders_that_mlflow_saves_are_read_without_other_content(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SAVE], cwd=tmp_path, check=True, capture_output=True)
    producers = {"sklearn": "scikit-learn", "xgboost": "XGBoost", "lightgbm": "LightGBM", "booster": "LightGBM"}
    for name, producer in producers.items():
        found = read(tmp_path / name)
        assert found.producer.startswith(producer)
        assert found.features == ("age", "ward")
        kinds = {item.kind for item in found.discloses}
        assert ("training_rows" in kinds, "other_content" in kinds) == (True, False), name
        assert content_digest(model_bytes(tmp_path / name)) == listed_digest(tmp_path / name)
    with pytest.raises(ReleaseError, match=r"model\.pkl: is a pickle"):
        read(tmp_path / "pickle")


def test_the_command_of_the_page_prints_the_digest(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "reports.md").read_text()
    command_line = next(line for line in page.splitlines() if line.startswith("find . -type f"))
    folder = folder_in(tmp_path, input_example_json=EXAMPLE)
    (folder / "code").mkdir()
    (folder / "code" / "a b.py").write_text("print()\n")
    (folder / ".hidden").write_text("")
    (folder / "Zeta.txt").write_text("z")
    ended = subprocess.run(command_line, shell=True, cwd=folder, check=True, capture_output=True, text=True)
    assert ended.stdout.split()[0] == content_digest(model_bytes(folder)) == listed_digest(folder)
