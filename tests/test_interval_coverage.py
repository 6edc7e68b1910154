"""Coverage of intervals (docs/measurements/interval-coverage.md): the page, the true values, and some runs again."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from leafgate.algorithms.intervals import advantage, area_under_curve, rate_at

DOCS = Path(__file__).resolve().parents[1] / "docs"
MARKERS = "<!-- results -->\n<!-- /results -->\n"


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS / "reproduce"))
    return importlib.import_module(name)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page's script."""
    return module("interval_coverage", monkeypatch)


def results_of(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("<!-- results -->\n\n")[2].partition("\n<!-- /results -->")[0]


def rows_of(script: ModuleType) -> list[Any]:
    rows: list[Any] = script.read_rows(DOCS / "results" / script.RESULTS, script.Cell)
    return rows


def test_no_cell_of_the_results_fails_and_each_has_ten_thousand_runs(script: ModuleType) -> None:
    rows = rows_of(script)
    assert all(row.runs == 10_000 and not row.fails(len(rows)) for row in rows)
    laws = {name: {row.law for row in rows if row.interval == name} for name in {row.interval for row in rows}}
    assert {len(each) for each in laws.values()} == {7}
    assert set(laws) == {
        *(f"attribute_leak by {measure}" for measure in ("accuracy", "ppv", "mcc")),
        *(f"membership_tpr at {fpr}" for fpr in (0.001, 0.01, 0.1)),
        *("membership_auc", "membership_advantage", "membership_excluded", "membership_identified"),
        *("attribute_certain", "distinguish by many runs", "distinguish by one run"),
    }


@pytest.mark.thorough
def test_the_command_with_few_runs_writes_its_cells_and_its_page_and_none_fails(
    script: ModuleType, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(MARKERS, encoding="utf-8")
    assert script.main(["--runs", "6", "--out", str(tmp_path), "--page", str(page)]) == 0
    cells = script.read_rows(tmp_path / script.RESULTS, script.Cell)
    assert [(row.interval, row.law, row.sizes) for row in cells] == [
        (row.interval, row.law, row.sizes) for row in rows_of(script)
    ]
    assert "\n".join(script.lines(cells)) == results_of(page)


def test_a_cell_fails_where_its_miss_rate_is_surely_above_the_stated(script: ModuleType, tmp_path: Path) -> None:
    cells = [script.Cell("membership_auc", "no difference", "small", 0.05, 10_000, missed) for missed in (0, 500, 700)]
    assert [cell.fails(len(cells)) for cell in cells] == [False, False, True]
    script.write_csv(tmp_path / script.RESULTS, [replace(cells[2], interval="attribute_certain")])
    page = tmp_path / "page.md"
    page.write_text(MARKERS, encoding="utf-8")
    assert script.main(["--parts", "many_runs", "--runs", "1", "--out", str(tmp_path), "--page", str(page)]) == 1
    assert "Cells that fail" in results_of(page)


def test_the_true_rates_of_scores_are_those_of_a_large_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    membership, rng = module("interval_coverage_membership", monkeypatch), np.random.default_rng(0)
    for law in membership.SCORES.values():
        members, others = law.draw(rng, (100_000, 100_000))
        assert area_under_curve(members, others) == pytest.approx(law.area, abs=0.01)
        assert advantage(members, others) == pytest.approx(law.advantage, abs=0.02)
        for fpr in (0.001, 0.01, 0.1):
            assert rate_at(members, others, fpr) == pytest.approx(law.rate(fpr), abs=0.02)


def test_the_epsilon_of_randomised_response_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms = module("interval_coverage_distinguish", monkeypatch).ALARMS
    assert alarms["randomised response of epsilon 1"].epsilon == pytest.approx(1)
    assert alarms["no difference"].epsilon == alarms["delta alone"].epsilon == 0
