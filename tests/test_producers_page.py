"""The page of the producer matrix (docs/measurements/producers.md), and the environments that make its files."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from producer_matrix import PRODUCERS

TESTS = Path(__file__).resolve().parent
DOCS = TESTS.parent / "docs"


@pytest.fixture
def script(scripts: Callable[[str], ModuleType]) -> ModuleType:
    """The page's script."""
    return scripts("producers")


def test_the_results_are_of_the_files_that_stand_in_the_tests(script: ModuleType) -> None:
    rows = script.read_rows(script.RESULTS, script.Row)
    files = [
        (each.name, archive.version, name) for each in PRODUCERS for archive in each.archives for name in archive.models
    ]
    assert [(row.producer, row.version, row.file) for row in rows] == files
    refused = {each.name: each.refused for each in PRODUCERS}
    for row in rows:
        reason = refused[row.producer].get(row.file.rpartition(".")[0])
        assert (row.equal, row.reason == "") == (row.rows, reason is None)
        assert reason is None or reason in row.reason


def test_the_page_of_peers_is_made_of_its_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "reproduce"))
    script = importlib.import_module("producers_peers")
    measured = script.PAGE.read_text(encoding="utf-8").partition("<!-- results -->\n\n")[2]
    rows = script.in_order(script.read_rows(script.RESULTS, script.Row))
    assert "\n".join(script.lines_of(rows)) == measured.partition("\n<!-- /results -->")[0]
    subjects = [*script.OBJECTS, *script.FILES, script.PICKLE]
    assert [row.subject for row in rows] == subjects * len(script.TOOLS)
    assert [row.subject for row in rows if (row.tool, row.accepted) == ("leafgate", "no")] == [script.PICKLE]


def test_every_version_has_an_environment_in_which_it_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TESTS / "producers"))
    make_all = importlib.import_module("make_all")
    for producer in PRODUCERS:
        place = producer.folder.partition("/")[0]
        found = [each for each in make_all.ENVIRONMENTS if each.script.startswith(f"{place}/")]
        assert len(found) == len(producer.versions)
        assert [each.newest for each in found] == [False] * (len(found) - 1) + [True]
        for environment, version in zip(found, producer.versions, strict=True):
            assert (TESTS / "plugins" / environment.script).is_file()
            pinned = [line for line in environment.requirements if re.search(rf"=={re.escape(version)}$", line)]
            assert bool(pinned) != environment.newest
