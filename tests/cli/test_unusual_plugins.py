"""Mistakes in plugins that hide what they offer, or let cells of the data out by unusual ways."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import leafgate
from stranger import install
from survey import survey

CHECK = """
from functools import cache, partial
from leafgate.api import AuditCheck, CheckFinding, hookimpl

leafgate_api = ">=3,<4"

class Veto(AuditCheck):
    "Refuses everything."
    use: str = "veto"
    plain_failure = "it is forbidden"
    threat_model = formula = source = "x"

    def run(self, context):
        return [CheckFinding(problem="forbidden", fails=True)]

def offered():
    return [Veto]

HOOK
"""


@pytest.mark.parametrize(
    "hook",
    [
        "@hookimpl\n@cache\ndef audit_checks():\n    return [Veto]",
        "@cache\n@hookimpl\ndef audit_checks():\n    return [Veto]",
        "audit_checks = hookimpl(partial(offered))",
    ],
)
def test_a_hook_that_nobody_would_call_is_refused(tmp_path: Path, hook: str) -> None:
    (tmp_path / "veto.py").write_text(CHECK.replace("HOOK", hook), encoding="utf-8")
    ended = leafgate("audit", survey(tmp_path), "--plugin", tmp_path / "veto.py")
    assert ended.code == 2
    assert "audit_checks is no plain function" in ended.err


def test_can_be_broken_is_a_property_or_no_metric(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(
        """
from leafgate.api import AtLeast, hookimpl
from typing import Literal
leafgate_api = ">=3,<4"

class Late(AtLeast):
    "Never broken."
    use: Literal["late"] = "late"

    def can_be_broken(self):
        return False

    def score(self, case):
        return []

@hookimpl
def privacy_metrics():
    return [Late]
""",
        encoding="utf-8",
    )
    ended = leafgate("audit", survey(tmp_path), "--plugin", tmp_path / "late.py")
    assert ended.code == 2
    assert "Late needs `can_be_broken` to be a property" in ended.err


ODD = """
import asyncio
from typing import Literal
from leafgate.api import AttackModel, AtLeast, hookimpl
from leafgate_plugins.linking.components import Linking
leafgate_api = ">=3,<4"

class Odd(Linking):
    use: Literal["odd"] = "odd"

    def infer(self, release, known):
        BODY

@hookimpl
def attack_models():
    return [Odd]
"""
EXPLAINS = """from dataclasses import replace
        def explain(group):
            print("CELL-Smith")
            raise SystemExit(0)
        return [replace(belief, explain=explain) for belief in super().infer(release, known)]"""


@pytest.mark.parametrize(
    ("body", "code"),
    [('raise asyncio.CancelledError("CELL-Smith")', 3), ('raise GeneratorExit("CELL-Smith")', 3), (EXPLAINS, 1)],
)
def test_no_error_and_no_explanation_lets_a_cell_out(tmp_path: Path, body: str, code: int) -> None:
    (tmp_path / "odd_attack.py").write_text(ODD.replace("BODY", body), encoding="utf-8")
    policy = survey(tmp_path, {"attacks": [{"use": "odd"}], "metrics": [{"use": "k_anonymity", "at_least": 25}]})
    ended = leafgate(
        "audit", policy, "--plugin", tmp_path / "odd_attack.py", "--audience", "auditor", "--out", tmp_path / "o"
    )
    assert ended.code == code
    assert "CELL" not in ended.out + ended.err + (tmp_path / "o" / "report.json").read_text()


def test_the_text_of_an_error_at_import_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "leafgate_failing", 'raise ValueError("could not convert: CELL-Smith")')
    monkeypatch.syspath_prepend(tmp_path)
    for words in (["plugins"], ["audit", survey(tmp_path)]):
        ended = leafgate(*words)
        assert "leafgate_failing" in ended.out
        assert "CELL" not in ended.out + ended.err


@pytest.mark.parametrize("attack", ["linking", "counting"])
def test_a_limit_of_time_changes_no_belief_of_an_audit(tmp_path: Path, attack: str) -> None:
    found = []
    for limit in ({}, {"time_limit": 300}):
        policy = survey(tmp_path, {"attacks": [{"use": attack, **limit}], "report": {"smallest_cell": 1}})
        ended = leafgate("audit", policy, "--json")
        assert ended.code == 0, ended.out
        found.append([{key: each[key] for key in ("id", "value", "passed")} for each in ended.document["findings"]])
    assert found[0] == found[1]
    assert json.dumps(found[0])
