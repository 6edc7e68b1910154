"""Features that a file's counts could have shown to be misread, and that nobody held against a table."""

from __future__ import annotations

import math
from dataclasses import replace

from leafgate.foreign.model import Foreign
from leafgate.foreign.origins import Coded, Number, Origin, Unknown
from leafgate.text_numbers import parse_number

WHY = "was held against no table before the counts went that could show it to be a code of the model's own"

CHECKED = {"exact", "sampled", "bootstrap"}
"""What leaves may count for an audit to hold it against the table."""


def with_unproved(model: Foreign, less: Foreign) -> Foreign:
    """The scrubbed model `less`, its features marked whose reading only the counts that `model` has could prove.

    A column of codes and one of numbers look the same in a file. An audit then refuses such a feature by its name until
    the policy itself says what it is.
    """
    told = all(tree.counts is not None for tree in model.trees)
    kept = any(tree.counts is not None for tree in less.trees)
    if model.counted not in CHECKED or not told or kept:
        return less
    origins = less.origins or (None,) * len(less.features)
    marked = (Unknown(name, WHY) if _is_bare(one) else one for name, one in zip(less.features, origins, strict=True))
    return replace(less, origins=tuple(marked))


def _is_bare(origin: Origin | None) -> bool:
    """Is it known by its name alone, or by numbers that could stand for anything?"""
    if isinstance(origin, Coded):
        return any(math.isfinite(parse_number(value)) for value in origin.codes)
    return origin is None or isinstance(origin, Number)


def unproved(model: Foreign) -> tuple[str, ...]:
    """The names of the features that are marked so."""
    marked = (one for one in model.origins or () if isinstance(one, Unknown) and one.why == WHY)
    return tuple(one.column for one in marked)
