"""Thresholds, values and lists that are the cells of a few people, and what scrub writes in their place."""

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import leafgate as gate
from command_line import Ended, leafgate
from installed_readers import Encoding, leaves_of, minimise
from leafgate import Table
from leafgate.api import Column, Schema, make_table, typed_column
from leafgate.commands.convert.equivalence import on_data
from leafgate.commands.convert.merging import without_idle_tests
from leafgate.commands.convert.rare_cells import (
    TableOfPolicy,
    complete_public_lists,
    merge_rare_values,
    move_rare_thresholds,
    moved_threshold,
    roundest_number,
)
from leafgate.models.exposure.cells import column_cells
from leafgate.readers import LEAF, CategoryCodes, ModelIR, Numeric, TreeIR
from sklearn_zoo import entries_of, skops_bytes

DECIMALS = st.integers(-2_000_000, 2_000_000).map(lambda number: number / 1000)
SINGLES = st.floats(width=32, min_value=-1e6, max_value=1e6, allow_subnormal=False)
DOUBLES = st.floats(min_value=-1e6, max_value=1e6, allow_subnormal=False)


def fewest_digits(low: float, high: float, with_low: bool, with_high: bool) -> float:
    """The same as `roundest_number` by trying all numbers of one digit, then all of two, and so on."""
    if low < 0 < high or (with_low and low == 0) or (with_high and high == 0):
        return 0.0
    middle = (Fraction(low) + Fraction(high)) / 2
    for digits in range(1, 18):
        found = []
        for exponent in range(-16, 8):
            unit = Fraction(10) ** exponent
            first, last = -(-Fraction(low) // unit), Fraction(high) // unit
            first, last = max(first, -(10**digits) + 1), min(last, 10**digits - 1)
            if last - first > 4:  # of many numbers the ones nearest to the middle
                near = middle // unit
                first, last = max(first, min(near - 1, last)), min(last, max(near + 2, first))
            found += [whole * unit for whole in range(int(first), int(last) + 1)]
        inside = [
            number
            for number in found
            if low < float(number) < high
            or (with_low and float(number) == low)
            or (with_high and float(number) == high)
        ]
        if inside:
            return float(min(inside, key=lambda number: (abs(number - middle), number)))
    raise AssertionError("there is a double between the ends")


@given(DECIMALS, DECIMALS, st.booleans(), st.booleans())
def test_the_roundest_number_has_the_fewest_digits_of_all(a: float, b: float, with_low: bool, with_high: bool) -> None:
    assume(a != b)
    low, high = sorted((a, b))
    found = roundest_number(low, high, with_low=with_low, with_high=with_high)
    assert found == fewest_digits(low, high, with_low, with_high)


def test_between_neighbouring_doubles_there_is_no_number() -> None:
    assert roundest_number(0.1, np.nextafter(0.1, 1)) is None
    assert roundest_number(0.1, np.nextafter(0.1, 1), with_low=True) == 0.1


@given(st.lists(SINGLES | DOUBLES, min_size=1, max_size=20, unique=True), st.data())
def test_a_moved_threshold_sends_everybody_as_before_and_is_nobodys(numbers: list[float], data: st.DataObject) -> None:
    cells = np.array(numbers)
    threshold = data.draw(st.sampled_from([*numbers, *cells.astype(np.float32).astype(float).tolist()]))
    strict, float32 = data.draw(st.booleans()), data.draw(st.booleans())
    common = np.array(data.draw(st.lists(st.sampled_from(numbers), unique=True)), dtype=float)
    moved = moved_threshold(threshold, cells, strict=strict, float32=float32, keep_ends=common)
    tree = TreeIR(
        np.array([0, LEAF, LEAF]),
        np.array([threshold, np.nan, np.nan]),
        np.array([1, LEAF, LEAF]),
        np.array([2, LEAF, LEAF]),
        np.eye(3),
        strict=strict,
        float32=float32,
    )
    other = replace(tree, threshold=np.array([moved, np.nan, np.nan]))
    assert (leaves_of(tree, cells[:, None]) == leaves_of(other, cells[:, None])).all()
    if moved != threshold:
        rare = np.setdiff1d(cells, common)
        assert moved not in rare
        assert moved in common or moved not in rare.astype(np.float32).astype(float)


VALUES = ("clerk", "cook", "nurse", "smith", "astronaut", "pope", "judge")
N = 600


def people(seed: int = 0) -> pd.DataFrame:
    """People with incomes of their own, two of whose jobs a few have and one of whose jobs nobody has."""
    rng = np.random.default_rng(seed)
    income = np.round(rng.lognormal(10.5, 0.5, N), 2)
    job = np.array(VALUES[:4], dtype=object)[rng.integers(0, 4, N)]
    job[:3], job[3:5] = "astronaut", "pope"
    rich = np.where((income > 35_000) ^ (rng.random(N) < 0.2), "yes", "no")
    rich[:3], rich[3:5] = "yes", "no"
    age = 20 + np.arange(N) % 30
    return pd.DataFrame({"income": income, "age": age, "job": job, "rich": rich})


def policy(path: str, **build: Any) -> dict[str, Any]:
    """A policy that audits a model's file."""
    columns = {
        "income": {"role": "quasi_identifier", "bounds": [0, 10_000_000]},
        "age": {"role": "quasi_identifier", "bounds": [0, 120]},
        "job": {"role": "quasi_identifier", "values": list(VALUES)},
        "rich": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    return {
        "leafgate": 1,
        "name": "rare",
        "data": {"path": "people.csv", "columns": columns},
        "build": {"use": "published", "path": path, **build},
        "publish": {"leaves": "shares"},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "file_disclosure", "at_most": 0}],
    }


def kinds(ended: Ended, severity: str = "high") -> set[str]:
    """The kinds of what an audited file discloses with this severity."""
    (found,) = [each for each in ended.document["findings"] if each["id"] == "published_file"]
    return {item["kind"] for item in found["evidence"]["discloses"] if item["severity"] == severity}


def audited(folder: Path, name: str, **build: Any) -> Ended:
    (folder / f"{name}.yaml").write_text(json.dumps(policy(name, **build)))
    return leafgate("audit", folder / f"{name}.yaml", "--json")


def scrubbed(folder: Path, name: str, leaves: str = "shares", **build: Any) -> Ended:
    """How `scrub` ends that writes new.json, with the policy that audits this."""
    (folder / "new.json.yaml").write_text(json.dumps(policy("new.json", **build)))
    policy_file = folder / "new.json.yaml"
    return leafgate("scrub", folder / name, folder / "new.json", "--leaves", leaves, "--policy", policy_file)


@pytest.mark.thorough
def test_an_xgboost_on_exact_incomes_is_mended_by_scrub_without_changing_an_answer(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    table = people()
    table.to_csv(tmp_path / "people.csv", index=False)
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=3)
    model.fit(table[["income", "age"]], table["rich"] == "yes").save_model(tmp_path / "m.json")
    encoding: Any = {"encoding": {"rich": {"codes": {"no": 0, "yes": 1}}}}
    before = audited(tmp_path, "m.json", **encoding)
    assert before.code == 1
    assert "rare_numbers" in kinds(before)
    ended = scrubbed(tmp_path, "m.json", **encoding)
    assert ended.code == 0
    assert "all records of the table" in ended.out
    assert "but for" not in ended.out
    assert "rare_numbers" not in kinds(audited(tmp_path, "new.json", **encoding))
    thresholds = [at for tree in json.loads((tmp_path / "new.json").read_text())["trees"] for at in tree["threshold"]]
    rare = set(table["income"]) | set(table["income"].astype(np.float32).astype(float))
    assert not rare.intersection(thresholds)


def fitted(encoder: Any, estimator: Any, table: pd.DataFrame) -> Any:
    steps = make_column_transformer((encoder, ["job"]), (StandardScaler(), ["income"]), remainder="passthrough")
    return make_pipeline(steps, estimator).fit(table[["job", "income", "age"]], table["rich"])


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder(), OneHotEncoder(handle_unknown="ignore")])
@pytest.mark.parametrize(
    "estimator", [DecisionTreeClassifier(random_state=1), RandomForestClassifier(5, random_state=0)]
)
@pytest.mark.thorough
def test_values_of_a_few_people_are_merged_and_scrub_says_whose_predictions_change(
    tmp_path: Path, encoder: Any, estimator: Any
) -> None:
    table = people()
    table.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "m.skops").write_bytes(skops_bytes(fitted(encoder, estimator, table)))
    before = audited(tmp_path, "m.skops")
    assert before.code == 1
    assert "people_listed" in kinds(before)
    ended = scrubbed(tmp_path, "m.skops")
    assert ended.code == 0
    assert "astronaut" not in ended.out + (tmp_path / "new.json").read_text()
    if isinstance(estimator, DecisionTreeClassifier):
        assert "some people with a value of 'job' that fewer than 10 people have" in ended.out
    after = audited(tmp_path, "new.json")
    assert kinds(after) == set()
    assert after.code == 0


@pytest.mark.thorough
def test_leaves_that_count_people_keep_values_of_a_few(tmp_path: Path) -> None:
    table = people()
    table.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "m.skops").write_bytes(skops_bytes(fitted(OrdinalEncoder(), DecisionTreeClassifier(), table)))
    assert scrubbed(tmp_path, "m.skops", "counts").code == 0
    assert kinds(audited(tmp_path, "new.json")) >= {"counts", "people_listed"}


def table_of(frame: pd.DataFrame, **job: Any) -> Table:
    """People as the policy's table; `job` are further fields of that column."""
    schema = Schema(
        (
            Column("income", frozenset({"quasi_identifier"}), bounds=(0.0, 1e7)),
            Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 120.0)),
            Column("job", frozenset({"quasi_identifier"}), VALUES, **job),
            Column("rich", frozenset({"class", "sensitive"}), ("no", "yes")),
        )
    )
    typed = {column.name: typed_column(column, frame[column.name].tolist()) for column in schema.columns}
    return make_table(schema, pd.DataFrame(typed))


def listed(model: ModelIR) -> set[str]:
    """The values of coded features."""
    return {value for one in model.origins or () if isinstance(one, CategoryCodes) for value in one.codes}


def by_sets(frame: pd.DataFrame) -> ModelIR:
    """A tree that asks for the texts of jobs."""
    tree = TreeIR(
        np.array([0, LEAF, LEAF]),
        np.full(3, np.nan),
        np.array([1, LEAF, LEAF]),
        np.array([2, LEAF, LEAF]),
        np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
        subsets={0: frozenset({"astronaut", "cook"})},
    )
    return ModelIR("test", ("job",), ("no", "yes"), (tree,), "labels", discloses=())


MODELS: Mapping[str, Any] = {
    "one-hot": lambda frame: gate.from_sklearn(fitted(OneHotEncoder(), DecisionTreeClassifier(), frame)),
    "ordinal": lambda frame: gate.from_sklearn(fitted(OrdinalEncoder(), DecisionTreeClassifier(), frame)),
    "sets": by_sets,
}


@pytest.mark.parametrize("name", MODELS)
def test_a_public_list_is_completed_and_no_answer_changes(name: str) -> None:
    frame = people()
    whole = MODELS[name](frame)
    audited_table = TableOfPolicy(table_of(frame, public_domain=True), {}, 10, "model")
    less = minimise(whole, "labels", "model")
    merged = merge_rare_values(whole, less, audited_table)
    assert merged.columns == ()
    done = complete_public_lists(less, audited_table)
    assert listed(done) == set(VALUES)
    assert on_data(whole, done, audited_table).different == 0


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.thorough
def test_only_people_with_merged_values_are_predicted_otherwise(name: str) -> None:
    frame = people()
    whole = MODELS[name](frame)
    audited_table = TableOfPolicy(table_of(frame), {}, 10, "model")
    merged = merge_rare_values(whole, minimise(whole, "labels", "model"), audited_table)
    assert merged.columns == ("job",)
    less = minimise(merged.model, "labels", "model")
    assert listed(less) <= {"clerk", "cook", "nurse", "smith"}
    assert on_data(whole, less, audited_table, merged).different == 0
    assert bool(on_data(whole, less, audited_table).different) is bool(merged.changed)


def test_unseen_values_become_the_value_with_which_the_fewest_predictions_change() -> None:
    """Three astronauts are rich and two popes are not: as nurses, who are rich, two people are predicted otherwise."""
    frame = people()
    frame["rich"] = np.where(frame["job"].isin(["nurse", "astronaut"]), "yes", "no")
    model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier()).fit(frame[["job"]], frame["rich"])
    whole = gate.from_sklearn(model)
    table = table_of(frame)
    audited_table = TableOfPolicy(table, {}, 10, "model")
    merged = merge_rare_values(whole, minimise(whole, "labels", "model"), audited_table)
    assert merged.changed == ("job",)
    assert on_data(whole, merged.model, audited_table).different == 2


@pytest.mark.parametrize("name", MODELS)
def test_one_value_of_a_few_is_merged_without_changing_an_answer(name: str) -> None:
    """Models of encoders refuse unseen values, which become what that value is; a set takes them for all others."""
    frame = people()
    frame.loc[frame["job"] == "pope", "job"] = "clerk"
    whole = MODELS[name](frame)
    audited_table = TableOfPolicy(table_of(frame), {}, 10, "model")
    merged = merge_rare_values(whole, minimise(whole, "labels", "model"), audited_table)
    assert merged.columns == ("job",)
    assert merged.changed == (("job",) if name == "sets" else ())


def test_values_that_the_policy_codes_itself_are_left_alone() -> None:
    frame = people()
    codes = {value: float(code) for code, value in enumerate(sorted(VALUES))}
    coded = frame.assign(job=frame["job"].map(codes))[["job"]]
    whole = gate.from_sklearn(DecisionTreeClassifier().fit(coded, frame["rich"]))
    audited_table = TableOfPolicy(table_of(frame), {"job": Encoding(codes=codes)}, 10, "model")
    assert merge_rare_values(whole, minimise(whole, "labels", "model"), audited_table).columns == ()


def test_thresholds_that_are_no_cell_stay_as_they_are() -> None:
    frame = people()
    whole = gate.from_sklearn(DecisionTreeClassifier(max_depth=4).fit(frame[["income", "age"]], frame["rich"]))
    audited_table = TableOfPolicy(table_of(frame), {}, 10, "model")
    before, after = whole.trees[0].threshold, move_rare_thresholds(whole, audited_table).trees[0].threshold
    rare = column_cells(audited_table.table, 10)["income"]
    assert rare is not None
    assert np.array_equal(before[~rare.are_of_few(before)], after[~rare.are_of_few(before)], equal_nan=True)


def test_fills_of_missing_cells_go_where_they_went() -> None:
    """The scaled median of the incomes is compared with thresholds after the scaling."""
    frame = people()
    cell = float(frame["income"][0])
    tree = TreeIR(
        np.array([0, LEAF, LEAF]),
        np.array([cell, np.nan, np.nan]),
        np.array([1, LEAF, LEAF]),
        np.array([2, LEAF, LEAF]),
        np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
    )
    fill = float(np.nextafter(cell, np.inf))
    model = ModelIR("test", ("income",), ("no", "yes"), (tree,), "labels", origins=(Numeric("income", (), fill),))
    audited_table = TableOfPolicy(table_of(frame), {}, 10, "model")
    assert move_rare_thresholds(model, audited_table).trees[0].threshold[0] == cell  # there is no room
    (moved,) = move_rare_thresholds(replace(model, origins=None), audited_table).trees
    assert moved.threshold[0] > fill


def test_tests_that_send_the_codes_that_come_to_them_one_way_are_left_out() -> None:
    tree = TreeIR(
        np.array([0, 0, LEAF, LEAF, LEAF]),
        np.array([1.5, 0.5, np.nan, np.nan, np.nan]),
        np.array([1, 3, LEAF, LEAF, LEAF]),
        np.array([2, 4, LEAF, LEAF, LEAF]),
        np.eye(5),
    )
    origin = CategoryCodes("job", {"cook": 1.0, "nurse": 2.0}, 2.0, None)
    model = ModelIR("test", ("job",), tuple("abcde"), (tree,), "labels", origins=(origin,))
    (less,) = without_idle_tests(model).trees
    assert less.nodes == 3
    assert less.values[less.leaves].argmax(axis=1).tolist() == [4, 2]


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["json", "skops", "onnx"])
@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()])
def test_repair_writes_files_without_values_of_a_few_people(tmp_path: Path, encoder: Any, ending: str) -> None:
    pytest.importorskip("onnx")
    table = people()
    table.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "m.skops").write_bytes(skops_bytes(fitted(encoder, DecisionTreeClassifier(), table)))
    (tmp_path / "policy.yaml").write_text(json.dumps(policy("m.skops")))
    new = tmp_path / f"new.{ending}"
    ended = leafgate("repair", tmp_path / "m.skops", "--policy", tmp_path / "policy.yaml", "--out", new)
    assert ended.code == 0
    assert "takes values of 'job' that fewer than 10 people have for values that it has never seen" in ended.out
    content = new.read_bytes()
    entries = list(entries_of(content).values()) if ending == "skops" else [content]
    assert not any(b"astronaut" in entry for entry in entries)


@pytest.mark.thorough
def test_the_remedy_of_a_forest_with_cells_of_a_few_people_is_scrub_and_asks_whether_a_list_is_public(
    tmp_path: Path,
) -> None:
    """Without the policy scrub takes out what leaves tell, and cannot know whose cells there are."""
    table = people()
    table.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "m.skops").write_bytes(skops_bytes(fitted(OneHotEncoder(), RandomForestClassifier(5), table)))
    assert remedies(audited(tmp_path, "m.skops"))[0]["command"][1] == "repair"
    less = leafgate("scrub", tmp_path / "m.skops", tmp_path / "less.json", "--leaves", "shares", "--digits", "3")
    assert less.code == 0
    numbers: Any = {"encoding": {name: {"column": name} for name in ("income", "age")}}
    run, ask = remedies(audited(tmp_path, "less.json", **numbers))
    assert run["command"] == ["leafgate", "scrub", "MODEL", "NEW", "--leaves", "shares", "--policy", "POLICY"]
    assert "Does the list of values of 'job' exist without this table" in ask["text"]
    assert scrubbed(tmp_path, "less.json", **numbers).code == 0
    assert audited(tmp_path, "new.json", **numbers).code == 0


def remedies(ended: Ended) -> list[dict[str, Any]]:
    """What the finding on what the file discloses says is to be done."""
    (found,) = [each for each in ended.document["findings"] if each.get("metric") == "file_disclosure"]
    return list(found["remedies"])
