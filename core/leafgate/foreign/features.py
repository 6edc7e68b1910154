"""A feature of somebody else's model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from leafgate.foreign.origins import Origin


@dataclass(frozen=True)
class Feature:
    """A feature that some tree asks about: its name, what the file says it is, and how it is asked.

    `sets`: some test names categories of it; `texts`: every test does, and names them by their texts. `chosen` are the
    texts that tests name, `least` and `most` the thresholds furthest out.
    """

    name: str
    told: Origin | None = None
    sets: bool = False
    texts: bool = False
    chosen: frozenset[str] = frozenset()
    least: float = math.inf
    most: float = -math.inf
