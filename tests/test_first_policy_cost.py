"""What first policies cost (docs/measurements/first-policy-cost.md): the page, and some of its rows again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from data_files import DATA

DOCS = Path(__file__).resolve().parents[1] / "docs"
RESULTS = DOCS / "results" / "first-policy-cost.csv"


@pytest.fixture
def script(scripts: Callable[[str], ModuleType]) -> ModuleType:
    """The page's script."""
    return scripts("first_policy_cost")


def people_of(script: ModuleType, data: str, folder: str) -> Any:
    if not (DATA / folder).exists():
        pytest.skip(f"the table is not here: set LEAFGATE_DATA to the folder that holds `{folder}`")
    return script.People.of(data, DATA)


def rows_of(script: ModuleType) -> list[Any]:
    rows: list[Any] = script.read_rows(RESULTS, script.Row)
    return rows


@pytest.mark.thorough
def test_a_row_of_trees_is_measured_again(script: ModuleType) -> None:
    people = people_of(script, "german", "german_credit")
    measured = [script.fitted_tree(people, 50, 8, run) for run in range(script.RUNS)]
    again = list(script.model_rows(people, script.TREE, 1, 50, 8, measured))
    assert_in_results(script, again)


@pytest.mark.thorough
def test_kadet_is_measured_again(script: ModuleType) -> None:
    people = people_of(script, "german", "german_credit")
    assert_in_results(script, list(script.kadet(people, [script.AS_PROPOSED])))


def assert_in_results(script: ModuleType, again: list[Any]) -> None:
    keys = ("data", "model", "judged", "trees", "leaf", "max_leaves", "runs", "people")
    written = {tuple(getattr(row, key) for key in keys): row for row in rows_of(script)}
    for row in again:
        before = written[tuple(getattr(row, key) for key in keys)]
        for name in ("kept", "confidence_limit", "auc", "leaves"):
            assert getattr(row, name) == pytest.approx(getattr(before, name), abs=1e-3), name
