"""What is varied: places in a policy, the values each takes, and the policies that come of it."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

from leafgate.api import PolicyError
from leafgate.commands.sweep.words import setting_words
from leafgate.io.json import canonical
from leafgate.io.yaml import parse_yaml
from leafgate.kernel.paths import DocumentPath

OVER = "--over"
PLACE = re.compile(r"[^.\[\]=\s]+(\.[^.\[\]=\s]+|\[[0-9]{1,6}\])*")
STEP = re.compile(r"\[([0-9]+)\]|([^.\[\]]+)")
"""A position or a key of a place."""
MOST = 10_000
"""More audits than this are a mistake."""
PROBING = {
    "data": "which people there are, or what is meant by their cells,",
    "metrics": "limits",
    "report": "limits",
    "knows": "who or what is known",
}
"""Parts of a policy: to vary these shows the public by subtraction what each report hides."""


@dataclass(frozen=True)
class Axis:
    """A place in the policy, say `build.k` or `metrics[0].at_least`, and the values it takes."""

    place: str
    values: Sequence[Any]

    @property
    def path(self) -> DocumentPath:
        """The place as a path; empty for a text that names none. A column with dots in its name has no place."""
        parts = STEP.findall(self.place) if PLACE.fullmatch(self.place) else []
        return tuple(int(index) if index else word for index, word in parts)


@dataclass(frozen=True)
class Point:
    """One combination: the values by place, and the policy document that has them."""

    values: Mapping[str, Any]
    document: Mapping[str, Any]

    @property
    def label(self) -> str:
        return ", ".join(f"{place}={setting_words(value)}" for place, value in self.values.items())


def axis_of(words: str) -> Axis:
    """The axis that `PLACE=VALUE,VALUE,...` means; values are read as YAML. PolicyError for anything else."""
    place, equals, values = words.partition("=")
    if not equals or not Axis(place, ()).path:
        raise PolicyError("is no PLACE=VALUE,VALUE,...", place=OVER, remedy="for example build.k=2,5,10")
    result = parse_yaml(f"values: [{values}]".encode(), f"{OVER} {place}")["values"]
    if not isinstance(result, list) or not result:
        raise PolicyError("names no values", place=f"{OVER} {place}", remedy="for example build.k=2,5,10")
    if len({canonical(value) for value in result}) < len(result):
        raise PolicyError("names a value twice", place=f"{OVER} {place}")
    return Axis(place, result)


def points_of(document: Mapping[str, Any], axes: Sequence[Axis]) -> list[Point]:
    """Every combination of the axes' values, the last axis fastest; PolicyError when a place is no place."""
    places = [axis.place for axis in axes]
    if not axes or len(set(places)) < len(places):
        raise PolicyError("name one or more places, each once", place=OVER, remedy="for example --over build.k=2,5,10")
    for outer, inner in permutations(axes, 2):
        if inner.path[: len(outer.path)] == outer.path:
            raise PolicyError(
                f"lies within {outer.place}, which is varied too", place=f"{OVER} {inner.place}", remedy="vary one"
            )
    combined = list(product(*(axis.values for axis in axes)))
    if len(combined) > MOST:
        raise PolicyError(f"asks for {len(combined)} audits, more than {MOST}", place=OVER, remedy="name fewer values")
    return [_point(document, axes, values) for values in combined]


def refuse_probing(axes: Sequence[Axis]) -> None:
    """PolicyError for paths where many reports disclose what one hides: people, limits, adversary knowledge."""
    for axis in axes:
        path = _knowledge_path(axis)
        what = PROBING.get(str(path[0]))
        if what is not None and (path[0] != "knows" or path[1:2] in {(), ("facts",), ("people",)}):
            raise PolicyError(
                f"to vary {what} discloses to the public what each report hides",
                place=f"{OVER} {axis.place}",
                remedy="say --audience auditor",
            )


def _knowledge_path(axis: Axis) -> DocumentPath:
    """The axis's path; where it varies what one attack knows, that of the same knowledge of the policy."""
    path = axis.path
    if path[0] == "attacks" and len(path) > 2:
        return path[2:] if path[2] == "knows" else path
    return ("knows",) if path[0] == "attacks" and any(map(_grants_knowledge, axis.values)) else path


def _grants_knowledge(value: Any) -> bool:
    """Does a value of `attacks`, or of one of them, have a `knows`?"""
    return any(isinstance(each, dict) and "knows" in each for each in (value if isinstance(value, list) else [value]))


def _point(document: Mapping[str, Any], axes: Sequence[Axis], values: Sequence[Any]) -> Point:
    changed: Any = copy.deepcopy(dict(document))
    for axis, value in zip(axes, values, strict=True):
        _put(changed, axis, value)
    return Point({axis.place: value for axis, value in zip(axes, values, strict=True)}, changed)


def _put(document: Any, axis: Axis, value: Any) -> None:
    """Write a value of the axis into the document; sections that the policy leaves to their defaults are added."""
    *sections, last = axis.path
    for step in sections:
        _refuse_missing(document, step, axis)
        document = document[step] if isinstance(step, int) else document.setdefault(step, {})
    _refuse_missing(document, last, axis)
    document[last] = copy.deepcopy(value)


def _refuse_missing(document: Any, step: str | int, axis: Axis) -> None:
    """PolicyError unless the document is a mapping, for a key, or a list with this item, for a position."""
    if not (
        isinstance(document, dict) if isinstance(step, str) else isinstance(document, list) and step < len(document)
    ):
        raise PolicyError(
            "the policy has no such place", place=f"{OVER} {axis.place}", remedy="like build.k or metrics[0].allow"
        )
