"""What of an ONNX file is not read, and what it tells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from leafgate.disclosed import SIGNS, Disclosure, other_content
from leafgate.foreign.onnx.before import leading
from leafgate.foreign.onnx.five import MEMBER, lists_of
from leafgate.foreign.onnx.parts import Graph, Operator, named, numbers
from leafgate.foreign.onnx.protobuf import BYTES, fields
from leafgate.foreign.onnx.tells import tells

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

HIT = Disclosure("sizes", "high", "how many people reach each node (nodes_hitrates)", "counts")


def left(content: bytes, graph: Graph, ensemble: Operator, place: str) -> tuple[Disclosure, ...]:
    """What the file tells besides the graph that was read."""
    rates = numbers(ensemble, "nodes_hitrates", place)
    hit = (HIT,) if rates is not None and not np.isin(rates, (0, 1)).all() else ()
    unread = [*_unread(content, place), *_attributes(graph, ensemble), *_at_leaves(ensemble, place)]
    return (*hit, *tells(graph, ensemble), *other_content(unread))


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
                constants[named(part, 8, place)] = _size(part)
                yield from _beside(part, {*range(1, 12), 13, 14} - {3}, "a tensor", place)
            if wire == BYTES and isinstance(part, bytes) and inner in {11, 12, 13}:
                yield from _beside(part, {1, 2}, "an input or output", place)
            if wire == BYTES and isinstance(part, bytes) and inner == 1:
                told = list(fields(part, place))
                given |= {text.decode("utf-8") for k, _, text in told if k == 1 and isinstance(text, bytes)}
                strange = [text for k, _, text in told if k not in OPERATOR and text != b""]
                yield from (("an operator's doc_string", _size(text)) for text in strange)
    yield from (("a tensor that no operator is given", size) for name, size in constants.items() if name not in given)


def _beside(message: bytes, known: set[int], what: str, place: str) -> Iterator[tuple[str, int]]:
    """Parts of a message besides those that say what it is."""
    for number, _, value in fields(message, place):
        if number not in known and value != b"":
            yield f"something beside {what}", _size(value)


def _size(value: bytes | int) -> int:
    return len(value) // SIGNS if isinstance(value, bytes) else 1


def _attributes(graph: Graph, ensemble: Operator) -> Iterator[tuple[str, int]]:
    """Attributes that no operator of its kind has; of those before the trees every one was looked at."""
    before = {id(op) for op in leading(graph, ensemble)}
    for operator in (op for op in graph.operators if id(op) not in before):
        for name, told in operator.attributes.items():
            if name.removesuffix("_as_tensor") not in KNOWN:
                yield "an attribute that its operator does not have", np.size(told)


def _at_leaves(ensemble: Operator, place: str) -> Iterator[tuple[str, int]]:
    """Thresholds of leaves, which ask nothing."""
    values, modes = numbers(ensemble, "nodes_values", place), ensemble.attributes.get("nodes_modes")
    if values is not None and isinstance(modes, list) and len(modes) == len(values):
        there = int(np.count_nonzero(values[np.array(modes, dtype="S12") == b"LEAF"]))
        if there:
            yield "thresholds of leaves (nodes_values)", there
    if ensemble.kind == "TreeEnsemble":
        lists = lists_of(ensemble, place)
        idle = int(np.count_nonzero(lists.at[lists.alone | (lists.mode == MEMBER)]))
        if idle:
            yield "thresholds that nobody asks about (nodes_splits)", idle
