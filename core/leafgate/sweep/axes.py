"""What is varied: places in a policy, the values each takes, and the policies that come of it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from leafgate.errors import PolicyError
from leafgate.io.json import canonical
from leafgate.io.text import shorten
from leafgate.io.yaml import parse_yaml

OVER = "--over"
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


@dataclass(frozen=True)
class Point:
    """One combination: the values by place, and the policy document that has them."""

    values: Mapping[str, Any]
    document: Mapping[str, Any]

    @property
    def label(self) -> str:
        return ", ".join(f"{place}={display_value(value)}" for place, value in self.values.items())


def display_value(value: Any) -> str:
    """A swept value as a policy has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {display_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(display_value, value))}]"
    return value if isinstance(value, str) else json.dumps(value)


MAX_SHORT_LENGTH = 32


def short(value: Any) -> str:
    """A swept value in few letters: of a mapping only its values."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    text = " ".join(map(short, parts)) if isinstance(value, dict | list) and value else display_value(value)
    return shorten(text, MAX_SHORT_LENGTH)


def axis_of(words: str) -> Axis:
    """The axis that `PLACE=VALUE,VALUE,...` means; values are read as YAML. PolicyError for anything else."""
    place, equals, values = words.partition("=")
    if not equals or not _steps(place):
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
    for place in places:
        inner = [other for other in places if other != place and other.startswith((f"{place}.", f"{place}["))]
        if inner:
            raise PolicyError(
                f"lies within {place}, which is varied too", place=f"{OVER} {inner[0]}", remedy="vary one"
            )
    combined = list(product(*(axis.values for axis in axes)))
    if len(combined) > MOST:
        raise PolicyError(f"asks for {len(combined)} audits, more than {MOST}", place=OVER, remedy="name fewer values")
    return [_point(document, dict(zip(places, values, strict=True))) for values in combined]


def refuse_probing(axes: Sequence[Axis]) -> None:
    """PolicyError for paths where many reports disclose what one hides: people, limits, adversary knowledge."""
    for axis in axes:
        first, *below = _steps(axis.place)
        what = PROBING.get(str(first))
        if what is not None and (first != "knows" or below[:1] in ([], ["facts"], ["people"])):
            raise PolicyError(
                f"to vary {what} discloses to the public what each report hides",
                place=f"{OVER} {axis.place}",
                remedy="say --audience auditor",
            )


def _point(document: Mapping[str, Any], values: Mapping[str, Any]) -> Point:
    changed: Any = copy.deepcopy(dict(document))
    for place, value in values.items():
        _put(changed, place, value)
    return Point(values, changed)


def _put(document: Any, place: str, value: Any) -> None:
    """Write a value into the document; sections that are left to their defaults come into being."""
    *above, last = _steps(place)
    here = document
    for step in above:
        here = _enter(here, step, place)
    if isinstance(last, int):
        _enter(here, last, place)
        here[last] = copy.deepcopy(value)
    elif isinstance(here, dict):
        here[last] = copy.deepcopy(value)
    else:
        raise _nowhere(place)


def _enter(here: Any, step: str | int, place: str) -> Any:
    if isinstance(step, int) and isinstance(here, list) and step < len(here):
        return here[step]
    if isinstance(step, str) and isinstance(here, dict):
        return here.setdefault(step, {})
    raise _nowhere(place)


def _nowhere(place: str) -> PolicyError:
    return PolicyError(
        "the policy has no such place", place=f"{OVER} {place}", remedy="like build.k or metrics[0].allow"
    )


def _steps(place: str) -> list[str | int]:
    """`metrics[0].at_least` as metrics, 0, at_least; nothing for what is no place."""
    parts = re.fullmatch(r"[^.\[\]=\s]+(\.[^.\[\]=\s]+|\[[0-9]{1,6}\])*", place)
    return list(_parts(place)) if parts else []


def _parts(place: str) -> Iterator[str | int]:
    for index, word in re.findall(r"\[([0-9]+)\]|([^.\[\]]+)", place):
        yield int(index) if index else word
