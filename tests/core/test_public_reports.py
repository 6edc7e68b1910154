"""Whole audits of three people whose cells are planted words."""

from pathlib import Path
from typing import Any

import pytest

from leafgate.auditing import audit
from leafgate.disclosure import document
from leafgate.policy_file import policy_of
from leafgate.report import Report
from leafgate.strict_json import readable
from leafgate.words import summary
from random_tables import table_of
from standins import audited

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
    told = {
        "leafgate": 1,
        "name": "planted",
        "data": {"columns": COLUMNS},
        "build": {"use": "id3"},
        "attacks": [{"use": "linking"}],
        "metrics": METRICS,
    }
    loaded = policy_of(told | said, tmp_path)
    return audit(loaded.policy, loaded.plugins, table_of(loaded.policy.data.meaning().columns, ROWS)).report


def test_cells_and_paths_stay_with_the_auditor(tmp_path: Path) -> None:
    report = of_planted(tmp_path)
    assert report.verdict == "fail"
    public, auditor = document(report, "public"), document(report, "auditor")
    assert "planted-" not in readable(public).decode().replace('"name": "planted"', "")
    assert "planted-" not in summary(public)
    shown = readable(auditor).decode()
    assert "planted-zip-2 -> 1 planted-cold" in shown
    assert "planted-flu" in summary(auditor)


def test_so_few_people_are_not_counted_in_public(tmp_path: Path) -> None:
    public = document(of_planted(tmp_path), "public")
    assert public["data"]["people"] == public["data"]["distinct"] == {"fewer_than": 10}
    for finding in public["findings"]:
        assert finding["people"] == {"fewer_than": 10}
        assert finding["beyond"] in (None, {"fewer_than": 10})
    assert [finding["value"] for finding in public["findings"]] == [{"fewer_than": 10}, 1.0, None, 1.0]


@pytest.mark.parametrize(("claims", "hidden"), [({"epsilon": 1.0}, True), ({"k": 1}, False), ({}, False)])
def test_a_claim_of_differential_privacy_hides_the_data(claims: dict[str, float], hidden: bool) -> None:
    public = document(audited(build={"use": "stump", "claims": claims}), "public")
    assert (public["data"] == {}) == hidden
