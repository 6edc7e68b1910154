"""What was measured of the tests of published counts: the page, what its numbers show, and a setting again."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scipy import stats

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.fixture
def script(scripts: Callable[[str], ModuleType]) -> ModuleType:
    """The page's script."""
    return scripts("dp_randomness")


def results(script: ModuleType) -> tuple[list[Any], list[Any]]:
    """The rows of both files of results."""
    read_rows, folder = importlib.import_module("writing").read_rows, DOCS / "results"
    found = read_rows(folder / "dp-randomness.csv", script.Refused)
    return found, read_rows(folder / "dp-forged-counts.csv", script.Forged)


def test_honest_releases_are_refused_no_more_often_than_is_stated(script: ModuleType) -> None:
    found, forgeries = results(script)
    honest = [(each.refused, each.releases) for each in found if each.kind == "honest"]
    honest += [(each.honest_refused, each.honest) for each in forgeries]
    refused, releases = (sum(column) for column in zip(*honest, strict=True))
    assert releases >= 5_000
    assert stats.binomtest(refused, releases, 1e-3, alternative="greater").pvalue > 0.001


def test_an_exact_count_is_refused_from_the_smallest_one_on(script: ModuleType) -> None:
    _, forgeries = results(script)
    assert len(forgeries) == 12
    for each in forgeries:
        for factor, refused in ((1, each.exact_k), (2, each.exact_2k), (3, each.exact_3k)):
            assert refused == (each.releases if factor * each.k >= each.smallest else 0)
        assert (each.honest_inconclusive == 0) == (each.smallest == each.k)


@pytest.mark.thorough
def test_a_setting_again(script: ModuleType) -> None:
    (again,) = script.forged(3, [(4, 20, 0.35)])
    assert (again.smallest, again.exact_k, again.exact_2k, again.exact_3k) == (20, 10, 10, 10)
    assert (again.honest_refused, again.honest_inconclusive) == (0, 0)
