"""Speed (docs/measurements/benchmarks.md): the page is made of the results, and reports are kept cell by cell."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]


def test_a_report_replaces_its_own_cells_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOP / "tests" / "benchmarks"))
    timing, file = import_module("timing"), tmp_path / "benchmarks.csv"
    timing.write_report(file, "<!-- a -->", "", "| x | s | s |\n| --- | ---: | ---: |\n| 1 | 2 | 3 |\n\nA note.")
    timing.write_report(file, "<!-- b -->", "", "| y |\n| --- |\n| 4 |")
    timing.write_report(file, "<!-- b -->", "", "| y |\n| --- |\n| 5 |")
    assert [(cell.benchmark, cell.row, cell.measure, cell.value) for cell in timing.read_cells(file)] == [
        *(("a", 1, "x", "1"), ("a", 1, "s", "2"), ("a", 1, "s [2]", "3"), ("a", 0, "note", "A note.")),
        ("b", 1, "y", "5"),
    ]
