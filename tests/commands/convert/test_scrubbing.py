import json
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import leafgate as gate
from command_line import leafgate
from feature_rows import predicted, votes
from installed_readers import minimise, neutral_file, read_foreign, rows_of
from leafgate import ReleaseError
from leafgate.algorithms.consistency import share_units
from leafgate.api import FileDisclosure, Schema
from leafgate.commands.convert.equivalence import unproved, with_unproved
from leafgate.commands.convert.rounding import largest_change, precision, rounded, same_labels, with_rounded_numbers
from leafgate.commands.convert.sampling import random_cells
from leafgate.commands.convert.scrub import LeafContent, Proof, compare_on_random_points, refuse_different
from leafgate.models.exposure.categories import without_declared
from leafgate.models.exposure.shares import _fewest as fewest_people
from leafgate.models.exposure.shares import counts_recoverable, identifiable_rows
from leafgate.readers import LEAF, RATIOS_DISCLOSURE, CategoryCodes, ModelIR, TreeIR
from leafgate.session.draft import model_hints
from sample_model import MODEL, with_tree
from sklearn_pipelines import PIPELINES, as_frame, people
from sklearn_zoo import CLASSIFIERS, fitted, skops_bytes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pipeline's skops and joblib files, its people, and a policy that audits `minimise.json`."""
    table = people(1, gaps=False)
    features, target = as_frame(table, each=True)
    model = PIPELINES["rare"]().fit(features, target)
    (tmp_path / "m.skops").write_bytes(skops_bytes(model))
    joblib.dump(model, tmp_path / "m.joblib", compress=3)
    features.assign(rich=target).to_csv(tmp_path / "people.csv", index=False)
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [17, 90]},
        "school": {"role": "quasi_identifier", "values": list(table.schema["school"].values or ())},
        "job": {"role": "quasi_identifier", "values": ["x", "y"]},
        "pay": {"role": "private", "bounds": [-1e6, 1e6]},
        "rich": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    policy = {
        "leafgate": 1,
        "name": "scrubbed",
        "data": {"path": "people.csv", "columns": columns},
        "build": {"use": "published", "path": "scrubbed.json"},
        "publish": {"leaves": "labels"},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "k_anonymity", "average": True, "at_least": 2}],
    }
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    return tmp_path


@pytest.mark.thorough
def test_a_scrubbed_file_tells_labels_and_passes_as_such(folder: Path) -> None:
    (folder / "scrubbed.json").write_bytes((folder / "m.skops").read_bytes())
    assert leafgate("audit", folder / "policy.yaml").code == 1
    (folder / "scrubbed.json").unlink()
    ended = leafgate(
        *(
            "scrub",
            folder / "m.skops",
            folder / "scrubbed.json",
            "--leaves",
            "labels",
            "--policy",
            folder / "policy.yaml",
        )
    )
    assert (ended.code, ended.err) == (0, "")
    assert "on 20,000 random points and" in ended.out
    audited = leafgate("audit", folder / "policy.yaml", "--json")
    assert audited.code == 0
    (found,) = [f for f in audited.document["findings"] if f["id"] == "published_file"]
    assert found["evidence"]["effective"] == "labels"
    assert found["evidence"]["discloses"] == []  # the policy declares the values that tests name
    content = (folder / "scrubbed.json").read_bytes()
    assert b'"counts":null' in content
    assert b'"size":null' in content
    assert b'["over",' not in content


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("leaves", ["labels", "shares", "counts"])
@pytest.mark.thorough
def test_a_scrubbed_model_predicts_the_same_or_is_refused(name: str, leaves: LeafContent) -> None:
    model = gate.from_sklearn(fitted(name, 3 if name != "exponential" else 2, gaps=False))
    try:
        less = minimise(model, leaves, "model")
    except ReleaseError:
        assert model.values == "scores" if leaves == "labels" else model.leaf_level != "counts"
        return
    proof = compare_on_random_points(model, less, 1)
    if leaves == "labels" and model.combine == "mean_per_tree":
        assert proof.different
        with pytest.raises(ReleaseError, match="--leaves shares"):
            refuse_different([("points", proof)], leaves, "model")
        return
    if leaves == "shares" and model.combine == "mean_per_tree" and proof.different:
        with pytest.raises(ReleaseError, match="--digits 3"):
            refuse_different([("points", proof)], leaves, "model", 100)
        return
    assert proof.different == 0
    result = read_foreign(neutral_file(less), "less")
    assert result.level == leaves or "scores_betray_counts" in {item.kind for item in less.discloses}
    assert result.level == less.level
    assert not {"seed", "impurity", "bootstrap_rows", "sizes"} & {item.kind for item in less.discloses}


def test_the_proof_finds_what_differs() -> None:
    other = with_tree(threshold=np.array([np.nextafter(np.float32(37.5), np.float32(99)), 0.5, 0, 0, 0]).astype(float))
    assert compare_on_random_points(MODEL, MODEL, 0).different == 0
    assert compare_on_random_points(MODEL, other, 0).different > 0


def test_leaves_of_one_label_become_one() -> None:
    less = minimise(MODEL, "labels", "model").trees[0]
    assert less.feature.tolist() == [0, LEAF, LEAF]
    assert less.values.tolist()[1:] == [[1, 0], [0, 1]]
    assert minimise(MODEL, "labels", "model").features == ("age",)


def test_values_that_the_policy_declares_and_tests_need_are_no_disclosure(folder: Path) -> None:
    whole = read_foreign((folder / "m.skops").read_bytes(), "m.skops")
    less = minimise(whole, "labels", "m.skops")
    schema = people(1, gaps=False).schema
    assert [item.kind for item in less.discloses] == ["categories"]
    assert without_declared(less, schema).discloses == ()
    used = next(value for one in less.origins or () if isinstance(one, CategoryCodes) for value in one.codes)
    fewer = tuple(
        replace(column, values=tuple(value for value in column.values or () if value != used) or None)
        if column.values is not None
        else column
        for column in schema.columns
    )
    assert without_declared(less, Schema(fewer)) == less
    listed = replace(whole, discloses=less.discloses)  # every value of the encoder, whether a test needs it or not
    assert without_declared(listed, schema) == listed


def test_what_is_not_there_cannot_be_left() -> None:
    model = minimise(MODEL, "labels", "model")
    for leaves in ("shares", "counts"):
        with pytest.raises(ReleaseError, match="to leave there"):
            minimise(model, leaves, "model")


def test_a_model_is_not_written_over_itself(folder: Path) -> None:
    assert leafgate("scrub", folder / "m.skops", folder / "m.skops", "--leaves", "labels").code == 2


@pytest.mark.parametrize("said", ["codes", "values", "nothing"])
@pytest.mark.thorough
def test_codes_are_not_taken_for_the_columns_numbers_when_counts_go(folder: Path, said: str) -> None:
    table = pd.read_csv(folder / "people.csv", dtype={"school": str})
    schools = sorted(table["school"].unique())
    coded = table[["school"]].assign(school=table["school"].map(schools.index))
    (folder / "m.skops").write_bytes(skops_bytes(DecisionTreeClassifier(max_depth=2).fit(coded, table["rich"])))
    policy = json.loads((folder / "policy.yaml").read_text()) | {"publish": {"leaves": "shares"}}
    numbers = [str(3 * i) for i in range(len(schools))]
    spelled = table["school"].map(dict(zip(schools, numbers, strict=True)))
    table.assign(school=spelled).to_csv(folder / "people.csv", index=False)
    policy["data"]["columns"]["school"]["values"] = numbers
    codes = {number: i for i, number in enumerate(numbers)}
    if said != "nothing":
        policy["build"]["encoding"] = {"school": {"codes": codes} if said == "codes" else {"column": "school"}}
    (folder / "policy.yaml").write_text(json.dumps(policy))
    items = ("scrub", folder / "m.skops", folder / "scrubbed.json", "--leaves", "shares")
    ended = leafgate(*items, "--policy", folder / "policy.yaml")
    wrong = {"values": "count other people than the policy's table", "nothing": "or for codes 0, 1, 2", "codes": ""}
    assert ended.code == (0 if said == "codes" else 2), ended.err
    assert (folder / "scrubbed.json").exists() == (said == "codes")
    assert wrong[said] in ended.err
    alone = leafgate(*items)
    assert (alone.code, "what is 'school'" in alone.out, "--policy" in alone.out) == (0, True, True)
    audited = leafgate("audit", folder / "policy.yaml", "--json")
    assert audited.code == {"codes": 0, "values": 3, "nothing": 2}[said]
    assert said != "nothing" or "was held against no table" in audited.problems[0]["message"]


def test_numbers_that_no_table_proved_are_what_the_policy_says(folder: Path) -> None:
    table = pd.read_csv(folder / "people.csv")
    model = DecisionTreeClassifier(max_depth=3).fit(table[["age", "pay"]], table["rich"])
    (folder / "m.skops").write_bytes(skops_bytes(model))
    assert leafgate("scrub", folder / "m.skops", folder / "scrubbed.json", "--leaves", "labels").code == 0
    assert leafgate("scrub", folder / "scrubbed.json", folder / "twice.json", "--leaves", "labels").code == 0
    assert (folder / "twice.json").read_bytes() == (folder / "scrubbed.json").read_bytes()
    refused = leafgate("audit", folder / "policy.yaml", "--json")
    assert refused.code == 2
    assert {problem["message"].partition(":")[0] for problem in refused.problems} == {"'age'", "'pay'"}
    assert all("encoding" in problem["remedy"] for problem in refused.problems)
    policy = json.loads((folder / "policy.yaml").read_text())
    policy["build"]["encoding"] = {"age": {"column": "age"}, "pay": {}}
    (folder / "policy.yaml").write_text(json.dumps(policy))
    assert leafgate("audit", folder / "policy.yaml").code == 0
    hints = model_hints(read_foreign((folder / "scrubbed.json").read_bytes(), "model"), ["age", "pay"], {})
    assert hints.unresolved_features == ("age", "pay")


def test_what_counts_could_never_prove_is_not_asked_for(folder: Path) -> None:
    whole = read_foreign((folder / "m.skops").read_bytes(), "m.skops")
    less = minimise(whole, "labels", "m.skops")
    marked = with_unproved(whole, less)
    by_values = {
        name for name, one in zip(less.features, less.origins or (), strict=True) if isinstance(one, CategoryCodes)
    }
    assert by_values
    assert set(unproved(marked)) == set(less.features) - by_values
    assert with_unproved(replace(whole, counted="bootstrap"), less) == marked
    assert with_unproved(replace(whole, counted="unknown"), less) == less
    assert with_unproved(whole, minimise(whole, "counts", "m.skops")).origins == minimise(whole, "counts", "m").origins
    codes = replace(less, origins=tuple(CategoryCodes("school", {"1": 0.0, "2": 1.0}) for _ in less.features))
    assert unproved(with_unproved(whole, codes)) == less.features


def test_a_pickle_is_converted_by_who_trusts_it(folder: Path) -> None:
    refused = leafgate("convert", folder / "m.joblib", folder / "m.json")
    assert (refused.code, "--trust" in refused.err) == (2, True)
    assert leafgate("convert", folder / "m.joblib", folder / "m.json", "--trust").code == 0
    pickled, zipped = (read_foreign((folder / name).read_bytes(), name) for name in ("m.json", "m.skops"))
    assert neutral_file(pickled).replace(b"scikit-learn in memory", b"skops") == neutral_file(zipped)
    assert (folder / "m.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", [pickle.dumps(LogisticRegression()), b"\x80\x04broken", b"\x1f\x8bbroken"])
def test_a_pickle_of_something_else_or_broken_is_refused(folder: Path, content: bytes) -> None:
    (folder / "m.joblib").write_bytes(content)
    assert leafgate("convert", folder / "m.joblib", folder / "m.json", "--trust").code == 2


@pytest.mark.parametrize(
    ("content", "missing"),
    [
        (b"cabsent_module.models\nModel\n.", "it needs the module 'absent_module', which is missing"),
        (b"\x80\x04\x8c\x07pathlib\x8c\x05Model\x93.", "it needs 'Model' of the module 'pathlib', which is missing"),
        (b"cpathlib\nModel\n.", "it needs 'Model' of the module 'pathlib', which is missing"),
    ],
)
def test_what_a_pickle_needs_and_is_missing_is_named_and_skops_too(folder: Path, content: bytes, missing: str) -> None:
    (folder / "m.joblib").write_bytes(content)
    ended = leafgate("convert", folder / "m.joblib", folder / "m.json", "--trust")
    assert (ended.code, missing in ended.err, "skops.io.dump" in ended.err) == (2, True, True)


def test_other_formats_are_converted_without_trust(folder: Path) -> None:
    assert leafgate("convert", folder / "m.skops", folder / "m.json").code == 0
    again: Any = read_foreign((folder / "m.json").read_bytes(), "m.json")
    assert again.format == "skops"


def test_values_that_no_test_parts_from_others_go_with_their_names() -> None:
    job = np.array(["nurse", "smith", "clerk", "lighthouse keeper"] * 50, dtype=object)
    frame = pd.DataFrame({"job": job})
    for encoder in (OneHotEncoder(), OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder()):
        model = make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(frame, job == "smith")
        whole = gate.from_sklearn(model)
        less = minimise(whole, "labels", "model")
        assert b"lighthouse keeper" in neutral_file(whole)
        content = neutral_file(less)
        assert b"smith" in content
        assert b"nurse" not in content
        assert b"lighthouse keeper" not in content
        assert [(item.kind, item.severity) for item in less.discloses] == [("categories", "low")]
        assert compare_on_random_points(whole, less, 0).different == 0
        silent = read_foreign(neutral_file(replace(whole, discloses=())), "model")
        assert "categories" in {item.kind for item in silent.discloses}


@pytest.mark.parametrize("fill", [-100.0, 100.0])
def test_a_missing_cell_goes_where_its_stand_in_went(fill: float) -> None:
    age = np.array([20, 30, np.nan, 50, 60, 70] * 20)
    frame = pd.DataFrame({"age": age})
    filled = SimpleImputer(strategy="constant", fill_value=fill)
    model = make_pipeline(filled, DecisionTreeClassifier(max_depth=1)).fit(frame, age > 40)
    whole = gate.from_sklearn(model)
    less = minimise(whole, "labels", "model")
    assert compare_on_random_points(whole, less, 0).different == 0
    gone = {"age": [None, 10.0, 90.0]}
    labels = [str(one) for one in model.predict(pd.DataFrame({"age": [np.nan, 10.0, 90.0]}))]
    assert [less.classes[i] for i in predicted(less, rows_of(less, gone))] == labels
    assert labels[0] == labels[1 if fill < 0 else 2]


def of_shares(shares: list[float]) -> Any:
    """A tree whose leaves say these shares of the second class, and its level as its file discloses it."""
    inner, n = len(shares) - 1, len(shares)
    none = [LEAF] * n
    tree = TreeIR(
        np.array([0] * inner + none),
        np.array([*np.arange(inner)[::-1] + 0.5, *[np.nan] * n]),
        np.array([*range(1, inner), 2 * inner, *none] if inner else none),
        np.array([*range(inner, 2 * inner), *none] if inner else none),
        np.array([[np.nan, np.nan]] * inner + [[1 - share, share] for share in shares]),
    )
    return ModelIR("x", ("x",), ("no", "yes"), (tree,), "shares", discloses=(RATIOS_DISCLOSURE,))


@pytest.mark.parametrize(
    ("shares", "level"),
    [
        ([165 / 296, 3 / 7], "counts"),
        ([float(np.float32(165 / 296)), 1.0], "counts"),
        ([165 / 296, 0.7310585786300049], "counts"),
        ([0.557, 0.429], "shares"),
        ([0.55743, 0.7310585786300049], "shares"),
        ([0.0, 1.0], "shares"),
        ([0.67, 0.43, 0.5], "shares"),
        ([0.557, 0.667], "counts"),  # nobody but multiples of 3 has 0.667, up to 400 people
        ([0.5574, 0.6667, 0.4286, 0.2857], "counts"),
        ([*(n / 100 + 0.00123456 for n in range(60)), 2 / 3], "counts"),
        ([*(n / 100 for n in range(60)), 2 / 3], "counts"),
        ([*(float(np.float32(n / 100 + 0.00123456)) for n in range(30)), float(np.float32(2 / 3))], "counts"),
    ],
)
def test_shares_to_the_last_digit_betray_counts_and_rounded_ones_do_not(shares: list[float], level: str) -> None:
    model = of_shares(shares)
    assert read_foreign(neutral_file(model), "model").level == level
    assert read_foreign(neutral_file(minimise(model, "shares", "model")), "model").level == "shares"


PAIRS = np.array([(some, n - some) for n in range(2, 201) for some in range(1, n)], dtype=float)
"""Every leaf of up to 200 people with both classes."""


def people_of(units: int) -> tuple[Any, Any]:
    """The rounded shares of all such leaves, and whether all leaves with these shares have a multiple of the fewest."""
    people: dict[tuple[float, ...], set[int]] = {}
    shares = rounded(PAIRS / PAIRS.sum(axis=1, keepdims=True), units)
    for row, n in zip(shares.tolist(), PAIRS.sum(axis=1).tolist(), strict=True):
        people.setdefault(tuple(row), set()).add(int(n))
    return np.array(list(people)), np.array([not any(n % min(each) for n in each) for each in people.values()])


@pytest.mark.parametrize("units", [4, 5, 10, 20, 25, 50, 100])
@pytest.mark.thorough
def test_of_two_digits_or_coarser_steps_every_share_is_one_of_different_numbers_of_people(units: int) -> None:
    rows, alone = people_of(units)
    assert len(rows) == units - 1
    assert not alone.any()
    assert not identifiable_rows(rows, units).any()
    assert not identifiable_rows(rows, 100).any()  # as a reader sees them who does not know the step
    assert not counts_recoverable(of_shares(rows[:, 1].tolist()))


@pytest.mark.parametrize("units", [8, 40, 125, 200, 250, 500])
@pytest.mark.thorough
def test_steps_of_three_digits_are_read_as_three_digits_where_that_discloses_more(units: int) -> None:
    """Nobody can distinguish .525 rounded to steps of .025 from 21 of 40 people."""
    rows, alone = people_of(units)
    either = identifiable_rows(rows, units) | identifiable_rows(rows, 1000)
    assert (either | ~alone).all()
    assert either.sum() > alone.sum()
    stated = (FileDisclosure("ratios", "medium", f"shares of classes, rounded to {precision(units)}"),)
    assert counts_recoverable(replace(of_shares(rows[:, 1].tolist()), discloses=stated))
    if not either.all():
        assert not counts_recoverable(replace(of_shares(rows[~either, 1].tolist()), discloses=stated))


def test_of_three_digits_some_are_not_and_are_refused() -> None:
    rows, alone = people_of(1000)
    assert (identifiable_rows(rows, 1000) == alone).all()
    assert {row[0] for row in rows[alone].tolist()} >= {0.5, 0.333, 0.667, 0.25, 0.75}
    with pytest.raises(ReleaseError, match="--digits 2"):
        minimise(of_shares([2 / 3, 165 / 296]), "shares", "model", 1000)
    assert minimise(of_shares([165 / 296, 71 / 304]), "shares", "model", 1000).level == "shares"


@pytest.mark.thorough
def test_of_three_classes_so_it_is_too() -> None:
    people: dict[int, list[int]] = {}
    for n in range(2, 130):
        first, second = (each.ravel() for each in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
        counts = np.column_stack([first, second, n - first - second])[first + second <= n]
        units = np.rint(rounded(counts[(counts > 0).sum(axis=1) > 1] / n, 100) * 100).astype(int)
        for code in np.unique(units[:, 0] * 1000 + units[:, 1]).tolist():
            people.setdefault(code, []).append(n)
    assert len(people) == 5148
    assert all(any(n % each[0] for n in each) for each in people.values())
    rows = np.array([[code // 1000, code % 1000, 100 - code // 1000 - code % 1000] for code in people]) / 100
    assert not identifiable_rows(rows, 100).any()


@given(
    st.lists(st.integers(0, 1200), min_size=2, max_size=4).filter(lambda counts: np.count_nonzero(counts) > 1),
    st.sampled_from([1e-12, 1e-7, 1e-4]),
)
def test_the_fewest_people_are_those_that_trying_each_number_finds(counts: list[int], close: float) -> None:
    shares = np.array([counts], dtype=float) / sum(counts)
    tried = np.arange(1, 1001)[:, None]
    fits = (abs(shares - np.rint(shares * tried) / tried) <= close).all(axis=1)
    assert fewest_people(shares, close)[0] == (np.flatnonzero(fits)[0] + 1 if fits.any() else 1001)


UNITS = (2, 3, 7, 10, 20, 100, 1000)


@given(st.lists(st.integers(0, 60), min_size=2, max_size=5).filter(any), st.sampled_from(UNITS))
def test_rounded_shares_sum_to_one_and_keep_who_is_there_and_who_is_first(counts: list[int], units: int) -> None:
    shares = np.array([counts], dtype=float) / sum(counts)
    parts = rounded(shares, units)[0] * units
    assert np.allclose(parts, np.rint(parts))
    assert parts.sum() == pytest.approx(units)
    if units > np.count_nonzero(counts):
        assert parts.argmax() == shares[0].argmax()
    if units > 2 and np.count_nonzero(counts) == 2:
        assert ((parts > 0) == (shares[0] > 0)).all()
        assert abs(parts / units - shares[0]).max() <= 1 / units + 1e-12


def test_more_classes_than_digits_can_tell_apart_are_refused() -> None:
    says = np.full((1, 30), 0.4 / 29)
    says[0, 7] = 0.6
    leaf = np.array([LEAF])
    tree = TreeIR(leaf, np.array([np.nan]), leaf, leaf, says)
    model = ModelIR("x", ("x",), tuple(map(str, range(30))), (tree,), "shares")
    with pytest.raises(ReleaseError, match="--digits 2"):
        minimise(model, "shares", "model", 10)
    assert minimise(model, "shares", "model").trees[0].values.argmax() == 7


@pytest.mark.parametrize("says", [[0.34, 0.33, 0.33], [0.95, 0.05, 0.0], [0.05, 0.95, 0.0]])
def test_a_leaf_with_no_unit_for_each_of_its_classes_and_one_more_for_the_first_is_refused(says: list[float]) -> None:
    """With halves, .95 and .05 either lose a class or become equal shares, of which the first class is the label."""
    leaf = np.array([LEAF])
    tree = TreeIR(leaf, np.array([np.nan]), leaf, leaf, np.array([says]))
    model = ModelIR("x", ("x",), ("a", "b", "c"), (tree,), "shares")
    if says[0] == 0.95:
        assert minimise(model, "shares", "model", 2).trees[0].values.tolist() == [[0.5, 0.5, 0.0]]
        return
    with pytest.raises(ReleaseError, match=r"steps of 0\.5 can tell apart") as refused:
        minimise(model, "shares", "model", 2)
    assert "--digits 1" in str(refused.value)


@pytest.mark.parametrize(
    ("step", "refused"), [("0.05", ""), ("0.04", ""), ("0.01", ""), ("0.025", "--digits 1"), ("0.0625", "--digits 1")]
)
def test_a_step_of_more_than_two_digits_is_refused_where_a_reader_may_count_people(step: str, refused: str) -> None:
    model = of_shares([1 / 2, 1 / 4, 0.523, 0.9])
    units = round(1 / float(step))
    if refused:
        with pytest.raises(ReleaseError, match="people follow from shares rounded to steps of") as error:
            minimise(model, "shares", "model", units)
        assert refused in str(error.value)
        return
    less = minimise(model, "shares", "model", units)
    result = read_foreign(neutral_file(less), "model")
    assert result.level == "shares"
    assert result.discloses == less.discloses
    assert [item.says for item in less.discloses] == [f"shares of classes, rounded to {precision(units)}"]
    assert precision(20) == "steps of 0.05"


@pytest.mark.thorough
def test_shares_are_rounded_to_a_step_and_pass_an_audit(folder: Path) -> None:
    policy = json.loads((folder / "policy.yaml").read_text()) | {"publish": {"leaves": "shares"}}
    (folder / "policy.yaml").write_text(json.dumps(policy))
    items = ("scrub", folder / "m.skops", folder / "scrubbed.json", "--leaves", "shares", "--step", ".05")
    ended = leafgate(*items, "--policy", folder / "policy.yaml")
    assert ended.code == 0, ended.err
    less = read_foreign((folder / "scrubbed.json").read_bytes(), "scrubbed.json")
    (tree,) = less.trees
    parts = tree.values[tree.leaves] * 20
    assert np.allclose(parts, np.rint(parts))
    assert len(np.unique(parts)) > 4
    assert share_units(tree.values[tree.leaves], less.discloses) == 20
    assert share_units(tree.values[tree.leaves], ()) == 100
    audited = leafgate("audit", folder / "policy.yaml", "--json")
    assert audited.code == 0, audited.out
    (found,) = [f for f in audited.document["findings"] if f["id"] == "published_file"]
    assert "shares of classes, rounded to steps of 0.05" in [item["says"] for item in found["evidence"]["discloses"]]
    lied = replace(tree, values=rounded(np.nan_to_num(0.8 * tree.values + 0.1, nan=0.5), 20))
    for other in (replace(less, trees=(lied,)), replace(less, discloses=(RATIOS_DISCLOSURE,))):
        (folder / "scrubbed.json").write_bytes(neutral_file(other))  # another leaf, and a step that is not stated
        assert leafgate("audit", folder / "policy.yaml").code == 3


@pytest.mark.parametrize("step", ["0", "1", "0.3", "-0.05", "0.0009", "nan", "inf", "0.7"])
def test_a_number_that_does_not_divide_one_is_no_step(folder: Path, step: str) -> None:
    items = ("scrub", folder / "m.skops", folder / "scrubbed.json", "--leaves", "shares")
    ended = leafgate(*items, f"--step={step}")
    assert (ended.code, ended.out) == (2, "")
    assert "is no step of shares" in ended.err
    assert not (folder / "scrubbed.json").exists()


def test_a_step_and_digits_are_not_given_both(folder: Path) -> None:
    items = ("scrub", folder / "m.skops", folder / "scrubbed.json", "--leaves", "shares")
    ended = leafgate(*items, "--step", "0.05", "--digits", "2")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert "--digits says it too" in ended.err
    assert not (folder / "scrubbed.json").exists()


@pytest.mark.thorough
def test_the_largest_change_of_a_share_is_told_and_counts_are_held_against_the_table(folder: Path) -> None:
    items = ("scrub", folder / "m.skops", folder / "scrubbed.json", "--leaves", "shares")
    ended = leafgate(*items, "--policy", folder / "policy.yaml")
    assert ended.code == 0, ended.err
    found = re.search(r"shares on its leaves, which change by at most (0\.00\d\d); no label changes", ended.out)
    assert found is not None
    whole, less = (read_foreign((folder / name).read_bytes(), name) for name in ("m.skops", "scrubbed.json"))
    cells = random_cells((whole, less), 5000, np.random.default_rng(1))
    exact = votes(replace(whole, combine="mean_per_tree"), rows_of(whole, cells))
    rough = votes(replace(less, combine="mean_per_tree"), rows_of(less, cells))
    assert abs(exact - rough).max() == pytest.approx(float(found[1]), abs=5e-5)
    policy = json.loads((folder / "policy.yaml").read_text())
    (folder / "policy.yaml").write_text(json.dumps(policy | {"publish": {"leaves": "shares"}}))
    assert leafgate("audit", folder / "policy.yaml").code == 0
    (tree,) = less.trees
    lied = replace(tree, values=rounded(np.nan_to_num(0.9 * tree.values + 0.05, nan=0.5), 100))
    (folder / "scrubbed.json").write_bytes(neutral_file(replace(less, trees=(lied,))))
    assert leafgate("audit", folder / "policy.yaml").code == 3


def test_whether_labels_of_two_trees_stay_is_tried_on_all_leaves_that_can_meet() -> None:
    trees = [of_shares(shares).trees[0] for shares in ([0.104, 0.908], [0.204, 0.858])]
    model = replace(of_shares([0.5]), trees=tuple(trees), combine="mean_per_tree")
    assert same_labels(model, 10)
    assert not same_labels(replace(model, trees=(trees[0], of_shares([0.1, 0.897]).trees[0])), 100)  # 0.104 + 0.897 > 1
    assert not same_labels(replace(model, trees=tuple(trees * 20)), 100)


def test_a_mean_of_trees_changes_by_the_mean_of_their_changes() -> None:
    says = np.array([[1 / 3, 2 / 3]] * 2 + [[0.5, 0.5]])
    thirds = TreeIR(**TREE_OF_TWO, values=says)
    halves = TreeIR(**TREE_OF_TWO, values=np.full((3, 2), 0.5))
    model = ModelIR("made up", ("age",), ("low", "high"), (thirds, halves), "shares", combine="mean_per_tree")
    assert largest_change(replace(model, trees=(thirds,), combine="one"), 100) == pytest.approx(0.67 - 2 / 3)
    assert largest_change(model, 100) == pytest.approx((0.67 - 2 / 3) / 2)


TREE_OF_TWO: dict[str, Any] = {
    "feature": np.array([0, LEAF, LEAF]),
    "threshold": np.array([30.0, np.nan, np.nan]),
    "low": np.array([1, -1, -1]),
    "high": np.array([2, -1, -1]),
}


def test_of_three_classes_a_share_may_be_off_by_a_unit_for_what_is_left_over() -> None:
    assert identifiable_rows(np.array([[0.333, 0.333, 0.334]]), 1000).tolist() == [
        True
    ]  # a third each, of 3, 6, 9 ... people


def test_a_model_that_would_predict_otherwise_is_refused_without_counting_the_people() -> None:
    proof = Proof(points=1234, different=3, of_people=True)
    with pytest.raises(ReleaseError, match="would predict otherwise on some of the records of the table") as refused:
        refuse_different([("records of the table", proof)], "labels", "m.skops")
    assert not re.search(r"\d", str(refused.value).replace("m.skops", ""))


@given(st.integers(0, 10_000), st.sampled_from([1e-4, 0.03, 1.0, 25.0, 1e6]), st.sampled_from([0.0, 1.0, -7e3]))
def test_rounded_numbers_are_nobodys_and_cost_next_to_nothing(seed: int, scale: float, start: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 9, (200, 3))
    people = np.round(start + scale * (rows[:, 0] + rng.normal(0, 1, 200)), 6)
    model = gate.from_sklearn(DecisionTreeRegressor(min_samples_leaf=10, random_state=0).fit(rows, people))
    before, after = (one.trees[0].values[one.trees[0].leaves, 0] for one in (model, with_rounded_numbers(model)))
    assert len(before) == len(after)
    assert np.abs(after - before).max() <= np.std(before) / 2
    assert np.mean((after - before) ** 2) <= np.var(before) / 40
    assert not set(after.tolist()) & set(people.tolist())


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_people_do_not_follow_from_rounded_means_of_whole_numbers(scale: float) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 9, (400, 3))
    people = np.rint(scale * (rows[:, 0] + rng.normal(0, 1, 400)))
    model = gate.from_sklearn(DecisionTreeRegressor(min_samples_leaf=10, random_state=0).fit(rows, people))
    assert minimise(model, "labels", "model").level == "counts"
    assert minimise(with_rounded_numbers(model), "labels", "model").level == "labels"


def test_people_do_not_follow_from_numbers_that_are_moved_back() -> None:
    """Of shares of yes and no in thousandths, .5 is of an even number of few people; so they are hundredths."""
    rows = np.repeat([[0.0], [1.0], [2.0]], [6, 10, 11], axis=0)
    people = np.concatenate([np.repeat([1.0, 0.0], sides) for sides in ((2, 4), (5, 5), (6, 5))])
    model = gate.from_sklearn(DecisionTreeRegressor(random_state=0).fit(rows, people))
    rounded = with_rounded_numbers(replace(model, discloses=()))
    numbers = rounded.trees[0].values[rounded.trees[0].leaves, 0]
    gaps = np.diff(np.sort(numbers))
    assert np.allclose(gaps, np.round(gaps, 2), atol=1e-12)
    assert minimise(rounded, "labels", "model").level == "labels"


def test_as_few_digits_are_dropped_whatever_else_the_file_tells() -> None:
    """The file of scikit-learn tells the people of each node, which a repair takes out."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 9, (400, 3))
    model = gate.from_sklearn(DecisionTreeRegressor(min_samples_leaf=10).fit(rows, 100.5 * rows[:, 0]))
    assert model.level == "counts"
    before, after = (one.trees[0].values[one.trees[0].leaves, 0] for one in (model, with_rounded_numbers(model)))
    assert np.abs(after - before).max() <= np.std(before) / 20


def test_scores_of_boosting_are_not_rounded() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 2))
    model = gate.from_sklearn(GradientBoostingRegressor(n_estimators=3).fit(rows, rows[:, 0]))
    assert with_rounded_numbers(model) is model
