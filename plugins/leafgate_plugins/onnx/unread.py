"""Content of an ONNX file that is not part of the graph, and what the operators before the trees disclose."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leafgate.api import FileDisclosure
from leafgate.ir.unread import has_known_words, text_size
from leafgate.readers import LETTERS_PER_NUMBER, MANY_NUMBERS, CategoryList, UnreadTracker, read_shape
from leafgate_plugins.onnx import MISSING_TEXT
from leafgate_plugins.onnx.ensemble_v5 import MEMBER, lists_of
from leafgate_plugins.onnx.graph import Graph, Operator, numbers
from leafgate_plugins.onnx.preprocessing import leading
from leafgate_plugins.onnx.wire import BYTES, TEXT, VARINT, Tensor, fields, tensor_of

SHAPE = read_shape("leafgate_plugins.onnx")


def disclosures(graph: Graph, ensemble: Operator) -> tuple[FileDisclosure, ...]:
    """Everything the operators before the trees keep, and the names of columns that they do not use."""
    before = leading(graph, ensemble)
    found = (name for op in before for name in _of(op))
    parts = {**dict.fromkeys(found, 1), "unused inputs": len(_unused_inputs(graph, ensemble))}
    return tuple(SHAPE.disclosed(parts))


LISTS = ("cats_strings", "cats_int64s", "keys_strings", "keys_int64s", "keys_floats", "values_strings")
"""Attributes of encoders that list values of a column."""


def category_lists(graph: Graph, ensemble: Operator) -> tuple[CategoryList, ...]:
    """Every list of values that an operator before the trees holds, also of cells that no tree is given."""
    items = (op.attributes.get(name) for op in leading(graph, ensemble) for name in LISTS)
    lists = (frozenset(map(_text, each)) - {MISSING_TEXT} for each in items if isinstance(each, list | np.ndarray))
    return tuple(CategoryList("", each) for each in lists)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(int(value)) if float(value).is_integer() else str(value)


def _of(op: Operator) -> Iterator[str]:
    """The names of what one operator discloses; a scaler without an offset may divide by the largest number."""
    values = op.attributes.get("values_int64s")
    if op.kind in {"OneHotEncoder", "LabelEncoder"}:
        yield "categories"
    if op.kind == "ReduceSum" or (isinstance(values, np.ndarray) and len(np.unique(values)) < len(values)):
        yield "rare values"
    if op.kind in {"Scaler", "Sub", "Div"}:
        yield "moments"
    if op.kind in {"Mul", "Add", "Clip"} or (op.kind == "Scaler" and not np.any(op.attributes.get("offset", 0))):
        yield "extremes"
    if op.kind == "Imputer":
        yield "fills"


NAMES, OPERATORS = "names of inputs, outputs and values", "kinds of operators"
NODES_NAMES, GRAPH_NAME = "names of operators", "the graph's name"


@dataclass
class Message:
    """The fields of one kind of message by their numbers; any other field is unread content.

    Attributes:
        name: what reports call such a message.
        texts: fields that hold a text, each with what reports call these.
        parts: fields that hold a message.
        numbers: fields that hold one number of few digits that the graph is read by, or that says a version.
        read: fields that the reader decodes, or refuses, on its own.
        unread: names of fields that nobody reads, for reports.
    """

    name: str
    texts: Mapping[int, str] = field(default_factory=dict)
    parts: dict[int, Message] = field(default_factory=dict)
    numbers: Collection[int] = ()
    read: Collection[int] = ()
    unread: Mapping[int, str] = field(default_factory=dict)


MAX_NUMBER = 9_999
"""Types, versions and sizes of axes are not larger; of the largest tables an axis counts as a number."""
AXIS = Message("a dimension", {2: "a dimension's name", 3: "a dimension's denotation"}, numbers={1})
TYPE = Message("a type", {6: "a type's denotation"})
TYPE.parts = {
    1: Message("a tensor's type", parts={2: Message("a shape", parts={1: AXIS})}, numbers={1}),
    4: Message("a list's type", parts={1: TYPE}),
    5: Message("a map's type", parts={2: TYPE}, numbers={1}),
}
VALUE = Message("an input or output", {1: NAMES}, {2: TYPE})
TENSOR = Message(
    "a tensor", {8: "names of tensors"}, read={1, 2, 4, 5, 6, 7, 9, 10, 11, 13, 14}, unread={12: "doc_string"}
)
NODE = Message(
    "an operator",
    {1: NAMES, 2: NAMES, 3: NODES_NAMES, 4: OPERATORS, 7: OPERATORS},
    {5: Message("an attribute", parts={5: TENSOR}, read=range(1, 100))},
    unread={6: "doc_string"},
)
GRAPH = Message(
    "the graph",
    {2: GRAPH_NAME},
    {1: NODE, 5: TENSOR, 11: VALUE, 12: VALUE, 13: VALUE},
    unread={10: "doc_string", 14: "quantization_annotation", 15: "sparse_initializer"},
)
PRODUCER = "the model's producer"
MODEL = Message(
    "the model",
    {2: PRODUCER, 3: PRODUCER, 4: "the model's domain"},
    {7: GRAPH, 8: Message("a set of operators", {1: "domains of operators"}, numbers={2})},
    numbers={1, 5},
    unread={6: "doc_string", 14: "metadata_props", 20: "training_info", 25: "functions"},
)
"""The messages of an ONNX file."""

PROGRAMS, ATTRIBUTES = SHAPE.words["programs"], SHAPE.words["attributes"]
"""Words of the names of programs that write ONNX files, which reports may print; what says what an operator does."""

NAMING = PROGRAMS | SHAPE.words["names"]
"""Words, in small letters, of the names that programs give operators and what these make."""

RANDOM_NAME = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}|[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
"""The name that skl2onnx gives a graph without one: a random UUID."""


def unread_content(
    content: bytes, graph: Graph, ensemble: Operator, place: str, classes: Collection[str]
) -> tuple[tuple[FileDisclosure, ...], frozenset[str]]:
    """What the file discloses besides the graph that was read and the `classes` it predicts, and its short texts."""
    rates = numbers(ensemble, "nodes_hitrates", place)
    hit = SHAPE.disclosed({"nodes_hitrates": rates is not None and not np.isin(rates, (0, 1)).all()})
    tracker = UnreadTracker()
    _check_messages(tracker, content, graph, place)
    _check_repeated(tracker, content, place)
    _check_tensors(tracker, graph)
    _check_unused_inputs(tracker, graph, ensemble)
    _check_attributes(tracker, graph, ensemble, place, classes)
    _check_leaves(tracker, ensemble, place)
    return (*hit, *disclosures(graph, ensemble), *tracker.disclosures()), tracker.texts


def _check_messages(tracker: UnreadTracker, content: bytes, graph: Graph, place: str) -> None:
    """Check every field of the file's messages, and record texts that no known program writes."""
    texts: dict[str, set[str]] = {}
    waiting: list[tuple[bytes, Message]] = [(content, MODEL)]
    while waiting:
        here, message = waiting.pop()
        numbers_given = set[int]()
        for number, wire, value in fields(here, place):
            if wire == BYTES and isinstance(value, bytes) and number in message.texts:
                texts.setdefault(message.texts[number], set()).add(_decoded(value))
            elif wire == BYTES and isinstance(value, bytes) and number in message.parts:
                waiting.append((value, message.parts[number]))
            elif (
                wire == VARINT
                and number in message.numbers
                and number not in numbers_given
                and isinstance(value, int)
                and value <= MAX_NUMBER
            ):
                numbers_given.add(number)
            elif number not in message.read and value != b"":
                size = text_size(value) if isinstance(value, bytes) else 1
                tracker.add(f"{message.name}'s {message.unread.get(number, f'field {number}')}", size)
    for location, found in texts.items():
        unknown = {text for text in found - graph.given.keys() - {""} if not RANDOM_NAME.fullmatch(text)}
        tracker.check_texts(location, unknown)
        for text in unknown if location in NAMED else ():
            if not _is_of_programs(text, graph):
                tracker.add(f"{location} that no program gives", 1 + len(text) // LETTERS_PER_NUMBER)


MAX_BEGINNING = 2
"""Letters of the beginnings of operators in the names that skl2onnx gives, such as Ad_Addcst."""
NAMED = frozenset({NAMES, NODES_NAMES, GRAPH_NAME, "names of tensors"})


def _is_of_programs(name: str, graph: Graph) -> bool:
    """Whether a name has the words of programs, and names of inputs and kinds of operators."""
    known = {*graph.given, *(operator.kind for operator in graph.operators)}
    rest = name
    for each in sorted(known, key=len, reverse=True):
        rest = rest.replace(each, "") if len(each) > MAX_BEGINNING else rest
    return has_known_words(rest, NAMING | {each[:MAX_BEGINNING].lower() for each in known})


ONCE = frozenset({1, 2, 3, 4, 5, 7})
"""Fields of the model that stand once in a file."""
OPSET = 8
MAX_MORE_VERSIONS = 2
"""Versions of a domain's operators that a file may state besides its last: skl2onnx may state one for each step."""


def _check_repeated(tracker: UnreadTracker, content: bytes, place: str) -> None:
    """Record fields that stand once, and versions of one domain's operators: of several, only the last is in force."""
    items = list(fields(content, place))
    field_numbers = [number for number, _, _ in items]
    opsets = [list(fields(value, place)) for number, _, value in items if number == OPSET and isinstance(value, bytes)]
    versions = {tuple(sorted((key, str(value)) for key, _, value in each)) for each in opsets}
    domains = {{key: value for key, _, value in each}.get(1, "") for each in opsets}
    repeated = sum(field_numbers.count(number) > 1 for number in ONCE)
    repeated += len(versions) > len(domains) + MAX_MORE_VERSIONS
    repeated += sum(len(each) != len({key for key, _, _ in each}) for each in opsets)
    if repeated:
        tracker.add("fields of the model that stand several times", max(MANY_NUMBERS, repeated))


def _check_tensors(tracker: UnreadTracker, graph: Graph) -> None:
    """Record tensors that no operator is given."""
    given = {name for operator in graph.operators for name in operator.inputs}
    for name, content in graph.constants.items():
        if name not in given:
            tracker.add("a tensor that no operator is given", len(content) // LETTERS_PER_NUMBER)


def _unused_inputs(graph: Graph, ensemble: Operator) -> list[str]:
    """The names of what the graph is given and does not use."""
    used = {name for operator in (*leading(graph, ensemble), ensemble) for name in operator.inputs}
    return [name for name in graph.given if name not in used]


def _check_unused_inputs(tracker: UnreadTracker, graph: Graph, ensemble: Operator) -> None:
    """Record the sizes of inputs that nobody uses, where they are not those of one column.

    Their names are compared with those of the policy's columns, as the names of all inputs are.
    """
    shapes = (graph.given[name].shape or () for name in _unused_inputs(graph, ensemble))
    size = sum(axis not in {None, 1} for shape in shapes for axis in shape)
    if size:
        tracker.add("sizes of inputs that nobody uses", size)


def _check_attributes(
    tracker: UnreadTracker, graph: Graph, ensemble: Operator, place: str, classes: Collection[str]
) -> None:
    """Record attributes that no operator of its kind has, and texts of attributes that no known program writes.

    Of the operators before the trees every attribute was read.
    """
    before = {id(operator) for operator in leading(graph, ensemble)}
    for operator in (each for each in graph.operators if id(each) not in before):
        for name, value in operator.attributes.items():
            if name.removesuffix("_as_tensor") not in ATTRIBUTES:
                numeric = isinstance(value, int | float | np.ndarray)
                tracker.check_texts("names of attributes", [name])
                tracker.add("an attribute that its operator does not have", np.size(value) if numeric else MANY_NUMBERS)
    names = {value for each in category_lists(graph, ensemble) for value in each.values} | set(classes)
    values = [value for operator in graph.operators for value in operator.attributes.values()]
    values += [tensor_of(each, place) for each in graph.constants.values() if (2, VARINT, TEXT) in fields(each, place)]
    lists = [value.values if isinstance(value, Tensor) and value.kind == TEXT else value for value in values]
    texts = [[value] if isinstance(value, str) else value for value in lists if isinstance(value, str | list)]
    tracker.check_texts("texts of attributes", {_decoded(text) for each in texts for text in each}, names)
    unread = [text for operator in graph.operators for text in operator.unread_texts]
    if unread:
        tracker.add_text("texts beside what a field says", *unread)


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


LEAF_LISTS = {"values": "thresholds", "featureids": "features"}
LEAF_LISTS |= dict.fromkeys(("truenodeids", "falsenodeids"), "children")
"""What nodes that are leaves have in lists for all nodes; writers put one number there, 0 or -1 (a threshold is 0)."""


def _check_leaves(tracker: UnreadTracker, ensemble: Operator, place: str) -> None:
    """Record thresholds, features and children of leaves, which ask nothing and have none."""
    modes = ensemble.attributes.get("nodes_modes")
    leaf = np.array(modes, dtype="S12") == b"LEAF" if isinstance(modes, list) else np.zeros(0, dtype=bool)
    for key, what in LEAF_LISTS.items():
        values = numbers(ensemble, f"nodes_{key}", place)
        if values is None or len(values) != len(leaf) or not leaf.any():
            continue
        size = int(np.count_nonzero(values[leaf]))
        if size and (key == "values" or len(np.unique(values[leaf])) > 1 or abs(values[leaf][0]) > 1):
            tracker.add(f"{what} of leaves (nodes_{key})", size)
    if ensemble.kind == "TreeEnsemble":
        lists = lists_of(ensemble, place)
        idle = int(np.count_nonzero(lists.at[lists.alone | (lists.mode == MEMBER)]))
        if idle:
            tracker.add("thresholds that nobody asks about (nodes_splits)", idle)
