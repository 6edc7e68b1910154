"""Trees as JSON: `leaf`, `cut`, `fan`; every node of a foreign file is checked before it is used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from leafgate.errors import ReleaseError
from leafgate.io.json import flag_at, is_number, refuse_unknown
from leafgate.types.schema import Schema, Value
from leafgate.types.tree import MAX_DEPTH, Branch, CategoricalSplit, Leaf, Node, NumericSplit


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


KEYS = {
    "leaf": ("kind", "label", "counts", "shares", "error_rate", "value", "scores"),
    "cut": ("kind", "column", "at", "low", "high", "missing", "strict", "float32"),
    "fan": ("kind", "column", "branches", "other"),
}


def read_tree(document: Any, schema: Schema, place: str, depth: int = 0) -> Node:
    """The tree a document describes; ReleaseError names the node that is wrong."""
    if depth > MAX_DEPTH:
        raise ReleaseError(f"is deeper than {MAX_DEPTH} tests", place=place[:60])
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in tuple(KEYS):
        raise ReleaseError("must be an object whose `kind` is leaf, cut or fan", place=place)
    refuse_unknown(document, KEYS[kind], ReleaseError, place)
    if kind == "leaf":
        return _leaf(document, schema, place)
    if not isinstance(document.get("column"), str) or document["column"] not in schema:
        raise ReleaseError("asks about a column the schema does not have", place=place)
    return (_cut if kind == "cut" else _fan)(document, schema, place, depth)


def _leaf(document: dict[str, Any], schema: Schema, place: str) -> Leaf:
    label, error_rate, value = document.get("label"), document.get("error_rate"), document.get("value")
    if label is not None and label not in schema.classes:
        raise ReleaseError("`label` is not one of the classes", place=place)
    if error_rate is not None and not (is_number(error_rate) and 0 <= error_rate <= 1):
        raise ReleaseError("`error_rate` must lie between 0 and 1", place=place)
    if value is not None and not is_number(value):
        raise ReleaseError("`value` must be a number", place=place)
    if value is not None and schema.target.edges is None:
        remedy = "give the class `bins` if the tree predicts numbers, else take the values out"
        raise ReleaseError("`value` is for a class of numbers, and this class has none", place=place, remedy=remedy)
    shares = _per_class(document, "shares", schema, place)
    if shares is not None and abs(sum(shares.values()) - 1) > 1e-6:
        raise ReleaseError("`shares` must sum to 1", place=place)
    scores = _per_class(document, "scores", schema, place, least=-math.inf)
    return Leaf(label, _per_class(document, "counts", schema, place), shares, error_rate, value, scores)


def _per_class(
    document: dict[str, Any], key: str, schema: Schema, place: str, *, least: float = 0
) -> dict[str, Any] | None:
    numbers = document.get(key)
    if numbers is None:
        return None
    if not isinstance(numbers, dict) or not set(numbers) <= set(schema.classes):
        raise ReleaseError(f"`{key}` must hold one number for each class", place=place)
    if not all(is_number(number) and number >= least for number in numbers.values()):
        what = "must not be negative" if least == 0 else "must be finite numbers"
        raise ReleaseError(f"`{key}` {what}", place=place)
    return {name: numbers.get(name, 0) for name in schema.classes}


def _cut(document: dict[str, Any], schema: Schema, place: str, depth: int) -> NumericSplit:
    column, at = document["column"], document.get("at")
    if not schema[column].numeric:
        raise ReleaseError("cuts a column that has `values`", place=place)
    if at is None or not is_number(at):
        raise ReleaseError("`at` must be a finite number", place=place)
    if document.get("missing") not in (None, "low", "high"):
        raise ReleaseError("`missing` must be low or high", place=place)
    low = read_tree(document.get("low"), schema, f"{place}.low", depth + 1)
    high = read_tree(document.get("high"), schema, f"{place}.high", depth + 1)
    strict, float32 = flag_at(document, "strict", place), flag_at(document, "float32", place)
    return NumericSplit(column, at, low, high, document.get("missing"), strict, float32)


def _fan(document: dict[str, Any], schema: Schema, place: str, depth: int) -> CategoricalSplit:
    column, written = document["column"], document.get("branches")
    if schema[column].numeric:
        raise ReleaseError("fans out over a numeric column", place=place)
    domain = schema[column].domain_set
    if not isinstance(written, list) or not written:
        raise ReleaseError("`branches` must be a list, not an empty one", place=place)
    branches: list[Branch] = []
    named: set[Value] = set()
    for i, branch in enumerate(written):
        here = f"{place}.branches[{i}]"
        values = branch.get("values") if isinstance(branch, dict) else None
        refuse_unknown(branch if isinstance(branch, dict) else (), ("values", "node"), ReleaseError, here)
        if not isinstance(values, list) or not values:
            raise ReleaseError("`values` must be a list, not an empty one", place=here)
        if not all(isinstance(value, str | None) and value in domain for value in values):
            raise ReleaseError("names a value outside the column's domain", place=here)
        if named & set(values) or len(set(values)) != len(values):
            raise ReleaseError("names a value that has a branch already", place=here)
        named |= set(values)
        branches.append(Branch(tuple(values), read_tree(branch.get("node"), schema, f"{here}.node", depth + 1)))
    other = document.get("other")
    below = None if other is None else read_tree(other, schema, f"{place}.other", depth + 1)
    return CategoricalSplit(column, tuple(branches), below)
