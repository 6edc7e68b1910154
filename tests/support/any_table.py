"""A policy to audit tables that a test makes: the columns it names are replaced by the table's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leafgate import Policy
from leafgate.policy.load import policy_of


def policy_for_any_table(metrics: Sequence[Mapping[str, Any]]) -> Policy:
    """Links and holds against `metrics`; counts of one person are shown."""
    columns = {
        "who": {"role": "quasi_identifier", "values": ["a"]},
        "y": {"role": ["class", "sensitive"], "values": ["b"]},
    }
    said = {
        "leafgate": 1,
        "name": "random",
        "data": {"columns": columns},
        "build": {"use": "kadet", "k": 1},
        "attacks": [{"use": "linking"}],
        "metrics": [dict(metric) for metric in metrics],
        "report": {"smallest_cell": 1},
    }
    return policy_of(said, Path(), every_plugin=True).policy
