"""Releases of two nights on disk, with their policies, tables and reports, for what keeps and reads ledgers."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from command_line import Ended, leafgate
from nightly import COLUMNS, CONFIDENCE, EXPOSURE, people

KEY = bytes(range(32))
ROLL_KEY = bytes(range(1, 33))


@dataclass(frozen=True)
class Nights:
    """A folder with the key of a ledger and, for each night, a policy and a table; 6 people come and 5 leave."""

    folder: Path

    def __post_init__(self) -> None:
        rows = people(200, 0)
        (self.folder / "key").write_bytes(KEY)
        for night in range(2):
            with (self.folder / f"{night}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([list(COLUMNS), *rows[5 * night : 188 + 6 * night]])
            self.policy(night)

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.jsonl"

    @property
    def key(self) -> Path:
        return self.folder / "key"

    def policy(self, night: int, **changes: Any) -> Path:
        """Write the policy of a night, with these sections in place of its own."""
        document: Mapping[str, Any] = {
            "leafgate": 1,
            "name": "nightly",
            "data": {"path": f"{night}.csv", "columns": dict(COLUMNS)},
            "build": {"use": "kadet", "k": 5},
            "attacks": [{"use": "joint"}],
            "metrics": [dict(EXPOSURE), dict(CONFIDENCE)],
            **changes,
        }
        path = self.folder / f"{night}.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path

    def out(self, night: int) -> Path:
        return self.folder / f"out{night}"

    def audit(self, night: int, *words: object, ledger: bool = False) -> Ended:
        """Audit a night's release into its folder, with the ledger where that is wanted."""
        given = ["--ledger", self.ledger, "--ledger-key", self.key] if ledger else []
        policy = self.folder / f"{night}.yaml"
        return leafgate("audit", policy, "--out", self.out(night), "--no-remedies", *given, *words)

    def begin(self) -> Ended:
        """Begin the ledger."""
        return leafgate("ledger", "new", self.ledger, "--key", self.key)

    def add(self, night: int, *words: object, data: bool = True) -> Ended:
        """Add the release of a night, which was audited."""
        table = ["--data", self.folder / f"{night}.csv"] if data else []
        report = self.out(night) / "report.json"
        return leafgate("ledger", "add", self.ledger, report, "--key", self.key, *table, *words)

    @property
    def roll(self) -> Path:
        return self.folder / "roll.json"

    @property
    def roll_key(self) -> Path:
        return self.folder / "roll.key"

    def roll_words(self, night: int = 0, **changes: object) -> list[object]:
        """The options of a roll of a night, with these in place of its own; those that are None are left out."""
        self.roll_key.write_bytes(ROLL_KEY)
        options = {
            "roll": self.roll,
            "roll_key": self.roll_key,
            "policy": self.folder / f"{night}.yaml",
            "purpose": "joint audits",
            "controller": "A. Clinic",
            "expires": "2999-12-31",
            **changes,
        }
        given = [(f"--{name.replace('_', '-')}", value) for name, value in options.items() if value is not None]
        return [word for pair in given for word in pair]

    def report(self, night: int) -> Any:
        return json.loads((self.out(night) / "report.json").read_bytes())

    def verify(self, *words: object) -> Ended:
        return leafgate("ledger", "verify", self.ledger, *words)

    def release_as_policy(self, night: int) -> Path:
        """Let the policy of a night audit the release that was built in it, from its file."""
        path = f"out{night}/release.json"
        return self.policy(night, build={"use": "published", "path": path})
