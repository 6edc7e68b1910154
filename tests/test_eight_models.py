"""Eight models, from a fitted model to a pass (docs/measurements/eight-models.md)."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page's script."""
    monkeypatch.syspath_prepend(str(DOCS / "reproduce"))
    return importlib.import_module("eight_models")


def test_the_page_is_made_of_the_results(script: ModuleType) -> None:
    written = (DOCS / "measurements/eight-models.md").read_text(encoding="utf-8")
    measured = written.partition("<!-- results -->\n\n")[2].partition("\n<!-- /results -->")[0]
    rows = script.read_rows(DOCS / "results" / "eight-models.csv", script.Row)
    assert "\n".join(script.lines_of(rows)) == measured
    assert [row.model for row in rows] == [case.kind for case in script.CASES]


def test_each_model_fails_first_and_passes_after_three_commands_at_most(script: ModuleType) -> None:
    rows = script.read_rows(DOCS / "results" / "eight-models.csv", script.Row)
    assert all((row.first, row.last) == ("fail", "pass") and row.commands <= script.MAX_COMMANDS for row in rows)


def test_what_was_printed_names_the_command_that_was_done(script: ModuleType) -> None:
    printed = (DOCS / "results" / "eight-models.txt").read_text(encoding="utf-8").split("\n## ")
    assert len(printed) == len(script.CASES)
    for text in printed:
        audit, repair = text.partition("$ leafgate audit ")[2].split("$ leafgate repair ")
        assert "`leafgate repair MODEL --policy POLICY --out NEW`" in audit
        assert repair.rstrip().endswith("[exit code 0]")


@pytest.mark.slow
def test_a_model_is_mended_again_as_the_page_says(script: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("statsmodels")
    row, _ = script.outcome(script.CASES[0], tmp_path)
    assert (row.first, row.last, row.commands) == ("fail", "pass", 3)
