from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import onnx_pipelines
from command_line import leafgate
from generator.policies import first_policy
from leafgate.app import load_policy
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
@pytest.mark.thorough
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


@pytest.mark.parametrize("section", ["test", "control"])
@pytest.mark.thorough
def test_domains_hold_the_values_of_people_who_are_not_in_the_table(folder: Path, section: str) -> None:
    features, target = as_frame(people(2, gaps=False), each=True)
    new = pd.DataFrame({"age": [119], "school": ["evening"], "job": ["x"], "pay": [9_999_999], "rich": ["no"]})
    others = pd.concat([features.assign(rich=target), new]).assign(remark="none")
    others.to_csv(folder / "others.csv", index=False)
    model = PIPELINES["one-hot"]().fit(*as_frame(people(1, gaps=False), each=True))
    (folder / "m.skops").write_bytes(skops_bytes(model))
    words = ("--model", folder / "m.skops", f"--{section}", folder / "others.csv", "--out", folder / "p.yaml")
    assert leafgate("init", folder / "people.csv", *words).code == 0
    data = load_policy(folder / "p.yaml").policy.data
    assert getattr(data, section) == folder / "others.csv"
    assert "evening" in (data.columns["school"].values or ())
    assert data.columns["pay"].bounds is not None
    assert data.columns["pay"].bounds[1] > 9_999_999
    ended = leafgate("audit", folder / "p.yaml")
    assert (ended.code, ended.err) == (1, "")


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


@pytest.mark.thorough
def test_an_onnx_pipeline_is_audited_and_scrubbed_under_the_tables_names(tmp_path: Path) -> None:
    """skl2onnx writes `pay_a_year` for `pay-a-year`."""
    features, target = as_frame(with_texts(people(1, gaps=False)), each=True)
    features = features.rename(columns={"pay": "pay-a-year"})
    features.assign(rich=target.astype(str)).to_csv(tmp_path / "people.csv", index=False)
    document = document_of(onnx_pipelines.PIPELINES["min and max"]().fit(features, target), features)
    (tmp_path / "m.onnx").write_bytes(document.SerializeToString())
    made = leafgate("init", tmp_path / "people.csv", "--model", tmp_path / "m.onnx", "--out", tmp_path / "p.yaml")
    assert made.code == 0
    assert "CHECK" not in (tmp_path / "p.yaml").read_text().partition("build:")[2].partition("metrics:")[0]
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
    text = first_policy(tmp_path / "people.csv", "ill", model=tmp_path / "m.skops", folder=tmp_path)
    assert '"job": {role: quasi_identifier, values: ["?", "cook", "nurse"]}' in text
    assert "missing:" not in text
    frame.assign(age=np.where(ages == 30, "?", ages)).to_csv(tmp_path / "people.csv", index=False)
    text = first_policy(tmp_path / "people.csv", "ill", model=tmp_path / "m.skops", folder=tmp_path)
    assert 'missing: ["?"]' in text  # a number that is not there is none


def with_gaps() -> tuple[pd.DataFrame, pd.Series]:
    """People of whom 20 lack the age or the job, and whether each is ill."""
    rows = np.arange(200)
    ages = np.where(rows % 20 == 3, np.nan, 20.0 + rows % 50)
    jobs = pd.Series(np.where(rows % 3 == 0, "cook", "nurse")).where(rows % 20 != 7)
    ill = pd.Series(np.where((rows % 50 > 30) ^ (rows % 3 == 0), "yes", "no"), name="ill")
    return pd.DataFrame({"age": ages, "job": jobs}), ill


def one_hot_model() -> Pipeline:
    """A model that fills ages; its encoder of jobs has a category for missing ones where it was fitted on them."""
    prepare = make_column_transformer((OneHotEncoder(), ["job"]), (SimpleImputer(), ["age"]))
    return make_pipeline(prepare, DecisionTreeClassifier(max_depth=3, min_samples_leaf=12))


def boosted_model() -> Pipeline:
    prepare = make_column_transformer((OrdinalEncoder(), ["job"]), remainder="passthrough")
    return make_pipeline(prepare, HistGradientBoostingClassifier(max_iter=3))


@pytest.mark.parametrize("make", [one_hot_model, boosted_model])
@pytest.mark.parametrize("fitted_on_gaps", [True, False])
@pytest.mark.thorough
def test_people_with_missing_cells_are_kept_where_the_model_was_fitted_on_them(
    tmp_path: Path, make: Callable[[], Pipeline], fitted_on_gaps: bool
) -> None:
    rows, ill = with_gaps()
    rows.assign(ill=ill).to_csv(tmp_path / "people.csv", index=False)
    complete = rows.notna().all(axis=1)
    model = make().fit(rows, ill) if fitted_on_gaps else make().fit(rows[complete], ill[complete])
    (tmp_path / "m.skops").write_bytes(skops_bytes(model))
    made = leafgate("init", tmp_path / "people.csv", "--model", tmp_path / "m.skops", "--out", tmp_path / "p.yaml")
    assert made.code == 0
    assert load_policy(tmp_path / "p.yaml").policy.data.on_missing == ("keep" if fitted_on_gaps else "drop")
    ended = leafgate("audit", tmp_path / "p.yaml", "--json")
    assert "counted" not in {finding["id"] for finding in ended.document["findings"]}


def test_an_encoders_category_for_missing_cells_keeps_people_where_no_root_counts_them(tmp_path: Path) -> None:
    rows, ill = with_gaps()
    rows.assign(ill=ill).to_csv(tmp_path / "people.csv", index=False)
    prepare = make_column_transformer((OneHotEncoder(), ["job"]))
    model = make_pipeline(prepare, RandomForestClassifier(5, max_depth=2, random_state=0)).fit(rows[["job"]], ill)
    (tmp_path / "m.skops").write_bytes(skops_bytes(model))
    text = first_policy(tmp_path / "people.csv", model=tmp_path / "m.skops", folder=tmp_path)
    assert "on_missing: keep" in text


def test_people_with_missing_cells_are_kept_where_a_scrubbed_file_counts_nobody(tmp_path: Path) -> None:
    rows, ill = with_gaps()
    rows.assign(ill=ill).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "m.skops").write_bytes(skops_bytes(DecisionTreeClassifier(max_depth=3).fit(rows[["age"]], ill)))
    assert leafgate("scrub", tmp_path / "m.skops", tmp_path / "s.json", "--leaves", "labels").code == 0
    text = first_policy(tmp_path / "people.csv", "ill", model=tmp_path / "s.json", folder=tmp_path)
    assert "on_missing: keep" in text


def test_a_policy_that_leaves_out_people_of_the_model_says_how_many_and_what_to_do(tmp_path: Path) -> None:
    rows, ill = with_gaps()
    rows.assign(ill=ill).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "m.skops").write_bytes(skops_bytes(one_hot_model().fit(rows, ill)))
    policy = tmp_path / "p.yaml"
    leafgate("init", tmp_path / "people.csv", "--model", tmp_path / "m.skops", "--out", policy)
    policy.write_text(policy.read_text().replace("on_missing: keep", "on_missing: drop"))
    ended = leafgate("audit", policy)
    assert "people left out for missing cells, whom the file may count: 20 to 29" in ended.out
    assert "what to do: Audit the people with missing cells too" in ended.out


@pytest.mark.parametrize(("position", "classes"), [(0, ("0", "1")), (2, ("no", "yes")), (6, ("no", "yes"))])
@pytest.mark.thorough
def test_features_without_names_are_placed_by_their_positions(
    tmp_path: Path, position: int, classes: tuple[str, str]
) -> None:
    """The class is not one of the other columns of two values, wherever it stands."""
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    size = 800
    features = pd.DataFrame(
        {
            "age": rng.integers(29, 78, size),
            "sex": rng.integers(0, 2, size),
            "pressure": rng.integers(90, 200, size),
            "sugar": rng.integers(0, 2, size),
            "rate": rng.integers(70, 200, size),
            "angina": rng.integers(0, 2, size),
        }
    )
    ill = (features["age"] / 70 + features["angina"] + rng.normal(size=size) * 0.4 > 1.3).astype(int)
    data = xgboost.DMatrix(features.to_numpy(), label=ill)
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 3, "nthread": 1}, data, 4)
    booster.save_model(tmp_path / "m.json")
    features.insert(position, "ill", np.array(classes)[ill])
    features.to_csv(tmp_path / "people.csv", index=False)
    made = leafgate("init", tmp_path / "people.csv", "--model", tmp_path / "m.json", "--out", tmp_path / "p.yaml")
    assert made.code == 0
    policy = load_policy(tmp_path / "p.yaml").policy
    assert [name for name, spec in policy.data.columns.items() if "class" in spec.role] == ["ill"]
    text = (tmp_path / "p.yaml").read_text()
    for i, name in enumerate(name for name in features.columns if name != "ill"):
        assert (f'"f{i}": {{column: "{name}"}}' in text) == (f"f{i}" in booster.get_score())
    ended = leafgate("audit", tmp_path / "p.yaml", "--json")
    assert ended.code == 1  # it is of these people, and its file discloses them
    assert "which no tree asks about" not in ended.out
