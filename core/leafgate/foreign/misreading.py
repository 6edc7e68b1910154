"""Whether a feature's values can be the policy's: codes taken for numbers, and values spelled in two ways."""

from __future__ import annotations

import math
from collections.abc import Callable

from leafgate.foreign.features import Feature
from leafgate.foreign.origins import AS_SEEN, Coded, Number, Origin, Unknown, known_by, stepped
from leafgate.schema import Column
from leafgate.text_numbers import parse_number

See = Callable[[float], float]
"""A number as a model sees it: in single precision, without its fraction."""

MISSING_WORDS = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "None", "null", "missing"})
"""What a model may have been given where a policy sees nothing."""


def misread(feature: Feature, origin: Origin, column: Column, *, explicit: bool) -> Unknown | None:
    """Why the feature cannot be taken for what it seems to be made of; None where it can.

    `explicit`: the policy says itself what it is made of.
    """
    if column.numeric:
        return None
    if isinstance(origin, Number) and not explicit and _may_be_codes(feature, origin, column):
        return Unknown(feature.name, "is asked for the column's values, or for codes 0, 1, 2, ... of them", WHICH)
    if feature.texts and isinstance(origin, Number):
        return _misspelt(feature.chosen, column, float, whole=False)
    if not isinstance(origin, Coded):
        return None
    return _misspelt(known_by(origin), column, AS_SEEN[origin.seen], whole=True)


WHICH = "give its `codes` under `build: {encoding: ...}`, or `{column: ...}` alone where it has the values themselves"


def _may_be_codes(feature: Feature, origin: Number, column: Column) -> bool:
    """Are values that are numbers, but not 0, 1, 2, ..., only asked about where codes of as many values lie?"""
    numbers = [parse_number(value) for value in column.values or ()]
    if feature.sets or not all(map(math.isfinite, numbers)) or sorted(numbers) == list(range(len(numbers))):
        return False
    low, high = stepped(0.0, origin.steps), stepped(len(numbers) - 1.0, origin.steps)
    return low <= feature.least and feature.most <= high


def _misspelt(known: frozenset[str], column: Column, see: See, *, whole: bool) -> Unknown | None:
    """What the model knows, against what the policy declares; `whole`: it is all that the model knows.

    Numbers are the same if the model sees them so. A model may know values that nobody has any more, or not know some
    that were declared. Both at once may be one value in two spellings.
    """
    values = frozenset(column.values or ())
    numbers, alike = _numbers(values, see), _numbers(known, see)
    strange = frozenset(value for value in known - values if see(parse_number(value)) not in numbers)
    gone = frozenset(value for value in strange if value.strip() in MISSING_WORDS)
    if gone and column.missing:
        why = "the model knows a value that stands for missing cells, and missing cells besides"
        return Unknown(column.name, why, "take it from `data.missing`, so that it is a value in the policy too")
    others = len(strange - gone)
    if not others or (whole and all(value in known or see(parse_number(value)) in alike for value in values)):
        return None
    why = f"the model knows {others} value(s) that the policy does not have"
    return Unknown(column.name, why, "declare `values` as the model spells them, and the table's spelling as `aliases`")


def _numbers(values: frozenset[str], see: See) -> frozenset[float]:
    return frozenset(see(number) for number in map(parse_number, values) if math.isfinite(number))
