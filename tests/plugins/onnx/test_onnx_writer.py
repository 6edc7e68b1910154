"""Models written as ONNX: onnxruntime predicts what they do, and they are read as what they were."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import onnx_pipelines
from example_counts import examples
from feature_rows import predicted, votes
from installed_readers import lower_model, onnx_file, read_foreign
from leafgate.algorithms.prediction import predict, scores_of_votes
from leafgate.api import Floats, Ids, InconclusiveError, ReleaseError, install_command
from leafgate.commands.convert.merging import collapse_equal_leaves
from leafgate.readers import LEAF, ModelIR, Numeric, TreeIR, Unresolved
from leafgate_plugins.onnx.writer import doubles_going_low, write
from onnx_pipelines import session, with_texts
from sklearn_pipelines import PIPELINES, as_frame, people
from sklearn_zoo import answers, rows, skops_bytes

MODELS: dict[str, Any] = {
    "tree": DecisionTreeClassifier(min_samples_leaf=2, random_state=0),
    "forest": RandomForestClassifier(6, max_depth=6, random_state=3),
    "extra": ExtraTreesClassifier(7, max_depth=6, random_state=4),
    "scaled": make_pipeline(SimpleImputer(), StandardScaler(), RandomForestClassifier(5, max_depth=5, random_state=1)),
}
NAMES = np.array(["low", "middle", "high"])


def with_labels(model: ModelIR) -> ModelIR:
    """The labels of the leaves alone."""
    trees = tuple(
        replace(tree, values=np.eye(len(model.classes))[tree.values.argmax(axis=1)], counts=None, size=None, numbers=())
        for tree in model.trees
    )
    combine: Any = "vote" if len(trees) > 1 else "one"
    return replace(model, trees=trees, values="labels", combine=combine, counted="unknown", discloses=())


def some_trees(model: ModelIR, seed: int) -> ModelIR:
    rng = np.random.default_rng(seed)
    kept = sorted(rng.choice(len(model.trees), rng.integers(1, len(model.trees) + 1), replace=False).tolist())
    return replace(model, trees=tuple(model.trees[i] for i in kept))


@cache
def original(name: str, classes: int, gaps: bool) -> tuple[Any, ModelIR]:
    given_rows = rows(1, 400, gaps=gaps)
    model = MODELS[name].fit(given_rows, NAMES[answers(given_rows, classes)])
    return model, read_foreign(skops_bytes(model), "m")


def run(content: bytes, made: Floats) -> tuple[Any, Floats]:
    """The labels and the probabilities of onnxruntime; column i of the rows is the input x<i>."""
    running = session(content)
    cells = {each.name: made[:, int(each.name[1:])].astype(np.float64)[:, None] for each in running.get_inputs()}
    label, shares = running.run(None, cells)
    return label, shares


def around(model: ModelIR, made: Floats, seed: int) -> Floats:
    """Rows of which some cells are a threshold, or a double or single next to it."""
    rng = np.random.default_rng(seed)
    cuts = [(t.feature[i], t.threshold[i]) for t in model.trees for i in np.flatnonzero(t.feature != LEAF)]
    cuts = [(feature, at) for feature, at in cuts if abs(at) < 1e30]  # beyond all numbers only gaps go high
    made = made.copy()
    for row in made[: len(made) // 2] if cuts else ():
        feature, at = cuts[rng.integers(len(cuts))]
        half = (float(np.float32(at)) + float(np.nextafter(np.float32(at), np.float32(np.inf)))) / 2
        near = rng.choice([at, np.float32(at), half])
        row[feature] = rng.choice([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])
    return made


def shares_of(model: ModelIR, made: Floats) -> Floats:
    """The share of each class: of votes, or the mean of the trees' shares."""
    labels = model.values == "labels"
    found = votes(model if labels else replace(model, combine="mean_per_tree"), made)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


@examples(0.3)
@given(
    name=st.sampled_from(["tree", "forest", "extra"]),
    classes=st.sampled_from([2, 3]),
    gaps=st.booleans(),
    labels=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_onnxruntime_predicts_what_the_model_predicts(
    name: str, classes: int, gaps: bool, labels: bool, seed: int
) -> None:
    _, whole = original(name, classes, gaps)
    model = some_trees(with_labels(whole) if labels else whole, seed)
    content = onnx_file(model)
    made = around(model, rows(seed % 1000, 300, gaps=gaps), seed)
    label, shares = run(content, made)
    expected = shares_of(model, made)
    np.testing.assert_allclose(shares, expected, atol=3e-6)
    clear = np.ptp(np.sort(expected, axis=1)[:, -2:], axis=1) > 1e-9
    clear |= labels or len(model.trees) == 1  # sums of votes, and single shares, are not rounded
    assert (label == np.array(model.classes)[predicted(model, made)])[clear].all()
    again = read_foreign(content, "new")
    assert again.values == ("labels" if labels else "shares")
    assert again.classes == model.classes
    assert again.discloses == (() if labels else again.discloses)
    mine = dict(zip(again.features, range(len(again.features)), strict=True))
    given_again = np.column_stack([made[:, int(name[1:])] for name in mine])
    np.testing.assert_allclose(shares_of(again, given_again), expected, atol=3e-6)


@pytest.mark.parametrize("trees", [2, 4, 6, 10, 14, 49, 98, 100])
def test_ties_of_votes_are_ties_for_onnxruntime_too(trees: int) -> None:
    tree = TreeIR(
        feature=np.array([0, LEAF, LEAF]),
        threshold=np.array([0.0, np.nan, np.nan]),
        low=np.array([1, LEAF, LEAF]),
        high=np.array([2, LEAF, LEAF]),
        values=np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    )
    cuts = [replace(tree, threshold=np.array([float(i), np.nan, np.nan])) for i in range(trees)]
    model = ModelIR("made", ("x0",), ("a", "b"), tuple(cuts), "labels", "vote", discloses=())
    made = np.arange(-1, trees + 1)[:, None].astype(float)
    label, _ = run(onnx_file(model), made)
    assert label.tolist() == np.array(["a", "b"])[predicted(model, made)].tolist()


def test_steps_before_the_trees_go_into_the_thresholds() -> None:
    library, model = original("scaled", 3, True)
    content = onnx_file(model)
    made = rows(5, 2000, gaps=True)
    label, _ = run(content, made)
    assert (label == library.predict(made)).all()
    assert {node.op_type for node in onnx.load_from_string(content).graph.node} == {"Concat", "TreeEnsembleClassifier"}
    assert "moments" not in {item.kind for item in read_foreign(content, "new").discloses}


@pytest.mark.parametrize("name", ["one-hot", "ordinal", "rare", "robust", "both ways", "nested"])
@pytest.mark.parametrize("labels", [False, True])
def test_a_pipeline_over_texts_is_one_over_the_same_columns(name: str, labels: bool) -> None:
    table = with_texts(people(1, gaps=False))
    frame, y = as_frame(table)
    fitted = PIPELINES[name]().fit(frame, y)
    model = read_foreign(skops_bytes(fitted), "m")
    model = with_labels(model) if labels else model
    content = onnx_file(model)
    document = onnx.load_from_string(content)
    wide = frame.astype(dict.fromkeys(("age", "pay"), np.float64))
    clear = np.ones(len(frame), dtype=bool)
    if not labels and len(model.trees) > 1:
        shares = fitted.predict_proba(frame)
        clear = abs(shares[:, 0] - shares[:, 1]) > 1e-9
    release, again = (
        lower_model(each, table.schema, {}, "m", None).release for each in (model, read_foreign(content, "new"))
    )
    found = np.array(release.classes)[predict(release, table)]
    said = onnx_pipelines.answers(document, wide)
    assert (said == found)[clear].all()
    assert (np.array(again.classes)[predict(again, table)] == found)[clear].all()
    assert not {item.kind for item in read_foreign(content, "new").discloses} - {"categories", "ratios"}


def boosted(seed: int, classes: int, outputs: int, low: float, high: float) -> ModelIR:
    """Three trees of three leaves whose scores lie between two numbers."""
    rng = np.random.default_rng(seed)
    trees = tuple(
        TreeIR(
            feature=np.array([0, LEAF, 1, LEAF, LEAF]),
            threshold=np.array([rng.normal(), np.nan, rng.normal(), np.nan, np.nan]),
            low=np.array([1, LEAF, 3, LEAF, LEAF]),
            high=np.array([2, LEAF, 4, LEAF, LEAF]),
            values=rng.uniform(low, high, (5, outputs)),
            output=i % classes if outputs < classes and (classes > 2 or seed % 2) else None,
        )
        for i in range(3)
    )
    base = tuple(rng.uniform(low, high, [0, 1 if classes == 2 else classes, classes][seed % 3]).tolist())
    return ModelIR("made", ("x0", "x1"), ("a", "b", "c")[:classes], trees, "scores", "boost", base, discloses=())


@pytest.mark.parametrize(("classes", "outputs"), [(2, 1), (2, 2), (3, 1), (3, 3)])
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 1.0), (0.0, 0.01), (-1.0, 0.0)])
@pytest.mark.parametrize("link", ["softmax", "other"])
@pytest.mark.thorough
def test_scores_are_added_up_as_in_the_model(classes: int, outputs: int, low: float, high: float, link: Any) -> None:
    for seed in range(3):
        model = replace(boosted(seed, classes, outputs, low, high), link=link)
        content = onnx_file(model)
        made = np.random.default_rng(seed).normal(size=(200, 2))
        label, shares = run(content, made)
        scores = votes(model, made)
        assert (label == np.array(model.classes)[scores.argmax(axis=1)]).all()
        if link == "softmax":
            np.testing.assert_allclose(shares, scores_of_votes(scores, "boost"), atol=1e-6)
        again = read_foreign(content, "new")
        assert (again.values, again.combine, again.link) == ("scores", "boost", link)
        mine = votes(again, made[:, [int(name[1:]) for name in again.features]])
        np.testing.assert_allclose(mine - mine[:, :1], scores - scores[:, :1], atol=1e-12)


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor])
def test_numbers_are_predicted_in_single_precision(kind: Any) -> None:
    more = {} if kind is DecisionTreeRegressor else {"n_estimators": 3}
    library = kind(max_depth=5, random_state=0, **more).fit(rows(1), rows(1)[:, 0])
    content = onnx_file(read_foreign(skops_bytes(library), "m"))
    made = rows(2)
    running = session(content)
    cells = {each.name: made[:, int(each.name[1:])][:, None] for each in running.get_inputs()}
    np.testing.assert_allclose(running.run(None, cells)[0][:, 0], library.predict(made), rtol=1e-6)
    assert read_foreign(content, "new").classes == ()


@given(
    threshold=st.floats(allow_nan=False, allow_infinity=False, width=64, min_value=-3e38, max_value=3e38),
    strict=st.booleans(),
    steps=st.integers(-3, 3),
)
def test_the_largest_double_going_low_parts_the_same_numbers(threshold: float, strict: bool, steps: int) -> None:
    (top,) = doubles_going_low(np.array([threshold]), np.array([strict]), np.array([True]))
    for near in (top, threshold, float(np.float32(threshold))):
        x = near
        for _ in range(abs(steps)):
            x = float(np.nextafter(x, np.inf if steps > 0 else -np.inf))
        seen = float(np.float32(x))
        assert (x <= top) == (seen < threshold if strict else seen <= threshold)


def test_classes_that_are_whole_numbers_are_whole_numbers_there() -> None:
    library = DecisionTreeClassifier(max_depth=3).fit(rows(1), answers(rows(1), 3))
    content = onnx_file(read_foreign(skops_bytes(library), "m"))
    label, _ = run(content, rows(2))
    assert label.dtype == np.int64
    assert (label == library.predict(rows(2))).all()


def test_shares_of_pure_leaves_are_no_labels() -> None:
    library = DecisionTreeClassifier().fit(rows(1, 100), answers(rows(1, 100), 2))
    model = read_foreign(skops_bytes(library), "m")
    assert read_foreign(onnx_file(model), "new").level != "labels"
    labels = onnx.load_from_string(write(with_labels(model), b""))
    assert read_foreign(labels.SerializeToString(), "new").level == "labels"
    labels.producer_name = "skl2onnx"
    assert read_foreign(labels.SerializeToString(), "new").level != "labels"


def test_a_number_between_the_labels_is_a_share() -> None:
    document = onnx.load_from_string(write(with_labels(original("forest", 3, False)[1]), b""))
    weights = next(each for each in document.graph.node[-1].attribute if each.name == "class_weights_as_tensor")
    for i in range(0, len(weights.t.double_data), 7):
        weights.t.double_data[i] *= 1 + i * 1e-8
    assert read_foreign(document.SerializeToString(), "new").values == "shares"


def one_tree() -> tuple[ModelIR, TreeIR]:
    _, model = original("tree", 2, False)
    return model, model.trees[0]


REFUSED: dict[str, tuple[Any, str]] = {
    "sets": (
        lambda m, t: replace(m, trees=(replace(t, subsets={0: frozenset({0.1})}),)),
        "asks about sets of numbers that are no codes",
    ),
    "sums": (lambda m, t: replace(m, trees=(t, t), values="counts", combine="sum"), "adds up counts"),
    "a function": (lambda m, t: replace(m, origins=(Unresolved("x0", "is made"),) * 3), "made in a way that is not"),
    "nothing asked": (lambda m, t: replace(m, trees=(collapse_equal_leaves(alone(t)),)), "asks about nothing"),
}


def alone(tree: TreeIR) -> TreeIR:
    labels: Ids = np.ones((tree.nodes, 2), dtype=np.int64)
    return replace(tree, values=labels.astype(np.float64))


@pytest.mark.parametrize("name", REFUSED)
def test_what_onnx_cannot_hold_is_refused(name: str) -> None:
    make, why = REFUSED[name]
    with pytest.raises(ReleaseError, match=why):
        write(make(*one_tree()), b"")


def test_without_onnx_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InconclusiveError, match=re.escape(install_command("onnx"))):
        write(one_tree()[0], b"")


def test_a_column_named_as_a_value_of_the_graph_keeps_its_name() -> None:
    model, _ = one_tree()
    names = ("label", "features", "probabilities")
    content = write(replace(model, features=names, origins=tuple(map(Numeric, names))), b"")
    running = session(content)
    assert {each.name for each in running.get_inputs()} <= set(names)
    assert set(read_foreign(content, "new").features) <= set(names)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30))
def test_whole_numbers_are_read_as_protobuf_writes_them(values: list[int]) -> None:
    from leafgate_plugins.onnx.graph import attribute_of

    name, result, beside = attribute_of(packed(values), "m")
    assert (name, result.tolist(), beside) == ("a", values, ())


def packed(values: list[int]) -> bytes:
    """Whole numbers as protobuf writes them, by its own encoder."""
    result = onnx.AttributeProto()
    result.name = "a"
    result.ints.extend(values)
    return bytes(result.SerializeToString())
