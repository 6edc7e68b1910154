"""Numbers as texts."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


def parse_number(text: str) -> float:
    """The number a text is, as people and programs write numbers; NaN for anything else."""
    return float(text) if _NUMBER.fullmatch(text) else math.nan
