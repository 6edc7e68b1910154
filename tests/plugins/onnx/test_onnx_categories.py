"""Models over categories, sets of them and missing cells: onnxruntime and what is read back answer as they do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier

from example_counts import examples
from feature_rows import predicted
from installed_readers import Encoding, lower_model, onnx_file, read_foreign, rows_of
from leafgate import Table
from leafgate.algorithms.prediction import predict, predicted_numbers
from leafgate.api import Column, ReleaseError, bin_names
from leafgate.readers import LEAF, ArithmeticStep, CategoryCodes, ModelIR, Numeric, Origin, TreeIR
from onnx_pipelines import session
from random_models import CELLS, CODES, COLUMNS, GRADES, JOBS, NAN, RARE, random_model, table
from random_tables import table_of
from sklearn_zoo import skops_bytes


def sound(make: Callable[[int], ModelIR], seed: int) -> tuple[ModelIR, bytes]:
    """A model whose every branch somebody can take, and its file; others are refused, and there is another seed."""
    for each in range(seed, seed + 200):
        model = make(each)
        try:
            _ = released(model, table(model.classes)) if model.classes else numbers_of(model)
            return model, onnx_file(model)
        except ReleaseError as error:
            if not any(why in str(error) for why in RARE):
                raise
    raise AssertionError("no model in 200 seeds")


def run(content: bytes) -> tuple[Any, Any]:
    """What onnxruntime answers for everybody: a missing text is given as the empty one, a missing number as NaN."""
    running = session(content)
    given = {}
    for each in running.get_inputs():
        column = [cells[("job", "grade", "age").index(each.name)] for cells in CELLS]
        if "string" in each.type:
            given[each.name] = np.array([[cell or ""] for cell in column], dtype=object)
        else:
            given[each.name] = np.array([[NAN if cell is None else cell] for cell in column], dtype=np.float64)
    return tuple(running.run(None, given)) if len(running.get_outputs()) == 2 else (running.run(None, given)[0], None)


def released(model: ModelIR, people: Table) -> np.ndarray:
    """The class that leafgate's own routing predicts for each row of the table, in the table's order."""
    release = lower_model(model, people.schema, {}, "m").release
    return np.array(release.classes)[predict(release, people)]


def order(people: Table) -> np.ndarray:
    """For each of everybody the row of the table."""
    rows = people.frame[["job", "grade", "age"]].to_numpy(dtype=object).tolist()
    at = {tuple(None if cell != cell or cell is None else cell for cell in row): i for i, row in enumerate(rows)}
    return np.array([at[cells] for cells in CELLS])


@examples(0.5)
@given(
    seed=st.integers(0, 2**31),
    classes=st.sampled_from([2, 3]),
    trees=st.sampled_from([1, 2, 5]),
    kind=st.sampled_from(["labels", "shares", "scores"]),
)
@pytest.mark.thorough
def test_onnxruntime_and_the_file_read_back_predict_as_the_model_routes(
    seed: int, classes: int, trees: int, kind: str
) -> None:
    model, content = sound(lambda each: random_model(each, classes, trees, kind), seed)
    people = table(model.classes)
    expected = released(model, people)
    again = read_foreign(content, "new")
    assert (released(again, people) == expected).all()
    label, _ = run(content)
    assert (label == expected[order(people)]).all()
    assert again.values == kind
    assert (again.combine == "boost") == (kind == "scores")


@pytest.mark.parametrize("seed", range(6))
def test_numbers_of_categories_are_added_up_as_in_the_model(seed: int) -> None:
    model, content = sound(lambda each: random_model(each, 2, 3, "values"), seed)
    again = read_foreign(content, "new")
    numbers, _ = run(content)
    np.testing.assert_allclose(numbers[:, 0], numbers_of(model), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(numbers_of(again), numbers_of(model), rtol=1e-12)


def numbers_of(model: ModelIR) -> Any:
    """The predicted number of each of everybody, by leafgate's own routing."""
    edges = (-100.0, 0.0, 100.0)
    target = Column("learned", frozenset({"class", "sensitive"}), values=bin_names(edges), edges=edges)
    people = table_of([*COLUMNS, target], [(*cells, 1.0) for cells in CELLS])
    release = lower_model(model, people.schema, {}, "m").release
    return predicted_numbers(release, people)[order(people)]


def alone(origin: Origin | None, **test: Any) -> ModelIR:
    """One test of one feature."""
    tree = TreeIR(
        feature=np.array([0, LEAF, LEAF]),
        threshold=np.array([test.get("at", NAN), NAN, NAN]),
        low=np.array([1, LEAF, LEAF]),
        high=np.array([2, LEAF, LEAF]),
        values=np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
        missing_low=test.get("missing_low", False),
        subsets={0: frozenset(test["chosen"])} if "chosen" in test else {},
    )
    return ModelIR("made", ("job",), ("a", "b"), (tree,), "labels", discloses=(), origins=(origin,))


def test_an_encoder_names_the_values_that_tests_part_from_others_and_the_one_that_fills_gaps() -> None:
    codes = {"clerk": 0.0, "nurse": 1.0, "smith": 2.0, "gone": 3.0}
    origin = CategoryCodes("job", codes, -1.0, 3.0, fill_value="gone")
    content = onnx_file(alone(origin, chosen={1.0, 3.0}))
    encoder = onnx.load_from_string(content).graph.node[0]
    (keys,) = (each.strings for each in encoder.attribute if each.name == "keys_strings")
    assert list(keys) == [b"nurse", b"gone", b""]
    (again,) = read_foreign(content, "new").origins or ()
    assert again == CategoryCodes("job", {"nurse": 1.0, "gone": 1.0}, 0.0, 1.0, fill_value="gone")


def test_an_encoder_without_a_word_for_gaps_is_read_as_such() -> None:
    origin = CategoryCodes("job", {"clerk": 0.0, "nurse": 1.0, "smith": 2.0}, -1.0, 1.0)
    content = onnx_file(alone(origin, chosen={1.0}))
    (again,) = read_foreign(content, "new").origins or ()
    assert again == CategoryCodes("job", {"nurse": 1.0}, 0.0, 1.0)


@pytest.mark.thorough
def test_a_column_may_be_asked_about_many_sets() -> None:
    values = [f"v{i}" for i in range(11)]
    origin = CategoryCodes("job", {value: float(i) for i, value in enumerate(values)}, -1.0, -1.0)
    sets = [frozenset(float(i) for i in range(11) if number >> i & 1) for number in range(1, 2000, 2)]
    (tree,) = alone(origin, chosen={0.0}).trees
    model = replace(alone(origin, chosen={0.0}), trees=tuple(replace(tree, subsets={0: each}) for each in sets))
    model = replace(model, combine="vote")
    label, _ = session(onnx_file(model)).run(None, {"job": np.array([[v] for v in values])})
    votes = [sum(float(i) in each for each in sets) for i in range(11)]
    assert label.tolist() == ["a" if 2 * number >= len(sets) else "b" for number in votes]


@pytest.mark.parametrize("steps", [(), (("minus", 2.0),), (("single", 0.0), ("over", 0.5), ("plus", 4.0))])
@pytest.mark.parametrize("fill", [None, 0.0, -1.0, 3.0])
@pytest.mark.parametrize("at", [-1.5, 0.0, 2.0])
@pytest.mark.parametrize("missing_low", [False, True])
def test_a_number_that_comes_to_0_is_missing_there_too(
    steps: tuple[tuple[Any, float], ...], fill: float | None, at: float, missing_low: bool
) -> None:
    origin = Numeric("job", tuple(ArithmeticStep(*step) for step in steps), fill, zero_is_missing=True)
    model = alone(origin, at=at, missing_low=missing_low)
    content = onnx_file(model)
    again = read_foreign(content, "new")
    cells = {"job": [None, -4.0, -2.0, -0.5, 0.0, 5e-324, 1.0, 2.0, np.nextafter(2.0, 3.0), 3.0, 7.0]}
    expected = predicted(model, rows_of(model, cells))
    assert (predicted(again, rows_of(again, cells)) == expected).all()
    given = np.array([[NAN if cell is None else cell] for cell in cells["job"]])
    label, _ = session(content).run(None, {"job": given})
    assert label.tolist() == ["ab"[i] for i in expected]


@pytest.mark.parametrize("seen", ["single", "whole", "single_whole"])
def test_numbers_that_are_rounded_before_they_are_looked_up_are_rounded_there(seen: Any) -> None:
    origin = CategoryCodes("job", {"1": 5.0, "7": 6.0}, 0.0, 0.0 if seen == "single" else None, seen)
    content = onnx_file(alone(origin, at=5.5))
    (again,) = read_foreign(content, "new").origins or ()
    assert again == CategoryCodes("job", {"7": 6.0}, 0.0, 0.0 if seen == "single" else None, seen)
    near = 7.00000001 if seen == "single" else 7.9
    label, _ = session(content).run(None, {"job": np.array([[1.0], [near], [3.0]])})
    assert label.tolist() == ["a", "b", "a"]


@pytest.mark.parametrize("fill", [None, 0.0, 4.0])
@pytest.mark.parametrize("missing_low", [False, True])
def test_a_set_of_codes_is_explained_by_the_policy(fill: float | None, missing_low: bool) -> None:
    codes = {job: float(code) for code, job in enumerate(JOBS)}
    model = alone(Numeric("job", fill=fill), chosen={0.0, 3.0}, missing_low=missing_low)
    content = onnx_file(model)
    again = read_foreign(content, "new")
    assert again.features == ("job", "job looked up")
    people = table(("a", "b"))
    encodings = {"job": Encoding(codes=codes, missing=fill)}
    found = [
        predict(lower_model(each, people.schema, encodings, "m").release, people).tolist() for each in (model, again)
    ]
    assert found[0] == found[1]
    label, _ = session(content).run(None, {"job": np.array([[codes.get(cells[0] or "", NAN)] for cells in CELLS])})
    assert label.tolist() == np.array(["a", "b"])[found[0]][order(people)].tolist()


REFUSED: dict[str, tuple[Origin, dict[str, Any], str]] = {
    "sets of scaled numbers": (
        Numeric("job", (ArithmeticStep("minus", 1.0),)),
        {"chosen": {1.0}},
        "asks about sets of numbers that are no codes",
    ),
    "bounds and zeros": (
        Numeric("job", (ArithmeticStep("at_least", 0.0),), zero_is_missing=True),
        {"at": 1.0},
        "takes 0 for missing in a column whose numbers are cut off at bounds",
    ),
    "infinity": (CategoryCodes("job", {"clerk": math.inf, "nurse": 0.0}, 0.0), {"at": 1.0}, "infinite codes"),
    "gaps of rounded numbers": (
        CategoryCodes("job", {"1": 2.0}, 0.0, 3.0, "single"),
        {"at": 1.0},
        "a code of its own for missing cells",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_onnx_cannot_hold_of_categories_is_refused(name: str) -> None:
    origin, test, why = REFUSED[name]
    with pytest.raises(ReleaseError, match=why):
        onnx_file(alone(origin, **test))


@pytest.mark.parametrize(
    ("kind", "number", "why"),
    [
        ("Equal", 1.0, "its Equal compares what is no number with 0"),
        ("Where", 5.0, "its Where chooses in a way that is not read here"),
        ("IsNaN", -math.inf, "its Where chooses in a way that is not read here"),
    ],
)
def test_other_uses_of_the_operators_for_missing_zeros_are_refused(kind: str, number: float, why: str) -> None:
    model = alone(Numeric("job", (), -1.0, zero_is_missing=True), at=0.5)
    document = onnx.load_from_string(onnx_file(model))
    nodes = {node.op_type: node for node in document.graph.node}
    after = next(node for node in document.graph.node if nodes["IsNaN"].output[0] in node.input)
    names = {"Equal": nodes["Equal"].input[1], "IsNaN": after.input[1]}
    first = next(node for node in document.graph.node if nodes["Equal"].output[0] in node.input)
    name = names.get(kind, first.input[1])
    for each in document.graph.initializer:
        if each.name == name:
            each.double_data[0] = number
    with pytest.raises(ReleaseError, match=why):
        read_foreign(document.SerializeToString(), "new")


def test_what_is_asked_about_a_number_is_no_number() -> None:
    model = alone(Numeric("job", zero_is_missing=True), at=0.5)
    document = onnx.load_from_string(onnx_file(model))
    nodes = {node.op_type: node for node in document.graph.node}
    nodes["Where"].CopyFrom(
        onnx.helper.make_node(
            "Cast", [nodes["Equal"].output[0]], [nodes["Where"].output[0]], to=onnx.TensorProto.DOUBLE
        )
    )
    with pytest.raises(ReleaseError, match="its Cast makes numbers of what is asked about numbers"):
        read_foreign(document.SerializeToString(), "new")


def test_a_missing_text_is_not_stated_of_files_that_others_wrote() -> None:
    content = onnx_file(alone(CODES["job"], at=0.5))
    document = onnx.load_from_string(content)
    assert not read_foreign(content, "new").unspecified_missing
    document.producer_name = "skl2onnx"
    assert read_foreign(document.SerializeToString(), "new").unspecified_missing_features == {"job"}


@pytest.mark.parametrize("library", ["lightgbm", "scikit-learn"])
@pytest.mark.parametrize("classes", [2, 3])
def test_boosting_over_categories_answers_as_the_library_that_fitted_it(library: str, classes: int) -> None:
    rng = np.random.default_rng(classes)
    drawn = [CELLS[i] for i in rng.integers(len(CELLS), size=600)]
    frame = pd.DataFrame(drawn, columns=["job", "grade", "age"]).astype({"age": float})
    frame["job"] = pd.Categorical(frame["job"], JOBS)
    frame["grade"] = pd.Categorical(frame["grade"], GRADES)
    score = frame["age"].fillna(1) + 2 * frame["job"].isin(["nurse", "tailor"]) - frame["grade"].isna()
    y = np.array(["low", "mid", "top"])[np.digitize(score + rng.normal(0, 0.5, 600), [0.5, 2.5][: classes - 1])]
    if library == "lightgbm":
        fitted: Any = LGBMClassifier(n_estimators=8, min_child_samples=5, min_data_per_group=2, verbose=-1)
        fitted.fit(frame, y)
        model = read_foreign(fitted.booster_.model_to_string().encode(), "m")
        model = replace(model, classes=tuple(sorted(set(y))))
    else:
        fitted = HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, categorical_features="from_dtype")
        model = read_foreign(skops_bytes(fitted.fit(frame, y)), "m")
    assert any(tree.subsets for tree in model.trees)
    everybody = pd.DataFrame(CELLS, columns=["job", "grade", "age"]).astype({"age": float})
    everybody["job"] = pd.Categorical(everybody["job"], JOBS)
    everybody["grade"] = pd.Categorical(everybody["grade"], GRADES)
    label, scores = run(onnx_file(model))
    np.testing.assert_allclose(scores, fitted.predict_proba(everybody), atol=1e-6)
    assert (label == fitted.predict(everybody)).all()
