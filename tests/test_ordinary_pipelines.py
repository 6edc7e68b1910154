"""Ordinary pipelines (docs/measurements/ordinary-pipelines.md): the page, and some of its rows again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from data_files import DATA

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture
def script(scripts: Callable[[str], ModuleType]) -> ModuleType:
    """The page's script."""
    pytest.importorskip("xgboost")
    pytest.importorskip("lightgbm")
    return scripts("ordinary_pipelines")


def test_the_page_says_what_came_out(script: ModuleType) -> None:
    written = (DOCS / "measurements" / "ordinary-pipelines.md").read_text(encoding="utf-8")
    assert "\n".join(script.lines(script.read_rows(script.RESULTS, script.Row))) in written


def test_scrub_leaves_no_cell_of_a_few_people_and_changes_no_prediction(script: ModuleType) -> None:
    rows = script.read_rows(script.RESULTS, script.Row)
    assert len(rows) == len(script.TABLES) * len(script.MODELS)
    assert not [row for row in rows if row.changed != 0 or script.CELLS & set(row.after.split(", "))]


@pytest.mark.thorough
@pytest.mark.parametrize("model", ["tree, one-hot", "histogram boosting, ordinal", "XGBoost, categories"])
def test_rows_of_german_credit_come_out_again(script: ModuleType, model: str, tmp_path: Path) -> None:
    if not (DATA / "german_credit").exists():
        pytest.skip("the table is not here: set LEAFGATE_DATA to the folder that holds `german_credit`")
    rows = {(row.data, row.model): row for row in script.read_rows(script.RESULTS, script.Row)}
    people = script.TABLES["german"](DATA)
    assert script.measured(people, model, tmp_path) == rows[people.name, model]
