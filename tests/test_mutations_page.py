"""Model files with one thing changed (docs/measurements/how-the-audit-is-tested.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from generator.formats import FORMATS

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture
def script(scripts: Callable[[str], ModuleType]) -> ModuleType:
    """The page's script."""
    return scripts("model_mutations")


def test_a_thousand_files_of_each_format_were_changed_and_none_is_read_wrong(script: ModuleType) -> None:
    rows = script.read_rows(script.RESULTS, script.Row)
    changes = {form: sum(row.changes for row in rows if row.format == form) for form in FORMATS}
    assert changes == dict.fromkeys(FORMATS, script.CHANGES)
    assert not any(row.wrong for row in rows)
    assert all(row.witnessed == row.visible for row in rows)
    for row in rows:
        changed = row.refused + row.inconclusive + row.read
        assert row.changes - row.wrong <= changed + row.no_model + row.equivalent <= row.changes
