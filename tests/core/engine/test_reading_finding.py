"""The finding `reading`: by what it is known that a model's file is read as it predicts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from leafgate.app import document, open_session
from pmml_of import pmml_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
PEOPLE = 300
OTHER = {"no": "yes", "yes": "no"}
POLICY: dict[str, Any] = {
    "leafgate": 1,
    "name": "model",
    "data": {
        "path": "people.csv",
        "columns": {
            "age": {"role": "quasi_identifier", "bounds": [0, 120]},
            "visits": {"role": "quasi_identifier", "bounds": [0, 20]},
            "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
        },
    },
    "publish": {"leaves": "counts"},
    "attacks": [{"use": "linking"}],
    "metrics": [{"use": "k_anonymity", "at_least": 2}],
}


def people() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.integers(18, 90, PEOPLE), "visits": rng.integers(0, 9, PEOPLE)}).astype(float)
    ill = table["age"] / 30 + table["visits"] / 4 + rng.normal(size=PEOPLE) > 3.2
    return table, np.where(ill, "yes", "no")


def boosted() -> xgboost.XGBClassifier:
    table, ill = people()
    return xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1).fit(table, ill == "yes")


def xgboost_file(folder: Path, change: Callable[[dict[str, Any]], None] = lambda _: None) -> Path:
    """A file of XGBoost whose document was changed."""
    content = json.loads(bytes(boosted().get_booster().save_raw(raw_format="json")))
    change(content)
    (folder / "model.json").write_text(json.dumps(content))
    return folder / "model.json"


CODES = {"encoding": {"ill": {"codes": {"no": 0, "yes": 1}}}}


def reading(folder: Path, build: Mapping[str, Any]) -> dict[str, Any]:
    """The finding of an audit, for its auditor."""
    table, ill = people()
    table.assign(ill=ill).to_csv(folder / "people.csv", index=False)
    policy = folder / "policy.yaml"
    policy.write_text(json.dumps({**POLICY, "build": {"use": "published", **build}}))
    report = document(open_session(policy).audit().report, "auditor")
    (found,) = [finding for finding in report["findings"] if finding["id"] == "reading"]
    assert report["verdict"] != "pass" or found["passed"]
    return {"passed": found["passed"], **found["evidence"], "remedies": found.get("remedies", [])}


def answers(folder: Path, scores: np.ndarray, rows: slice = slice(None), **more: Any) -> dict[str, str]:
    """A witness with these scores of the class `yes`, for some rows of the table."""
    table, _ = people()
    table.assign(yes=scores, **more)[rows].to_csv(folder / "answers.csv", index=False)
    return {"witness": "answers.csv"}


def true_scores() -> np.ndarray:
    return np.asarray(boosted().predict_proba(people()[0])[:, 1])


def test_exact_counts_that_are_the_tables_show_that_a_tree_was_read_right(tmp_path: Path) -> None:
    table, ill = people()
    skops.io.dump(DecisionTreeClassifier(max_depth=3).fit(table, ill), tmp_path / "model.skops")
    found = reading(tmp_path, {"path": "model.skops"})
    assert (found["passed"], "numbers of people of each class" in found["reason"]) == (True, True)


def test_files_of_a_version_that_tests_read_need_no_witness(tmp_path: Path) -> None:
    xgboost_file(tmp_path, lambda content: content.update(version=[3, 2, 0]))
    found = reading(tmp_path, {"path": "model.json", **CODES})
    assert (found["passed"], "this program and version" in found["reason"]) == (True, True)


def test_a_new_version_with_known_keys_alone_passes_with_a_note(tmp_path: Path) -> None:
    xgboost_file(tmp_path, lambda content: content.update(version=[9, 1, 0]))
    found = reading(tmp_path, {"path": "model.json", **CODES})
    assert (found["passed"], "other versions of this program" in found["reason"]) == (True, True)


SWAPPED = {"age": {"column": "visits"}, "visits": {"column": "age"}}
"""All visits are fewer than all ages: everybody comes to the same leaves."""


@pytest.mark.parametrize("wrong", [SWAPPED, {"ill": {"codes": {"no": 1, "yes": 0}}}], ids=["columns", "classes"])
def test_boosting_of_other_columns_or_classes_predicts_no_better_than_chance(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    xgboost_file(tmp_path, lambda content: content.update(version=[3, 2, 0]))
    found = reading(tmp_path, {"path": "model.json", "encoding": {**CODES["encoding"], **wrong}})
    assert (found["passed"], "no better than chance" in found["problem"]) == (None, True)


@pytest.mark.parametrize(
    ("column", "unit", "is_right"), [("first", 1, True), ("second", 1, False), ("first", 900, False)]
)
def test_labels_alone_that_were_learned_from_another_column_or_in_another_unit_are_no_better_than_chance(
    tmp_path: Path, column: str, unit: int, is_right: bool
) -> None:
    rng = np.random.default_rng(1)
    first, second = rng.permutation(PEOPLE), rng.permutation(PEOPLE)
    ill = np.where((first < PEOPLE / 2) ^ (rng.random(PEOPLE) < 0.2), "yes", "no")
    model = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(first[:, None], ill)
    skops.io.dump(model, tmp_path / "model.skops")
    made = leafgate("scrub", tmp_path / "model.skops", tmp_path / "model.json", "--leaves", "labels")
    assert made.code == 0, made.err
    pd.DataFrame({"first": first / unit, "second": second, "ill": ill}).to_csv(tmp_path / "people.csv", index=False)
    number = {"role": "quasi_identifier", "bounds": [0, PEOPLE]}
    columns = {"first": number, "second": number, "ill": POLICY["data"]["columns"]["ill"]}
    build = {"use": "published", "path": "model.json", "encoding": {"x0": {"column": column}}}
    policy = {**POLICY, "data": {"path": "people.csv", "columns": columns}, "build": build}
    (tmp_path / "policy.yaml").write_text(json.dumps({**policy, "publish": {"leaves": "labels"}}))
    found = leafgate("audit", tmp_path / "policy.yaml", "--json").document["findings"]
    assert [each["passed"] for each in found if each["id"] == "reading"] == [True if is_right else None]


def unknown_key(content: dict[str, Any]) -> None:
    content["learner"]["objective"]["link"] = "probit"


def test_an_unknown_key_is_inconclusive_until_a_witness_agrees(tmp_path: Path) -> None:
    xgboost_file(tmp_path, unknown_key)
    found = reading(tmp_path, {"path": "model.json", **CODES})
    assert (found["passed"], found["reason_in_full"]) == (None, "they are learner.objective.link")
    assert "build: {witness: answers.csv}" in found["remedies"][0]["text"]
    witness = answers(tmp_path, true_scores())
    assert reading(tmp_path, {"path": "model.json", **CODES, **witness})["passed"] is True


def test_a_program_that_no_test_has_met_is_inconclusive_until_a_witness_agrees(tmp_path: Path) -> None:
    model, build = onnx_of_nobody(tmp_path)
    found = reading(tmp_path, build)
    assert (found["passed"], "its program is none" in found["problem"]) == (None, True)
    found = reading(tmp_path, {**build, **answers(tmp_path, model.predict_proba(people()[0].to_numpy())[:, 1])})
    assert (found["passed"], found["reason_in_full"]) == (True, "300 rows of answers.csv were compared")


def onnx_of_nobody(folder: Path) -> tuple[Any, dict[str, Any]]:
    """A file of a program that no test has met, whose leaves have shares: the model, and what a policy says of it."""
    skl2onnx = pytest.importorskip("skl2onnx")
    table, ill = people()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(table.to_numpy(), ill)
    exported = skl2onnx.to_onnx(model, table.to_numpy()[:1], options={"zipmap": False})
    exported.producer_name = "onnx"
    (folder / "model.onnx").write_bytes(exported.SerializeToString())
    return model, {"path": "model.onnx", "encoding": {"x0": {"column": "age"}, "x1": {"column": "visits"}}}


def test_predicted_classes_alone_show_no_scores_of_an_unknown_program(tmp_path: Path) -> None:
    model, build = onnx_of_nobody(tmp_path)
    table, _ = people()
    table.assign(prediction=model.predict(table.to_numpy())).to_csv(tmp_path / "answers.csv", index=False)
    found = reading(tmp_path, {**build, "witness": "answers.csv"})
    assert (found["passed"], "predicted classes alone" in found["problem"]) == (None, True)


def test_rows_without_an_answer_reach_no_leaf(tmp_path: Path) -> None:
    model, build = onnx_of_nobody(tmp_path)
    scores = model.predict_proba(people()[0].to_numpy())[:, 1]
    scores[3:] = np.nan
    found = reading(tmp_path, {**build, **answers(tmp_path, scores)})
    assert (found["passed"], "no row of the witness comes to" in found["problem"]) == (None, True)
    found = reading(tmp_path, {**build, **answers(tmp_path, np.full(PEOPLE, np.nan))})
    assert (found["passed"], "has no answers" in found["problem"]) == (None, True)


def test_a_new_version_with_unknown_content_is_inconclusive(tmp_path: Path) -> None:
    def newer(content: dict[str, Any]) -> None:
        content["version"] = [9, 1, 0]
        content["learner"]["attributes"]["note"] = "Jane"

    xgboost_file(tmp_path, newer)
    found = reading(tmp_path, {"path": "model.json", **CODES})
    assert (found["passed"], "it has unknown content" in found["problem"]) == (None, True)
    assert reading(tmp_path, {"path": "model.json", **CODES, **answers(tmp_path, true_scores())})["passed"] is True


@pytest.mark.parametrize("label", ["most", "fewest"])
def test_counts_decide_what_a_leaf_predicts_where_most_have_its_label(tmp_path: Path, label: str) -> None:
    table, ill = people()
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(table.to_numpy(), ill)
    content = pmml_of(model, ["age", "visits"], "ill", ["no", "yes"]).decode()
    if label == "fewest":
        content = re.sub('Node score="(no|yes)"', lambda node: f'Node score="{OTHER[node[1]]}"', content)
    (tmp_path / "model.pmml").write_text(content)
    found = reading(tmp_path, {"path": "model.pmml"})
    decided = "numbers of people of each class" in found.get("reason", "")
    assert (found["passed"], decided) == ((True, True) if label == "most" else (None, False))


def other_base(content: dict[str, Any]) -> None:
    parameters = content["learner"]["learner_model_param"]
    parameters["base_score"] = "[7.5E-1]" if parameters["base_score"].startswith("[") else "7.5E-1"


def other_leaf(content: dict[str, Any]) -> None:
    tree = content["learner"]["gradient_booster"]["model"]["trees"][-1]
    leaf = tree["left_children"].index(-1)
    tree["split_conditions"][leaf] += 0.01


@pytest.mark.parametrize("change", [other_base, other_leaf])
def test_a_file_that_predicts_otherwise_than_its_witness_is_inconclusive(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    xgboost_file(tmp_path, change)
    found = reading(tmp_path, {"path": "model.json", **CODES, **answers(tmp_path, true_scores())})
    assert (found["passed"], "first in its row " in found["problem"]) == (None, True)


def test_the_first_row_that_differs_is_named(tmp_path: Path) -> None:
    xgboost_file(tmp_path)
    scores = true_scores()
    scores[[17, 40]] += 0.01
    found = reading(tmp_path, {"path": "model.json", **CODES, **answers(tmp_path, scores)})
    assert found["problem"].endswith("first in its row 18")


def test_a_contradiction_cannot_be_waived(tmp_path: Path) -> None:
    xgboost_file(tmp_path, other_base)
    build = {"use": "published", "path": "model.json", **CODES, **answers(tmp_path, true_scores())}
    table, ill = people()
    table.assign(ill=ill).to_csv(tmp_path / "people.csv", index=False)
    policy = tmp_path / "policy.yaml"
    policy.write_text(json.dumps({**POLICY, "build": build}))
    artifact = open_session(policy).audit().artifact
    assert artifact is not None
    waiver = {
        **{"id": "W1", "finding": "reading", "release": artifact.sha256, "reason": "it is late", "owner": "somebody"},
        **{"approved_by": "somebody else", "issued": "2026-05-01", "expires": "2026-07-01"},
    }
    policy.write_text(json.dumps({**POLICY, "build": build, "waivers": [waiver]}))
    report = open_session(policy).audit(date(2026, 6, 1)).report
    assert (report.verdict, report.waivers[0]["status"]) == ("inconclusive", "not_waivable")


@pytest.mark.parametrize(
    ("witness", "problem"),
    [
        ({"rows": slice(3)}, "people of the table come to leaves of some tree which no row of the witness comes to"),
        ({"age": "old"}, "the witness cannot be used: answers.csv, column 'age'"),
        ({"yes": "high"}, "row 1 has no number in 'yes'"),
        ({"prediction": "perhaps"}, "row 1 has no class of the model in 'prediction'"),
    ],
)
def test_a_witness_that_shows_nothing_is_inconclusive(tmp_path: Path, witness: Mapping[str, Any], problem: str) -> None:
    xgboost_file(tmp_path)
    given = answers(tmp_path, true_scores(), witness.get("rows", slice(None)))
    table = pd.read_csv(tmp_path / "answers.csv")
    table.assign(**{key: value for key, value in witness.items() if key != "rows"}).to_csv(
        tmp_path / "answers.csv", index=False
    )
    found = reading(tmp_path, {"path": "model.json", **CODES, **given})
    assert (found["passed"], problem in found["problem"]) == (None, True)


@pytest.mark.parametrize("lacking", [["age"], ["yes"]])
def test_a_witness_without_a_column_says_which(tmp_path: Path, lacking: list[str]) -> None:
    xgboost_file(tmp_path)
    given = answers(tmp_path, true_scores())
    pd.read_csv(tmp_path / "answers.csv").drop(columns=lacking).to_csv(tmp_path / "answers.csv", index=False)
    found = reading(tmp_path, {"path": "model.json", **CODES, **given})
    assert "has no column 'age'" in found["problem"] if lacking == ["age"] else "has no answers" in found["problem"]


def test_predicted_classes_alone_are_compared_too(tmp_path: Path) -> None:
    xgboost_file(tmp_path)
    table, _ = people()
    labels = boosted().predict(table)
    table.assign(prediction=labels).to_csv(tmp_path / "answers.csv", index=False)  # by the model's own names, 0 and 1
    build = {"path": "model.json", **CODES, "witness": "answers.csv"}
    assert reading(tmp_path, build)["passed"] is True
    table.assign(prediction=np.where(labels, "yes", "no")).to_csv(tmp_path / "answers.csv", index=False)
    assert reading(tmp_path, build)["passed"] is True
    table.assign(prediction=1 - labels).to_csv(tmp_path / "answers.csv", index=False)
    assert reading(tmp_path, build)["passed"] is None


def test_predicted_numbers_are_compared(tmp_path: Path) -> None:
    table, _ = people()
    number = table["age"] * 100 + table["visits"]
    model = lightgbm.LGBMRegressor(n_estimators=5, num_leaves=4, verbose=-1, n_jobs=1).fit(table, number)
    model.booster_.save_model(tmp_path / "model.txt")
    table.assign(bill=number).to_csv(tmp_path / "people.csv", index=False)
    columns = {**POLICY["data"]["columns"], "bill": {"role": ["class", "sensitive"], "bins": [0, 3000, 6000, 20000]}}
    del columns["ill"]
    build = {"use": "published", "path": "model.txt", "witness": "answers.csv"}
    policy = {**POLICY, "data": {"path": "people.csv", "columns": columns}, "build": build}
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    predicted = np.asarray(model.predict(table))
    for off, passed in ((0.0, True), (1.0, None)):
        table.assign(prediction=predicted + off).to_csv(tmp_path / "answers.csv", index=False)
        ended = leafgate("audit", tmp_path / "policy.yaml", "--json", "--no-remedies")
        (found,) = [finding for finding in ended.document["findings"] if finding["id"] == "reading"]
        assert found["passed"] is passed
