"""A model that is trained anew each night: what was written once holds until the people change."""

from __future__ import annotations

import csv
import hashlib
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from command_line import Ended, leafgate
from leafgate.app import parse_report
from nightly import COLUMNS, people

NIGHTS = 30
WAIVED = "k_anonymity@linking#ill"
DAY = datetime.now(UTC).date()
ROWS = people(206, 2)


class Month:
    """A folder whose model and table are written anew, with a ledger and a folder of results for each night."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.key = folder, folder / "key"
        self.key.write_bytes(bytes(range(32)))
        self.models: list[Any] = []  # kept, so that what skops numbers objects by differs
        self.people = 0
        self.write_policy()
        self.write_people(0)
        assert leafgate("ledger", "new", self.ledger, "--key", self.key).code == 0

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.jsonl"

    def write_policy(self, *waivers: dict[str, Any]) -> None:
        document = {
            "leafgate": 1,
            "name": "month",
            "data": {"path": "people.csv", "columns": dict(COLUMNS)},
            "build": {"use": "published", "path": "model.skops"},
            "attacks": [{"use": "linking"}, {"use": "joint"}],
            "metrics": [
                {"use": "k_anonymity", "at_least": 100},  # no night keeps it
                {"use": "exposure", "of": "joint", "at_most": 0},
            ],
            "waivers": list(waivers),
        }
        (self.folder / "policy.yaml").write_text(yaml.safe_dump(document, sort_keys=False))

    def write_people(self, first: int) -> None:
        """The people of tonight; the table of the nights before stays where the ledger knows it."""
        self.people = first
        for name in ("people.csv", f"people{first}.csv"):
            with (self.folder / name).open("w", newline="") as file:
                csv.writer(file).writerows([list(COLUMNS), *ROWS[first : first + 200]])

    def night(self, number: int, *words: object) -> tuple[Ended, Any]:
        """Train, keep a copy of the model, audit with the ledger, and say what the report says."""
        import skops.io
        from sklearn.tree import DecisionTreeClassifier

        rows = ROWS[self.people : self.people + 200]
        ages, ill = np.array([[row[1]] for row in rows], dtype=float), [row[3] for row in rows]
        self.models.append(DecisionTreeClassifier(min_samples_leaf=15, random_state=0))
        self.models[-1].fit(ages, ill).feature_names_in_ = np.array(["age"], dtype=object)
        out = self.folder / f"night{number}"
        skops.io.dump(self.models[-1], self.folder / "model.skops")
        given = ("--ledger", self.ledger, "--ledger-key", self.key)
        ended = leafgate("audit", self.folder / "policy.yaml", "--out", out, "--no-remedies", *given, *words)
        shutil.copy(self.folder / "model.skops", out)
        return ended, parse_report((out / "report.json").read_bytes(), "report.json")

    def add(self, number: int) -> Ended:
        out = self.folder / f"night{number}"
        files = ("--release", out / "model.skops", "--data", self.folder / f"people{self.people}.csv")
        return leafgate("ledger", "add", self.ledger, out / "report.json", *files, "--key", self.key)

    def pinned(self, number: int, policy: str) -> int:
        """How `leafgate report` ends where this policy is expected."""
        return leafgate("report", self.folder / f"night{number}" / "report.json", "--expect-policy", policy).code


def waiver_of(release: str) -> dict[str, Any]:
    days = {"issued": str(DAY - timedelta(1)), "expires": str(DAY + timedelta(30))}
    people = {"owner": "jane@example.org", "approved_by": "dpo@example.org", "reason": "a pilot"}
    return {"id": "W-1", "finding": WAIVED, "release": release, **people, **days}


@pytest.mark.thorough
def test_pins_waivers_and_ledger_hold_for_a_month_until_the_people_change(tmp_path: Path) -> None:
    month = Month(tmp_path)
    _, before = month.night(0)
    pin, release = before["policy"]["sha256_without_file"], before["release"]["sha256"]
    month.write_policy(waiver_of(release))
    files = set()
    for number in range(1, NIGHTS + 1):
        ended, report = month.night(number)
        assert (ended.code, report["waivers"][0]["status"], report["release"]["sha256"]) == (0, "applied", release)
        assert (report["policy"]["sha256_without_file"], report["ledger"]["number"]) == (pin, number - 1)
        assert month.pinned(number, pin) == 0
        assert month.add(number).code == 0
        files.add(report["release"]["file"]["sha256"])
    assert len(files) > 1
    second, last = (tmp_path / f"night{number}" / "report.json" for number in (2, NIGHTS))
    assert leafgate("diff", second, last).out == "No difference.\n"
    head = leafgate("ledger", "verify", month.ledger, "--key", month.key, "--head", last)
    assert (head.code, "1 line was added since" in head.out) == (0, True)

    month.write_people(6)
    ended, report = month.night(NIGHTS + 1)
    assert (ended.code, report["waivers"][0]["status"]) == (1, "other_release")
    assert (month.pinned(NIGHTS + 1, pin), report["ledger"]["number"]) == (1, NIGHTS)  # a fail, and no refusal
    joint = next(finding for finding in report["findings"] if finding["attack"] == "joint")
    assert joint["passed"] is not None  # the earlier people are there, and so is each release
    month.write_policy(waiver_of(report["release"]["sha256"]))
    (tmp_path / "policy.yaml").write_text((tmp_path / "policy.yaml").read_text().replace("at_most: 0", "at_most: 1"))
    month.night(NIGHTS + 2)
    assert month.pinned(NIGHTS + 2, pin) == 2
    assert month.pinned(NIGHTS + 2, hashlib.sha256(b"").hexdigest()) == 2
