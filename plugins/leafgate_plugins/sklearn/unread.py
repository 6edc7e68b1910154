"""Content of a fitted scikit-learn model and its skops file that is not part of the model."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.api import FileDisclosure
from leafgate.bounded.zip import ZipParts, stray_bytes
from leafgate.models.lowering.encoding import IDLE_CATEGORY
from leafgate.readers import (
    LETTERS_PER_NUMBER,
    MANY_NUMBERS,
    CategoryList,
    ObjectView,
    UnreadTracker,
    content_size,
    read_shape,
)
from leafgate_plugins.sklearn.encoders import ENCODERS
from leafgate_plugins.sklearn.feature import PipelineFeature, is_missing, text_of

SHAPE = read_shape("leafgate_plugins.sklearn")
"""Attributes of scikit-learn's objects, and of estimators and Boosters of XGBoost and LightGBM: read, disclosed
elsewhere, or settings, with the most plain values of each.

Generators of random numbers, which have a `state` and a `bit_generator`, are disclosed as such and not looked into.
"""

ATTRIBUTES, BOOSTERS = SHAPE.tables["attributes"], SHAPE.tables["boosters"]
TREE = "left_child right_child feature threshold impurity n_node_samples weighted_n_node_samples missing_go_to_left"
PREDICTOR = (
    "value count feature_idx num_threshold missing_go_to_left left right gain depth is_leaf bin_threshold "
    "is_categorical bitset_idx"
)
FIELDS = {"Tree": frozenset(TREE.split()), "TreePredictor": frozenset(PREDICTOR.split())}
PADDING = 8
"""Bytes that a compiler leaves between the fields of a node."""


PRODUCERS = frozenset({"in", "learn", "memory", "scikit", "skops"})
"""Words of what models read from skops files, or from memory, are called."""

STEPS = 2_000_000
STEPS_OF = {"estimators", "steps", "transformers", "transformers_", "transformer_list"}
MAX_STEPS_NAMED = 50
"""Steps of one pipeline, parts of one transformer: what has more of them has names of something else."""

GENERATORS = {"RandomState", "Generator"}
COMPUTED = {"interp1d"}
"""What an object in memory holds that follows from its other attributes, and that no file has."""


def unread_content(
    root: ObjectView, features: Sequence[PipelineFeature]
) -> tuple[tuple[FileDisclosure, ...], frozenset[str]]:
    """What the model does not need, and its short texts.

    These are attributes that a user set, the generator's state, names of dropped columns.
    """
    own = {one.name for one in features} | {one.origin.column for one in features}
    tracker, names, random = AttributeTracker(), set[str](), False
    for each in _objects(root):
        random |= each.kind in GENERATORS
        if each.kind not in GENERATORS | COMPUTED:
            _check_object(tracker, each)
        names |= {str(name) for name in _listed(each.get("feature_names_in_"))}
    unknown_names = {name for name in names - own if name.partition("__")[2] not in own}
    found = SHAPE.disclosed({"unused columns": len(unknown_names), "the generator": random})
    return (*found, *tracker.disclosures()), tracker.texts


class AttributeTracker(UnreadTracker):
    """Collects what objects hold; an attribute that scikit-learn does not have may be named after people."""

    def add_unknown(self, location: str, key: str, value: Any) -> None:
        if value is not None:
            self.check_texts(f"names of {location}", [key])
            self.add("an attribute that scikit-learn does not have", content_size(value))


def _check_object(tracker: UnreadTracker, each: ObjectView) -> None:
    """Check the attributes of an object, the names of its steps, and the fields of its nodes."""
    values = {name: each.get(name) for name in sorted(each.names)}
    limits = _limits(each.kind, values)
    for fields, names in ((BOOSTERS, values.keys() & BOOSTERS), (ATTRIBUTES, values.keys() - BOOSTERS)):
        tracker.check_table({name: values[name] for name in sorted(names)}, fields, limits, "attributes")
    for name in sorted(STEPS_OF & values.keys()):
        _check_names_of_steps(tracker, values[name])
    nodes = values.get("nodes")
    if each.kind in FIELDS and isinstance(nodes, np.ndarray) and nodes.dtype.names is not None:
        _check_nodes(tracker, nodes, FIELDS[each.kind])


def _limits(kind: str, values: Mapping[str, Any]) -> dict[str, int]:
    """The most values of each kind that an object may have; any number where it does not say how many there are."""
    features, classes = values.get("n_features_in_"), values.get("classes_")
    most = max(features, 1) if isinstance(features, int) else sys.maxsize
    listed = values.get("estimators_")
    members = len(listed) if isinstance(listed, tuple | np.ndarray) else 0
    return {
        "features": most,
        "twice the features": 2 * most,
        "classes": len(classes) if isinstance(classes, tuple | np.ndarray) else sys.maxsize,
        "members": members,
        "stages": max(members, values["n_estimators"]) if isinstance(values.get("n_estimators"), int) else members,
        "members by features": members * most,
        "numbers of nodes": sys.maxsize if kind in FIELDS else 0,
        "numbers of leaves": sys.maxsize if kind == "Tree" else 0,
    }


def _check_names_of_steps(tracker: UnreadTracker, steps: Any) -> None:
    """Keep names of steps, and record those of more steps than a pipeline has."""
    named = [step[0] for step in steps if isinstance(step, tuple) and step] if isinstance(steps, tuple) else []
    texts = [name for name in named if isinstance(name, str)]
    if len(texts) > MAX_STEPS_NAMED:
        tracker.add_text("names of steps of an object", *texts)
    else:
        tracker.check_names("names of steps of an object", texts)


def _check_nodes(tracker: UnreadTracker, nodes: np.ndarray, known: Collection[str]) -> None:
    """Record fields of an array of nodes that scikit-learn does not have, and bytes between its fields."""
    names = nodes.dtype.names or ()
    unknown = [name for name in names if name not in known]
    if unknown:
        tracker.add("fields of nodes that are not read", sum(nodes[name].size for name in unknown))
    padding = nodes.dtype.itemsize - sum(nodes.dtype[name].itemsize for name in names)
    if padding > PADDING:
        tracker.add("bytes between the fields of nodes", len(nodes) * padding // 8)
    for name, most in (("depth", len(nodes)), ("bin_threshold", 256)):
        if name in names and (nodes[name].dtype.kind not in "iu" or (nodes[name] >= most).any()):
            tracker.add("fields of nodes that are not read", int(nodes[name].size))


def category_lists(root: ObjectView) -> tuple[CategoryList, ...]:
    """Every list of values that an object of the file holds, whether any feature is made with it or not.

    Encoders keep them fitted (`categories_`) and as they were asked for (`categories`), label encoders as `classes_`,
    imputers what they fill gaps with.
    """
    found = list[CategoryList]()
    for each in _objects(root):
        names = [str(name) for name in _listed(each.get("feature_names_in_"))]
        fill = each.get("fill_value")
        for key in ("categories_", "categories"):
            result = each.get(key)
            lists = list(result) if isinstance(result, tuple | np.ndarray) else []
            columns = names if len(names) == len(lists) else [""] * len(lists)
            complete = each.kind in ENCODERS and key == "categories_" and each.get("categories") == "auto"
            listed = (_values(column, one, fill) for column, one in zip(columns, lists, strict=True))
            found += [replace(one, complete=complete and IDLE_CATEGORY not in one.values) for one in listed]
        if each.kind in LABEL_ENCODERS:
            found.append(_values("", each.get("classes_"), fill))
        found += [_values("", (one,), fill) for one in _listed(each.get("statistics_")) if isinstance(one, str)]
    return tuple(dict.fromkeys(one for one in found if one.values))


NUMBERS_BY_COLUMN = ("data_min_", "data_max_", "max_abs_", "center_", "statistics_")
"""Attributes with one number for each column that may be somebody's cell."""

SCALED = frozenset({"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"})


def number_lists(root: ObjectView, features: Sequence[PipelineFeature]) -> tuple[CategoryList, ...]:
    """The numbers of single columns that scalers, imputers and binners hold, each list with its column where known.

    Args:
        root: the model.
        features: what the estimator was fitted on, in its order.
    """
    found = list[CategoryList]()
    for each in _objects(root):
        names = [str(name) for name in _listed(each.get("feature_names_in_"))]
        for key in NUMBERS_BY_COLUMN:
            numbers = _listed(each.get(key))
            columns = names if len(names) == len(numbers) else [""] * len(numbers)
            signs = (1, -1) if key == "max_abs_" else (1,)
            found += [_numbers(column, [number], signs) for column, number in zip(columns, numbers, strict=True)]
        bins = each.get("bin_thresholds_")
        lists = list(bins) if isinstance(bins, tuple | np.ndarray) else []
        known = [one.origin.column for one in features] if len(features) == len(lists) else [""] * len(lists)
        found += [_numbers(column, _listed(one), (1,)) for column, one in zip(known, lists, strict=True)]
    return tuple(dict.fromkeys(one for one in found if one.values))


def _numbers(column: str, numbers: Iterable[Any], signs: tuple[int, ...]) -> CategoryList:
    """The finite numbers among these, as texts."""
    given = [float(one) for one in numbers if isinstance(one, int | float | np.number) and math.isfinite(one)]
    return CategoryList(column, frozenset(text_of(sign * one) for one in given for sign in signs), numbers=True)


def scales_twice(root: ObjectView) -> bool:
    """May a scaler have been fitted on what another one made? Then its numbers are those of no column."""
    for each in _objects(root):
        scaled = False
        for step in _listed(each.get("steps")) if each.kind == "Pipeline" else ():
            kinds = {one.kind for one in _objects(step[1])} if isinstance(step[1], ObjectView) else set()
            if scaled and kinds & SCALED:
                return True
            scaled |= bool(kinds & SCALED)
    return False


LABEL_ENCODERS = {"LabelEncoder", "LabelBinarizer", "MultiLabelBinarizer", "TargetEncoder"}


def _values(column: str, document: Any, fill: Any) -> CategoryList:
    return CategoryList(
        column, frozenset(text_of(one) for one in _listed(document) if not is_missing(one) and one != fill)
    )


def names_in(root: ObjectView) -> tuple[str, ...]:
    """The names of columns that any object of the file was given."""
    return tuple({str(name): None for each in _objects(root) for name in _listed(each.get("feature_names_in_"))})


def _objects(whole: ObjectView) -> Iterator[ObjectView]:
    """Every object that another has, trees too."""
    waiting: list[Any] = [whole]
    for _ in range(STEPS):
        if not waiting:
            return
        here = waiting.pop()
        if isinstance(here, ObjectView):
            yield here
            if here.kind not in GENERATORS | COMPUTED:
                waiting.extend(each for name in sorted(here.names) if _deep(each := here.get(name)))
        else:
            waiting.extend(filter(_deep, here.values() if isinstance(here, Mapping) else here))


def _deep(thing: Any) -> bool:
    return isinstance(thing, ObjectView | tuple | Mapping)


def _listed(names: Any) -> Sequence[Any]:
    if isinstance(names, np.ndarray):
        return list(names.ravel().tolist())
    return names if isinstance(names, tuple) else ()


KEYS = {
    *("__class__", "__id__", "__loader__", "__module__", "__reduce__", "_skops_version", "content", "file"),
    *("is_json", "key_types", "protocol", "shape", "type"),
}
NAMES = {"TypeNode", "FunctionNode"}
"""Nodes that are a name, with nothing in them."""

OPAQUE = {"LossNode", "PartialNode", "DTypeNode", "MaskedArrayNode"}
"""Nodes whose content is not read; those that skops writes hold no arrays of numbers, or the settings of a search."""

BYTES = 8
SMALL = 192
"""Bytes of the array that scikit-learn makes a tree with: how many classes its one output has."""

OWN = KEYS - {"content", "key_types", "shape", "__reduce__"}
"""Entries of a node that are one text or number."""

ARRAY = ".npy"
FILE = re.compile(r"[0-9]{1,20}\.npy|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.bin")
"""The name skops gives an array, its identity in Python's memory, and bytes, by chance."""

VERSION = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){1,3}((\.?dev|rc|a|b|\.post)[0-9]{1,3})?")
MAX_ID = 2**64
MAX_PROTOCOL = 100


def unread_skops_content(
    parts: ZipParts,
    content: bytes,
    top: Mapping[str, Any],
    schema: str,
    names: Collection[str],
    foreign: bytes | str | None = None,
) -> UnreadTracker:
    """What the file holds besides the model.

    `names` are those of columns, values and classes that it discloses, `foreign` is the model of another library in it.
    """
    tracker = UnreadTracker()
    if foreign is not None:
        names = {*names, *BOOSTERS, *([foreign] if isinstance(foreign, str) else [])}
    _check_zip(tracker, parts, content)
    referred = _check_schema(tracker, parts, top)
    for name, size in parts.sizes.items():
        if name != schema and name not in referred:
            tracker.add("an entry that nothing refers to", size // BYTES)
        elif name != schema and not name.endswith(ARRAY) and parts.read(name) != foreign:
            tracker.add("bytes that the model does not read", max(MANY_NUMBERS, size // BYTES))
    _check_texts(tracker, parts, top, schema, names)
    return tracker


def _check_texts(tracker: UnreadTracker, parts: ZipParts, top: Any, schema: str, names: Collection[str]) -> None:
    """Keep the short texts of the schema and of arrays, and record the others."""
    classes, modules, plain, unusual = set[str](), set[str](), set[str](), 0
    waiting: list[Any] = [top]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            plain.add(_plain(here))
        if isinstance(here, list):
            waiting.extend(here)
        if not isinstance(here, dict):
            continue
        fields = {key: here[key] for key in OWN & here.keys() if isinstance(here[key], str | int)}
        plain |= here.keys() - KEYS
        classes |= {str(fields[key]) for key in ("__class__", "__loader__", "type") if key in fields}
        modules |= {str(fields["__module__"])} if "__module__" in fields else set()
        unusual += not _numbers_fit(fields)
        waiting.extend(here[key] for key in here.keys() - fields.keys())
    tracker.check_texts("names of classes", classes)
    tracker.check_texts("names of modules", modules)
    if unusual:
        tracker.add("numbers and versions that skops does not write", max(MANY_NUMBERS, unusual))
    tracker.check_texts("texts of the schema", plain, names)
    for name in parts.sizes:
        if name != schema:
            if not FILE.fullmatch(name):
                tracker.add_text("an entry's name", name)
            if name.endswith(ARRAY):
                tracker.check_texts("texts of arrays", _texts_of(parts.array(name)), names)


def _plain(content: str) -> str:
    """The text that a plain value is: as JSON, where it is one; numbers, and lists of a few of them, are none."""
    if GROUPS.fullmatch(content):
        return ""
    if content.startswith('"') and content.endswith('"'):
        try:
            return str(json.loads(content))
        except ValueError:
            return content
    return "" if NUMBER.fullmatch(content) else content


GROUPS = re.compile(r'"[\[(][0-9\[\](), -]{0,60}[\])]"')
"""Groups of features, as XGBoost is given constraints; what attributes may hold such is checked with them."""

NUMBER = re.compile(r"-?([0-9]{1,40}|[0-9.]{1,24}(e[-+]?[0-9]{1,3})?|NaN|Infinity)|true|false|null")


def _numbers_fit(document: Mapping[str, Any]) -> bool:
    """Are a node's identity, version and the like what skops writes?"""
    ids, protocol, version = (document.get(key, 0) for key in ("__id__", "protocol", "_skops_version"))
    return (
        type(ids) is int
        and abs(ids) < MAX_ID
        and type(protocol) is int
        and 0 <= protocol < MAX_PROTOCOL
        and (version == 0 or (isinstance(version, str) and VERSION.fullmatch(version) is not None))
        and isinstance(document.get("is_json", True), bool)
        and isinstance(document.get("file", ""), str)
    )


def _texts_of(array: np.ndarray) -> Iterator[str]:
    """Texts that an array holds, and names of its fields."""
    for name, result in (array.dtype.fields or {}).items():
        yield from (name, *(map(str, result[2:])))
    if array.dtype.kind == "U":
        yield from map(str, array.ravel())
    if array.dtype.kind in "SV" and array.dtype.fields is None:
        yield from (bytes(each).decode("utf-8", "replace") for each in array.ravel())


def _check_zip(tracker: UnreadTracker, parts: ZipParts, content: bytes) -> None:
    """Record comments, and bytes that belong to no entry."""
    infos, end = parts.archive.infolist(), len(parts.archive.comment)
    if end:
        tracker.add("the zip's comment", max(MANY_NUMBERS, end // LETTERS_PER_NUMBER))
    comments = sum(len(info.comment) for info in infos)
    if comments:
        tracker.add("a comment of a zip's entry", max(MANY_NUMBERS, comments // LETTERS_PER_NUMBER))
    stray = stray_bytes(parts.archive, content)
    if stray:
        tracker.add("bytes of the zip that belong to no entry", max(MANY_NUMBERS, stray // BYTES))


def _check_schema(tracker: UnreadTracker, parts: ZipParts, top: Mapping[str, Any]) -> set[str]:
    """Record entries of nodes that nobody reads; the names of the arrays that some node refers to."""
    referred = set[str]()
    waiting: list[tuple[Any, str]] = [(top, "")]
    while waiting:
        here, inside = waiting.pop()
        if isinstance(here, list):
            waiting.extend((each, inside) for each in here)
        if not isinstance(here, dict):
            continue
        kind = here.get("__loader__")
        node = isinstance(kind, str)
        if node:
            for key in here.keys() - KEYS:
                tracker.add_text("an entry of a node", str(here[key]))
            if kind in NAMES and "content" in here:
                tracker.add_text("content of a name", str(here["content"]))
            if inside == "key_types" and kind not in {"ListNode", "TypeNode", "CachedNode"}:
                tracker.add_text("content of a name", str(here))
            inside = str(kind) if kind in OPAQUE and not inside else inside
            name = here.get("file")
            if isinstance(name, str):
                referred.add(name)
                size = parts.sizes.get(name, 0)
                if inside in {*OPAQUE, "__reduce__"} and size > SMALL:
                    tracker.add("an array that the model does not read", size // BYTES)
        special = {"key_types", "__reduce__"}
        waiting.extend((value, key if node and key in special else inside) for key, value in here.items())
    return referred
