"""The leader board (docs/measurements/leader-board.md): the page, what its numbers say, and some of them again."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from data_files import DATA

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture
def script(scripts: Callable[[str], ModuleType]) -> ModuleType:
    """The page's script, which needs scikit-learn and skops."""
    pytest.importorskip("sklearn")
    pytest.importorskip("skops")
    return scripts("leader_board")


@pytest.fixture
def rows(script: ModuleType) -> list[Any]:
    found: list[Any] = script.read_rows(DOCS / "results" / "leader-board.csv", script.Row)
    return found


@pytest.fixture
def page(script: ModuleType) -> str:
    text: str = (DOCS / script.PAGE).read_text(encoding="utf-8")
    return text


def test_every_attack_on_every_model_has_numbers_or_a_reason(script: ModuleType, rows: list[Any]) -> None:
    setting = importlib.import_module("leader_board_setting")
    attacks = [name for part in (setting.MEMBERSHIP, setting.ATTRIBUTES) for each in part.values() for name in each]
    attacks += [*setting.TABLES, setting.SHADOW_MODELS, setting.STRUCTURAL]
    cases = {(data, model, attack) for data in script.DATA for model in script.MODELS for attack in attacks}
    assert {(row.data, row.model, row.attack) for row in rows} == cases
    assert len(rows) == len(cases)
    for row in rows:
        assert row.reason or row.seconds is not None, row
        assert row.library_version, row
        assert row.model_version, row
        assert row.reason or row.kind != "membership" or row.attack == setting.SHADOW_MODELS or row.tpr is not None, row


@pytest.mark.thorough
def test_a_tree_of_german_credit_again(script: ModuleType, rows: list[Any]) -> None:
    if not (DATA / "german_credit").exists():
        pytest.skip("the table is not here: set LEAFGATE_DATA to the folder that holds `german_credit`")
    draw = script.Draw.of("german", DATA)
    with script.peers_beside():
        again = {row.attack: row for row in script.attacked(draw, "tree") if row.library == "leafgate"}
    written = [row for row in rows if (row.data, row.model, row.library) == ("german", "tree", "leafgate")]
    assert {row.attack for row in written} == set(again)
    for row in written:
        found = again[row.attack]
        assert found.wrong == row.wrong
        if row.attack in ("leaf_exclusion", "linking"):
            assert found.proved == pytest.approx(row.proved, rel=0.1)
        if row.auc is not None:
            assert found.auc == pytest.approx(row.auc, abs=0.05)
