from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import onnx_pipelines
from command_line import leafgate
from leafgate.policy.load import load_policy
from leafgate_scaffold.policy import first_policy
from onnx_pipelines import document_of, with_texts
from sklearn_pipelines import PIPELINES, as_frame, people
from sklearn_zoo import skops_bytes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """People as a CSV file whose last column is not the class."""
    features, target = as_frame(people(1, gaps=False), each=True)
    features.assign(rich=target, remark="none").to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("name", ["one-hot", "ordinal", "scaled", "nested"])
def test_init_writes_a_policy_that_audits_the_model(folder: Path, name: str) -> None:
    model = PIPELINES[name]().fit(*as_frame(people(1, gaps=False), each=True))
    (folder / "m.skops").write_bytes(skops_bytes(model))
    made = leafgate("init", folder / "people.csv", "--model", folder / "m.skops", "--out", folder / "p.yaml")
    assert made.code == 0
    policy = load_policy(folder / "p.yaml").policy
    assert "class" in policy.data.columns["rich"].role
    assert policy.publish is not None
    assert policy.publish.leaves == "counts"
    ended = leafgate("audit", folder / "p.yaml", "--json")
    assert ended.code == 1
    assert {"published_file", "file_disclosure", "k_anonymity@linking#rich"} <= {
        f["id"] for f in ended.document["findings"]
    }


def test_what_the_file_does_not_say_is_left_for_its_owner_to_check(folder: Path) -> None:
    features, target = as_frame(people(1, gaps=False), each=True)
    coded = features.assign(school=pd.Categorical(features["school"]).codes, job=(features["job"] == "y").astype(int))
    model = DecisionTreeClassifier(max_depth=5).fit(coded, np.where(target == "yes", 1, 0))
    (folder / "m.skops").write_bytes(skops_bytes(model))
    made = leafgate("init", folder / "people.csv", "--class", "rich", "--model", folder / "m.skops")
    assert made.code == 0
    assert '"school": {}' in made.out
    assert '"rich": {codes: {"no": 0, "yes": 1}}' in made.out


def test_columns_the_model_takes_as_values_get_values_though_they_are_numbers(folder: Path) -> None:
    features, target = as_frame(people(1, gaps=False), each=True)
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=["age"]).fit(features[["age"]], target)
    (folder / "m.skops").write_bytes(skops_bytes(model))
    assert leafgate("init", folder / "people.csv", "--model", folder / "m.skops", "--out", folder / "p.yaml").code == 0
    columns = load_policy(folder / "p.yaml").policy.data.columns
    assert columns["age"].values is not None
    assert columns["pay"].bounds is not None


def test_a_model_that_cannot_be_read_makes_no_policy(folder: Path) -> None:
    (folder / "m.skops").write_bytes(b"PK\x03\x04")
    assert leafgate("init", folder / "people.csv", "--model", folder / "m.skops", "--out", folder / "p.yaml").code == 2
    assert not (folder / "p.yaml").exists()


def test_an_onnx_pipeline_is_audited_and_scrubbed_under_the_tables_names(tmp_path: Path) -> None:
    """skl2onnx writes `pay_a_year` for `pay-a-year`."""
    features, target = as_frame(with_texts(people(1, gaps=False)), each=True)
    features = features.rename(columns={"pay": "pay-a-year"})
    features.assign(rich=target.astype(str)).to_csv(tmp_path / "people.csv", index=False)
    document = document_of(onnx_pipelines.PIPELINES["min and max"]().fit(features, target), features)
    (tmp_path / "m.onnx").write_bytes(document.SerializeToString())
    made = leafgate("init", tmp_path / "people.csv", "--model", tmp_path / "m.onnx", "--out", tmp_path / "p.yaml")
    assert made.code == 0
    assert "CHECK" not in (tmp_path / "p.yaml").read_text().partition("build:")[2]
    ended = leafgate("audit", tmp_path / "p.yaml", "--json")
    assert ended.code == 1
    assert not any("does not know" in note for note in ended.document["notes"])
    items = ("scrub", tmp_path / "m.onnx", tmp_path / "s.json", "--leaves", "labels")
    scrubbed = leafgate(*items, "--policy", tmp_path / "p.yaml")
    assert (scrubbed.code, "20,000 random points and all records" in scrubbed.out) == (0, True)


def test_a_question_mark_that_the_model_knows_is_a_value(tmp_path: Path) -> None:
    jobs = np.array(["nurse", "?", "cook"] * 40)
    ages = np.arange(120) % 60 + 20
    frame = pd.DataFrame({"age": ages, "job": jobs, "ill": np.where((jobs == "?") ^ (ages > 50), "yes", "no")})
    frame.to_csv(tmp_path / "people.csv", index=False)
    prepare = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = make_pipeline(prepare, DecisionTreeClassifier(max_depth=3)).fit(frame[["age", "job"]], frame["ill"])
    (tmp_path / "m.skops").write_bytes(skops_bytes(model))
    text = first_policy(tmp_path / "people.csv", "ill", None, tmp_path / "m.skops", tmp_path)
    assert '"job": {role: quasi_identifier, values: ["?", "cook", "nurse"]}' in text
    assert "missing:" not in text
    frame.assign(age=np.where(ages == 30, "?", ages)).to_csv(tmp_path / "people.csv", index=False)
    text = first_policy(tmp_path / "people.csv", "ill", None, tmp_path / "m.skops", tmp_path)
    assert 'missing: ["?"]' in text  # a number that is not there is none
