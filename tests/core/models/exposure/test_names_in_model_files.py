"""Lists of values in model files that name people: an audit with `file_disclosure` never passes them."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from command_line import Ended, leafgate
from installed_readers import neutral_file
from leafgate.readers import CategoryCodes
from sample_model import MODEL

N = 400
NAMES = [f"Jane Smith {i}" for i in range(N)]
TOWNS = ["east", "north", "south"]
COLUMNS: dict[str, Any] = {
    "name": {"role": "identifier"},
    "region": {"role": "ignored"},
    "age": {"role": "quasi_identifier", "bounds": [0, 120]},
    "town": {"role": "quasi_identifier", "values": TOWNS},
    "job": {"role": "private"},
    "state": {"role": ["class", "sensitive"], "values": ["ill", "well"]},
}


def people(jobs: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, town = rng.integers(20, 60, N), rng.choice(TOWNS, N)
    return pd.DataFrame(
        {
            "name": NAMES,
            "region": rng.choice(["r1", "r2"], N),
            "age": age.astype(float),
            "town": town,
            "job": [f"job {i % jobs}" for i in range(N)],
            "state": np.where(age > 40, "ill", "well"),
        }
    )


def audited(
    folder: Path,
    file: str,
    table: pd.DataFrame,
    *,
    declared: bool = False,
    bounds: Sequence[float] = (0, 120),
    **encoding: Any,
) -> Ended:
    """An audit that asks nothing but what the file discloses of single people."""
    table.to_csv(folder / "people.csv", index=False)
    jobs = {"job": COLUMNS["job"] | {"values": sorted(set(table["job"]))}} if declared else {}
    policy = {
        "leafgate": 1,
        "name": "names",
        "data": {"path": "people.csv", "columns": COLUMNS | jobs | {"age": COLUMNS["age"] | {"bounds": list(bounds)}}},
        "build": {"use": "published", "path": file, "encoding": encoding},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "file_disclosure", "at_most": 0}],
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    ended = leafgate("audit", folder / "policy.yaml", "--json")
    assert "Jane" not in ended.out + ended.err
    return ended


def high_disclosures(ended: Ended) -> list[str]:
    """What the file discloses, by kind, where that is high."""
    found = next(one for one in ended.document["findings"] if one["id"] == "published_file")
    return [one["kind"] for one in found["evidence"]["discloses"] if one["severity"] == "high"]


def fitted(columns: Sequence[str], encoder: Any, table: pd.DataFrame) -> Any:
    """A tree that asks for age and town alone; the columns' encoder stands beside, in a part without features."""
    prepare = make_column_transformer((encoder, list(columns)), ("passthrough", ["age"]))
    tree = DecisionTreeClassifier(max_depth=1, max_features=None, random_state=0)
    return make_pipeline(prepare, tree).fit(table[[*columns, "age"]], table["state"])


def onnx_file(folder: Path, columns: Sequence[str], encoder: Any, table: pd.DataFrame) -> str:
    pytest.importorskip("skl2onnx")
    from onnx_pipelines import document_of

    model = fitted(columns, encoder, table)
    file = folder / "model.onnx"
    file.write_bytes(document_of(model, table[[*columns, "age"]]).SerializeToString())
    return file.name


ENCODERS = [OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder()]


@pytest.mark.parametrize(("columns", "code"), [(["name"], 1), (["town", "name"], 1), (["region"], 0)])
def test_an_onnx_encoder_of_names_lists_people(tmp_path: Path, columns: list[str], code: int) -> None:
    """Of a dropped column whose every value many people have it names nobody."""
    table = people()
    ended = audited(tmp_path, onnx_file(tmp_path, columns, ENCODERS[0], table), table)
    assert ended.code == code
    assert ("people_listed" in high_disclosures(ended)) is (code == 1)


def test_an_onnx_encoder_of_declared_values_lists_nobody(tmp_path: Path) -> None:
    table = people()
    assert audited(tmp_path, onnx_file(tmp_path, ["town"], ENCODERS[0], table), table).code == 0


def test_values_that_the_policy_does_not_declare_list_people_whatever_the_column(tmp_path: Path) -> None:
    table = people()
    more = table.assign(town=np.where(np.arange(N) < 300, table["town"], NAMES))
    ended = audited(tmp_path, onnx_file(tmp_path, ["town"], ENCODERS[0], more), table)
    assert ended.code == 1
    assert "people_listed" in high_disclosures(ended)


@pytest.mark.parametrize(("jobs", "declared", "code"), [(5, False, 0), (300, False, 1), (300, True, 1), (5, True, 0)])
def test_a_list_of_values_of_a_few_people_lists_them_declared_or_not(
    tmp_path: Path, jobs: int, declared: bool, code: int
) -> None:
    table = people(jobs)
    ended = audited(tmp_path, onnx_file(tmp_path, ["job"], ENCODERS[0], table), table, declared=declared)
    assert ended.code == code
    assert ("people_listed" in high_disclosures(ended)) is (code == 1)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(("column", "listed"), [("name", True), ("region", False), ("town", False)])
def test_a_skops_encoder_of_names_lists_people(tmp_path: Path, encoder: Any, column: str, listed: bool) -> None:
    skops = pytest.importorskip("skops.io")
    table = people()
    skops.dump(fitted([column], encoder, table), tmp_path / "model.skops")
    assert ("people_listed" in high_disclosures(audited(tmp_path, "model.skops", table))) is listed


def test_a_skops_encoder_whose_columns_are_dropped_again_lists_people(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    table = people()
    model = fitted(["town"], OneHotEncoder(categories=[TOWNS]), table)
    transformer = model.steps[0][1].transformers[0][1]
    transformer.categories = [np.array(NAMES, dtype=object)]  # as it was asked for: no fitted part holds these
    skops.dump(model, tmp_path / "model.skops")
    assert "people_listed" in high_disclosures(audited(tmp_path, "model.skops", table))


def test_names_of_steps_and_settings_are_looked_at(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    table = people()
    model = fitted(["town"], ENCODERS[0], table)
    model.steps[0][1].transformers += [(name, "drop", []) for name in NAMES]
    skops.dump(model, tmp_path / "model.skops")
    assert "other_content" in high_disclosures(audited(tmp_path, "model.skops", table))


@pytest.mark.parametrize("digits", [2, -4])
def test_an_encoder_of_exact_incomes_lists_the_numbers_of_people(tmp_path: Path, digits: int) -> None:
    """Incomes to the cent belong to one person each, those rounded to ten thousand to many."""
    skops = pytest.importorskip("skops.io")
    incomes = np.round(np.random.default_rng(1).lognormal(10, 0.3, N), digits)
    rest = np.isin(incomes, [value for value, n in Counter(incomes.tolist()).items() if n >= 10])
    table = people().assign(age=incomes if digits > 0 else np.where(rest, incomes, 20_000))
    skops.dump(fitted(["town"], OneHotEncoder(), table), tmp_path / "model.skops")
    model = skops.load(tmp_path / "model.skops", trusted=skops.get_untrusted_types(file=tmp_path / "model.skops"))
    encoder = OrdinalEncoder().fit(table[["age"]])
    model.steps[0][1].transformers_.append(("ages", encoder, ["age"]))
    skops.dump(model, tmp_path / "model.skops")
    ended = audited(tmp_path, "model.skops", table, bounds=[0, 1e6])
    assert ("rare_numbers" in high_disclosures(ended)) is (digits > 0)


@pytest.mark.parametrize("names", [("imp", "sc", "oh"), ("my step", "rf-2", "Ages"), ("Jane Smith 7", "sc", "oh")])
def test_short_names_of_steps_are_no_content_of_people_unless_they_name_one(
    tmp_path: Path, names: Sequence[str]
) -> None:
    skops = pytest.importorskip("skops.io")
    table = people()
    prepare = ColumnTransformer([(names[0], OneHotEncoder(), ["town"]), (names[1], StandardScaler(), ["age"])])
    model = Pipeline([("prepare", prepare), (names[2], DecisionTreeClassifier(max_depth=1))])
    skops.dump(model.fit(table[["town", "age"]], table["state"]), tmp_path / "model.skops")
    found = high_disclosures(audited(tmp_path, "model.skops", table))
    assert "other_content" not in found
    assert ("people_listed" in found) is ("Jane Smith 7" in names)


DUMMIES = [f"name_{name}".replace(" ", "_") for name in NAMES]


def with_dummies(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    dummies = pd.DataFrame(np.eye(N, len(names)), columns=list(names))
    return pd.concat([table[["age"]], dummies], axis=1)


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        (DUMMIES, True),
        (DUMMIES[:1], True),
        ([f"town_{name}" for name in DUMMIES[:1]], True),
        ([name.removeprefix("name_") for name in DUMMIES], True),
        (["town_east", "town_north", "town_south"], False),
        (["region", "salary"], False),
    ],
)
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_dummies_of_dropped_columns_list_people(tmp_path: Path, library: str, names: list[str], listed: bool) -> None:
    module = pytest.importorskip(library)
    table = people()
    x, y = with_dummies(table, names), (table["state"] == "ill").astype(int)
    if library == "xgboost":
        data = module.DMatrix(x, label=y)
        module.train({"max_depth": 1, "objective": "binary:logistic"}, data, 1).save_model(tmp_path / "model.json")
    else:
        options = {"num_leaves": 2, "objective": "binary", "verbose": -1}
        module.train(options, module.Dataset(x, label=y), 1).save_model(tmp_path / "model.json")
    ended = audited(tmp_path, "model.json", table, state={"codes": {"well": 0, "ill": 1}})
    assert ("people_listed" in high_disclosures(ended)) is listed


@pytest.mark.parametrize(("column", "listed"), [("name", True), ("town", False)])
def test_categories_of_a_data_frame_that_nobody_asks_for_list_people(tmp_path: Path, column: str, listed: bool) -> None:
    xgboost = pytest.importorskip("xgboost")
    table = people()
    x = table[["age", column]].astype({column: "category"})
    data = xgboost.DMatrix(x, label=(table["state"] == "ill").astype(int), enable_categorical=True)
    xgboost.train({"max_depth": 1, "objective": "binary:logistic"}, data, 1).save_model(tmp_path / "model.json")
    ended = audited(tmp_path, "model.json", table, state={"codes": {"well": 0, "ill": 1}})
    if xgboost.__version__ >= "3.1":  # before, files have no categories
        assert ("people_listed" in high_disclosures(ended)) is listed


@pytest.mark.parametrize(("column", "listed"), [("name", True), ("town", False)])
def test_categories_at_the_end_of_a_lightgbm_file_list_people(tmp_path: Path, column: str, listed: bool) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    table = people()
    x = table[["age", column]].astype({column: "category"})
    data = lightgbm.Dataset(x, label=(table["state"] == "ill").astype(int))
    options = {"num_leaves": 2, "objective": "binary", "verbose": -1}
    lightgbm.train(options, data, 1).save_model(tmp_path / "model.txt")
    ended = audited(tmp_path, "model.txt", table, age={}, state={"codes": {"well": 0, "ill": 1}})
    assert ("people_listed" in high_disclosures(ended)) is listed


PMML = """<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><Header/><DataDictionary>
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="COLUMN" optype="categorical" dataType="string">VALUES</DataField>
<DataField name="state" optype="categorical" dataType="string"><Value value="ill"/><Value value="well"/></DataField>
</DataDictionary><TreeModel functionName="classification"><MiningSchema><MiningField name="age"/>
<MiningField name="COLUMN"/><MiningField name="state" usageType="target"/></MiningSchema>
<Node id="1" score="ill"><True/><Node id="2" score="ill"><SimplePredicate field="age" operator="lessThan" value="40"/>
</Node><Node id="3" score="well"><SimplePredicate field="age" operator="greaterOrEqual" value="40"/></Node></Node>
</TreeModel></PMML>"""


@pytest.mark.parametrize(("column", "values", "listed"), [("name", NAMES[:8], True), ("town", TOWNS, False)])
def test_values_of_a_field_in_pmml_list_people(tmp_path: Path, column: str, values: list[str], listed: bool) -> None:
    fields = "".join(f'<Value value="{value}"/>' for value in values)
    (tmp_path / "model.pmml").write_text(PMML.replace("COLUMN", column).replace("VALUES", fields))
    ended = audited(tmp_path, "model.pmml", people())
    assert ("people_listed" in high_disclosures(ended)) is listed


def test_codes_in_a_neutral_file_list_people(tmp_path: Path) -> None:
    origins = (
        CategoryCodes("age", {name: float(i) for i, name in enumerate(NAMES)}, 0.0),
        *[None] * (len(MODEL.features) - 1),
    )
    unasked = replace(
        MODEL,
        classes=("ill", "well"),
        features=("name", "age", *MODEL.features[2:]),
        trees=tuple(replace(tree, feature=np.where(tree.feature < 0, tree.feature, 1)) for tree in MODEL.trees),
        origins=origins,
    )
    (tmp_path / "model.json").write_bytes(neutral_file(unasked))
    assert "people_listed" in high_disclosures(audited(tmp_path, "model.json", people()))
