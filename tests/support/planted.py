"""A whole audit of three people whose cells are planted words."""

from pathlib import Path
from typing import Any

from generator.policies import policy_around
from leafgate.app import audit_policy
from leafgate.kernel.findings import Report
from leafgate.kernel.tables import Tables
from random_tables import table_of

COLUMNS: dict[str, Any] = {
    "zip": {"role": "quasi_identifier", "values": ["planted-zip-1", "planted-zip-2"]},
    "habit": {"role": "private", "values": ["planted-habit-1", "planted-habit-2"]},
    "ill": {"role": ["class", "sensitive"], "values": ["planted-flu", "planted-cold"]},
}
ROWS = [
    ("planted-zip-1", "planted-habit-1", "planted-flu"),
    ("planted-zip-1", "planted-habit-1", "planted-flu"),
    ("planted-zip-2", "planted-habit-2", "planted-cold"),
]
METRICS = [
    {"use": "k_anonymity", "at_least": 2},
    {"use": "exposure", "at_most": 0},
    {"use": "exposure", "name": "share", "average": True, "at_most": 0},
    {"use": "confidence", "at_most": 0.5},
]


def of_planted(tmp_path: Path, **said: Any) -> Report:
    fields = {"name": "planted", "build": {"use": "id3"}, "report": {}} | said
    loaded = policy_around({"columns": COLUMNS}, METRICS, tmp_path, **fields)
    table = table_of(loaded.policy.data.meaning().columns, ROWS)
    return audit_policy(loaded.policy, loaded.plugins, Tables(table)).report
