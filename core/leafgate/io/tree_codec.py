"""Trees as JSON: `leaf`, `cut`, `fan`; every node of a foreign file is checked before it is used."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import chain, product
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from leafgate.errors import ReleaseError
from leafgate.io.json import append_readable, flag_at, is_number, refuse_unknown
from leafgate.kernel.schema import Schema, Value
from leafgate.kernel.tree import MAX_DEPTH, Branch, CategoricalSplit, Leaf, Node, NumericSplit


def tree_document(node: Node) -> dict[str, Any]:
    """The tree as JSON of the format `leafgate/release/1`; what is not known is not written."""
    match node:
        case Leaf():
            facts = {
                "label": node.label,
                "counts": node.counts,
                "shares": node.shares,
                "error_rate": node.error_rate,
                "value": node.value,
                "scores": node.scores,
            }
            fields = {name: dict(fact) if isinstance(fact, Mapping) else fact for name, fact in facts.items()}
            return {"kind": "leaf"} | {name: fact for name, fact in fields.items() if fact is not None}
        case NumericSplit():
            options = {"missing": node.missing, "strict": node.strict, "float32": node.float32}
            below = {"low": tree_document(node.low), "high": tree_document(node.high)}
            return (
                {"kind": "cut", "column": node.column, "at": node.at} | {k: v for k, v in options.items() if v} | below
            )
        case CategoricalSplit():
            branches = [{"values": list(b.values), "node": tree_document(b.node)} for b in node.branches]
            other = {} if node.default is None else {"other": tree_document(node.default)}
            return {"kind": "fan", "column": node.column, "branches": branches} | other


class TreeWriter:
    """Writes trees as text: what `readable` writes of `tree_document`, without the document.

    What many nodes have in common is put together once: of tests all but the threshold, of leaves all but the numbers.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._cuts: dict[tuple[str, str, str | None, bool, bool], tuple[str, str, str, str]] = {}
        self._values: dict[tuple[str, tuple[Value, ...]], str] = {}
        self._leaves: dict[tuple[str, str | None], str] = {}
        self._numbers: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}

    def text(self, tree: Node, line: str) -> str:
        """The tree as JSON; `line` is the line break, and the spaces after it, at which it stands."""
        self._pieces = []
        self._append(tree, line)
        return "".join(self._pieces)

    def _append(self, node: Node, line: str) -> None:
        if isinstance(node, Leaf):
            self._append_leaf(node, line)
        elif isinstance(node, NumericSplit):
            start, options, high, end = self._cut(node, line)
            inner, pieces = line + " ", self._pieces
            pieces.append(start)
            self._append_scalar(node.at, inner)
            pieces.append(options)
            self._append(node.low, inner)
            pieces.append(high)
            self._append(node.high, inner)
            pieces.append(end)
        else:
            self._append_fan(node, line)

    def _cut(self, node: NumericSplit, line: str) -> tuple[str, str, str, str]:
        """The texts before and after the threshold, between the children, and at the end."""
        key = line, node.column, node.missing, node.strict, node.float32
        if key not in self._cuts:
            inner = f"{line} "
            options = {"missing": node.missing, "strict": node.strict, "float32": node.float32}
            written = "".join(f',{inner}"{name}": {_text(option)}' for name, option in options.items() if option)
            start = f'{{{inner}"kind": "cut",{inner}"column": {_text(node.column)},{inner}"at": '
            self._cuts[key] = start, f'{written},{inner}"low": ', f',{inner}"high": ', f"{line}}}"
        return self._cuts[key]

    def _append_fan(self, node: CategoricalSplit, line: str) -> None:
        inner, pieces = line + " ", self._pieces
        of_branch = inner + " "
        of_node = of_branch + " "
        pieces.append(f'{{{inner}"kind": "fan",{inner}"column": {_text(node.column)},{inner}"branches": [')
        for i, branch in enumerate(node.branches):
            values = self._branch_values(branch.values, of_node)
            pieces.append(f'{"," if i else ""}{of_branch}{{{of_node}"values": {values},{of_node}"node": ')
            self._append(branch.node, of_node)
            pieces.append(f"{of_branch}}}")
        pieces.append(f"{inner}]" if node.branches else "]")
        if node.default is not None:
            pieces.append(f',{inner}"other": ')
            self._append(node.default, inner)
        pieces.append(f"{line}}}")

    def _branch_values(self, values: tuple[Value, ...], line: str) -> str:
        if (line, values) not in self._values:
            pieces: list[str] = []
            append_readable(list(values), line, pieces)
            self._values[line, values] = "".join(pieces)
        return self._values[line, values]

    def _append_leaf(self, leaf: Leaf, line: str) -> None:
        inner, pieces = line + " ", self._pieces
        key = line, leaf.label
        if key not in self._leaves:
            label = "" if leaf.label is None else f',{inner}"label": {_text(leaf.label)}'
            self._leaves[key] = f'{{{inner}"kind": "leaf"{label}'
        pieces.append(self._leaves[key])
        if leaf.counts is not None:
            self._append_numbers("counts", leaf.counts, inner)
        if leaf.shares is not None:
            self._append_numbers("shares", leaf.shares, inner)
        if leaf.error_rate is not None:
            pieces.append(f',{inner}"error_rate": ')
            self._append_scalar(leaf.error_rate, inner)
        if leaf.value is not None:
            pieces.append(f',{inner}"value": ')
            self._append_scalar(leaf.value, inner)
        if leaf.scores is not None:
            self._append_numbers("scores", leaf.scores, inner)
        pieces.append(f"{line}}}")

    def _append_numbers(self, statistic: str, numbers: Mapping[str, int | float], line: str) -> None:
        key, inner = (statistic, line, tuple(numbers)), f"{line} "
        if key not in self._numbers:
            keys = [f"{inner}{_text(name)}: " for name in numbers]
            self._numbers[key] = [f"{',' if i else ''}{each}" for i, each in enumerate(keys)]
        pieces = self._pieces
        pieces.append(f',{line}"{statistic}": {{')
        for name, number in zip(self._numbers[key], numbers.values(), strict=True):
            pieces.append(name)
            self._append_scalar(number, inner)
        pieces.append(f"{line}}}" if numbers else "}")

    def _append_scalar(self, number: Any, line: str) -> None:
        if type(number) is int or (type(number) is float and math.isfinite(number)):
            self._pieces.append(repr(number))
        else:
            append_readable(number, line, self._pieces)


def _text(thing: Any) -> str:
    """A text, or another plain value, as JSON."""
    if type(thing) is str:
        return encode_basestring(thing)
    pieces: list[str] = []
    append_readable(thing, "\n", pieces)
    return "".join(pieces)


KEYS = {
    "leaf": frozenset({"kind", "label", "counts", "shares", "error_rate", "value", "scores"}),
    "cut": frozenset({"kind", "column", "at", "low", "high", "missing", "strict", "float32"}),
    "fan": frozenset({"kind", "column", "branches", "other"}),
}
BRANCH_KEYS = frozenset({"values", "node"})
SPLIT_OR_LEAF = (NumericSplit, Leaf)


def _with_any_of(first: tuple[str, ...], optional: tuple[str, ...], last: tuple[str, ...]) -> set[tuple[str, ...]]:
    """The keys of an object in order, with each choice of the optional ones."""
    chosen = product(*(((), (name,)) for name in optional))
    return {(*first, *chain.from_iterable(names), *last) for names in chosen}


CUT_KEYS = _with_any_of(("kind", "column", "at"), ("missing", "strict", "float32"), ("low", "high"))
LEAF_KEYS = _with_any_of(("kind",), ("label", "counts", "shares", "error_rate", "value", "scores"), ())
"""The keys of nodes in the order in which they are written."""

Place = tuple["Place | str", str]
"""Where a node is: its parent's place, and the way from there. It becomes a text only when something is wrong."""


def _words(place: Place | str) -> str:
    parts: list[str] = []
    while not isinstance(place, str):
        place, part = place
        parts.append(part)
    return "".join([place, *reversed(parts)])


class _Statistic(NamedTuple):
    """Numbers of a leaf by class, and the least of them; most leaves of a large forest share theirs with others."""

    of_class: dict[str, Any] | None
    least: float


NO_STATISTIC = _Statistic(None, 0.0)


class TreeReader:
    """Reads trees from the JSON of release files with one schema, which nothing in them is trusted to fit."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.names = {column.name: column.name for column in schema.columns}
        """Each name once, so that not every node keeps its own."""
        self.branches: dict[tuple[Value, ...], tuple[Value, ...]] = {}
        self._numeric = {column.name for column in schema.columns if column.numeric}
        self._labels = {label: label for label in schema.classes} if schema.having("class") else {}
        self._whole_numbers: dict[tuple[int, ...], _Statistic] = {}

    def parse(self, text: bytes) -> Node | None:
        """The tree in JSON whose objects have just the keys that `TreeWriter` writes, in this order.

        Nodes are made while the text is parsed, without a document in between.

        Returns:
            What `read` makes of the document in the text; None where that may be an error, which `read` puts in words,
            and for trees with a categorical test, whose values are checked from the root down.
        """
        try:
            tree = json.loads(text, object_pairs_hook=self._of_pairs)
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
            return None
        if isinstance(tree, NumericSplit):
            return tree if tree.arrays.depth <= MAX_DEPTH else None
        return tree if isinstance(tree, Leaf) else None

    def _of_pairs(self, pairs: list[tuple[str, Any]]) -> Node | _Statistic:
        """A node, or a statistic of a leaf, from an object's keys and values; an error of any kind for all others."""
        keys, values = zip(*pairs, strict=True)
        if keys[0] != "kind":
            return self._statistic(keys, values)
        if values[0] == "cut" and keys in CUT_KEYS:
            return self._plain_cut(dict(pairs))
        if values[0] == "leaf" and keys in LEAF_KEYS:
            return self._plain_leaf(dict(pairs))
        raise ValueError("is read from the root down")

    def _statistic(self, names: tuple[str, ...], numbers: tuple[Any, ...]) -> _Statistic:
        """One number for each class in turn; the same whole numbers are one statistic."""
        if names != self.schema.classes:
            raise ValueError("has other names, or fewer")
        if set(map(type, numbers)) != {int}:
            if not all(map(is_number, numbers)):
                raise ValueError("is no number")
            return _Statistic(dict(zip(names, numbers, strict=True)), min(map(float, numbers)))
        if numbers not in self._whole_numbers:
            of_class = dict(zip(names, numbers, strict=True))
            self._whole_numbers[numbers] = _Statistic(of_class, min(map(float, numbers)))
        return self._whole_numbers[numbers]

    def _plain_cut(self, fields: dict[str, Any]) -> NumericSplit:
        column, at, missing, low, high = map(fields.get, ("column", "at", "missing", "low", "high"))
        strict, float32 = fields.get("strict", False), fields.get("float32", False)
        if column not in self._numeric or missing not in (None, "low", "high"):
            raise ValueError("is no numeric test of a column")
        if not is_number(at) or type(strict) is not bool or type(float32) is not bool:
            raise ValueError("is no threshold, or no flag")
        if not (isinstance(low, SPLIT_OR_LEAF) and isinstance(high, SPLIT_OR_LEAF)):
            raise ValueError("has no two children")
        return NumericSplit(self.names[str(column)], at, low, high, missing, strict, float32)  # type: ignore[arg-type]

    def _plain_leaf(self, fields: dict[str, Any]) -> Leaf:
        label, error_rate, value = map(fields.get, ("label", "error_rate", "value"))
        stated = [fields.get(name, NO_STATISTIC) for name in ("counts", "shares", "scores")]
        if not all(isinstance(each, _Statistic) for each in stated):
            raise ValueError("has something else than one number for each class")
        (counts, least_count), (shares, least_share), (scores, _) = stated
        if least_count < 0 or least_share < 0 or (shares is not None and abs(sum(shares.values()) - 1) > 1e-6):
            raise ValueError("has numbers below 0, or shares that do not sum to 1")
        if error_rate is not None and not (is_number(error_rate) and 0 <= error_rate <= 1):
            raise ValueError("is no rate")
        if value is not None and not (is_number(value) and self.schema.target.edges is not None):
            raise ValueError("is no number, or of no class of numbers")
        return Leaf(None if label is None else self._labels[label], counts, shares, error_rate, value, scores)

    def _kept_values(self, values: list[Value]) -> tuple[Value, ...]:
        """The values, which equal branches of other tests share."""
        branch = tuple(values)
        return self.branches.setdefault(branch, branch)

    def read(self, document: Any, place: Place | str, depth: int = 0) -> Node:
        """The tree that a document describes; ReleaseError names the node that is wrong."""
        if depth > MAX_DEPTH:
            raise ReleaseError(f"is deeper than {MAX_DEPTH} tests", place=_words(place)[:60])
        kind = document.get("kind") if isinstance(document, dict) else None
        if not isinstance(kind, str) or kind not in KEYS:
            raise ReleaseError("must be an object whose `kind` is leaf, cut or fan", place=_words(place))
        if not document.keys() <= KEYS[kind]:
            refuse_unknown(document, KEYS[kind], ReleaseError, _words(place))
        if kind == "leaf":
            return self._leaf(document, place)
        column = document.get("column")
        if not isinstance(column, str) or column not in self.names:
            raise ReleaseError("asks about a column the schema does not have", place=_words(place))
        return (self._cut if kind == "cut" else self._fan)(document, self.names[column], place, depth)

    def _leaf(self, document: dict[str, Any], place: Place | str) -> Leaf:
        label, error_rate, value = document.get("label"), document.get("error_rate"), document.get("value")
        if label is not None:
            if label not in self.schema.classes:
                raise ReleaseError("`label` is not one of the classes", place=_words(place))
            label = self.schema.classes[self.schema.classes.index(label)]
        if error_rate is not None and not (is_number(error_rate) and 0 <= error_rate <= 1):
            raise ReleaseError("`error_rate` must lie between 0 and 1", place=_words(place))
        if value is not None and not is_number(value):
            raise ReleaseError("`value` must be a number", place=_words(place))
        if value is not None and self.schema.target.edges is None:
            raise ReleaseError(
                "`value` is for a class of numbers, and this class has none",
                place=_words(place),
                remedy="give the class `bins` if the tree predicts numbers, else take the values out",
            )
        shares = self._per_class(document, "shares", place)
        if shares is not None and abs(sum(shares.values()) - 1) > 1e-6:
            raise ReleaseError("`shares` must sum to 1", place=_words(place))
        scores = self._per_class(document, "scores", place, least=-math.inf)
        return Leaf(label, self._per_class(document, "counts", place), shares, error_rate, value, scores)

    def _per_class(
        self, document: dict[str, Any], key: str, place: Place | str, *, least: float = 0
    ) -> dict[str, Any] | None:
        numbers, classes = document.get(key), self.schema.classes
        if numbers is None:
            return None
        if not isinstance(numbers, dict) or not all(name in classes for name in numbers):
            raise ReleaseError(f"`{key}` must hold one number for each class", place=_words(place))
        for number in numbers.values():
            if not is_number(number) or number < least:
                what = "must not be negative" if least == 0 else "must be finite numbers"
                raise ReleaseError(f"`{key}` {what}", place=_words(place))
        return {name: numbers.get(name, 0) for name in classes}

    def _cut(self, document: dict[str, Any], column: str, place: Place | str, depth: int) -> NumericSplit:
        at, missing = document.get("at"), document.get("missing")
        if not self.schema[column].numeric:
            raise ReleaseError("cuts a column that has `values`", place=_words(place))
        if at is None or not is_number(at):
            raise ReleaseError("`at` must be a finite number", place=_words(place))
        if missing not in (None, "low", "high"):
            raise ReleaseError("`missing` must be low or high", place=_words(place))
        low = self.read(document.get("low"), (place, ".low"), depth + 1)
        high = self.read(document.get("high"), (place, ".high"), depth + 1)
        strict, float32 = self._flag(document, "strict", place), self._flag(document, "float32", place)
        return NumericSplit(column, at, low, high, missing, strict, float32)

    @staticmethod
    def _flag(document: dict[str, Any], key: str, place: Place | str) -> bool:
        flag = document.get(key, False)
        return flag if flag is True or flag is False else flag_at(document, key, _words(place))

    def _fan(self, document: dict[str, Any], column: str, place: Place | str, depth: int) -> CategoricalSplit:
        written = document.get("branches")
        if self.schema[column].numeric:
            raise ReleaseError("fans out over a numeric column", place=_words(place))
        domain = self.schema[column].domain_set
        if not isinstance(written, list) or not written:
            raise ReleaseError("`branches` must be a list, not an empty one", place=_words(place))
        branches: list[Branch] = []
        named: set[Value] = set()
        for i, branch in enumerate(written):
            here = (place, f".branches[{i}]")
            values = branch.get("values") if isinstance(branch, dict) else None
            if isinstance(branch, dict) and not branch.keys() <= BRANCH_KEYS:
                refuse_unknown(branch, BRANCH_KEYS, ReleaseError, _words(here))
            if not isinstance(values, list) or not values:
                raise ReleaseError("`values` must be a list, not an empty one", place=_words(here))
            if not all(isinstance(value, str | None) and value in domain for value in values):
                raise ReleaseError("names a value outside the column's domain", place=_words(here))
            if not named.isdisjoint(values) or len(set(values)) != len(values):
                raise ReleaseError("names a value that has a branch already", place=_words(here))
            named.update(values)
            branches.append(
                Branch(self._kept_values(values), self.read(branch.get("node"), (here, ".node"), depth + 1))
            )
        other = document.get("other")
        below = None if other is None else self.read(other, (place, ".other"), depth + 1)
        return CategoricalSplit(column, tuple(branches), below)
