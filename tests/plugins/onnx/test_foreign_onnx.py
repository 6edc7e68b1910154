from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import leafgate
from feature_rows import predicted, votes
from installed_readers import is_foreign, read_foreign
from leafgate import ReleaseError
from leafgate.readers import ModelIR
from patience import ends_soon
from refused_models import assert_read_or_refused
from sklearn_zoo import answers, at_the_edges, rows

MODELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": lambda: RandomForestClassifier(7, max_depth=5, random_state=0),
    "extra": lambda: ExtraTreesClassifier(4, max_depth=5, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=5, random_state=0),
}
NUMBERS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeRegressor(max_depth=5),
    "forest": lambda: RandomForestRegressor(4, max_depth=4, random_state=1),
    "boosting": lambda: GradientBoostingRegressor(n_estimators=4),
}


def singles(seed: int) -> Any:
    """Rows that single precision holds exactly: more an ONNX model is never given."""
    return rows(seed).astype(np.float32)


@cache
def fitted(name: str, classes: int) -> tuple[Any, onnx.ModelProto]:
    made = singles(1)
    if classes:
        target: Any = np.array(["low", "middle", "high"])[answers(made.astype(float), classes)]
        model = MODELS[name]().fit(made, target)
        return model, to_onnx(model, made[:1], options={"zipmap": False})
    numbers = NUMBERS[name]().fit(made, made[:, 0] + made[:, 2])
    return numbers, to_onnx(numbers, made[:1])


def everywhere(read: ModelIR) -> Any:
    """Rows it was fitted on, others, and singles at the thresholds and next to them."""
    edges = at_the_edges(read, np.nan_to_num(rows(3)).astype(np.float32).astype(float))
    return np.concatenate([singles(1), singles(2), edges.astype(np.float32)])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_an_onnx_model_predicts_what_the_library_predicts(name: str, classes: int) -> None:
    model, document = fitted(name, classes)
    read = read_foreign(document.SerializeToString(), "m.onnx")
    made = everywhere(read)
    mine = np.array(read.classes)[predicted(read, made.astype(float))]
    agree = mine == model.predict(made)
    assert agree.all() if name == "tree" else agree.mean() > 0.999  # sums of rounded numbers: ties fall otherwise
    some = np.concatenate([made[:40], made[-40:]])
    answered: Any = ReferenceEvaluator(document).run(None, {"X": some})
    label = np.asarray(answered[0])
    assert (np.array(read.classes)[predicted(read, some.astype(float))] == label).all()


@pytest.mark.parametrize("name", NUMBERS)
def test_an_onnx_model_of_numbers_predicts_what_the_library_predicts(name: str) -> None:
    model, document = fitted(name, 0)
    read = read_foreign(document.SerializeToString(), "m.onnx")
    made = singles(2)
    np.testing.assert_allclose(votes(read, made.astype(float))[:, 0], model.predict(made), rtol=1e-4, atol=1e-2)


def test_a_tree_has_the_same_leaves_in_memory_and_in_onnx_and_tells_less_there() -> None:
    model, document = fitted("tree", 3)
    memory, file = leafgate.from_sklearn(model), read_foreign(document.SerializeToString(), "m.onnx")
    mine, its = memory.trees[0], file.trees[0]
    assert (mine.feature == its.feature).all()
    assert (mine.low == its.low).all()
    np.testing.assert_allclose(mine.values[mine.leaves], its.values[its.leaves], atol=1e-6)
    assert (memory.level, file.level, file.leaf_level) == ("counts", "counts", "shares")
    assert {item.kind for item in file.discloses} == {"ratios"}


def test_inputs_of_one_column_each_name_the_features() -> None:
    from skl2onnx import convert_sklearn

    names = ["age", "pay", "job"]
    made = pd.DataFrame(singles(1), columns=names)
    keep = make_column_transformer(("passthrough", ["pay", "age", "job"]))
    model = make_pipeline(keep, DecisionTreeClassifier(max_depth=3)).fit(made, answers(singles(1).astype(float), 2))
    document = convert_sklearn(
        model, initial_types=[(name, FloatTensorType([None, 1])) for name in names], options={"zipmap": False}
    )
    assert read_foreign(document.SerializeToString(), "m.onnx").features == ("pay", "age", "job")


def test_operators_before_the_trees_are_refused_by_name() -> None:
    made = singles(1)
    model = make_pipeline(PowerTransformer(), DecisionTreeClassifier(max_depth=2)).fit(
        made, answers(made.astype(float), 2)
    )
    with pytest.raises(ReleaseError, match="operators that are not read here"):
        read_foreign(to_onnx(model, made[:1]).SerializeToString(), "m.onnx")


def node_changed(change: Callable[[Any], None]) -> bytes:
    """The file of a tree with its ensemble changed."""
    document = onnx.ModelProto()
    document.CopyFrom(fitted("tree", 3)[1])
    change(next(node for node in document.graph.node if node.op_type == "TreeEnsembleClassifier"))
    return bytes(document.SerializeToString())


def attribute(name: str, at: int, value: Any) -> bytes:
    def change(node: Any) -> None:
        result = next(a for a in node.attribute if a.name == name)
        (result.ints or result.floats or result.strings)[at] = value

    return node_changed(change)


def external(node: Any) -> None:
    result = next(a for a in node.attribute if a.name == "nodes_values")
    result.name = "nodes_values_as_tensor"
    result.type = onnx.AttributeProto.TENSOR
    del result.floats[:]
    result.t.data_type = onnx.TensorProto.DOUBLE
    result.t.data_location = onnx.TensorProto.EXTERNAL
    result.t.external_data.add(key="location", value="../../etc/passwd")


def transformed(node: Any) -> None:
    next(a for a in node.attribute if a.name == "post_transform").s = b"SOFTMAX"


HOSTILE: dict[str, Callable[[], bytes]] = {
    "child out of range": lambda: attribute("nodes_truenodeids", 0, 10**12),
    "negative child": lambda: attribute("nodes_falsenodeids", 0, -5),
    "itself its child": lambda: attribute("nodes_truenodeids", 0, 0),
    "feature out of range": lambda: attribute("nodes_featureids", 0, 2**62),
    "negative feature": lambda: attribute("nodes_featureids", 0, -1),
    "NaN threshold": lambda: attribute("nodes_values", 0, float("nan")),
    "neither true nor false of missing numbers": lambda: attribute("nodes_missing_value_tracks_true", 0, 2),
    "infinite weight": lambda: attribute("class_weights", 0, float("inf")),
    "no such mode": lambda: attribute("nodes_modes", 0, b"BRANCH_EVAL"),
    "a class there is not": lambda: attribute("class_ids", 0, 7),
    "a leaf there is not": lambda: attribute("class_nodeids", 0, 10**9),
    "a tree there is not": lambda: attribute("class_treeids", 0, 3),
    "a node twice": lambda: attribute("nodes_nodeids", 1, 0),
    "a class twice at one leaf": lambda: attribute("class_ids", 1, 0),
    "shares that are changed afterwards": lambda: node_changed(transformed),
    "numbers in another file": lambda: node_changed(external),
    "no nodes": lambda: node_changed(lambda node: node.attribute.pop(0)),
    "cut off": lambda: fitted("tree", 3)[1].SerializeToString()[:300],
    "a length beyond the end": lambda: b"\x08\x08\x12\x04skl2\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    "a varint that never ends": lambda: b"\x08\x08\x12" + b"\xff" * 1000,
    "a million operators": lambda: b"\x08\x08\x3a\x80\x89\x7a" + b"\x0a\x00" * 1_000_000,
    "nothing": lambda: b"\x08\x08\x3a\x00",
    "numbers in pieces": lambda: in_pieces(b"\x40\x01\x08\x01"),
    "fractions in pieces": lambda: in_pieces(b"\x3d\0\0\0\0\x08\x01"),
}


def in_pieces(piece: bytes) -> bytes:
    """An attribute whose list is broken off by another field after every number, half a million times."""
    result = onnx.ModelProto(ir_version=8, producer_name="p")
    node = result.graph.node.add(op_type="TreeEnsembleClassifier")
    node.attribute.add(name="nodes_treeids")
    node.attribute[0].doc_string = "x" * (len(piece) * 500_000 - 5)
    content = bytes(result.SerializeToString())
    at = content.index(b"x" * 100)
    field = content.rindex(b"\x6a", 0, at)
    return content[:field] + (piece * 500_000)[: len(content) - field].ljust(len(content) - field, b"\x01")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_soon(name: str) -> None:
    content = HOSTILE[name]()
    assert is_foreign(content[:4096])
    with ends_soon(), pytest.raises(ReleaseError) as caught:
        read_foreign(content, "m.onnx")
    assert caught.value.exit_code == 2


@given(st.data())
def test_a_file_with_some_bytes_changed_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(fitted("tree", 2)[1].SerializeToString())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(2, len(content) - 1))] = data.draw(st.integers(0, 255))
    assert_read_or_refused(bytes(content), "m.onnx")


def file_disclosures(change: Callable[[Any], None]) -> dict[str, tuple[str, str | None]]:
    """What a tree's file is said to disclose after a change: severity and level by kind."""
    document = onnx.ModelProto.FromString(fitted("tree", 2)[1].SerializeToString())
    change(document)
    read = read_foreign(document.SerializeToString(), "m.onnx")
    return {item.kind: (item.severity, item.level) for item in read.discloses if item.kind != "ratios"}


def test_how_many_people_reach_each_node_is_told_as_counts() -> None:
    def hit(document: Any) -> None:
        rates = next(a for n in document.graph.node for a in n.attribute if a.name == "nodes_hitrates")
        rates.floats[0] = 240.0

    assert file_disclosures(hit) == {"sizes": ("high", "counts")}


OTHER_CONTENT: dict[str, Callable[[Any], None]] = {
    "metadata_props": lambda document: document.metadata_props.add(key="notes", value="of a person"),
    "doc_string": lambda document: setattr(document, "doc_string", "of a person"),
    "the graph's": lambda document: setattr(document.graph, "doc_string", "of a person"),
    "an operator's": lambda document: setattr(document.graph.node[0], "doc_string", "of a person"),
}
BESIDE: dict[str, Callable[[Any], None]] = {
    "a tensor": lambda document: document.graph.initializer.append(
        onnx.numpy_helper.from_array(np.ones(3, dtype=np.float32), "values")
    ),
    "an attribute": lambda document: document.graph.node[0].attribute.append(
        onnx.helper.make_attribute("values", [1.0, 2.0])
    ),
}


@pytest.mark.parametrize("name", OTHER_CONTENT)
def test_texts_that_nobody_reads_of_an_onnx_file_are_high_findings(name: str) -> None:
    assert file_disclosures(OTHER_CONTENT[name]) == {"other_content": ("high", None)}


@pytest.mark.parametrize("name", BESIDE)
def test_few_numbers_that_nobody_reads_of_an_onnx_file_are_told(name: str) -> None:
    assert file_disclosures(BESIDE[name]) == {"other_content": ("medium", None)}


def test_a_tensor_as_large_as_people_that_nobody_reads_is_a_high_finding() -> None:
    tensor = onnx.numpy_helper.from_array(np.ones((300, 8), dtype=np.float32), "people")
    assert file_disclosures(lambda document: document.graph.initializer.append(tensor)) == {
        "other_content": ("high", None)
    }


def test_thresholds_of_leaves_are_told() -> None:
    def at_leaf(document: Any) -> None:
        attributes = {a.name: a for n in document.graph.node for a in n.attribute}
        leaf = list(attributes["nodes_modes"].strings).index(b"LEAF")
        attributes["nodes_values"].floats[leaf] = 17.0

    assert file_disclosures(at_leaf) == {"other_content": ("medium", None)}
