"""Several releases together (docs/measurements/together-on-adult.md): the page, its numbers, and some of them again."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from adult import data_root

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture
def script(scripts: Callable[[str], ModuleType]) -> ModuleType:
    """The page's script."""
    return scripts("together_curve")


def test_more_versions_prove_more_and_labels_prove_less(script: ModuleType) -> None:
    rows = script.read_rows(DOCS / "results" / script.NIGHTS, script.Row)
    proved = {each.name: [row.proved for row in rows if row.practice == each.name] for each in script.PRACTICES}
    assert all(a <= b for numbers in proved.values() for a, b in pairwise(numbers))
    for builder in ("kADET, k = 10", "C4.5"):
        labels, counts = proved[f"{builder}, labels alone"], proved[f"{builder}, counts"]
        assert all(a <= b for a, b in zip(labels, counts, strict=True))


def test_of_private_forests_nobody_is_proved_and_the_limit_is_inconclusive(script: ModuleType) -> None:
    rows = [row for row in script.read_rows(DOCS / "results" / script.NIGHTS, script.Row) if "private" in row.practice]
    assert {row.proved for row in rows} == {0}
    assert {row.finding for row in rows if row.versions == script.VERSIONS} == {"inconclusive"}


@pytest.mark.thorough
def test_three_versions_again(script: ModuleType, tmp_path: Path) -> None:
    rows = script.read_rows(DOCS / "results" / script.NIGHTS, script.Row)
    cells = script.adult(data_root())
    for practice in script.PRACTICES:
        if practice.name in {"kADET, k = 50, counts", "C4.5, labels alone"}:
            nights = script.Nights(practice, cells, tmp_path)
            sources = [script.released(nights.release(i), nights.everyone, nights.ids(i)) for i in range(3)]
            found = script.Proved.of(sources, nights.everyone, nights.schema)
            (row,) = [row for row in rows if row.practice == practice.name and row.versions == len(sources)]
            assert (found.people, found.proved, found.open) == (row.people, row.proved, row.open)
