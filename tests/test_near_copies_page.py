"""Near-copies (docs/measurements/how-the-audit-is-tested.md): what the page's numbers say, and some of them again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from data_files import DATA

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture
def script(scripts: Callable[[str], ModuleType]) -> ModuleType:
    """The page's script."""
    return scripts("near_copies")


def rows_of(script: ModuleType) -> list[Any]:
    rows: list[Any] = script.read_rows(DOCS / "results" / "near-copies.csv", script.Row)
    assert {row.data for row in rows} == set(script.DATA)
    return rows


def test_no_random_split_is_refused(script: ModuleType) -> None:
    assert not any(row.found for row in rows_of(script) if row.kind in (script.SPLIT, script.STRATIFIED))


def test_copies_of_the_stated_share_are_found(script: ModuleType) -> None:
    copies = [row for row in rows_of(script) if row.kind in script.COPIES and row.share >= (row.stated or 2)]
    assert len({row.data for row in copies}) == len(script.DATA)
    assert sum(row.found for row in copies) >= 0.95 * sum(row.controls for row in copies)


@pytest.mark.thorough
def test_german_credit_again(script: ModuleType) -> None:
    if not (DATA / "german_credit").exists():
        pytest.skip("the table is not here: set LEAFGATE_DATA to the folder that holds `german_credit`")
    people = script.People.of("german", DATA)
    rng = script.np.random.default_rng(3)
    inside, outside = people.split(rng)
    assert not script.found(people, (inside, outside), 3)
    for kind in script.COPIES:
        copies = people.copied(inside.iloc[: len(inside) // 5], kind, rng)
        assert script.found(people, (inside, script.pd.concat([outside.iloc[len(copies) :], copies])), 3)
