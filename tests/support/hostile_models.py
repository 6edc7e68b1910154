"""Small files that would come to much: each is to end in exit code 2, in little time and memory."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import numpy as np

from hostile_skops import HOSTILE as SKOPS

NODES = 20_000


def lightgbm(tree: str = "num_leaves=1\nleaf_value=1", rest: str = "") -> bytes:
    """A file of one feature and one tree."""
    head = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=binary sigmoid:1\n"
    return f"{head}feature_names=a\nfeature_infos=none\n\nTree=0\n{tree}\n\nend of trees\n{rest}".encode()


def sets_shared() -> bytes:
    """A node each for 20,000 nodes asks for the same 96,000 categories."""

    def child(node: int) -> str:
        return str(node if node < NODES else NODES - node - 1)

    fields = {
        "num_leaves": NODES + 1,
        "num_cat": 1,
        "split_feature": " ".join(["0"] * NODES),
        "threshold": " ".join(["0"] * NODES),
        "decision_type": " ".join(["1"] * NODES),
        "left_child": " ".join(child(2 * i + 1) for i in range(NODES)),
        "right_child": " ".join(child(2 * i + 2) for i in range(NODES)),
        "leaf_value": " ".join(["1"] * (NODES + 1)),
        "cat_boundaries": "0 3000",
        "cat_threshold": " ".join(["4294967295"] * 3000),
    }
    return lightgbm("\n".join(f"{key}={value}" for key, value in fields.items()))


def categories_listed() -> bytes:
    """Three million categories of one column."""
    listed = ",".join(f'"{i}"' for i in range(3 * 10**6))
    return lightgbm(rest=f"\nparameters:\n[categorical_feature: 0]\nend of parameters\npandas_categorical:[[{listed}]]")


class Schema:
    """Nodes of a skops schema, numbered as they are made."""

    def __init__(self) -> None:
        self.numbers = count(1)

    def node(self, loader: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
        fields = {"__class__": kind, "__module__": "m", "__loader__": loader, "__id__": next(self.numbers)}
        return {**fields, "content": content, **more}

    def plain(self, value: Any) -> dict[str, Any]:
        return self.node("JsonNode", "x", json.dumps(value))

    def listed(self, *items: Any) -> dict[str, Any]:
        return self.node("ListNode", "list", list(items))

    def thing(self, kind: str, **facts: Any) -> dict[str, Any]:
        return self.node("ObjectNode", kind, self.node("DictNode", "dict", facts))

    def array(self, name: str) -> dict[str, Any]:
        return self.node("NdArrayNode", "ndarray", None, type="numpy", file=name)

    def again(self, node: Mapping[str, Any]) -> dict[str, Any]:
        return {"__class__": "x", "__module__": "m", "__loader__": "CachedNode", "__id__": node["__id__"]}


def skops(top: Any, arrays: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", json.dumps(top))
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array)
            archive.writestr(name, content.getvalue())
    return file.getvalue()


WHOLE = ("left_child", "right_child", "feature", "n_node_samples")
STUMP = np.zeros(1, [*((name, "i8") for name in WHOLE), ("threshold", "f8"), ("weighted_n_node_samples", "f8")])
STUMP["left_child"] = STUMP["right_child"] = -1
STUMP["n_node_samples"] = STUMP["weighted_n_node_samples"] = 2
LEAF = {"n.npy": STUMP, "v.npy": np.array([[[0.5, 0.5]]])}


def pipeline(make: Callable[[Schema], dict[str, Any]], times: int, width: int, arrays: Mapping[str, Any]) -> bytes:
    """A step that stands in a pipeline so many times, before a tree of one leaf."""
    schema = Schema()
    step = schema.listed(schema.plain("a"), make(schema))
    tree = schema.thing("Tree", nodes=schema.array("n.npy"), values=schema.array("v.npy"))
    classes = schema.listed(schema.plain("a"), schema.plain("b"))
    facts = {"n_outputs_": schema.plain(1), "classes_": classes, "n_features_in_": schema.plain(width), "tree_": tree}
    last = schema.listed(schema.plain("t"), schema.thing("DecisionTreeClassifier", **facts))
    first = schema.thing("FunctionTransformer", n_features_in_=schema.plain(width), func=schema.plain(None))
    steps = [schema.listed(schema.plain("f"), first), step, *(schema.again(step) for _ in range(times - 1)), last]
    return skops(schema.thing("Pipeline", steps=schema.listed(*steps)), {**LEAF, **arrays})


def scalers() -> bytes:
    """One scaler of 20,000 columns, 1,500 times."""

    def scaler(schema: Schema) -> dict[str, Any]:
        return schema.thing("MaxAbsScaler", n_features_in_=schema.plain(20_000), scale_=schema.array("s.npy"))

    return pipeline(scaler, 1_500, 20_000, {"s.npy": np.full(20_000, 2.0)})


def passed_through() -> bytes:
    """A million columns passed through 20,000 times."""
    return pipeline(lambda schema: schema.plain("passthrough"), 20_000, 999_999, {})


def histogram(sets: int = 300_001) -> bytes:
    """150,000 tests by the same 256 categories."""
    kinds = [("value", "f8"), ("count", "u4"), ("feature_idx", "i8"), ("num_threshold", "f8"), ("left", "u4")]
    flags = [("missing_go_to_left", "u1"), ("is_leaf", "u1"), ("is_categorical", "u1"), ("bitset_idx", "u4")]
    nodes = np.zeros(sets, [*kinds, ("right", "u4"), *flags])
    inner = np.arange(sets // 2)
    nodes["left"][: len(inner)], nodes["right"][: len(inner)] = 2 * inner + 1, 2 * inner + 2
    nodes["is_leaf"][len(inner) :] = nodes["is_categorical"][: len(inner)] = 1
    schema = Schema()
    tree = schema.thing("TreePredictor", nodes=schema.array("h.npy"), raw_left_cat_bitsets=schema.array("b.npy"))
    top = schema.thing(
        "HistGradientBoostingClassifier",
        classes_=schema.listed(schema.plain("a"), schema.plain("b")),
        n_features_in_=schema.plain(1),
        _baseline_prediction=schema.array("z.npy"),
        _predictors=schema.listed(schema.listed(tree)),
    )
    bits = np.full((1, 8), 2**32 - 1, "u4")
    return skops(top, {"h.npy": nodes, "b.npy": bits, "z.npy": np.zeros((1, 1))})


def neutral(**changes: Any) -> dict[str, Any]:
    """A neutral file of one test."""
    tree = {"feature": [0, -1, -1], "threshold": [1, None, None], "low": [1, -1, -1], "high": [2, -1, -1]}
    fields = {"format": "leafgate/model/1", "features": ["a"], "classes": ["n", "p"], "base": [], "from": "x"}
    more: dict[str, Any] = {"producer": "", "says": "labels", "combine": "one", "counted": "unknown", "origins": None}
    trees = [{**tree, "says": [None, [1, 0], [0, 1]], "subsets": {}, "output": None}]
    return {**fields, **more, "discloses": [], "trees": trees, **changes}


def one_large_set() -> bytes:
    """A test for three million categories."""
    result = neutral()
    result["trees"][0]["subsets"] = {"0": list(range(3 * 10**6))}
    return json.dumps(result, separators=(",", ":")).encode()


def sets_below_sets() -> bytes:
    """150 tests by sets below one another, and below the last 50,000 tests by sets of other features."""
    chain, below = 150, 50_000
    inner = chain + below
    bottom = range(chain, inner)
    low = [*range(1, chain + 1), *(2 * i - chain + 1 for i in bottom)]
    high = [*range(chain + 2 * below + 1, 2 * chain + 2 * below + 1), *(2 * i - chain + 2 for i in bottom)]
    n = 2 * inner + 1
    tree = {
        "feature": [0] * chain + [*range(1, below + 1)] + [-1] * (n - inner),
        "threshold": [None] * n,
        "low": low + [-1] * (n - inner),
        "high": high + [-1] * (n - inner),
        "says": [None] * inner + [[1, 0]] * (n - inner),
        "subsets": {str(i): [0, 1] for i in range(inner)},
        "output": None,
    }
    return json.dumps(
        neutral(features=[f"f{i}" for i in range(below + 1)], trees=[tree]), separators=(",", ":")
    ).encode()


def pmml(inside: str, values: str = "") -> bytes:
    field = f'<DataField name="a" optype="categorical" dataType="string">{values}</DataField>'
    labels = (
        '<DataField name="y" optype="categorical" dataType="string"><Value value="n"/><Value value="p"/></DataField>'
    )
    schema = '<MiningSchema><MiningField name="a"/><MiningField name="y" usageType="target"/></MiningSchema>'
    tree = f'<TreeModel functionName="classification">{schema}<Node score="n"><True/>{inside}</Node></TreeModel>'
    return f'<PMML version="4.4"><DataDictionary>{field}{labels}</DataDictionary>{tree}</PMML>'.encode()


def exclusive(depth: int = 14) -> bytes:
    """Exclusive ors within one another, each about values of its own."""
    numbers = count()

    def nested(depth: int) -> str:
        if not depth:
            return f'<SimplePredicate field="a" operator="equal" value="v{next(numbers)}"/>'
        return f'<CompoundPredicate booleanOperator="xor">{nested(depth - 1)}{nested(depth - 1)}</CompoundPredicate>'

    return pmml(f'<Node score="n">{nested(depth)}</Node><Node score="p"><True/></Node>')


def values_again_and_again() -> bytes:
    """20,000 values, and as many children that each ask about one."""
    one = '<Node score="n"><SimplePredicate field="a" operator="equal" value="v{}"/></Node>'
    values = "".join(f'<Value value="v{i}"/>' for i in range(20_000))
    return pmml("".join(one.format(i) for i in range(20_000)), values)


def lists_of_nothing() -> bytes:
    """Two million empty lists."""
    return b'{"learner":[' + b"[]," * (2 * 10**6) + b"[]]}"


def values_of_nothing() -> bytes:
    """As many nulls as a file of XGBoost's binary form may hold, and more."""
    return b"{L" + (7).to_bytes(8, "big") + b"learner[" + b"Z" * 3_000_000 + b"]}"


def one_leaf_lightgbm() -> bytes:
    """1.5 million trees of one leaf."""
    return lightgbm("num_leaves=1\nleaf_value=1\n" + "\nTree=1\nnum_leaves=1\nleaf_value=1\n" * 1_500_000)


def one_leaf_neutral() -> bytes:
    """Half a million trees of one leaf."""
    tree = {"feature": [-1], "threshold": [None], "low": [-1], "high": [-1], "says": [[1, 0]], "subsets": {}}
    one = json.dumps({**tree, "output": None}, separators=(",", ":"))
    head, tail = json.dumps(neutral(combine="vote", trees=[0]), separators=(",", ":")).rsplit("[0]", 1)
    return f"{head}[{','.join([one] * 500_000)}]{tail}".encode()


def one_leaf_pmml() -> bytes:
    """150,000 segments of one leaf."""
    head, tail = pmml("").decode().split("<TreeModel", 1)
    tree, end = f"<TreeModel{tail}".split("</PMML>")[0], "</PMML>"
    schema = tree[tree.index("<MiningSchema>") : tree.index("</MiningSchema>")] + "</MiningSchema>"
    segments = f"<Segment><True/>{tree}</Segment>" * 150_000
    inside = f'{schema}<Segmentation multipleModelMethod="majorityVote">{segments}</Segmentation>'
    return f'{head}<MiningModel functionName="classification">{inside}</MiningModel>{end}'.encode()


def one_leaf_xgboost() -> bytes:
    """150,000 trees of one leaf."""
    numbers = ("base_weights", "loss_changes", "split_conditions", "sum_hessian")
    ids = ("left_children", "right_children", "parents", "split_indices", "split_type", "default_left")
    empty = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
    shape = {"num_deleted": "0", "num_feature": "1", "num_nodes": "1", "size_leaf_vector": "1"}
    tree = {name: [0] for name in numbers} | {name: [-1] for name in ids} | {name: [] for name in empty}
    trees = ",".join([json.dumps({**tree, "id": 0, "tree_param": shape}, separators=(",", ":"))] * 150_000)
    return f'{{"learner":{{"gradient_booster":{{"model":{{"trees":[{trees}]}}}}}},"version":[3,0,0]}}'.encode()


LARGE: Mapping[str, Mapping[str, Callable[[], bytes]]] = {
    "skops": {
        "scalers in a row": scalers,
        "passed through and through": passed_through,
        "sets without end": histogram,
        **SKOPS,
    },
    "XGBoost": {
        "one-leaf trees of XGBoost": one_leaf_xgboost,
        "lists of nothing": lists_of_nothing,
        "values of nothing": values_of_nothing,
    },
    "LightGBM": {
        "one-leaf trees of LightGBM": one_leaf_lightgbm,
        "a set for every node": sets_shared,
        "three million categories": categories_listed,
    },
    "PMML": {
        "one-leaf segments": one_leaf_pmml,
        "exclusive ors": exclusive,
        "values again and again": values_again_and_again,
    },
    "leafgate/model/1": {
        "one-leaf trees of a neutral file": one_leaf_neutral,
        "one large set": one_large_set,
        "sets below sets": sets_below_sets,
    },
}
"""By format, hostile files of few bytes that would take much."""
