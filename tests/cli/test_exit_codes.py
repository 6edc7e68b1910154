"""Every way a command can end, and what stands on stdout then."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import Ended, leafgate, process
from survey import PEOPLE, survey

NO_TEST = {"use": "accuracy", "at_least": 0.5}
TOO_HIGH = {"use": "k_anonymity", "at_least": 24}
ENDINGS: dict[str, tuple[int, dict[str, Any]]] = {
    "every limit holds": (0, {}),
    "a limit is broken": (1, {"metrics": [TOO_HIGH]}),
    "no release": (1, {"build.k": 25}),
    "an invalid policy": (2, {"build.k": 0}),
    "an invalid table": (2, {"data.columns.sex.values": ["f"]}),
    "could not tell": (3, {"metrics": [NO_TEST]}),
    "broken and could not tell": (1, {"metrics": [NO_TEST, TOO_HIGH]}),
    "invalid and no release": (2, {"build.k": 25, "data.path": "nobody.csv"}),
}
FORMATS = {0: "leafgate/report/1", 1: "leafgate/report/1", 2: "leafgate/error/1", 3: "leafgate/report/1"}
VERDICTS = {0: "pass", 1: "fail", 3: "inconclusive"}


def no_room(handle: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(("code", "changes"), ENDINGS.values(), ids=ENDINGS)
@pytest.mark.thorough
def test_an_audit_ends_in_the_code_of_its_verdict(tmp_path: Path, code: int, changes: dict[str, Any]) -> None:
    ended = leafgate("audit", survey(tmp_path, changes))
    assert ended.code == code
    assert bool(ended.trouble) == (code == 2)


@pytest.mark.parametrize(("code", "changes"), ENDINGS.values(), ids=ENDINGS)
@pytest.mark.thorough
def test_with_json_stdout_is_one_document(tmp_path: Path, code: int, changes: dict[str, Any]) -> None:
    ended = leafgate("audit", survey(tmp_path, changes), "--json")
    assert (ended.code, ended.err) == (code, "")
    assert ended.document["format"] == FORMATS[code]
    assert ended.document.get("verdict") == VERDICTS.get(code)


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "--json"],
        ["audit", "--json", "nobody.yaml", "--no-such-option"],
        ["audit", "nobody.yaml", "--json"],
        ["audit", "nobody.yaml", "--json", "--audience", "nobody"],
        ["audit", "nobody.yaml", "--json", "--audience", "auditor"],
        ["validate", "--json", "nobody.yaml"],
        ["validate", "--json"],
        ["nonsense", "--json"],
        ["--json"],
    ],
)
def test_with_json_a_command_that_cannot_be_meant_is_told_as_json(words: list[str]) -> None:
    ended = leafgate(*words)
    assert (ended.code, ended.err) == (2, "")
    assert all(set(problem) == {"place", "message", "remedy"} for problem in ended.problems)
    assert all(problem["message"] for problem in ended.problems)


@pytest.mark.parametrize("words", [["nonsense"], ["audit"], ["audit", "a", "b", "c"], ["--nonsense"], ["explain", "x"]])
def test_a_command_that_cannot_be_meant_is_told_in_words(words: list[str]) -> None:
    ended = leafgate(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("leafgate: ")


def test_without_a_word_the_help_is_shown_and_nothing_is_done() -> None:
    ended = leafgate()
    assert ended.code == 2
    assert "Usage" in ended.out
    assert ended.err == ""


@pytest.mark.parametrize(("change", "code"), [({"build.use": "nobody"}, 2), ({"build.k": 25}, 1)])
@pytest.mark.thorough
def test_the_installed_command_ends_in_the_same_codes(tmp_path: Path, change: dict[str, Any], code: int) -> None:
    ended = process("audit", survey(tmp_path, change))
    assert ended.code == code
    assert "Traceback" not in ended.err


@pytest.mark.thorough
def test_the_script_beside_the_interpreter_is_the_command(tmp_path: Path) -> None:
    script = shutil.which("leafgate", path=str(Path(sys.executable).parent))
    if script is None:
        pytest.skip("leafgate is not installed as a script")
    runner = f"import runpy, sys; sys.argv[0] = {script!r}; runpy.run_path({script!r}, run_name='__main__')"
    assert process("validate", survey(tmp_path), before=runner).code == 0


@pytest.mark.parametrize("place", ["people.csv/out", "people.csv", "people.csv/a/b"])
def test_an_output_folder_that_cannot_be_written_is_invalid(tmp_path: Path, place: str) -> None:
    policy = survey(tmp_path)
    output = leafgate("audit", policy, "--json", "--out", tmp_path / place)
    assert output.code == 2
    assert "cannot be written" in output.problems[0]["message"]
    assert leafgate("build", policy, "--out", tmp_path / "people.csv" / "release.json").code == 2
    assert leafgate("demo", "--out", tmp_path / "people.csv").code == 2
    assert (tmp_path / "people.csv").read_text() == PEOPLE


@pytest.mark.thorough
def test_a_demo_folder_with_a_file_in_the_way_is_invalid(tmp_path: Path) -> None:
    (tmp_path / "kadet").write_text("a file of one's own")
    assert leafgate("demo", "--out", tmp_path).code == 2


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("words", [[], ["--json"], ["--audience", "auditor"]])
@pytest.mark.thorough
def test_a_full_disk_is_an_internal_error_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], number: int
) -> None:
    calls = iter(range(1, 100))
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (no_room if next(calls) == number else fsync)(handle))
    ended = leafgate("audit", survey(tmp_path), "--out", tmp_path / "out", *words)
    assert ended.code == 4
    assert "make room" in ended.out + ended.err
    assert "--json" not in words or ended.problems
    assert list((tmp_path / "out").iterdir()) == []


def test_the_result_of_an_audit_lies_in_files_for_everyone_or_for_the_auditor(tmp_path: Path) -> None:
    policy = survey(tmp_path)
    for audience, mode in (("public", 0o644), ("auditor", 0o600)):
        assert leafgate("audit", policy, "--out", tmp_path / audience, "--audience", audience).code == 0
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / audience).iterdir()}
        assert modes == {"report.json": mode, "release.json": 0o644, "timings.json": 0o644}


def test_an_auditors_report_needs_a_folder(tmp_path: Path) -> None:
    ended: Ended = leafgate("audit", survey(tmp_path), "--audience", "auditor", "--json")
    assert ended.code == 2
    assert ended.problems[0]["place"] == "--audience"
    assert json.loads(ended.out)["problems"][0]["remedy"] == "add --out"
