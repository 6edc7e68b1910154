"""What PMML says of the fields a model asks about, and its predicates as tests of one field each."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from leafgate.api import ReleaseError
from leafgate_plugins.pmml.xml import name_of, named, words

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

NUMERIC = ("double", "float", "integer")
LOW: Mapping[str, tuple[bool, bool]] = {
    "lessThan": (True, True),
    "lessOrEqual": (True, False),
    "greaterThan": (False, False),
    "greaterOrEqual": (False, True),
}
"""For each comparison: is it true of small numbers, and false (or true) of the threshold itself as `<` has it?"""


@dataclass(frozen=True)
class Field:
    """A field of the data dictionary, or a cast of one.

    All its `values`, where they are declared; `fill` replaces a missing one. Its numbers are of single precision where
    `single`, and so is what they are compared with, unless they were cast to double precision afterwards (`widened`).
    """

    name: str
    number: bool
    single: bool = False
    widened: bool = False
    values: tuple[str, ...] | None = None
    fill: str | None = None


@dataclass(frozen=True)
class Test:
    """A test of one field, true where `x <= at` (`strict`: <), or where x is among `chosen`; or the other way round.

    With neither, true of a missing value alone (`asks: missing`).
    """

    field: Field
    turned: bool = False
    at: float | None = None
    strict: bool = False
    chosen: frozenset[str] = frozenset()
    asks: Literal["number", "set", "missing"] = "set"

    def filled(self) -> bool | None:
        """What it says of a missing value that is replaced; None where it is not."""
        if self.field.fill is None:
            return None
        if self.asks == "missing":
            return self.turned
        if self.at is None:
            return (self.field.fill in self.chosen) != self.turned
        number = parsed(self.field.fill, replace(self.field, widened=False), "missingValueReplacement")
        return (number < self.at if self.strict else number <= self.at) != self.turned


@dataclass(frozen=True)
class Several:
    """Predicates put together."""

    how: Literal["and", "or", "xor", "surrogate"]
    parts: tuple[Predicate, ...]


Predicate = bool | Test | Several


def parsed(text: str | None, field: Field, place: str) -> float:
    """A number in the precision in which the field is compared."""
    single = field.single and not field.widened
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in (text or "") or (single and abs(number) > np.finfo(np.float32).max):
        raise ReleaseError(f"compares {field.name!r} with what is no number", place=place)
    return float(np.float32(number)) if single else number


def fields_of(root: Element, place: str) -> dict[str, Field]:
    """The fields of the data dictionary, by name."""
    found: dict[str, Field] = {}
    for dictionary in named(root, "DataDictionary"):
        for result in named(dictionary, "DataField"):
            name, kind = result.get("name", ""), result.get("dataType", "")
            number = result.get("optype") == "continuous"
            if not name or name in found or (number and kind not in NUMERIC):
                raise ReleaseError("has a field without a name or type, or twice", place=f"{place}.DataDictionary")
            valid = [v.get("value", "") for v in named(result, "Value") if v.get("property", "valid") == "valid"]
            values = tuple(dict.fromkeys(valid)) if valid and not number else None
            found[name] = Field(name, number, single=kind == "float", values=values)
    return found


def casts_of(place_of: Element, fields: Mapping[str, Field], place: str) -> dict[str, Field]:
    """The derived fields below an element that only cast a number, by name.

    They are read in the order in which the document has them, as each may cast another one.

    Args:
        place_of: a TransformationDictionary or LocalTransformations.
        fields: the fields that are known there.
        place: what errors call the document.

    Raises:
        ReleaseError: a field of LocalTransformations is computed in another way; others may have no use.
    """
    found = dict(fields)
    for element in place_of:
        if name_of(element) == "Extension":
            continue
        name, why = element.get("name", ""), _not_a_cast(element, found)
        if not why and name not in found:
            found[name] = _cast(found[next(named(element, "FieldRef")).get("field", "")], element.get("dataType", ""))
        elif why and name_of(place_of) != "TransformationDictionary":
            raise ReleaseError(f"{why}, which is not read", place=place, remedy=CASTS)
        elif not why:
            raise ReleaseError("has two fields of one name", place=f"{place}.{name_of(place_of)}")
    return found


CASTS = "of derived fields those are read that cast a number to double or float; export the model without other steps"


def _cast(field: Field, kind: str) -> Field:
    """The field, cast to numbers of this type."""
    if kind == "float":
        return replace(field, single=True, widened=False)
    return replace(field, widened=field.single)


def _not_a_cast(element: Element, fields: Mapping[str, Field]) -> str:
    """Why a derived field is more than another precision of a number; empty where it is no more."""
    kind, inside = name_of(element), [each for each in element if name_of(each) != "Extension"]
    if kind != "DerivedField":
        return f"has a {kind[:40]!r} among its transformations"
    how = [name_of(each) for each in inside]
    if how != ["FieldRef"] or inside[0].get("mapMissingTo") is not None:
        return f"computes a field by {', '.join(how)[:60] or 'nothing'!r}"
    source = fields.get(inside[0].get("field", ""))
    if source is None:
        return "derives a field from one that it does not have"
    if not source.number or element.get("optype") != "continuous" or element.get("dataType") not in {"double", "float"}:
        cast = f"{element.get('optype', '')[:20]} {element.get('dataType', '')[:20]}"
        return f"casts a field to {cast!r}"
    return ""


def predicate_of(element: Element, fields: Mapping[str, Field], place: str, depth: int = 0) -> Predicate:
    """A predicate; ReleaseError names what is not read."""
    kind = name_of(element)
    if kind in {"True", "False"}:
        return kind == "True"
    if kind == "CompoundPredicate":
        return _several(element, fields, place, depth)
    name = element.get("field", "")
    if name not in fields:
        raise ReleaseError(
            f"asks about {name[:60]!r}, which is no field of its data dictionary, and no cast of one",
            place=place,
            remedy=CASTS,
        )
    field = fields[name]
    if kind == "SimpleSetPredicate":
        chosen = frozenset(word for array in named(element, "Array") for word in words(array))
        how = element.get("booleanOperator")
        if field.number or how not in {"isIn", "isNotIn"}:
            raise ReleaseError(f"asks whether the number {name!r} is in a set, which is not read", place=place)
        return Test(field, turned=how == "isNotIn", chosen=chosen)
    return _simple(element, field, place)


def _several(element: Element, fields: Mapping[str, Field], place: str, depth: int) -> Predicate:
    how = element.get("booleanOperator")
    if how not in {"and", "or", "xor", "surrogate"} or depth > 20:
        raise ReleaseError("has a compound predicate that is not read", place=place)
    parts = tuple(predicate_of(part, fields, place, depth + 1) for part in element if name_of(part) != "Extension")
    if len(parts) < 2:
        raise ReleaseError("has a compound predicate of fewer than two", place=place)
    return Several(how, parts)  # type: ignore[arg-type]


def _simple(element: Element, field: Field, place: str) -> Predicate:
    operator, value = element.get("operator", ""), element.get("value")
    if name_of(element) != "SimplePredicate":
        raise ReleaseError(f"has a predicate {name_of(element)[:40]!r}, which is not read", place=place)
    if operator in {"isMissing", "isNotMissing"}:
        turned = operator == "isNotMissing"
        return Test(field, turned, at=sys.float_info.max if field.number else None, asks="missing")
    if operator in {"equal", "notEqual"} and not field.number and value is not None:
        return Test(field, turned=operator == "notEqual", chosen=frozenset({value}))
    if operator in LOW and field.number:
        low, strict = LOW[operator]
        return Test(field, not low, parsed(value, field, place), strict, asks="number")
    raise ReleaseError(f"asks of {field.name!r} whether it is {operator[:40]!r}, which is not read", place=place)
