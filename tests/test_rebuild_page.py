"""Rebuilt tables (docs/measurements/rebuild.md): the page, and what its numbers say."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's scripts need scikit-learn."""
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(str(DOCS / "reproduce"))


def peer() -> tuple[ModuleType, list[Any]]:
    """The script that compares with DRAFT, and its rows."""
    script = importlib.import_module("rebuild_peer")
    return script, script.read_rows(DOCS / "results" / "rebuild-peer.csv", script.Row)


def own() -> tuple[ModuleType, list[Any]]:
    """The script of forests with numbers, and the rows of `rebuild`."""
    script = importlib.import_module("rebuild")
    writing = importlib.import_module("writing")
    return script, [row for row in writing.read_rows(script.RESULTS, script.Row) if row.attack == "rebuild"]


def test_the_table_has_every_forest_of_the_script() -> None:
    script, rows = peer()
    for attack, sizes in (("rebuild", script.OWN), ("DRAFT", script.PEER)):
        wanted = {(drawn, data, n) for drawn, by_data in sizes.items() for data, each in by_data.items() for n in each}
        assert wanted == {(row.bootstrap, row.data, row.people) for row in rows if row.attack == attack}


def test_what_files_of_models_give_back_is_as_the_page_says() -> None:
    script, found = own()
    text = " ".join((DOCS / "measurements/rebuild.md").read_text(encoding="utf-8").split())
    rows = {row.model: row for row in found if row.model in script.FILES}
    assert rows.keys() == script.FILES.keys()
    proved = {name: f"{100 * row.proved:.1f} %" for name, row in rows.items()}
    forest = rows["regression forest"]
    without = f"({100 * forest.records_without:.1f} % are right without it)"
    assert f"give back {100 * forest.records:.1f} % of the records {without}" in text
    assert f"and {proved['regression forest']} of the cells are proved" in text
    assert (
        f"One tree proves {proved['regression tree']}, with at least 20 people a leaf "
        f"{proved['regression tree, 20 people a leaf']}." in text
    )
    assert (
        f"LightGBM proves {proved['LightGBM']} of the cells, histogram boosting {proved['histogram boosting']} "
        f"({proved['histogram boosting of numbers']} for numbers), gradient boosting {proved['gradient boosting']}, "
        f"and the first round of XGBoost {proved['XGBoost']}." in text
    )
    readme = " ".join((DOCS.parent / "README.md").read_text(encoding="utf-8").split())
    assert (
        f"LightGBM model proves {100 * rows['LightGBM'].proved:.0f} % of the cells of 1,000 people of Adult" in readme
    )
    assert f"default random forest** proves {proved['random forest on bootstraps, its file']} of the cells" in text
