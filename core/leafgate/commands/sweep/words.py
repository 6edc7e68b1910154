"""The words and numbers in which tables and pictures of sweeps put them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from leafgate.io.json import JsonObject

SWEEP_FORMAT = "leafgate/sweep/1"


def worst_finding(findings: Sequence[JsonObject], metric: str | None) -> JsonObject | None:
    """The worst finding of a metric: failed before inconclusive before passed, then by its score."""
    of_metric = [
        finding for finding in findings if finding["metric"] == metric and not finding["id"].startswith("guarantee:")
    ]
    return min(of_metric, key=_badness) if of_metric else None


def _badness(finding: JsonObject) -> tuple[int, float]:
    """Failed before inconclusive before passed, and among equals the worse score."""
    value = near_end(finding["value"])
    worse = 0.0 if value is None else value if "at_least" in finding["limit"] else -value
    return {False: 0, None: 1, True: 2}[finding["passed"]], worse


def near_end(value: Any) -> float | None:
    """A score, or where the public sees a bound or a range only, its near end; None where there is none."""
    if isinstance(value, Mapping):
        return float(next(iter(value.values())))
    return None if value is None else float(value)


def setting_words(value: Any) -> str:
    """The value of an option as a policy has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {setting_words(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(setting_words, value))}]"
    return value if isinstance(value, str) else json.dumps(value)
