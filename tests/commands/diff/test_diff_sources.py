"""What `leafgate diff` compares: policies in pipes of a shell, and strictly whatever is proved tighter."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cases import more
from command_line import MAIN, Ended, leafgate
from survey import policy, survey


def by_shell(folder: Path, words: str) -> Ended:
    """A command of a shell that has process substitutions, `leafgate` in it."""
    program = f"{shlex.quote(sys.executable)} -c {shlex.quote(MAIN)}"
    script = words.replace("leafgate", program, 1)
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=120)
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "words", ["<(cat old.yaml) <(cat new.yaml)", *more("<(cat old.yaml) new.yaml", "old.yaml <(cat new.yaml)")]
)
@pytest.mark.thorough
def test_a_pipe_is_read_once_and_compared(tmp_path: Path, words: str) -> None:
    (tmp_path / "old.yaml").write_text(json.dumps(policy(), indent=1))
    (tmp_path / "new.yaml").write_text(json.dumps(policy({"metrics.0.at_least": 2}), indent=1))
    done = by_shell(tmp_path, f"leafgate diff {words}")
    assert (done.code, "metrics[0].at_least: 3 became 2" in done.out) == (1, True), done.err
    assert by_shell(tmp_path, "leafgate diff /dev/stdin old.yaml < <(cat old.yaml)").out == "No difference.\n"


@pytest.mark.thorough
def test_a_report_is_read_from_a_pipe_too(tmp_path: Path) -> None:
    survey(tmp_path)
    assert leafgate("audit", tmp_path / "policy.yaml", "--out", tmp_path / "out").code == 0
    done = by_shell(tmp_path, "leafgate diff <(cat out/report.json) out/report.json")
    assert (done.code, done.out) == (0, "No difference.\n"), done.err


@pytest.mark.thorough
def test_a_policy_in_a_pipe_names_no_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text(json.dumps(policy()))
    (tmp_path / "old.yaml").write_text(json.dumps(policy({"extends": "new.yaml"})))
    done = by_shell(tmp_path, "leafgate diff <(cat old.yaml) new.yaml")
    assert (done.code, done.out, "new.yaml: cannot be read" in done.err) == (2, "", True), done.err


STRICT: list[tuple[dict[str, Any], int]] = [
    ({}, 0),
    ({"metrics.0.at_least": 4}, 0),
    ({"metrics": [{"use": "k_anonymity", "at_least": 3}, {"use": "exposure", "at_most": 0}]}, 0),
    ({"metrics.0.at_least": 2}, 1),
    ({"build": {"use": "c45"}}, 1),
    ({"data.path": "others.csv"}, 1),
    ({"data.test": "test.csv"}, 1),
    ({"seed": 4}, 1),
    ({"name": "other"}, 1),
    ({"data.columns.smoker": ...}, 1),
    ({"metrics.0.at_least": 4, "seed": 4}, 1),
]


@pytest.mark.parametrize(("change", "code"), STRICT, ids=map(str, range(len(STRICT))))
def test_strictly_whatever_is_not_proved_tighter_ends_in_1(tmp_path: Path, change: dict[str, Any], code: int) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(json.dumps(policy()))
    new.write_text(json.dumps(policy(change)))
    assert leafgate("diff", old, new, "--strict").code == code


def test_strictly_what_nobody_can_read_is_not_proved_the_same(tmp_path: Path) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    for path in (old, new):
        path.write_text(json.dumps(policy({"data.columns.sex.hierarchy": "sex.csv"})))
    assert leafgate("diff", old, new).out == "No difference.\n"
    done = leafgate("diff", old, new, "--strict")
    assert (done.code, "data.columns.sex.hierarchy: cannot be read became cannot be read" in done.out) == (1, True)
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    assert leafgate("diff", old, new, "--strict").out == "No difference.\n"
    old.write_text("leafgate: 1\nbuild: {k: 3}\n")
    assert leafgate("diff", old, old).out == "No difference.\n"
    assert leafgate("diff", old, old, "--strict").code == 1


def test_reports_are_compared_without_the_options_of_policies(tmp_path: Path) -> None:
    survey(tmp_path)
    assert leafgate("audit", tmp_path / "policy.yaml", "--out", tmp_path / "out").code == 0
    report = tmp_path / "out" / "report.json"
    done = leafgate("diff", report, report, "--strict")
    assert (done.code, "--strict: is for policies" in done.err) == (2, True)
