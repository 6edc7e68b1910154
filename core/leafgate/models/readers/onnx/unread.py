"""Content of an ONNX file that is not part of the graph, and what the operators before the trees disclose."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from leafgate.models.exposure.unread import PEOPLE, SIGNS, has_known_words, other_content, text_size, unread_texts
from leafgate.models.ir.model import CategoryList
from leafgate.models.readers.onnx.ensemble_v5 import MEMBER, lists_of
from leafgate.models.readers.onnx.graph import Graph, Operator, named, numbers
from leafgate.models.readers.onnx.preprocessing import leading
from leafgate.models.readers.onnx.wire import BYTES, TEXT, VARINT, Tensor, fields, tensor_of
from leafgate.types.release import FileDisclosure

CATEGORIES = FileDisclosure("categories", "low", "which values a column had in training (cats, keys)")
RARE = FileDisclosure("rare_values", "medium", "which values of a column were rare in training (ReduceSum, values)")
MOMENTS = FileDisclosure("moments", "medium", "mean and spread of a column, or the like (offset, scale)")
EXTREMES = FileDisclosure(
    "extremes", "high", "what the smallest and the largest number of a column follow from (Mul, Add, scale)"
)
FILLS = FileDisclosure("moments", "medium", "what replaces missing cells: a column's mean, median or commonest value")


def disclosures(graph: Graph, ensemble: Operator) -> tuple[FileDisclosure, ...]:
    """Everything the operators before the trees keep, and the names of columns that they do not use."""
    before = leading(graph, ensemble)
    found = dict.fromkeys(item for op in before for item in _of(op))
    used = {name for op in (*before, ensemble) for name in op.inputs}
    unused = [name for name in graph.given if name not in used]
    says = f"the names of {len(unused)} column(s) that the model does not use (its graph's inputs)"
    return (*found, *([FileDisclosure("column_names", "medium", says)] if unused else []))


LISTS = ("cats_strings", "cats_int64s", "keys_strings", "keys_int64s", "keys_floats", "values_strings")
"""Attributes of encoders that list values of a column."""


def category_lists(graph: Graph, ensemble: Operator) -> tuple[CategoryList, ...]:
    """Every list of values that an operator before the trees holds, also of cells that no tree is given."""
    items = (op.attributes.get(name) for op in leading(graph, ensemble) for name in LISTS)
    return tuple(CategoryList("", frozenset(map(_text, each))) for each in items if isinstance(each, list | np.ndarray))


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(int(value)) if float(value).is_integer() else str(value)


def _of(op: Operator) -> Iterator[FileDisclosure]:
    """What one operator discloses; a scaler without an offset may divide by the largest number."""
    values = op.attributes.get("values_int64s")
    if op.kind in {"OneHotEncoder", "LabelEncoder"}:
        yield CATEGORIES
    if op.kind == "ReduceSum" or (isinstance(values, np.ndarray) and len(np.unique(values)) < len(values)):
        yield RARE
    if op.kind in {"Scaler", "Sub", "Div"}:
        yield MOMENTS
    if op.kind in {"Mul", "Add", "Clip"} or (op.kind == "Scaler" and not np.any(op.attributes.get("offset", 0))):
        yield EXTREMES
    if op.kind == "Imputer":
        yield FILLS


MODEL = {1, 2, 3, 4, 5, 7, 8}
GRAPH = {1, 2, 5, 11, 12, 13}
OPERATOR = {1, 2, 3, 4, 5, 7}
"""Fields of the three messages that say what the graph does, or what its parts are called."""

MODEL_SAYS = {6: "doc_string", 14: "metadata_props", 20: "training_info", 25: "functions"}
GRAPH_SAYS = {10: "doc_string", 14: "quantization_annotation", 15: "sparse_initializer"}
NODES = ("featureids", "values", "modes", "treeids", "nodeids", "truenodeids", "falsenodeids", "hitrates")
KNOWN = {
    *(f"nodes_{key}" for key in (*NODES, "missing_value_tracks_true")),
    *(f"{prefix}_{key}" for prefix in ("class", "target") for key in ("treeids", "nodeids", "ids", "weights")),
    *("classlabels_strings", "classlabels_int64s", "classlabels_ints", "base_values", "post_transform"),
    *("nodes_splits", "nodes_trueleafs", "nodes_falseleafs", "leaf_targetids", "leaf_weights", "tree_roots"),
    *("membership_values", "keepdims"),
    *("aggregate_function", "n_targets", "to", "axis", "keepdims", "allowzero", "saturate", "select_last_index"),
}
"""Attributes that say what an operator does."""

HIT = FileDisclosure("sizes", "high", "how many people reach each node (nodes_hitrates)", "counts")


Texts = Mapping[int, Any]
ELSEWHERE = 0
"""Marks messages whose other fields are looked at elsewhere."""

TYPE: dict[int, Any] = {6: "a type's denotation"}
TYPE |= {
    1: {2: {1: {2: "a dimension's name", 3: "a dimension's denotation"}}},
    4: {1: TYPE},
    5: {2: TYPE},
}
VALUE: Texts = {ELSEWHERE: None, 1: "names of inputs, outputs and values", 2: TYPE}
NODE: Texts = {
    ELSEWHERE: None,
    **dict.fromkeys((1, 2), "names of inputs, outputs and values"),
    3: "names of operators",
    **dict.fromkeys((4, 7), "kinds of operators"),
}
GRAPH_TEXTS: Texts = {
    ELSEWHERE: None,
    1: NODE,
    2: "the graph's name",
    5: {ELSEWHERE: None, 8: "names of tensors"},
    **dict.fromkeys((11, 12, 13), VALUE),
}
TEXTS: Texts = {
    ELSEWHERE: None,
    **dict.fromkeys((2, 3), "the model's producer"),
    4: "the model's domain",
    7: GRAPH_TEXTS,
    8: {1: "domains of operators"},
}
"""Where texts stand in an ONNX file, by the fields of its messages."""

WRITTEN = """
ad add addcst ai ali anonymous arg argmax array arrayfeatureextractor average axis base best bi binarizer boosting
branch c ca cast cl class classes classid classifier classlabels clip clipcst co column columns com common conc concat
concatenated const constant container convert converter converters cst decision default depth di div divcst double
encoder ensemble entropy eq equal exp ext extra extracted extractor extratrees false feature features fl flatten float
forest from g gather ge gradient graph gt gte hist histgradientboosting hot hummingbird i id identity if imputed
imputer in index indices input inputs int is isnan keep kind l label labels leaf lelabel leq less lgbm lightgbm linear
loc logistic lt lte main map max member merged microsoft min missing ml mode model mu mul mulcst multi n name nan neg
neq node none normalized normalizer not number o one onehot onehotencoder onnx onnxconverter onnxml onnxmltools op
operator opset or ordinal org out output outputs p pipeline pred predicted prediction proba probabilities probability
product pytorch random raw re red reduce reduced reducesum regressor reshape reshaped result robust root s scale
scaled scaler score scores select sequence shape sk skl sklearn softmax split squeeze standard str string su sub
subcst sum sy t target tensor the to top torch tr transformed transpose tree treeensemble trees true type union
unsqueeze unused value values var variable variables vectorizer w where x xgb xgboost y z zero zip zipmap
"""
WORDS = frozenset(WRITTEN.split())
"""Words of which skl2onnx, onnxmltools and onnx make names of what a graph has."""

RANDOM_NAME = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}|[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
"""What skl2onnx calls a graph that nobody named: a random UUID."""


def unread_content(
    content: bytes, graph: Graph, ensemble: Operator, place: str, classes: Collection[str]
) -> tuple[FileDisclosure, ...]:
    """What the file discloses besides the graph that was read and the `classes` it predicts."""
    rates = numbers(ensemble, "nodes_hitrates", place)
    hit = (HIT,) if rates is not None and not np.isin(rates, (0, 1)).all() else ()
    unread = [*_unread(content, place), *_repeated(content, place)]
    unread += [*_attributes(graph, ensemble), *_at_leaves(ensemble, place)]
    unread += _names(content, graph, ensemble, place, classes)
    return (*hit, *disclosures(graph, ensemble), *other_content(unread))


def _unread(content: bytes, place: str) -> Iterator[tuple[str, int]]:
    """Parts of the messages that nobody reads, and tensors that no operator is given."""
    constants: dict[str, int] = {}
    given: set[str] = set()
    for number, _, value in fields(content, place):
        if number not in MODEL and value != b"":
            yield f"the model's {MODEL_SAYS.get(number, f'field {number}')}", _size(value)
        if number != 7 or not isinstance(value, bytes):
            continue
        for inner, wire, part in fields(value, place):
            if inner not in GRAPH and part != b"":
                yield f"the graph's {GRAPH_SAYS.get(inner, f'field {inner}')}", _size(part)
            if wire == BYTES and isinstance(part, bytes) and inner == 5:
                constants[named(part, 8, place)] = len(part) // SIGNS
                yield from _beside(part, {*range(1, 12), 13, 14} - {3}, "a tensor", place)
            if wire == BYTES and isinstance(part, bytes) and inner in {11, 12, 13}:
                yield from _beside(part, {1, 2}, "an input or output", place)
            if wire == BYTES and isinstance(part, bytes) and inner == 1:
                items = list(fields(part, place))
                given |= {text.decode("utf-8") for k, _, text in items if k == 1 and isinstance(text, bytes)}
                unknown = [text for k, _, text in items if k not in OPERATOR and text != b""]
                yield from (("an operator's doc_string", _size(text)) for text in unknown)
    yield from (("a tensor that no operator is given", size) for name, size in constants.items() if name not in given)


ONCE = frozenset({1, 2, 3, 4, 5, 7})
"""Fields of the model that stand once in a file."""
OPSET = 8
MAX_MORE_VERSIONS = 2
"""Versions of a domain's operators that a file may state besides its last: skl2onnx may state one for each step."""


def _repeated(content: bytes, place: str) -> Iterator[tuple[str, int]]:
    """Fields that stand once, and versions of one domain's operators: of several, only the last is in force."""
    found = list(fields(content, place))
    numbers_found = [number for number, _, _ in found]
    opsets = [list(fields(value, place)) for number, _, value in found if number == OPSET and isinstance(value, bytes)]
    versions = {tuple(sorted((key, str(value)) for key, _, value in each)) for each in opsets}
    domains = {dict(each).get(1, "") for each in versions}
    repeated = sum(numbers_found.count(number) > 1 for number in ONCE)
    repeated += len(versions) > len(domains) + MAX_MORE_VERSIONS
    repeated += sum(len(each) != len({key for key, _, _ in each}) for each in opsets)
    if repeated:
        yield "fields of the model that stand several times", max(PEOPLE, repeated)


def _names(
    content: bytes, graph: Graph, ensemble: Operator, place: str, classes: Collection[str]
) -> Iterator[tuple[str, int]]:
    """Texts that no known program writes: names of what the graph has, and values of its attributes."""
    found: dict[str, set[str]] = {}
    beside = list[bytes]()
    _gather(content, found, beside, place)
    for where, texts in found.items():
        unknown = {text for text in texts if where != "the graph's name" or not RANDOM_NAME.fullmatch(text)}
        yield from unread_texts(where, unknown, WORDS, graph.given)
    values = {value for each in category_lists(graph, ensemble) for value in each.values} | set(classes)
    held = [result for op in graph.operators for result in op.attributes.values()]
    held += [tensor_of(each, place) for each in graph.constants.values() if (2, VARINT, TEXT) in fields(each, place)]
    lists = [outcome.values if isinstance(outcome, Tensor) and outcome.kind == TEXT else outcome for outcome in held]
    lists = [[actual] if isinstance(actual, str) else actual for actual in lists if isinstance(actual, str | list)]
    yield from unread_texts("texts of attributes", {_decoded(one) for each in lists for one in each}, WORDS, values)
    beside += [text for op in graph.operators for text in op.beside]
    if beside:
        yield "texts beside what a field says", text_size(*beside)


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def _gather(content: bytes, found: dict[str, set[str]], beside: list[bytes], place: str) -> None:
    """Every text of the file by its kind, and what stands in types beside them."""
    waiting: list[tuple[bytes, Texts]] = [(content, TEXTS)]
    while waiting:
        here, known = waiting.pop()
        for number, wire, value in fields(here, place):
            what = known.get(number)
            if wire != BYTES or not isinstance(value, bytes):
                continue
            if isinstance(what, str):
                found.setdefault(what, set()).add(_decoded(value))
            elif what is not None:
                waiting.append((value, what))
            elif ELSEWHERE not in known and value:
                beside.append(value)


def _beside(message: bytes, known: set[int], what: str, place: str) -> Iterator[tuple[str, int]]:
    """Parts of a message besides those that say what it is."""
    for number, _, value in fields(message, place):
        if number not in known and value != b"":
            yield f"something beside {what}", _size(value)


def _size(value: bytes | int) -> int:
    return text_size(value) if isinstance(value, bytes) else 1


def _attributes(graph: Graph, ensemble: Operator) -> Iterator[tuple[str, int]]:
    """Attributes that no operator of its kind has; of those before the trees every one was looked at."""
    before = {id(op) for op in leading(graph, ensemble)}
    for operator in (op for op in graph.operators if id(op) not in before):
        for name, result in operator.attributes.items():
            if name.removesuffix("_as_tensor") not in KNOWN:
                numeric = isinstance(result, int | float | np.ndarray) and has_known_words(name, WORDS)
                yield "an attribute that its operator does not have", np.size(result) if numeric else PEOPLE


AT_LEAVES = {"values": "thresholds", "featureids": "features"}
AT_LEAVES |= dict.fromkeys(("truenodeids", "falsenodeids"), "children")
"""What nodes that are leaves have in lists for all nodes; writers put one number there, 0 or -1 (a threshold is 0)."""


def _at_leaves(ensemble: Operator, place: str) -> Iterator[tuple[str, int]]:
    """Thresholds, features and children of leaves, which ask nothing and have none."""
    modes = ensemble.attributes.get("nodes_modes")
    leaf = np.array(modes, dtype="S12") == b"LEAF" if isinstance(modes, list) else np.zeros(0, dtype=bool)
    for key, what in AT_LEAVES.items():
        values = numbers(ensemble, f"nodes_{key}", place)
        if values is None or len(values) != len(leaf) or not leaf.any():
            continue
        there = int(np.count_nonzero(values[leaf]))
        if there and (key == "values" or len(np.unique(values[leaf])) > 1 or abs(values[leaf][0]) > 1):
            yield f"{what} of leaves (nodes_{key})", there
    if ensemble.kind == "TreeEnsemble":
        lists = lists_of(ensemble, place)
        idle = int(np.count_nonzero(lists.at[lists.alone | (lists.mode == MEMBER)]))
        if idle:
            yield "thresholds that nobody asks about (nodes_splits)", idle
