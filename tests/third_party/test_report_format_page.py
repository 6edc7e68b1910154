"""The report format, installed as a stranger's plugin, works wherever a bundled one does.

The page is docs/reference/plugin-kinds.md.
"""

from __future__ import annotations

import csv
import json
import re
import stat
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from leafgate.api import ReportFormat
from leafgate.testing import format_conformance
from stranger import install
from survey import survey

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/plugin-kinds.md").read_text(encoding="utf-8")
(SOURCE,) = (text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def report_formats" in text)
FAILS = {"metrics": [{"use": "k_anonymity", "at_least": 24}, {"use": "exposure", "at_most": 0}]}


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Installs a module with a report format, the one of the page unless another source is given."""
    folder = tmp_path / "site"
    folder.mkdir()

    def put(module: str = "acme_csv", source: str = SOURCE) -> None:
        install(folder, module, source)
        monkeypatch.delitem(sys.modules, module, raising=False)

    monkeypatch.syspath_prepend(folder)
    return put


def rows(content: bytes) -> list[list[str]]:
    return list(csv.reader(content.decode().splitlines()))


@pytest.mark.parametrize(("changes", "code", "result"), [({}, 0, "passed"), (FAILS, 1, "failed")], ids=["pass", "fail"])
@pytest.mark.parametrize("audience", ["public", "auditor"])
def test_an_audit_and_a_stored_report_have_the_same_file(
    tmp_path: Path, stranger: Any, audience: str, changes: dict[str, Any], code: int, result: str
) -> None:
    stranger()
    out = tmp_path / "out"
    words = ["--out", out, "--audience", audience, "--to", "csv", "--to", "html"]
    assert leafgate("audit", survey(tmp_path, changes), *words).code == code
    written = out / "report.csv"
    report = json.loads((out / "report.json").read_bytes())
    assert [row[0] for row in rows(written.read_bytes())] == ["id", *(each["id"] for each in report["findings"])]
    assert result in {row[1] for row in rows(written.read_bytes())}
    assert stat.S_IMODE(written.stat().st_mode) == (0o600 if audience == "auditor" else 0o644)
    again = leafgate("report", out / "report.json", "--to", "csv", "--out", tmp_path / "again.csv")
    assert again.code == code
    assert (tmp_path / "again.csv").read_bytes() == written.read_bytes()
    printed = leafgate("report", out / "report.json", "--to", "csv")
    if audience == "public":
        assert (printed.code, printed.out.encode()) == (code, written.read_bytes())
    else:
        assert (printed.code, printed.out) == (2, "")


def test_the_public_file_has_masked_numbers_and_the_auditors_has_all(tmp_path: Path, stranger: Any) -> None:
    stranger()
    policy = survey(tmp_path, {"metrics": [{"use": "k_anonymity", "at_least": 100}], "report": {"smallest_cell": 50}})
    for audience in ("public", "auditor"):
        leafgate("audit", policy, "--out", tmp_path / audience, "--audience", audience, "--to", "csv")
    public, auditor = (rows((tmp_path / each / "report.csv").read_bytes()) for each in ("public", "auditor"))
    assert "fewer_than" in public[1][2]
    assert float(auditor[1][2]) < 50


def test_it_conforms(stranger: Any) -> None:
    stranger()
    offered: ReportFormat = import_module("acme_csv").CSV
    for check in format_conformance(offered):
        check()


@pytest.mark.parametrize("words", [["--nonsense"], ["--to", "csw"], []], ids=["wrong option", "wrong format", "none"])
def test_its_file_of_an_earlier_run_is_withdrawn(tmp_path: Path, stranger: Any, words: list[str]) -> None:
    stranger()
    out = tmp_path / "out"
    policy = survey(tmp_path)
    leafgate("audit", policy, "--out", out, "--to", "csv")
    assert (out / "report.csv").exists()
    (out / "report.pdf").write_bytes(b"made from report.html by somebody")
    leafgate("audit", policy, "--out", out, *words)
    assert not (out / "report.csv").exists()
    assert (out / "report.pdf").exists()


def test_its_file_is_withdrawn_once_it_is_no_longer_installed(tmp_path: Path, stranger: Any) -> None:
    stranger()
    out = tmp_path / "out"
    leafgate("audit", survey(tmp_path), "--out", out, "--to", "csv")
    (tmp_path / "site" / "acme_csv-1.0.dist-info" / "entry_points.txt").unlink()
    leafgate("audit", tmp_path / "nowhere.yaml", "--out", out)
    assert not (out / "report.csv").exists()


def test_a_list_of_written_files_names_no_file_of_another_kind(tmp_path: Path) -> None:
    out = tmp_path / "out"
    leafgate("audit", survey(tmp_path), "--out", out, "--to", "html")
    precious = tmp_path / "report.csv"
    precious.write_bytes(b"kept")
    timings = json.loads((out / "timings.json").read_bytes())
    assert timings["reports"] == ["report.html"]
    timings["reports"] = ["../report.csv", str(precious), "notes.txt", 7]
    (out / "timings.json").write_text(json.dumps(timings))
    (out / "notes.txt").write_bytes(b"kept")
    leafgate("audit", tmp_path / "policy.yaml", "--out", out)
    assert precious.exists()
    assert (out / "notes.txt").exists()
