"""Rebuilt tables (docs/measurements/rebuild.md): the page, and what its numbers say."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page's script."""
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(str(DOCS / "reproduce"))
    return importlib.import_module("rebuild")


def rows_of(script: ModuleType, attack: str = "rebuild") -> list[Any]:
    rows: list[Any] = script.read_rows(DOCS / "results" / "rebuild.csv", script.Row)
    return [row for row in rows if row.attack == attack]


def test_the_page_is_made_of_the_results(script: ModuleType) -> None:
    written = (DOCS / script.PAGE).read_text(encoding="utf-8")
    measured = written.partition("<!-- results -->\n\n")[2].partition("\n<!-- /results -->")[0]
    rows = script.read_rows(DOCS / "results" / "rebuild.csv", script.Row)
    assert "\n".join(script.lines(rows)) == measured


def test_more_trees_prove_more(script: ModuleType) -> None:
    for data, people in script.SIZES:
        rows = [row for row in rows_of(script) if (row.data, row.people, row.model) == (data, people, "random forest")]
        proved = [row.proved for row in sorted(rows, key=lambda row: row.trees)]
        assert len(proved) == len(script.TREES)
        assert proved == sorted(proved)
        assert proved[-1] > 1.5 * proved[0]


def test_protected_releases_prove_less_than_a_forest(script: ModuleType) -> None:
    data, people = script.SIDE_BY_SIDE
    rows = {row.model: row for row in rows_of(script) if (row.data, row.people) == (data, people)}
    unprotected = next(row for row in rows_of(script) if (row.data, row.people, row.trees) == (data, people, 20))
    assert rows["kADET, k = 10"].proved < unprotected.proved / 1.5
    assert rows["private random trees, epsilon 1"].proved is None


def test_ten_thousand_people_are_done_in_ten_minutes(script: ModuleType) -> None:
    (row,) = (row for row in rows_of(script) if (row.data, row.people, row.trees) == script.LARGE)
    assert row.seconds < 600
    assert row.proved > 0.3
