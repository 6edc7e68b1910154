"""Every format, at every way an audit can end; and stored reports, shown again."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate, process
from reports import FILES
from survey import survey

ENDINGS: dict[int, dict[str, Any]] = {
    0: {},
    1: {"metrics": [{"use": "k_anonymity", "at_least": 24}]},
    2: {"build.k": 0},
    3: {"metrics": [{"use": "accuracy", "at_least": 0.5}]},
}
EACH = pytest.mark.parametrize("form", list(FILES))


@EACH
@pytest.mark.parametrize(("code", "changes"), ENDINGS.items())
@pytest.mark.thorough
def test_a_format_never_changes_how_an_audit_ends(
    tmp_path: Path, code: int, changes: dict[str, Any], form: str
) -> None:
    ended = leafgate("audit", survey(tmp_path, changes), "--out", tmp_path / "out", "--to", form)
    assert ended.code == code
    assert (tmp_path / "out" / FILES[form]).exists() == (code != 2)


@EACH
@pytest.mark.parametrize("code", [0, 1, 3])
@pytest.mark.thorough
def test_a_stored_report_shows_what_the_audit_wrote_and_ends_as_it_did(tmp_path: Path, code: int, form: str) -> None:
    out = tmp_path / "out"
    leafgate("audit", survey(tmp_path, ENDINGS[code]), "--out", out, "--to", form)
    shown = leafgate("report", out / "report.json", "--to", form)
    assert shown.code == code
    assert shown.out.encode() == (out / FILES[form]).read_bytes()
    written = leafgate("report", out / "report.json", "--to", form, "--out", tmp_path / "again")
    assert (written.code, written.out) == (code, "")
    assert (tmp_path / "again").read_bytes() == (out / FILES[form]).read_bytes()


@EACH
@pytest.mark.thorough
def test_an_auditors_report_stays_the_auditors_in_every_format(tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    leafgate("audit", survey(tmp_path), "--out", out, "--audience", "auditor", "--to", form)
    assert stat.S_IMODE((out / FILES[form]).stat().st_mode) == 0o600
    refused = leafgate("report", out / "report.json", "--to", form)
    assert (refused.code, refused.out) == (2, "")
    assert leafgate("report", out / "report.json", "--to", form, "--out", tmp_path / "mine").code == 0
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o600


@pytest.mark.thorough
def test_all_formats_at_once_and_none_of_an_earlier_run(tmp_path: Path) -> None:
    every = [word for form in FILES for word in ("--to", form)]
    leafgate("audit", survey(tmp_path), "--out", tmp_path / "out", *every)
    assert {path.name for path in (tmp_path / "out").iterdir()} >= set(FILES.values())
    leafgate("audit", survey(tmp_path), "--out", tmp_path / "out")
    assert not {path.name for path in (tmp_path / "out").iterdir()} & set(FILES.values())


def test_a_format_without_a_folder_is_refused(tmp_path: Path) -> None:
    ended = leafgate("audit", survey(tmp_path), "--to", "html", "--json")
    assert (ended.code, ended.problems[0]["place"]) == (2, "--to")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": "leafgate/report/2"}', '{"format": "leafgate/report/1"}']
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "report.json").write_text(content)
    ended = leafgate("report", tmp_path / "report.json", "--to", "html")
    assert (ended.code, ended.out) == (2, "")
    assert "report.json" in ended.err


def test_a_report_that_was_touched_up_is_refused(tmp_path: Path) -> None:
    leafgate("audit", survey(tmp_path, ENDINGS[1]), "--out", tmp_path / "out")
    stored = tmp_path / "out" / "report.json"
    document = json.loads(stored.read_bytes())
    stored.write_text(json.dumps({**document, "verdict": "pass"}))
    assert leafgate("report", stored).code == 2


@pytest.mark.thorough
def test_the_installed_command_shows_a_page(tmp_path: Path) -> None:
    leafgate("audit", survey(tmp_path), "--out", tmp_path / "out")
    ended = process("report", tmp_path / "out" / "report.json", "--to", "html")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("<!DOCTYPE html>")
