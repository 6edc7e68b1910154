"""Models over categories, sets of them and missing cells: onnxruntime and what is read back answer as they do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
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
from installed_readers import READERS, read_foreign
from leafgate.algorithms.prediction import predict, predicted_numbers
from leafgate.api import (
    LEAF,
    ArithmeticStep,
    CategoryCodes,
    MissingIndicator,
    ModelIR,
    Numeric,
    OneHot,
    Origin,
    ReleaseError,
    TreeIR,
)
from leafgate.app import lower_model, model_as_file
from leafgate.types.schema import Column, bin_names
from leafgate.types.table import Table
from onnx_pipelines import session
from random_tables import categorical, numeric, table_of
from sklearn_zoo import skops_bytes

JOBS = ("clerk", "nurse", "smith", "tailor")
GRADES = ("1", "2", "3")
NAN = math.nan
CELLS: list[tuple[Any, ...]] = list(itertools.product((*JOBS, None), (*GRADES, None), (-1.0, 0.0, 0.5, 1.5, 3.0, None)))
COLUMNS = (
    categorical("job", "quasi_identifier", values=JOBS, missing=True),
    categorical("grade", "quasi_identifier", values=GRADES, missing=True),
    numeric("age", "quasi_identifier", bounds=(-10, 10), missing=True),
)


def table(classes: Sequence[str]) -> Table:
    """Everybody there can be, a missing cell in every column among them."""
    target = categorical("learned", "class", "sensitive", values=classes)
    return table_of([*COLUMNS, target], [(*cells, classes[0]) for cells in CELLS])


GROUPS = {job: i for i, job in enumerate(JOBS)}
ORIGINS: dict[str, Origin] = {
    "age": Numeric("age"),
    "scaled": Numeric("age", (ArithmeticStep("minus", 0.1), ArithmeticStep("over", 0.3)), fill=0.7),
    "sparse": Numeric("age", (ArithmeticStep("times", 2.0),), zero_is_missing=True),
    "no age": MissingIndicator("age"),
    "dummy": CategoryCodes("job", OneHot(GROUPS, 1, ("nurse",)), 0.0, 0.0),
    "codes": CategoryCodes("job", {"clerk": 0.0, "nurse": 1.0, "smith": 2.0}, NAN, 1.0),
    "fractions": CategoryCodes("grade", {"1": 0.1, "2": 0.2}, 0.3, NAN),
    "gaps": CategoryCodes("grade", {"1": NAN, "3": 2.0}, -1.0, 5.0),
    "no job": MissingIndicator("job"),
}
CODES = {
    "job": CategoryCodes("job", {job: float(code) for code, job in enumerate(JOBS[:3])}, -1.0, NAN),
    "job known": CategoryCodes("job", {job: float(code) for code, job in enumerate(JOBS)}, NAN, 1.0),
    "grade": CategoryCodes("grade", {"1": NAN, "2": 1.0, "3": 0.0}, 2.0, 0.0),
}
"""Features that are asked by sets of codes; `grade text` is asked by sets of texts."""
NAMES = (*ORIGINS, *(f"set of {name}" for name in CODES), "grade text")


def random_model(seed: int, classes: int, trees: int, kind: str) -> ModelIR:
    """Trees that ask about all kinds of features, with labels, shares, scores or numbers on their leaves."""
    rng = np.random.default_rng(seed)
    outputs = {"scores": 1 if classes == 2 else classes, "values": 1}.get(kind, classes)
    combine: Any = {"scores": "boost", "values": "sum"}.get(kind) or ("vote" if kind == "labels" else "mean_per_tree")
    leaves: Any = kind
    known: list[Origin] = [*ORIGINS.values(), *CODES.values(), Numeric("grade")]
    return ModelIR(
        "made",
        NAMES,
        () if kind == "values" else ("a", "b", "c")[:classes],
        tuple(_tree(rng, 3, kind, outputs) for _ in range(trees)),
        leaves,
        "one" if trees == 1 and kind in {"labels", "shares"} else combine,
        (0.25,) * outputs if kind == "scores" else (),
        discloses=(),
        origins=tuple(known),
    )


def _tree(rng: np.random.Generator, depth: int, kind: str, outputs: int) -> TreeIR:
    nodes: list[dict[str, Any]] = []

    def grow(left: int) -> int:
        own = len(nodes)
        nodes.append({"feature": LEAF, "at": NAN, "low": LEAF, "high": LEAF, "says": _said(rng, kind, outputs)})
        if left and (left == depth or rng.random() < 0.7):
            feature = int(rng.integers(len(NAMES)))
            nodes[own] |= {"feature": feature, "missing_low": bool(rng.random() < 0.5), "strict": rng.random() < 0.3}
            nodes[own] |= _test(rng, NAMES[feature])
            nodes[own] |= {"low": grow(left - 1), "high": grow(left - 1)}
        return own

    grow(depth)
    return TreeIR(
        feature=np.array([node["feature"] for node in nodes]),
        threshold=np.array([node["at"] for node in nodes]),
        low=np.array([node["low"] for node in nodes]),
        high=np.array([node["high"] for node in nodes]),
        values=np.array([node["says"] for node in nodes]),
        strict=np.array([bool(node.get("strict")) for node in nodes]),
        float32=np.array([node["feature"] != LEAF and rng.random() < 0.3 for node in nodes]),
        missing_low=np.array([bool(node.get("missing_low")) for node in nodes]),
        subsets={i: node["chosen"] for i, node in enumerate(nodes) if "chosen" in node},
    )


def _test(rng: np.random.Generator, name: str) -> dict[str, Any]:
    if name == "grade text":
        return {"chosen": frozenset(rng.choice(GRADES, rng.integers(1, 3), replace=False).tolist())}
    if name.startswith("set of "):
        return {"chosen": frozenset(rng.choice([-1.0, 0.0, 1.0, 2.0], rng.integers(1, 4), replace=False).tolist())}
    if name.startswith("no "):
        return {"at": 0.5}
    return {"at": float(rng.choice([-0.5, 0.1, 0.15, 0.2, 0.5, 1.0, 1.5]))}


def _said(rng: np.random.Generator, kind: str, outputs: int) -> Any:
    if kind == "labels":
        return np.eye(outputs)[rng.integers(outputs)]
    return rng.dirichlet(np.ones(outputs)) if kind == "shares" else rng.normal(size=outputs)


RARE = ("could take both", "sends everybody one way", "sends it elsewhere than the numbers around it")
"""Why a random model may be none that has a file."""


def sound(make: Callable[[int], ModelIR], seed: int) -> tuple[ModelIR, bytes]:
    """A model whose every branch somebody can take, and its file; others are refused, and there is another seed."""
    for each in range(seed, seed + 200):
        model = make(each)
        try:
            return model, model_as_file(model, b"", "new.onnx", READERS)
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
    release = lower_model(model, b"", people.schema, {}, "m").release
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
    release = lower_model(model, b"", people.schema, {}, "m").release
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


def test_an_encoder_names_the_values_that_tests_part_from_others_and_no_word_for_gaps() -> None:
    codes = {"clerk": 0.0, "nurse": 1.0, "smith": 2.0, "gone": 3.0}
    origin = CategoryCodes("job", codes, -1.0, 3.0, fill_value="gone")
    content = model_as_file(alone(origin, chosen={1.0, 3.0}), b"", "new.onnx", READERS)
    encoder = onnx.load_from_string(content).graph.node[0]
    (keys,) = (each.strings for each in encoder.attribute if each.name == "keys_strings")
    assert set(keys) == {b"nurse", b""}
    (again,) = read_foreign(content, "new").origins or ()
    assert again == CategoryCodes("job", {"nurse": 1.0}, 0.0, 1.0)


@pytest.mark.parametrize("seen", ["single", "whole", "single_whole"])
def test_numbers_that_are_rounded_before_they_are_looked_up_are_rounded_there(seen: Any) -> None:
    origin = CategoryCodes("job", {"1": 5.0, "7": 6.0}, 0.0, 0.0 if seen == "single" else None, seen)
    content = model_as_file(alone(origin, at=5.5), b"", "new.onnx", READERS)
    (again,) = read_foreign(content, "new").origins or ()
    assert again == CategoryCodes("job", {"7": 6.0}, 0.0, 0.0 if seen == "single" else None, seen)
    near = 7.00000001 if seen == "single" else 7.9
    label, _ = session(content).run(None, {"job": np.array([[1.0], [near], [3.0]])})
    assert label.tolist() == ["a", "b", "a"]


REFUSED: dict[str, tuple[Origin, dict[str, Any], str]] = {
    "sets of numbers": (Numeric("job"), {"chosen": {1.0}}, "which values these stand for"),
    "zeros": (Numeric("job", zero_is_missing=True), {"at": 1.0}, "takes 0 for missing in a column of numbers, and"),
    "infinity": (CategoryCodes("job", {"clerk": math.inf, "nurse": 0.0}, 0.0), {"at": 1.0}, "infinite codes"),
    "gaps of rounded numbers": (
        CategoryCodes("job", {"1": 2.0}, 0.0, 2.0, "single"),
        {"at": 1.0},
        "a code of its own for missing cells",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_onnx_cannot_hold_of_categories_is_refused(name: str) -> None:
    origin, test, why = REFUSED[name]
    with pytest.raises(ReleaseError, match=why):
        model_as_file(alone(origin, **test), b"", "new.onnx", READERS)


def test_a_missing_text_is_not_stated_of_files_that_others_wrote() -> None:
    content = model_as_file(alone(CODES["job"], at=0.5), b"", "new.onnx", READERS)
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
    label, scores = run(model_as_file(model, b"", "new.onnx", READERS))
    np.testing.assert_allclose(scores, fitted.predict_proba(everybody), atol=1e-6)
    assert (label == fitted.predict(everybody)).all()
