"""TreeEnsemble, ONNX's newer operator: onnxruntime and ONNX's own evaluator say what it predicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from skl2onnx import to_onnx
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from feature_rows import predicted, votes
from installed_readers import leaves_of, read_foreign
from leafgate import ReleaseError
from leafgate.readers import ModelIR
from onnx_five import ensemble, graph, rewritten
from onnx_pipelines import session
from sklearn_zoo import answers, at_the_edges, rows


def singles(seed: int) -> Any:
    return rows(seed).astype(np.float32)


def ran(document: Any, x: Any) -> list[Any]:
    """What onnxruntime and ONNX's own evaluator both say."""
    content = document.SerializeToString()
    found = session(content).run(None, {"X": x})
    for one, other in zip(found, ReferenceEvaluator(document).run(None, {"X": x}), strict=True):
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-4)
        else:
            assert (one == other).all()
    return list(found)


def read(document: Any) -> ModelIR:
    return read_foreign(document.SerializeToString(), "m.onnx")


MODELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": lambda: RandomForestClassifier(5, max_depth=4, random_state=0),
    "one leaf": lambda: DecisionTreeClassifier(max_depth=3, min_samples_leaf=400, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_those_that_both_runtimes_say(name: str, classes: int) -> None:
    made = singles(1)
    target = np.array(["low", "middle", "high"])[answers(made.astype(float), classes)]
    old = to_onnx(MODELS[name]().fit(made, target), made[:1], options={"zipmap": False})
    document = rewritten(old)
    model = read(document)
    edges = at_the_edges(model, made.astype(float)).astype(np.float32)
    tried = np.concatenate([made[:200], singles(2)[:200], edges[:200]])
    label, scores = ran(document, tried)
    np.testing.assert_allclose(votes(model, tried.astype(float)), scores, atol=1e-5)
    mine = np.array(model.classes)[predicted(model, tried.astype(float))]
    clear = np.sort(scores, axis=1)
    apart = clear[:, -1] - clear[:, -2] > 1e-5  # sums of rounded numbers: ties fall otherwise
    assert (mine == label.reshape(-1))[apart].all()
    assert (mine == label.reshape(-1)).all() or name == "forest"


def test_its_trees_part_people_as_the_older_operator_does() -> None:
    made = singles(1)
    target = answers(made.astype(float), 2)
    old = to_onnx(DecisionTreeClassifier(max_depth=5).fit(made, target), made[:1], options={"zipmap": False})
    one, other = read(old), read(rewritten(old))
    leaves = [leaves_of(model.trees[0], made.astype(float)) for model in (one, other)]
    pairs = np.unique(np.column_stack(leaves), axis=0)
    assert len(pairs) == len(np.unique(leaves[0])) == len(np.unique(leaves[1])) > 8


def test_numbers_are_those_that_both_runtimes_say() -> None:
    made = singles(1)
    old = to_onnx(RandomForestRegressor(4, max_depth=4, random_state=1).fit(made, made[:, 0]), made[:1])
    document = rewritten(old)
    (numbers,) = ran(document, made)
    model = read(document)
    assert model.classes == ()
    np.testing.assert_allclose(votes(model, made.astype(float))[:, 0], numbers[:, 0], rtol=1e-4, atol=1e-2)


SPECIAL = [0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 0.7, np.nan, -1.0, np.inf, -np.inf, 0.30000001]


def asking(mode: str, at: float, tracks: int, **more: Any) -> Any:
    node = ensemble(
        [0],
        [(0, at, mode, ("leaf", 0), ("leaf", 1))],
        [(0, 1.0), (1, 1.0)],
        2,
        nodes_missing_value_tracks_true=[tracks],
        **more,
    )
    return graph(node, 1, 2, ["yes", "no"])


@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"])
@pytest.mark.parametrize("tracks", [0, 1])
@pytest.mark.parametrize("at", [0.5, 0.1])
def test_every_way_of_asking_is_asked_so_of_missing_numbers_too(mode: str, tracks: int, at: float) -> None:
    document = asking(mode, at, tracks)
    model, x = read(document), np.array(SPECIAL, dtype=np.float64)[:, None]
    label = session(document.SerializeToString()).run(["label"], {"X": x.astype(np.float32)})[0]
    assert (np.array(model.classes)[predicted(model, x)] == label).all()


@pytest.mark.parametrize("tracks", [0, 1])
def test_sets_of_numbers_are_asked_for(tracks: int) -> None:
    result = numpy_helper.from_array(np.array([0.1, 2, 3, np.nan], dtype=np.float32))
    document = asking("MEMBER", 0.0, tracks, membership_values=result)
    model, x = read(document), np.array(SPECIAL, dtype=np.float64)[:, None]
    label = session(document.SerializeToString()).run(["label"], {"X": x.astype(np.float32)})[0]
    assert (np.array(model.classes)[predicted(model, x)] == label).all()


def older(mode: bytes, weights: list[float]) -> Any:
    """A TreeEnsembleClassifier that asks once, with numbers of two classes on each leaf."""
    fields: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_modes": [mode, b"LEAF", b"LEAF"],
        "nodes_values": [0.1, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "class_treeids": [0, 0, 0, 0],
        "class_nodeids": [1, 1, 2, 2],
        "class_ids": [0, 1, 0, 1],
        "class_weights": weights,
        "classlabels_strings": ["yes", "no"],
    }
    node = helper.make_node("TreeEnsembleClassifier", ["X"], ["label", "scores"], domain="ai.onnx.ml", **fields)
    document = graph(node, 1, 2)
    document.graph.output.append(helper.make_tensor_value_info("label", TensorProto.STRING, None))
    document.opset_import[1].version = 3
    return document


@pytest.mark.parametrize("mode", [b"BRANCH_EQ", b"BRANCH_NEQ", b"BRANCH_GT"])
def test_the_older_operator_asks_so_of_missing_numbers_too(mode: bytes) -> None:
    document = older(mode, [1.0, 0.0, 0.0, 1.0])
    model, x = read(document), np.array(SPECIAL, dtype=np.float64)[:, None]
    label = session(document.SerializeToString()).run(["label"], {"X": x.astype(np.float32)})[0]
    assert (np.array(model.classes)[predicted(model, x)] == label).all()


def test_two_classes_of_which_the_runtime_does_not_say_the_larger_are_refused() -> None:
    document = older(b"BRANCH_LEQ", [0.7, 0.3, 0.2, 0.8])
    label = session(document.SerializeToString()).run(["label"], {"X": np.zeros((1, 1), dtype=np.float32)})[0]
    assert label.tolist() == ["no"]
    with pytest.raises(ReleaseError, match="does not say the larger"):
        read(document)


def pair(**more: Any) -> Any:
    """Two trees over two features, three leaves each."""
    nodes = [
        (0, 0.5, "BRANCH_LEQ", ("node", 1), ("leaf", 0)),
        (1, 1.5, "BRANCH_LEQ", ("leaf", 1), ("leaf", 2)),
        (1, 2.5, "BRANCH_GT", ("leaf", 3), ("node", 3)),
        (0, 0.1, "BRANCH_LT", ("leaf", 4), ("leaf", 5)),
    ]
    leaves = [(0, 0.5), (1, 2.0), (2, 1.5), (0, 1.0), (1, -1.0), (2, 0.25)]
    return ensemble([0, 2], nodes, leaves, 3, **more)


@pytest.mark.parametrize("how", [0, 1])
@pytest.mark.parametrize("classes", [["a", "b", "c"], [7, 8, 9], []])
@pytest.mark.parametrize("gather", [False, True])
def test_leaves_of_several_classes_in_one_tree_are_added_or_averaged(how: int, classes: Any, gather: bool) -> None:
    document = graph(pair(aggregate_function=how), 2, 3, classes, gather=gather)
    x = np.random.default_rng(0).uniform(0, 3, (200, 2)).astype(np.float32)
    label, scores = ran(document, x)
    model = read(document)
    np.testing.assert_allclose(votes(model, x.astype(float)), scores, atol=1e-6)
    assert (np.array(model.classes)[predicted(model, x.astype(float))] == label.reshape(-1).astype(str)).all()


def changed(name: str, value: Any) -> Any:
    document = graph(pair(), 2, 3, ["a", "b", "c"])
    node = document.graph.node[0]
    kept = [a for a in node.attribute if a.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, *([] if value is None else [helper.make_attribute(name, value)])])
    return document


def tensor(*numbers: float, kind: Any = np.float32) -> Any:
    return numpy_helper.from_array(np.array(numbers, dtype=kind))


HOSTILE: dict[str, tuple[str, Any]] = {
    "a node that there is not": ("nodes_truenodeids", [9, 1, 3, 4]),
    "a leaf that there is not": ("nodes_falsenodeids", [9, 2, 3, 5]),
    "a negative node": ("nodes_truenodeids", [-1, 1, 3, 4]),
    "a circle": ("nodes_falsenodeids", [0, 2, 2, 5]),
    "two parents": ("nodes_falsenodeids", [0, 2, 1, 5]),
    "one root twice": ("tree_roots", [0, 0]),
    "a root inside a tree": ("tree_roots", [0, 3]),
    "a root that there is not": ("tree_roots", [0, 4]),
    "nodes of no tree": ("tree_roots", [0]),
    "no tree": ("tree_roots", None),
    "leaves of no tree": ("leaf_targetids", [0, 1, 2, 0, 1, 2, 0]),
    "a leaf that is neither": ("nodes_trueleafs", [0, 2, 1, 1]),
    "a target that there is not": ("leaf_targetids", [0, 1, 2, 0, 1, 3]),
    "no such mode": ("nodes_modes", tensor(0, 0, 7, 1, kind=np.uint8)),
    "modes of another type": ("nodes_modes", tensor(0, 0, 3, 1, kind=np.int64)),
    "a set without a node": ("membership_values", tensor(1, np.nan)),
    "a node without a set": ("nodes_modes", tensor(0, 0, 6, 1, kind=np.uint8)),
    "a threshold that is none": ("nodes_splits", tensor(0.5, np.nan, 2.5, 0.1)),
    "thresholds too few": ("nodes_splits", tensor(0.5, 1.5, 2.5)),
    "thresholds of another precision": ("nodes_splits", tensor(0.5, 1.5, 2.5, 0.1, kind=np.float64)),
    "features beyond the input": ("nodes_featureids", [0, 1, 2, 0]),
    "a feature below nothing": ("nodes_featureids", [0, 1, -1, 0]),
    "a target below nothing": ("leaf_targetids", [0, 1, 2, 0, 1, -1]),
    "a leaf below nothing": ("nodes_falsenodeids", [-1, 2, 3, 5]),
    "neither true nor false of missing numbers": ("nodes_missing_value_tracks_true", [0, 2, 0, 0]),
    "no nodes": ("nodes_modes", tensor(kind=np.uint8)),
    "features of 2^62": ("nodes_featureids", [0, 1, 2**62, 0]),
    "the least of all trees": ("aggregate_function", 2),
    "the most of all trees": ("aggregate_function", 3),
    "a logistic function": ("post_transform", 2),
    "classes of one target": ("n_targets", 1),
    "a million targets": ("n_targets", 10**6),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_ensemble_is_refused(name: str) -> None:
    with pytest.raises(ReleaseError) as caught:
        read(changed(*HOSTILE[name]))
    assert caught.value.exit_code == 2
    assert "is not what its format says" not in str(caught.value)


def test_several_numbers_without_a_largest_are_refused() -> None:
    with pytest.raises(ReleaseError, match="several numbers"):
        read(graph(pair(), 2, 3))


LABELS: dict[str, Callable[[Any], None]] = {
    "the least": lambda g: setattr(g.node[1], "op_type", "ArgMin"),
    "over people": lambda g: setattr(g.node[1].attribute[0], "i", 0),
    "the last of equals": lambda g: g.node[1].attribute.append(helper.make_attribute("select_last_index", 1)),
    "fewer classes": lambda g: g.initializer[0].CopyFrom(
        numpy_helper.from_array(np.array(["a", "b"], dtype=object), "classes")
    ),
    "classes of two kinds": lambda g: g.node.append(
        helper.make_node("ArrayFeatureExtractor", ["classes", "best"], ["other"], domain="ai.onnx.ml")
    ),
    "somebody's own": lambda g: setattr(g.node[2], "domain", "mine"),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_that_are_not_of_the_largest_are_refused(name: str) -> None:
    document = graph(pair(), 2, 3, ["a", "b", "c"])
    LABELS[name](document.graph)
    with pytest.raises(ReleaseError):
        read(document)


def test_thresholds_that_nobody_asks_about_are_told() -> None:
    lone = ensemble([0], [(0, 17.0, "BRANCH_LEQ", ("leaf", 0), ("leaf", 0))], [(0, 1.0)], 1)
    fields = {item.kind: item.says for item in read(graph(lone, 1, 1)).discloses}
    assert "nobody asks about" in fields["other_content"]


def test_how_many_people_reach_each_node_is_told_as_counts() -> None:
    document = graph(pair(nodes_hitrates=tensor(80, 30, 50, 10)), 2, 3, ["a", "b", "c"])
    assert {item.level for item in read(document).discloses if item.kind == "sizes"} == {"counts"}


def test_boosting_is_refused_where_its_numbers_are_changed_afterwards() -> None:
    made = singles(1)
    model = GradientBoostingClassifier(n_estimators=2).fit(made, answers(made.astype(float), 3))
    document = rewritten(to_onnx(model, made[:1], options={"zipmap": False}))
    document.graph.node[0].attribute.append(helper.make_attribute("post_transform", 1))
    with pytest.raises(ReleaseError, match="changes them afterwards"):
        read(document)
