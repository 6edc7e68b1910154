"""The script that compares the results of two states of the code finds what differs, and nothing where nothing does."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT: dict[str, Any] = runpy.run_path(str(Path(__file__).parent / "benchmarks" / "same_results.py"))


def test_places_that_differ_are_named() -> None:
    old = {"a": [1, {"b": 2}], "c": "same", "gone": 3}
    new = {"a": [1, {"b": 4}], "c": "same", "new": 5}
    assert list(SCRIPT["differences"](old, new)) == [(".a[1].b", 2, 4), (".gone", 3, None), (".new", None, 5)]
    assert list(SCRIPT["differences"](old, old)) == []


@pytest.mark.thorough
def test_an_audit_is_recorded_as_it_is_each_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = SCRIPT["drawn"](0)
    records = [SCRIPT["recorded"](case) for _ in range(2)]
    assert records[0]["public"]["verdict"] in {"pass", "fail", "inconclusive"}
    assert records[0]["release"]
    for name, record in zip(("before", "after"), records, strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "drawn.json").write_text(json.dumps(record))
    assert SCRIPT["compare"](tmp_path / "before", tmp_path / "after") == 0
    (tmp_path / "after" / "drawn.json").write_text(json.dumps(records[1] | {"exit code": 2}))
    assert SCRIPT["compare"](tmp_path / "before", tmp_path / "after") == 1
    assert "drawn.json.exit code" in capsys.readouterr().out


@pytest.mark.thorough
def test_commands_are_recorded_as_they_are_each_time() -> None:
    commands = {each.name: each for each in SCRIPT["PARTS"]["rebuilds"]()}
    records = [commands["rebuild-tree"].recorded() for _ in range(2)]
    assert [step["exit code"] for step in records[0]] == [0, 1, 1]
    assert "report.json" in str(records[0][1]["files"])
    assert records[0] == records[1]
