"""Trees that predict numbers as releases: the class is a number, told in intervals."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from command_line import leafgate
from components import new_attack
from installed_readers import lower_model, minimise, neutral_file, read_foreign
from leafgate import Release, ReleaseError, Table
from leafgate.algorithms.prediction import predict, predicted_numbers
from leafgate.api import (
    Column,
    Leaf,
    Node,
    NumericSplit,
    Schema,
    SecretBelief,
    bin_names,
    bin_of,
    make_table,
    map_leaves,
)
from leafgate.app import read_release, serialize
from leafgate.testing import grant_knowledge
from sklearn_zoo import skops_bytes

EDGES = (0.0, 20.0, 40.0, 60.0, 200.0)
SCHEMA = Schema(
    (
        Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 100.0)),
        Column("years", frozenset({"quasi_identifier"}), bounds=(0.0, 100.0)),
        Column("pay", frozenset({"class", "sensitive"}), values=bin_names(EDGES), ordered=True, edges=EDGES),
    )
)
RNG = np.random.default_rng(3)
ROWS = RNG.integers(18, 80, size=(400, 2)).astype(np.float64)
PAY = np.round(ROWS[:, 0] / 2 + np.abs(ROWS[:, 1] - 40) + RNG.normal(size=400), 1).clip(0, 199)
NAMED = pd.DataFrame(ROWS, columns=["age", "years"])
SMALL: dict[str, Any] = {"num_leaves": 8, "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}

MODELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeRegressor(max_depth=5),
    "forest": lambda: RandomForestRegressor(7, max_depth=4),
    "extra trees": lambda: ExtraTreesRegressor(7, max_depth=4),
    "gradient boosting": lambda: GradientBoostingRegressor(n_estimators=9),
    "histogram boosting": lambda: HistGradientBoostingRegressor(max_iter=9),
}


def people() -> Table:
    codes = bin_of(PAY, EDGES)
    frame = NAMED.assign(pay=pd.Categorical.from_codes(codes, categories=pd.Index(bin_names(EDGES))))
    return make_table(SCHEMA, frame, np.ones(400, dtype=np.int64))


def of_file(content: bytes) -> Release:
    return serialize(lower_model(read_foreign(content, "model"), SCHEMA, {}, "model")).release


def assert_predicts(release: Release, expected: Any, near: float) -> None:
    table = people()
    mine = predicted_numbers(release, table)
    order = {(a, b): i for i, (a, b) in enumerate(ROWS.tolist())}
    where = [order[a, b] for a, b in zip(table.numbers("age"), table.numbers("years"), strict=True)]
    theirs = np.asarray(expected, dtype=np.float64)[where]
    assert mine == pytest.approx(theirs, rel=near)
    inside = np.abs(theirs[:, None] - np.array(EDGES)).min(axis=1) > near * 100
    assert predict(release, table)[inside].tolist() == bin_of(theirs, EDGES)[inside].tolist()
    assert inside.mean() > 0.9


@pytest.mark.parametrize("name", MODELS)
def test_a_release_of_scikit_learns_regression_predicts_its_numbers(name: str) -> None:
    model = MODELS[name]().fit(NAMED, PAY)
    assert_predicts(of_file(skops_bytes(model)), model.predict(NAMED), 1e-12)


def test_a_release_of_xgboosts_and_of_lightgbms_regression_predicts_its_numbers() -> None:
    boosted = xgboost.train({"max_depth": 3, "nthread": 1}, xgboost.DMatrix(NAMED, PAY), 9)
    assert_predicts(of_file(bytes(boosted.save_raw("json"))), boosted.predict(xgboost.DMatrix(NAMED)), 1e-5)
    light = lightgbm.train(SMALL | {"objective": "regression"}, lightgbm.Dataset(NAMED, PAY), 9)
    assert_predicts(of_file(light.model_to_string().encode()), light.predict(NAMED), 1e-12)


def test_what_lies_beyond_the_intervals_counts_to_the_outermost() -> None:
    model = DecisionTreeRegressor(max_depth=1).fit(NAMED, np.where(NAMED["age"] > 40, 900.0, -900.0))
    assert set(predict(of_file(skops_bytes(model)), people()).tolist()) == {0, len(EDGES) - 2}


def test_beliefs_about_the_number_stay_open_for_leaves_tell_its_mean() -> None:
    release = of_file(skops_bytes(DecisionTreeRegressor(max_depth=3).fit(NAMED, PAY)))
    belief = new_attack("linking").infer(release, grant_knowledge(people()))[0]
    assert isinstance(belief, SecretBelief)
    assert len(np.unique(np.asarray(belief.equivalence_class))) == 8
    assert [set(map(float, other.max())) for other in belief.alternative_posteriors] == [{0.0, 1.0}] * (len(EDGES) - 1)


def test_a_number_needs_a_class_of_numbers() -> None:
    content = skops_bytes(DecisionTreeRegressor(max_depth=2).fit(NAMED, PAY))
    schema = Schema((*SCHEMA.columns[:2], Column("pay", frozenset({"class"}), values=("low", "high"))))
    with pytest.raises(ReleaseError, match=r"predicts numbers, and 'pay' has none.*give 'pay' `bins`"):
        lower_model(read_foreign(content, "model"), schema, {}, "model")


POLICY = """
leafgate: 1
name: pay
data:
  path: people.csv
  test: people.csv
  columns:
    age: {role: quasi_identifier, bounds: [0, 100]}
    years: {role: quasi_identifier, bounds: [0, 100]}
    pay: {role: [class, sensitive], bins: [0, 20, 40, 60, 200]}
build: {use: published, path: model.skops}
publish: {leaves: labels}
attacks: [{use: linking}]
metrics:
  - {use: k_anonymity, at_least: 10}
  - {use: accuracy, at_least: 0.6}
report: {smallest_cell: 1}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    NAMED.assign(pay=PAY).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


@pytest.mark.parametrize(("least", "code"), [(1, 1), (10, 0)])
def test_an_audit_of_regression_looks_at_groups(folder: Path, least: int, code: int) -> None:
    model = DecisionTreeRegressor(min_samples_leaf=least).fit(NAMED, PAY)
    (folder / "model.skops").write_bytes(skops_bytes(model))
    policy = folder / "policy.yaml"
    sizes = np.unique(model.apply(NAMED), return_counts=True)[1]
    # counts of people are in a skops file: scrubbed of them it tells numbers alone
    assert leafgate("scrub", folder / "model.skops", folder / "model.json", "--leaves", "labels").code == 0
    # and the means of numbers with one digit tell how many they are of
    policy.write_text(POLICY.replace("model.skops", "model.json").replace("leaves: labels", "leaves: counts"))
    ended = leafgate("audit", policy, "--json")
    assert ended.code == code, ended.err
    found = {one["id"]: one for one in ended.document["findings"]}
    assert found["k_anonymity@linking#pay"]["passed"] is bool(sizes.min() >= 10)
    right = (bin_of(model.predict(NAMED), EDGES) == bin_of(PAY, EDGES)).mean()
    assert found["accuracy"]["value"] == pytest.approx(right)


def test_a_limit_on_the_number_itself_cannot_be_told(folder: Path) -> None:
    (folder / "model.skops").write_bytes(skops_bytes(DecisionTreeRegressor(min_samples_leaf=20).fit(NAMED, PAY)))
    text = POLICY.replace(
        "  - {use: accuracy", "  - {use: confidence, at_most: 0.9, scored: derived}\n  - {use: accuracy"
    )
    (folder / "policy.yaml").write_text(text)
    ended = leafgate("audit", folder / "policy.yaml", "--json")
    found = {one["id"]: one for one in ended.document["findings"]}
    assert found["confidence@linking#pay"]["passed"] is None
    assert ended.code != 0
    assert ended.document["guesses"] == []  # nothing is drawn of a belief that reads nothing


def test_a_class_of_numbers_is_grown_as_intervals_and_read_again(folder: Path) -> None:
    text = POLICY.replace("{use: published, path: model.skops}", "{use: c45, min_leaf: 10}")
    (folder / "policy.yaml").write_text(text)
    assert leafgate("build", folder / "policy.yaml", "--out", folder / "release.json").code == 0
    release = read_release((folder / "release.json").read_bytes(), "release.json").release
    assert release.schema["pay"].edges == EDGES
    assert release.classes == bin_names(EDGES)
    document = json.loads((folder / "release.json").read_bytes())
    document["schema"]["pay"]["edges"][1] = 21
    with pytest.raises(ReleaseError, match="`edges` must be the numbers that the `values` begin and end at"):
        read_release(json.dumps(document).encode(), "release.json")


def test_numbers_outside_the_intervals_are_refused(folder: Path) -> None:
    (folder / "policy.yaml").write_text(POLICY.replace("60, 200", "60, 61"))
    ended = leafgate("audit", folder / "policy.yaml")
    assert ended.code == 2
    assert "outside the `bins` the policy declares" in ended.err


@pytest.mark.parametrize(
    "metric", ["exposure, at_most: 0.5, allow: 0.5, scored: derived", "divergence, at_least: 0.1, allow: 0.5"]
)
def test_whatever_few_may_be_past_no_limit_passes_that_the_true_belief_would_break(folder: Path, metric: str) -> None:
    """Five equal classes: a belief that everybody has the same is right of a fifth only."""
    pay = np.repeat([10, 30, 50, 70, 90], 80)
    frame = pd.DataFrame({"age": np.arange(400) % 100, "years": pay.astype(float)})
    frame.assign(pay=pay).to_csv(folder / "people.csv", index=False)
    (folder / "model.skops").write_bytes(skops_bytes(DecisionTreeRegressor().fit(frame, pay)))
    text = POLICY.replace("bins: [0, 20, 40, 60, 200]", "bins: [0, 20, 40, 60, 80, 100]")
    text = text.replace("  - {use: k_anonymity, at_least: 10}", f"  - {{use: {metric}}}")
    (folder / "policy.yaml").write_text(text)
    ended = leafgate("audit", folder / "policy.yaml", "--json")
    (found,) = (one for one in ended.document["findings"] if one["metric"] == metric.partition(",")[0])
    assert found["passed"] is None


@pytest.mark.parametrize("odd", ["a leaf without a number", "a label beside a number", "an empty tree"])
def test_one_odd_leaf_closes_no_belief(odd: str) -> None:
    release = of_file(skops_bytes(DecisionTreeRegressor(max_depth=3).fit(NAMED, PAY)))
    (tree,) = release.trees
    trees: dict[str, tuple[Node, ...]] = {
        "a leaf without a number": (NumericSplit("age", -5.0, Leaf(), tree),),
        "a label beside a number": (map_leaves(tree, lambda leaf: replace(leaf, label=release.classes[0])),),
        "an empty tree": (tree, Leaf()),
    }
    changed = replace(release, trees=trees[odd], combine="sum", file=None)
    belief = new_attack("linking").infer(changed, grant_knowledge(people()))[0]
    assert isinstance(belief, SecretBelief)
    assert belief.incomplete
    assert not replace(changed, trees=(Leaf(),)).discloses_numbers


def test_means_of_whole_numbers_tell_how_many_people_they_are_of() -> None:
    ill = (PAY > 40).astype(float)
    model = DecisionTreeRegressor(min_samples_leaf=9).fit(NAMED, ill)
    less = minimise(read_foreign(skops_bytes(model), "model"), "labels", "model")
    assert less.level == "counts"
    assert read_foreign(neutral_file(less), "model").level == "counts"
    noisy = DecisionTreeRegressor(min_samples_leaf=9).fit(NAMED, ill + RNG.normal(size=400))
    assert minimise(read_foreign(skops_bytes(noisy), "model"), "labels", "model").level == "labels"


def test_numbers_too_large_to_add_up_are_refused() -> None:
    model = DecisionTreeRegressor(max_depth=2).fit(NAMED, np.where(PAY > 40, 1e300, -1e300))
    with pytest.raises(ReleaseError, match=r"says no finite number, or one beyond 1e\+150"):
        read_foreign(skops_bytes(model), "model")


@pytest.mark.parametrize("numbers", [(-1.7e308, 1.7e308), (0.0, 5e-324), (1e15, 1e15 + 1), (0.1, 0.1 + 1e-15)])
def test_numbers_that_have_no_round_intervals_are_said_to_have_none(folder: Path, numbers: tuple[float, float]) -> None:
    frame = NAMED.assign(pay=np.where(PAY > 40, *numbers))
    frame.to_csv(folder / "people.csv", index=False)
    model = DecisionTreeRegressor(max_depth=1).fit(NAMED, PAY)
    (folder / "model.skops").write_bytes(skops_bytes(model))
    ended = leafgate("init", folder / "people.csv", "--model", folder / "model.skops", "--class", "pay")
    assert ended.code == 2
    assert "too large, or too near each other" in ended.err


def test_a_first_policy_for_a_model_of_numbers_audits_it(folder: Path) -> None:
    content = skops_bytes(DecisionTreeRegressor(min_samples_leaf=20).fit(NAMED, PAY))
    (folder / "model.skops").write_bytes(content)
    made = leafgate("init", folder / "people.csv", "--model", folder / "model.skops", "--out", folder / "first.yaml")
    assert made.code == 0, made.err
    text = (folder / "first.yaml").read_text()
    assert '"pay": {role: [class, sensitive], bins: [10, 25, 30, 35, 40, 45, 50, 60, 80]' in text
    assert "low: each leaf's number" in text
    ended = leafgate("audit", folder / "first.yaml", "--json")
    found = {one["id"]: one for one in ended.document["findings"]}
    assert found["k_anonymity@linking#pay"]["value"] == {"from": 20, "to": 29}
    kinds = [one["kind"] for one in found["published_file"]["evidence"]["discloses"]]
    assert kinds[-1] == "numbers"
    assert "labels" not in found["k_anonymity@linking#pay"]["evidence"]
