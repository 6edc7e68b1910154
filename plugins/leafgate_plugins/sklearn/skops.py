"""skops files: the zip and its schema read as data; scikit-learn is not imported, nothing in it is trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from leafgate.api import ReleaseError
from leafgate.bounded.zip import ZipParts
from leafgate.ir.validate import MAX_FEATURES
from leafgate.readers import ModelIR, ObjectView, is_number, parse_bounded_json, parse_bounded_zip
from leafgate_plugins.sklearn.estimators import model_of
from leafgate_plugins.sklearn.feature import UNKNOWN_CLASS
from leafgate_plugins.sklearn.foreign_estimators import foreign_model, model_content
from leafgate_plugins.sklearn.unread import unread_skops_content

SCHEMA = "schema.json"
OBJECTS = {"ObjectNode", "TreeNode", "ConstructorFromReduceNode"}
LISTS = {"ListNode", "TupleNode", "SetNode"}
ARRAYS = {"NdArrayNode", "MaskedArrayNode"}
BYTES = {"BytesNode", "BytearrayNode"}
SUFFIXES = (".npy", ".bin")
"""The endings of entries that are arrays, and bytes."""

STEPS = {"steps", "transformers_", "transformer_list"}
MAX_VALUES, MAX_LOOKS, MAX_STEPS, MAX_MADE = 2_000_000, 2_000, 5_000, 250_000
"""So many values one node may come to, each counted wherever it stands; so often STEPS may be asked for, and so many be
there then; so many features transformers may be given and make, each counted at every one of them."""


def read(content: bytes, place: str, output: int | None = None) -> ModelIR:
    """The model in a skops file, not yet checked; where it predicts several columns, of the one with this number."""
    parts = parse_bounded_zip(content, place)
    if SCHEMA not in parts.sizes:
        raise ReleaseError("is a zip without a skops schema", place=place)
    others = [name for name in parts.sizes if name != SCHEMA and not name.endswith(SUFFIXES)]
    if others:
        what = f"holds {len(others)} entr(ies) that are neither the schema nor arrays or bytes"
        raise ReleaseError(what, place=place, remedy="save the model anew by `skops.io.dump`")
    top = parse_bounded_json(parts.read(SCHEMA), f"{place}/{SCHEMA}")
    if not isinstance(top, dict) or "__loader__" not in top:
        raise ReleaseError("its schema is not one of skops", place=place)
    file = _File(parts, place)
    file.index(top)
    whole = file.value(top)
    if not isinstance(whole, ObjectView):
        raise ReleaseError("holds no estimator", place=place)
    model = foreign_model(whole, place) or model_of(whole, "skops", "", place, output)
    values = (value for each in model.category_lists for value in each.values)
    names = {*model.features, *model.other_names, *model.classes, *values}
    unread = unread_skops_content(parts, content, top, SCHEMA, names, model_content(whole, place))
    discloses = tuple(dict.fromkeys((*model.discloses, *unread.disclosures())))
    return replace(model, discloses=discloses, texts=model.texts | unread.texts)


MAX_CLASS_NAME = 60
"""Letters of the longest name of a class that messages repeat."""


def _is_class_name(name: str) -> bool:
    """May messages repeat it? Short texts of the file are compared with the table's cells as well."""
    return name.isascii() and name.isidentifier() and len(name) <= MAX_CLASS_NAME


@dataclass
class _File:
    """The schema's nodes by their identity, and the arrays read so far."""

    parts: ZipParts
    place: str
    nodes: dict[Any, Mapping[str, Any]] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    built: dict[int, tuple[Any, Any, int]] = field(default_factory=dict)
    looks: int = 0
    steps: int = 0
    made_features: int = 0

    def index(self, top: Any) -> None:
        """Find the nodes that others refer to."""
        waiting = [top]
        while waiting:
            here = waiting.pop()
            if isinstance(here, list):
                waiting.extend(here)
            elif isinstance(here, dict):
                if here.get("__loader__") != "CachedNode" and is_number(here.get("__id__")):
                    self.nodes.setdefault(here["__id__"], here)
                waiting.extend(value for value in here.values() if isinstance(value, dict | list))

    def value(self, node: Any, depth: int = 0) -> Any:
        """What a node of the schema stands for, as plain values, arrays, and things Seen; each made once."""
        return self._counted(node, depth)[0]

    def _counted(self, node: Any, depth: int) -> tuple[Any, int]:
        """What a node stands for, and how many values that is: nodes may stand in one another again and again."""
        if not isinstance(node, dict) or depth > 100:
            raise ReleaseError("its schema has something that is no node, or nodes too deep", place=self.place)
        if id(node) not in self.built:
            value, count = self._build(node, depth)
            if count > MAX_VALUES:
                raise ReleaseError(f"its schema comes to more than {MAX_VALUES:,} values", place=self.place)
            self.built[id(node)] = node, value, count
        _, value, count = self.built[id(node)]
        return value, count

    def _build(self, node: Mapping[str, Any], depth: int) -> tuple[Any, int]:
        kind, content = node.get("__loader__"), node.get("content")
        if kind == "CachedNode" and node.get("__id__") in self.nodes:
            return self._counted(self.nodes[node["__id__"]], depth + 1)
        if kind == "JsonNode":
            return self._plain(content), 1
        if kind in LISTS and isinstance(content, list):
            return self._listed(content, depth)
        if kind == "DictNode" and isinstance(content, dict):
            values, count = self._listed(content.values(), depth)
            return dict(zip(content, values, strict=True)), count
        if kind == "DefaultDictNode" and isinstance(content, dict):
            return self._counted(content.get("main"), depth + 1)
        if kind in BYTES:
            name = node.get("file")
            return self.parts.read(name if isinstance(name, str) else ""), 1
        if kind == "SliceNode" and isinstance(content, dict):
            return slice(*(content.get(key) for key in ("start", "stop", "step"))), 1
        if kind in ARRAYS:
            return self._array(node, depth)
        return self._object(node, depth), 1

    def _listed(self, nodes: Iterable[Any], depth: int) -> tuple[tuple[Any, ...], int]:
        found = [self._counted(each, depth + 1) for each in nodes]
        return tuple(value for value, _ in found), 1 + sum(count for _, count in found)

    def _plain(self, content: Any) -> Any:
        """A number, a text, true, false or null; NaN is a number here."""
        if content in {"NaN", "Infinity", "-Infinity"}:
            return float(str(content).replace("Infinity", "inf"))
        if not isinstance(content, str):
            raise ReleaseError("its schema has a plain value that is none", place=self.place)
        if content.lstrip("-").isdigit() and len(content) < 20:
            return int(content)
        return parse_bounded_json(content.encode("utf-8", "replace"), self.place)

    def _array(self, node: Mapping[str, Any], depth: int) -> tuple[Any, int]:
        """An array from its entry; objects, and numbers of no dimension, as Python has them."""
        name, content = node.get("file"), node.get("content")
        if node.get("type") == "json" and isinstance(content, list):
            return self._listed(content, depth)
        if node.get("type") != "numpy" or not isinstance(name, str):
            return ObjectView("array", self.place), 1
        if name not in self.arrays:
            self.arrays[name] = self.parts.array(name)
        found = self.arrays[name]
        return found if found.ndim else found.item(), 1

    def _object(self, node: Mapping[str, Any], depth: int) -> ObjectView:
        """An object by the name of its class and its attributes; of functions and types the name alone."""
        name, content = node.get("__class__"), node.get("content")
        facts = (
            content.get("content") if isinstance(content, dict) and content.get("__loader__") == "DictNode" else None
        )
        known: dict[str, Any] = facts if isinstance(facts, dict) and node.get("__loader__") in OBJECTS else {}
        return ObjectView(
            name if isinstance(name, str) and _is_class_name(name) else UNKNOWN_CLASS,
            self.place,
            frozenset(known),
            lambda wanted: self._looked_at(wanted, known[wanted], depth + 1),
            self._spent,
        )

    def _looked_at(self, wanted: str, node: Any, depth: int) -> Any:
        """An attribute's value; steps within steps are not followed for ever."""
        found = self.value(node, depth)
        self.looks += wanted in STEPS
        self.steps += len(found) if wanted in STEPS and isinstance(found, tuple) else 0
        if self.looks > MAX_LOOKS or self.steps > MAX_STEPS:
            raise ReleaseError("its steps are too many, or stand in one another too often", place=self.place)
        if wanted == "n_features_in_" and isinstance(found, int) and found > MAX_FEATURES:
            raise ReleaseError(f"has more than {MAX_FEATURES:,} features", place=self.place)
        return found

    def _spent(self, features: int) -> None:
        """More features went into a transformer, or came out."""
        self.made_features += features
        if self.made_features > MAX_MADE:
            raise ReleaseError(f"its transformers make more than {MAX_MADE:,} features in all", place=self.place)
