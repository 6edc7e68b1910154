"""Mistakes in plugins that hide what they offer, or let cells of the data out by unusual ways."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from packaging.version import Version

from command_line import leafgate
from stranger import install
from survey import survey

SPY = """
from functools import cache, partial
from typing import Literal
from leafgate.api import AttackModel, hookimpl

leafgate_api = ">=3,<4"

class Spy(AttackModel):
    "Believes nothing."
    use: Literal["spy"] = "spy"

    def infer(self, release, known):
        return []

def offered():
    return [Spy]

HOOK
"""


@pytest.mark.parametrize(
    "hook",
    [
        "@hookimpl\n@cache\ndef attack_models():\n    return [Spy]",
        "@cache\n@hookimpl\ndef attack_models():\n    return [Spy]",
        "attack_models = hookimpl(partial(offered))",
    ],
)
def test_a_hook_that_nobody_would_call_is_refused(tmp_path: Path, hook: str) -> None:
    if "cache" in hook and Version(metadata.version("pluggy")) < Version("1.7"):
        pytest.skip("pluggy before 1.7 calls such hooks")
    (tmp_path / "spy.py").write_text(SPY.replace("HOOK", hook), encoding="utf-8")
    ended = leafgate("audit", survey(tmp_path), "--plugin", tmp_path / "spy.py")
    assert ended.code == 2
    assert "it offers nothing: mark its hooks with `@hookimpl`" in ended.err


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
    assert "Late: `can_be_broken` must be a property" in ended.err


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
    trusting = survey(tmp_path, {"plugins": ["leafgate", "leafgate-failing"]})
    for words in (["plugins"], ["audit", trusting]):
        ended = leafgate(*words)
        assert "leafgate_failing" in ended.out + ended.err
        assert "CELL" not in ended.out + ended.err
