"""What was found of one island."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leafgate_maxent.walk import Floats


@dataclass(frozen=True)
class Answer:
    """`people[g, x]` expected of each group; the logarithm of the number of data sets, None if sampled."""

    people: Floats
    log_data_sets: float | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
