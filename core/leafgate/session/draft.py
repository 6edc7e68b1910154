"""What a first policy says of a model and of columns: `leafgate init` writes one of files, `leafgate.audit` of tables.

Domains are round, so that they are nobody's. What a model's file says of columns is found by the names of features.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

from leafgate.ir.features import CategoryCodes, MissingIndicator, Numeric, Unresolved, known_by
from leafgate.models.lowering.encoding import plainly
from leafgate.models.lowering.release import asked_features

if TYPE_CHECKING:
    from leafgate.ir.model import ModelIR
    from leafgate.types.release import Level

BETWEEN = "_=-.: "
"""What stands between column and value in names of dummy features."""

FLOAT_DIGITS = 14
"""Digits after the first that every float keeps."""

SMALLEST_STEP = -300
"""The smallest power of ten between a bound and the numbers within it; floats end soon after."""

MODEL_ATTACKS: Sequence[Mapping[str, Any]] = ({"use": "linking"},)
"""The attacks of a first policy for a model."""

MODEL_LIMITS: Sequence[Mapping[str, Any]] = (
    {"use": "k_anonymity", "at_least": 10},
    {"use": "confidence", "at_most": 0.95, "allow": 0.05},
    {"use": "file_disclosure", "at_most": 0},
)
"""The limits of a first policy for a model; `confidence` for one that predicts classes alone."""


@dataclass(frozen=True)
class ModelHints:
    """What a model's file says of a table's columns.

    Attributes:
        level: what its file has on the leaves.
        classes: its classes, empty where it predicts numbers.
        numbers: columns that it takes as numbers.
        values: columns that it takes as values.
        unresolved_features: features that nobody can place.
        says: what the file tells beyond its predictions.
        texts: columns of the table that hold no numbers.
        known: values that it knows of any column.
    """

    level: Level
    classes: tuple[str, ...]
    numbers: frozenset[str]
    values: frozenset[str]
    unresolved_features: tuple[str, ...]
    says: tuple[str, ...]
    texts: frozenset[str]
    known: frozenset[str]


def model_hints(model: ModelIR, columns: Sequence[str], texts: Mapping[str, Sequence[str]]) -> ModelHints:
    """What the model says of a table with these columns; `texts` are the values where none are numbers."""
    numbers: set[str] = set()
    values: set[str] = set()
    unresolved: list[str] = []
    words: set[str] = set()
    plain = {plainly(column): column for column in reversed(columns)}
    for feature in asked_features(model).values():
        result = feature.origin
        words |= {*feature.chosen, *(known_by(result) if isinstance(result, CategoryCodes) else ())}
        if (
            isinstance(result, Numeric | CategoryCodes | MissingIndicator)
            and result.column not in columns
            and result.column in plain
        ):
            result = replace(result, column=plain[result.column])
        if isinstance(result, Numeric) and result.column in columns:
            (values if result.column in texts or feature.sets else numbers).add(result.column)
        elif isinstance(result, CategoryCodes | MissingIndicator) and result.column in columns:
            values |= {result.column} if isinstance(result, CategoryCodes) else set()
        elif feature.name in columns:
            (values if feature.sets else numbers).add(feature.name)
            bare = (feature.name in texts or feature.sets) and not feature.texts
            unresolved += [feature.name] if bare or isinstance(result, Unresolved) else []
        elif (column := _dummy_of(feature.name, columns)) is not None:
            values.add(column)
            unresolved += [feature.name] if isinstance(result, Unresolved) else []
        else:
            unresolved.append(feature.name)
    says = tuple(f"{item.severity}: {item.says}" for item in model.disclosures)
    known = frozenset(numbers - values), frozenset(values)
    return ModelHints(model.level, model.classes, *known, tuple(unresolved), says, frozenset(texts), frozenset(words))


def _dummy_of(feature: str, columns: Sequence[str]) -> str | None:
    """The column a feature is a dummy of, by its name: the longest that it begins with."""
    bare = feature.partition("__")[2] or feature
    found = [
        c for c in columns for name in (feature, bare) if name.startswith(c) and name[len(c) : len(c) + 1] in BETWEEN
    ]
    return max(found, key=len) if found else None


def limits_of_model(classes: Sequence[str]) -> list[dict[str, Any]]:
    """The limits to start from for a model with these classes; none where it predicts numbers."""
    return [dict(limit) for limit in MODEL_LIMITS if classes or limit["use"] != "confidence"]


def round_bounds(numbers: Sequence[float]) -> tuple[float, float]:
    """Multiples of a power of ten below the least and above the largest number; the power is no larger than their span.

    They are not the two numbers themselves, which are somebody's, because a release publishes its bounds. A bound of
    0 stays, as many quantities start there.

    >>> round_bounds([18, 90])
    (10.0, 100.0)
    >>> round_bounds([0, 0.25, 1])
    (0.0, 2.0)
    """
    least, largest = Decimal(repr(min(numbers))), Decimal(repr(max(numbers)))
    span = largest - least or abs(largest) or Decimal(1)
    digits = max(abs(least), abs(largest)).adjusted() - FLOAT_DIGITS  # smaller steps are lost in the bounds
    step = Decimal(10) ** max(span.adjusted(), digits, SMALLEST_STEP)
    below, above = (
        (least / step).to_integral_value(ROUND_FLOOR) * step,
        (largest / step).to_integral_value(ROUND_CEILING) * step,
    )
    below -= step if below == least != 0 else 0
    above += step if above == largest != 0 or above == below else 0
    low, high = float(below), float(above)
    if not (math.isfinite(low) and math.isfinite(high)):  # at the end of what a float can hold
        return float(least), float(largest)
    return min(low, float(least)), max(high, float(largest))


def round_edges(low: float, high: float) -> tuple[float, ...]:
    """Edges of four to ten intervals of one round width (1, 2 or 5 times a power of ten) that hold both numbers.

    Empty where the numbers are too large, or too near each other, for such edges to be numbers apart.

    >>> round_edges(3, 97)
    (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
    """
    if not 1e-200 < high - low < 1e200 or max(abs(low), abs(high)) > 1e9 * (high - low):
        return ()
    power = 10.0 ** math.floor(math.log10((high - low) / 5))
    width = next(power * times for times in (1, 2, 5, 10) if high - low <= 5 * power * times)
    first, last = math.floor(low / width), math.ceil(high / width)
    return tuple(float(f"{place * width:.12g}") for place in range(first, last + 1))


def yaml_number(number: float) -> str:
    """A number as YAML, whole ones without a decimal point."""
    return str(int(number)) if float(number).is_integer() and abs(number) < 2**53 else json.dumps(number)


def yaml_text(text: str) -> str:
    """A text as YAML, quoted so that nothing else can be meant."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(text, ensure_ascii=False))


def yaml_flow(value: Any) -> str:
    """A plain value, list or mapping as YAML on one line.

    >>> yaml_flow({"use": "k_anonymity", "at_least": 10.0})
    '{use: k_anonymity, at_least: 10}'
    """
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)}: {yaml_flow(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(yaml_flow, value))}]"
    if isinstance(value, str):
        return value if _is_word(value) else yaml_text(value)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return yaml_number(value)


def yaml_lines(document: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """A mapping as lines of YAML: sections `data` and `columns` a line for each key, lists a line for each item."""
    indent = "  " * depth
    for key, value in document.items():
        if key in BLOCKS and isinstance(value, Mapping):
            yield f"{indent}{_key(key)}:"
            yield from _items(value, depth + 1) if key in ENTRIES else yaml_lines(value, depth + 1)
        elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
            yield f"{indent}{_key(key)}:"
            yield from (f"{indent}  - {yaml_flow(item)}" for item in value)
        else:
            yield f"{indent}{_key(key)}: {yaml_flow(value)}"


BLOCKS = frozenset({"data", "columns", "build", "encoding"})
ENTRIES = frozenset({"columns", "encoding"})
"""Sections whose keys are names that users give."""


def _items(entries: Mapping[str, Any], depth: int) -> Iterator[str]:
    for name, value in entries.items():
        yield f"{'  ' * depth}{yaml_text(name)}: {yaml_flow(value)}"


WORDS = frozenset("abcdefghijklmnopqrstuvwxyz_0123456789")


def _is_word(text: str) -> bool:
    """Is it a plain word of small letters that YAML cannot take for anything else?"""
    return text[:1].isalpha() and set(text) <= WORDS and text not in {"true", "false", "null", "yes", "no", "on", "off"}


def _key(key: object) -> str:
    return str(key) if _is_word(str(key)) else yaml_text(str(key))
