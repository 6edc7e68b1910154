"""Operators around the trees of an ONNX graph: what changes nothing is read, anything else refused by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from skl2onnx import to_onnx
from sklearn.tree import DecisionTreeClassifier

from feature_rows import predicted
from installed_readers import read_foreign
from leafgate import ReleaseError

X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
Y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")


def graph(*, zipmap: bool = True, texts: bool = True) -> Any:
    model = DecisionTreeClassifier(max_depth=3).fit(X, Y if texts else (Y == "yes").astype(int))
    return to_onnx(model, X[:1], options={"zipmap": zipmap})


def before(*made: Any) -> Callable[[Any], None]:
    """The operators put between the graph's input and the trees."""

    def change(document: Any) -> None:
        trees = next(node for node in document.graph.node if node.op_type.startswith("TreeEnsemble"))
        trees.input[0] = made[-1].output[0]
        for node in reversed(made):
            document.graph.node.insert(0, node)

    return change


def cast(given: str, out: str, to: int) -> Any:
    return helper.make_node("Cast", [given], [out], to=to)


def after(node: Any) -> Callable[[Any], None]:
    return lambda document: document.graph.node.append(node)


def swapped(document: Any) -> None:
    names = next(a for node in document.graph.node if node.op_type == "ZipMap" for a in node.attribute)
    names.strings[:] = list(names.strings)[::-1]


def domain(kind: str) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        next(node for node in document.graph.node if node.op_type.startswith(kind)).domain = "mine"

    return change


def own_function(document: Any) -> None:
    document.functions.append(helper.make_function("", "Identity", ["a"], ["b"], [], []))


def times(factor: list[float], given: str = "probabilities") -> Callable[[Any], None]:
    """What onnxmltools writes behind a LightGBM classifier, with 1."""

    def change(document: Any) -> None:
        shape = [len(factor)] if len(factor) > 1 else []
        document.graph.initializer.append(helper.make_tensor("factor", TensorProto.FLOAT, shape, factor))
        document.graph.node.append(helper.make_node("Mul", [given, "factor"], ["b"]))

    return change


CHANGING: dict[str, tuple[Callable[[Any], None], str]] = {
    "numbers made true or false": (before(cast("X", "b", TensorProto.BOOL), cast("b", "f", TensorProto.FLOAT)), "Cast"),
    "numbers made whole": (before(cast("X", "b", TensorProto.INT64)), "row of numbers"),
    "rows joined": (before(helper.make_node("Concat", ["X"], ["b"], axis=0)), "Concat"),
    "labels made true or false": (after(cast("label", "b", TensorProto.BOOL)), "Cast"),
    "scores made whole": (after(cast("probabilities", "b", TensorProto.INT64)), "Cast"),
    "the likeliest looked up anew": (after(helper.make_node("ArgMax", ["probabilities"], ["b"])), "ArgMax"),
    "another order of classes": (swapped, "ZipMap"),
    "scores by their largest": (
        after(helper.make_node("Normalizer", ["probabilities"], ["b"], domain="ai.onnx.ml", norm="MAX")),
        "Normalizer",
    ),
    "scores times 2": (times([2.0]), "Mul"),
    "scores of classes times other numbers": (times([1.0, 2.0]), "Mul"),
    "rows times 1 beside the trees": (times([1.0], "X"), "Mul"),
    "scores times scores": (after(helper.make_node("Mul", ["probabilities", "probabilities"], ["b"])), "Mul"),
    "beside the trees": (after(helper.make_node("Identity", ["X"], ["b"])), "Identity"),
    "an operator of somebody's own": (domain("Identity"), "mine.Identity"),
    "trees of somebody's own": (domain("TreeEnsemble"), "mine.TreeEnsembleClassifier"),
    "a function of its own": (own_function, "operators of its own"),
    "one value twice": (after(helper.make_node("Identity", ["label"], ["probabilities"])), "one value twice"),
}


@pytest.mark.parametrize("name", CHANGING)
def test_what_may_change_a_prediction_is_refused_by_name(name: str) -> None:
    change, why = CHANGING[name]
    document = graph()
    change(document)
    with pytest.raises(ReleaseError, match=why):
        read_foreign(document.SerializeToString(), "m.onnx")


SAME: dict[str, Callable[[Any], None]] = {
    "nothing": lambda document: None,
    "numbers in single precision": before(cast("X", "b", TensorProto.FLOAT)),
    "another name": before(helper.make_node("Identity", ["X"], ["b"])),
    "scores in double precision": after(cast("probabilities", "b", TensorProto.DOUBLE)),
    "scores times 1": times([1.0]),
    "shares that sum to 1": after(
        helper.make_node("Normalizer", ["probabilities"], ["b"], domain="ai.onnx.ml", norm="L1")
    ),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("texts", [True, False])
def test_what_changes_nothing_is_read(name: str, zipmap: bool, texts: bool) -> None:
    document = graph(zipmap=zipmap, texts=texts)
    SAME[name](document)
    onnx.checker.check_model(document)
    read = read_foreign(document.SerializeToString(), "m.onnx")
    expected = DecisionTreeClassifier(max_depth=3).fit(X, Y if texts else (Y == "yes").astype(int)).predict(X)
    assert (np.array(read.classes)[predicted(read, X.astype(float))] == expected.astype(str)).all()
