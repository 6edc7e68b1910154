import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from command_line import Ended, leafgate
from leafgate import audit as audit_model
from leafgate import repair as repair_model
from repairs import fit_in, people, policy_file
from sklearn_zoo import skops_bytes

K10 = [{"use": "k_anonymity", "at_least": 10}]


def repaired(folder: Path, out: str = "new.json", *others: object) -> Ended:
    """The command, which cuts the given model and fits nothing anew unless it is asked to."""
    if "--keep" not in others:
        others = (*others, "--only-cut", "--keep", "accuracy")
    if "loss" in others:
        others = (*others, "--only-cut")
    return leafgate(
        "repair", folder / "model.skops", "--policy", folder / "policy.yaml", "--out", folder / out, *others
    )


def audited(folder: Path, name: str = "new.json") -> Ended:
    """The audit of the new file by the policy, of which nothing but `build.path` is changed."""
    policy = json.loads((folder / "policy.yaml").read_text())
    policy["build"]["path"] = name
    (folder / "again.yaml").write_text(json.dumps(policy))
    return leafgate("audit", folder / "again.yaml", "--json")


@pytest.mark.thorough
def test_a_repaired_model_passes_its_audit_and_says_what_was_changed(tmp_path: Path) -> None:
    fit_in(tmp_path, people(1, 400), DecisionTreeClassifier(random_state=0))
    people(2, 400).to_csv(tmp_path / "test.csv", index=False)
    policy_file(tmp_path, [*K10, {"use": "file_disclosure", "at_most": 0}], leaves="labels", test=True)
    given = (tmp_path / "model.skops").read_bytes()
    ended = repaired(tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert (tmp_path / "model.skops").read_bytes() == given
    found = audited(tmp_path)
    assert (found.code, found.document["verdict"]) == (0, "pass")
    leaves = found.document["release"]["leaves"]
    assert f"1 tree, {2 * leaves - 1} nodes, {leaves} leaves; the given model has 1 tree, 185 nodes, 93" in ended.out
    assert "on its leaves: labels; the given file discloses counts" in ended.out
    assert "exact: no pruning" in ended.out
    whose = "other people of data.test, whom nothing was chosen by"
    assert re.search(rf"accuracy on \d+ {whose}: about 0\.\d before, about 0\.\d after", ended.out)
    assert re.search(r"chosen of \d+ candidates? on \d+ people of data.test; they influenced the model", ended.out)
    assert "change the policy's `build`: path: new.json" in ended.out
    assert 'repairs: PASS: every limit of the policy holds.\n  audited file "new.json"' in ended.out


@pytest.mark.parametrize("leaves", ["labels", "shares", "counts"])
@pytest.mark.parametrize("ending", ["skops", "onnx"])
@pytest.mark.thorough
def test_the_new_file_has_the_format_of_its_ending(ending: str, leaves: str, tmp_path: Path) -> None:
    fit_in(tmp_path, people(1, 300), DecisionTreeClassifier(random_state=0))
    policy_file(tmp_path, K10, leaves=leaves)
    assert [repaired(tmp_path, name).code for name in ("new.json", f"new.{ending}")] == [0, 0]
    neutral, other = audited(tmp_path).document, audited(tmp_path, f"new.{ending}").document
    assert (neutral["verdict"], other["verdict"]) == ("pass", "pass")
    assert neutral["release"]["file"]["format"] == "leafgate/model/1"
    assert other["release"]["file"]["format"] == ending
    assert other["release"]["leaves"] == neutral["release"]["leaves"]


@pytest.mark.parametrize("counts", ["people", "rows"])
@pytest.mark.thorough
def test_weights_of_rows_count(counts: str, tmp_path: Path) -> None:
    """A row may be several people; or one, whose weight is no number of people, and then limits hold by both."""
    table = people(1, 200)
    features, rng = ["age", "zip", "sex"], np.random.default_rng(0)
    table["people"] = rng.integers(1, 6, 200)
    many = table.loc[table.index.repeat(table["people"])] if counts == "people" else table
    weights = None if counts == "people" else table["people"]
    model = DecisionTreeClassifier(random_state=0).fit(many[features], many["class"], sample_weight=weights)
    fit_in(tmp_path, people(1, 200), DecisionTreeClassifier())
    (tmp_path / "model.skops").write_bytes(skops_bytes(model))
    table.to_csv(tmp_path / "people.csv", index=False)
    path = policy_file(tmp_path, [{"use": "k_anonymity", "at_least": 10, "allow": 0.1}])
    policy = json.loads(path.read_text())
    said = {"reason": "each row is several alike people"} if counts == "people" else {}
    policy["data"]["columns"]["people"] = {"role": "weight", "counts": counts} | said
    path.write_text(json.dumps(policy))
    ended = repaired(tmp_path)
    assert (ended.code, ended.err) == (0, "")
    found = audited(tmp_path).document
    assert found["verdict"] == "pass"
    assert found["release"]["leaves"] > 5


def test_a_model_that_passes_is_left_as_it_is(tmp_path: Path) -> None:
    fit_in(tmp_path, people(1, 200), DecisionTreeClassifier(max_depth=2))
    policy_file(tmp_path, [{"use": "k_anonymity", "at_least": 2}])
    ended = repaired(tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert "passes already, so nothing is written" in ended.out
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize(
    ("estimator", "leaves"),
    [
        (RandomForestClassifier(6, random_state=0, max_depth=5), "labels"),
        (RandomForestClassifier(6, random_state=0, max_depth=5), "shares"),
        (GradientBoostingClassifier(n_estimators=6, random_state=0), "shares"),
        (DecisionTreeClassifier(class_weight="balanced", random_state=0), "labels"),
    ],
    ids=["forest", "forest with shares", "boosting", "balanced"],
)
@pytest.mark.thorough
def test_other_models_are_repaired_too(estimator: Any, leaves: str, tmp_path: Path) -> None:
    fit_in(tmp_path, people(1, 400), estimator)
    policy_file(tmp_path, K10, leaves=leaves)
    boosts = isinstance(estimator, GradientBoostingClassifier)  # whose trees cannot be cut so that groups are larger
    ended = repaired(tmp_path, "new.json", *(("--keep", "accuracy") if boosts else ()))
    assert (ended.code, ended.err) == (0, "")
    assert "the training people alone, which flatters" in ended.out
    assert audited(tmp_path).code == 0


@pytest.mark.thorough
def test_a_tree_over_private_columns_keeps_leaves_that_few_people_reach(tmp_path: Path) -> None:
    """Private tests put nobody apart: a tree pruned until each leaf has ten people would lose more."""
    fit_in(tmp_path, people(1, 400), DecisionTreeClassifier(random_state=0))
    policy_file(tmp_path, K10, private=["zip"])
    assert repaired(tmp_path).code == 0
    found = audited(tmp_path).document
    assert found["verdict"] == "pass"
    policy_file(tmp_path, K10)
    assert repaired(tmp_path).code == 0
    assert found["release"]["leaves"] > audited(tmp_path).document["release"]["leaves"]


@pytest.mark.thorough
def test_a_regression_tree_is_repaired(tmp_path: Path) -> None:
    table = people(1, 300)
    table["class"] = table["age"] // 3 + table["zip"] + np.random.default_rng(0).integers(0, 4, 300)
    fit_in(tmp_path, table, DecisionTreeRegressor(random_state=0))
    path = policy_file(tmp_path, K10, leaves="counts")
    policy = json.loads(path.read_text())
    policy["data"]["columns"]["class"] = {"role": ["class", "sensitive"], "bins": [0, 8, 11, 14, 30]}
    path.write_text(json.dumps(policy))
    ended = repaired(tmp_path, "new.json", "--keep", "loss")
    assert (ended.code, ended.err) == (0, "")
    assert "explained variance on the training people alone, which flatters" in ended.out
    assert audited(tmp_path).code == 0
    assert repaired(tmp_path, "new.json").err.startswith("leafgate: --keep: no model of numbers is kept for this")


def test_a_file_of_numbers_that_tells_too_much_is_repaired_as_its_audit_says(tmp_path: Path) -> None:
    table = people(1, 300)
    table["class"] = table["age"] // 3 + table["zip"] + np.random.default_rng(0).integers(0, 4, 300)
    fit_in(tmp_path, table, DecisionTreeRegressor(min_samples_leaf=10, random_state=0))
    path = policy_file(tmp_path, [{"use": "file_disclosure", "at_most": 0}], leaves="labels")
    policy = json.loads(path.read_text())
    policy["data"]["columns"]["class"] = {"role": ["class", "sensitive"], "bins": [0, 8, 11, 14, 30]}
    path.write_text(json.dumps(policy))
    failing = [one for one in leafgate("audit", path, "--json").document["findings"] if not one["passed"]]
    assert {one["id"] for one in failing} == {"published_file", "file_disclosure"}
    assert all(one["remedies"][0]["command"][:2] == ["leafgate", "repair"] for one in failing)
    ended = repaired(tmp_path, "new.json", "--keep", "loss")
    assert (ended.code, ended.err) == (0, "")
    assert "coarser leaves: rounded numbers" in ended.out
    assert audited(tmp_path).code == 0


@pytest.mark.thorough
def test_what_the_policy_says_of_features_holds_for_the_new_file(tmp_path: Path) -> None:
    """Pruning leaves no test of `noise`, of which the policy says what it is."""
    table = people(1, 300)
    features = table.drop(columns="class").to_numpy()
    rng = np.random.default_rng(0)
    table["noise"] = rng.integers(0, 2, 300)
    model = DecisionTreeClassifier(random_state=0).fit(np.column_stack([features, table["noise"]]), table["class"])
    fit_in(tmp_path, people(1, 300), DecisionTreeClassifier())
    (tmp_path / "model.skops").write_bytes(skops_bytes(model))
    table.to_csv(tmp_path / "people.csv", index=False)
    path = policy_file(tmp_path, [{"use": "k_anonymity", "at_least": 60}], leaves="labels")
    policy = json.loads(path.read_text())
    columns = policy["data"]["columns"]
    policy["data"]["columns"] = {name: columns[name] for name in ("age", "zip", "sex", "class")}
    policy["data"]["columns"]["noise"] = {"role": "quasi_identifier", "bounds": [0, 1]}
    names = ("age", "zip", "sex", "noise")
    policy["build"]["encoding"] = {f"x{i}": {"column": name} for i, name in enumerate(names)}
    path.write_text(json.dumps(policy))
    ended = repaired(tmp_path)
    assert (ended.code, ended.err) == (0, "")
    asked = {n for n in json.loads((tmp_path / "new.json").read_bytes())["trees"][0]["feature"] if n >= 0}
    assert len(asked) < 4
    assert audited(tmp_path).code == 0


@pytest.mark.thorough
def test_limits_that_exclude_one_another_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    fit_in(tmp_path, people(1, 200), DecisionTreeClassifier(random_state=0))
    people(2, 200).to_csv(tmp_path / "test.csv", index=False)
    policy_file(tmp_path, [*K10, {"use": "accuracy", "at_least": 0.97}], test=True)
    (tmp_path / "new.json").write_text("an older result")
    ended = repaired(tmp_path)
    assert ended.code == 1
    assert not (tmp_path / "new.json").exists()
    nearest = r"the candidate that comes nearest to passing has 1 tree, \d+ nodes, \d+ leaves and breaks:"
    assert re.search(rf"  {nearest}\n    accuracy is about 0", ended.out)
    kept = "  it keeps these limits, which the given model breaks: k_anonymity@linking#class"
    assert f"{kept}; no candidate keeps all limits\n" in ended.out
    assert ended.out.endswith(
        "it would pass if the policy's limits allowed the values above; otherwise train another model\n"
    )


@pytest.mark.thorough
def test_a_limit_that_even_a_single_leaf_breaks_is_named(tmp_path: Path) -> None:
    fit_in(tmp_path, people(1, 100), DecisionTreeClassifier(random_state=0))
    policy_file(tmp_path, [*K10, {"use": "l_diversity", "at_least": 2.5, "scored": "derived"}])
    ended = repaired(tmp_path)
    assert ended.code == 1
    assert "even a single leaf, which everybody shares, breaks: l_diversity@linking#class" in ended.out
    assert not (tmp_path / "new.json").exists()


@pytest.mark.thorough
def test_a_model_that_predicts_the_same_for_everybody_is_no_repair(tmp_path: Path) -> None:
    """In groups of more than half of the people only the root passes: the output names what stands in the way."""
    fit_in(tmp_path, people(1, 100), DecisionTreeClassifier(random_state=0))
    policy_file(tmp_path, [{"use": "k_anonymity", "at_least": 60}])
    (tmp_path / "new.json").write_text("{}")
    ended = repaired(tmp_path)
    assert (ended.code, (tmp_path / "new.json").exists()) == (1, False)
    assert "nothing useful passes: the best that does is no better than the same prediction for everybody" in ended.out
    assert "    k_anonymity@linking#class" in ended.out
    result = repair_model(audit_model(*_fitted(tmp_path), limits={"k_anonymity": 60}, search_remedies=False))
    assert not result.found
    assert any("nothing useful passes" in sentence for sentence in result.sentences)


def _fitted(folder: Path) -> tuple[Any, pd.DataFrame, pd.Series]:
    table = pd.read_csv(folder / "people.csv")
    numbers = table.drop(columns="class").select_dtypes("number")
    return DecisionTreeClassifier(random_state=0).fit(numbers, table["class"]), numbers, table["class"]


def test_a_model_of_other_people_is_not_repaired(tmp_path: Path) -> None:
    fit_in(tmp_path, people(1, 200), DecisionTreeClassifier(random_state=0))
    people(5, 200).to_csv(tmp_path / "people.csv", index=False)
    policy_file(tmp_path, K10)
    ended = repaired(tmp_path)
    assert ended.code == 3
    assert "is not repaired" in ended.err
    assert not (tmp_path / "new.json").exists()


@pytest.mark.thorough
def test_a_promise_of_differential_privacy_is_not_repaired(tmp_path: Path) -> None:
    fit_in(tmp_path, people(1, 100), DecisionTreeClassifier())
    policy = json.loads(policy_file(tmp_path, K10).read_text())
    policy["publish"] = {"leaves": "counts"}
    drawn = {"use": "dp_random_trees", "trees": 2, "depth": 1, "epsilon": 1.0, "k": 10, "beta": 0.1}
    policy["build"] = drawn
    (tmp_path / "drawn.yaml").write_text(json.dumps(policy))
    (tmp_path / "model.skops").unlink()
    built = leafgate("build", tmp_path / "drawn.yaml", "--out", tmp_path / "model.skops")
    assert built.code == 0, built.err
    ended = repaired(tmp_path)
    assert ended.code == 2
    assert "claims differential privacy" in ended.err


def with_other_builder(folder: Path) -> None:
    policy = json.loads((folder / "policy.yaml").read_text())
    policy["build"] = {"use": "kadet", "k": 5}
    (folder / "policy.yaml").write_text(json.dumps(policy))


def with_people_elsewhere(folder: Path) -> None:
    (folder / "people.csv").rename(folder / "p.json")
    policy = json.loads((folder / "policy.yaml").read_text())
    policy["data"]["path"] = "p.json"
    (folder / "policy.yaml").write_text(json.dumps(policy))


def with_a_waiver_file(folder: Path) -> None:
    policy = json.loads((folder / "policy.yaml").read_text())
    (folder / "waivers.yaml").write_text("waivers: []")
    (folder / "policy.yaml").write_text(json.dumps(policy | {"waivers": "waivers.yaml"}))


def with_a_witness(folder: Path) -> None:
    (folder / "witness.csv").write_bytes((folder / "people.csv").read_bytes())
    policy = json.loads((folder / "policy.yaml").read_text())
    policy["build"]["witness"] = "witness.csv"
    (folder / "policy.yaml").write_text(json.dumps(policy))


READ = "is a file that this command reads"
WRONG: list[tuple[str, Callable[[Path], object], dict[str, str], str]] = [
    ("the model itself", lambda folder: None, {"out": "model.skops"}, READ),
    ("the policy for candidates", lambda folder: None, {"candidates": "policy.yaml"}, READ),
    ("the people", with_people_elsewhere, {"out": "p.json"}, READ),
    ("the model for candidates", lambda folder: None, {"candidates": "model.skops"}, READ),
    ("the people for candidates", lambda folder: None, {"candidates": "people.csv"}, READ),
    ("a list of waivers for candidates", with_a_waiver_file, {"candidates": "waivers.yaml"}, READ),
    ("a witness for candidates", with_a_witness, {"candidates": "witness.csv"}, READ),
    ("one file for both", lambda folder: None, {"candidates": "new.json"}, READ),
    ("the picture for candidates", lambda folder: None, {"candidates": "tried.svg"}, READ),
    ("an ending that nobody writes", lambda folder: None, {"out": "new.txt"}, "no installed plugin writes"),
    ("no model", lambda folder: (folder / "model.skops").write_text("{}"), {}, "is no model"),
    ("no file", lambda folder: (folder / "model.skops").unlink(), {}, "cannot be read"),
    ("another builder", with_other_builder, {}, "needs `published`"),
]


@pytest.mark.parametrize(("spoil", "files", "message"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
@pytest.mark.thorough
def test_what_cannot_be_repaired_ends_in_one_error(
    spoil: Callable[[Path], object], files: dict[str, str], message: str, tmp_path: Path
) -> None:
    fit_in(tmp_path, people(1, 60), DecisionTreeClassifier())
    policy_file(tmp_path, K10)
    spoil(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    others = ["--candidates", tmp_path / files["candidates"]] if "candidates" in files else []
    ended = repaired(tmp_path, files.get("out", "new.json"), *others)
    assert ended.code == 2
    assert message in ended.err
    assert len(ended.err.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.thorough
def test_no_small_number_of_people_is_told(tmp_path: Path) -> None:
    """Of twelve people neither accuracies nor shares are told: each would be a count of a few."""
    fit_in(tmp_path, people(3, 12), DecisionTreeClassifier(random_state=0))
    policy_file(tmp_path, [{"use": "k_anonymity", "at_least": 4}], leaves="labels")
    ended = repaired(tmp_path)
    assert ended.code == 0
    assert "not told of so few people before, not told of so few people after" in ended.out
    assert not re.search(r"0\.\d", ended.out.partition("repairs:")[0])


def test_a_format_that_cannot_hold_the_model_is_refused_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit_in(tmp_path, people(1, 200), GradientBoostingClassifier(n_estimators=3, random_state=0))
    policy_file(tmp_path, K10, leaves="labels")
    monkeypatch.setattr("leafgate.commands.repair.ladder.Ladder.run", None)  # the search would begin with it
    ended = repaired(tmp_path, "new.skops")
    assert ended.code == 2
    assert "holds a GradientBoostingClassifier, into which no other trees are put" in ended.err
    assert not (tmp_path / "new.skops").exists()


@pytest.mark.parametrize("leaves", ["labels", "counts"])
@pytest.mark.thorough
def test_the_remedies_of_a_forest_lead_to_a_file_that_passes(leaves: str, tmp_path: Path) -> None:
    """Each command that the audit names ends in a file that passes; no forest is to be scrubbed."""
    fit_in(tmp_path, people(1, 200), RandomForestClassifier(5, max_depth=4, random_state=0))
    policy_file(tmp_path, [*K10, {"use": "file_disclosure", "at_most": 0}], leaves=leaves)
    report = leafgate("audit", tmp_path / "policy.yaml", "--json").document
    broken = {each["id"]: each["remedies"] for each in report["findings"] if each["passed"] is False}
    assert {"file_disclosure", "k_anonymity@linking#class"} <= set(broken)
    assert ("published_file" in broken) == (leaves == "labels")
    runs = [remedy for remedies in broken.values() for remedy in remedies if remedy["action"] == "run"]
    assert {tuple(remedy["command"]) for remedy in runs} == {
        ("leafgate", "repair", "MODEL", "--policy", "POLICY", "--out", "NEW")
    }
    [trained] = [each for each in broken["k_anonymity@linking#class"] if each["action"] == "retrain"]
    assert "take out of its file what it discloses beside its predictions (`leafgate repair MODEL" in trained["text"]
    assert repaired(tmp_path).code == 0
    assert audited(tmp_path).document["verdict"] == "pass"


@pytest.mark.thorough
def test_a_model_trained_as_the_remedy_says_passes_once_its_file_is_repaired(tmp_path: Path) -> None:
    table = people(1, 400)
    fit_in(tmp_path, table, DecisionTreeClassifier(random_state=0))
    policy_file(tmp_path, [*K10, {"use": "file_disclosure", "at_most": 0}])
    report = leafgate("audit", tmp_path / "policy.yaml", "--json").document
    finding = next(each for each in report["findings"] if each["id"] == "k_anonymity@linking#class")
    trained = next(each for each in finding["remedies"] if each["action"] == "retrain")
    fit_in(tmp_path, table, DecisionTreeClassifier(random_state=0, **trained["parameters"]))
    found = leafgate("audit", tmp_path / "policy.yaml", "--no-remedies", "--json").document["findings"]
    assert {each["id"] for each in found if each["passed"] is False} == {"file_disclosure"}
    assert repaired(tmp_path).code == 0
    assert audited(tmp_path).document["verdict"] == "pass"


@pytest.mark.thorough
def test_each_person_of_a_regressors_leaf_weighs_one_in_what_is_to_be_changed() -> None:
    """Of the squared error the second derivative is 1, of the logistic loss at most a quarter."""
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.integers(18, 80, 400), "zip": rng.integers(0, 30, 400)})
    income = pd.Series(rows["age"] + rng.normal(size=400), name="income").round(1)
    limits = {"k_anonymity": 10}
    model = xgboost.XGBRegressor(n_estimators=1, n_jobs=1).fit(rows, income)
    report = audit_model(model, rows, income, limits=limits).report
    [asked] = [one.parameters for finding in report.findings for one in finding.remedies if one.action == "retrain"]
    assert asked.keys() == {"min_child_weight"}
    assert asked["min_child_weight"] >= 10
    again = xgboost.XGBRegressor(n_estimators=1, n_jobs=1, **asked).fit(rows, income)
    assert audit_model(again, rows, income, limits=limits).passed
