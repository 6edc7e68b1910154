"""What is printed stays a line, moves nothing and is no command; and nothing older is left where a result should be."""

from __future__ import annotations

import csv
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from cases import more
from command_line import leafgate, process, start
from leafgate.app import say
from reports import FILES
from survey import survey

HOSTILE = [
    "::error file=a::PWNED",
    "  ::stop-commands::x",
    "a ##[add-mask]FAIL",
    "\x1b[31mred\n::error::x",
    "x\u2028::y",
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.thorough
def test_no_name_is_a_command_to_a_runner_or_a_terminal(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    items = [leafgate("audit", survey(tmp_path, {"name": name}), "--out", out, "--to", "text")]
    items += [leafgate("report", out / "report.json"), leafgate("validate", tmp_path / "policy.yaml")]
    items += [leafgate("validate", survey(tmp_path, {name: 1})), leafgate("audit", tmp_path / name)]
    items += [leafgate("diff", survey(tmp_path), tmp_path / "none" / name)]
    lines = [line for one in items for line in (one.out + one.err).splitlines()]
    lines += (out / FILES["text"]).read_text().splitlines()
    assert lines
    for line in lines:
        assert line.isprintable()
        assert "##[" not in line
        assert not line.lstrip().startswith("::")


def test_what_is_no_command_is_printed_as_it_is(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for line in ("a::b", "metric@attack#[0]", "  note: x", "#1", "std::vector"):
        say(line)
        assert capsysbinary.readouterr().out == f"{line}\n".encode()


def test_a_line_is_as_long_as_can_be_read_and_the_verdict_stands_in_it(tmp_path: Path) -> None:
    ended = leafgate("audit", survey(tmp_path, {"name": "n" * 10_000}))
    first = ended.out.splitlines()[0]
    assert len(first) < 300
    assert first.endswith("PASS: every limit of the policy holds.")


@pytest.mark.parametrize("form", list(FILES))
@pytest.mark.thorough
def test_stdout_has_the_same_bytes_whatever_its_encoding(tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    leafgate("audit", survey(tmp_path, {"name": "süß ✅"}), "--out", out, "--to", form)
    before = "import sys; sys.stdout.reconfigure(encoding='ascii')"
    running = start("report", out / "report.json", "--to", form, before=before, encoding="utf-8")
    said = running.communicate(timeout=60)[0].encode()
    assert (running.returncode, said) == (0, (out / FILES[form]).read_bytes())


@pytest.mark.thorough
def test_an_error_about_a_name_that_stderr_cannot_print_ends_in_2(tmp_path: Path) -> None:
    before = "import sys; sys.stdout.reconfigure(encoding='ascii'); sys.stderr.reconfigure(encoding='ascii')"
    assert process("validate", survey(tmp_path, {"✅": 1}), before=before).code == 2


def passed_before(folder: Path) -> Path:
    """A folder with the reports of an audit that passed."""
    out = folder / "out"
    each = [word for form in FILES for word in ("--to", form)]
    assert leafgate("audit", survey(folder), "--out", out, *each).code == 0
    return out


LISTEN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""A process started in the background may have been told to ignore Ctrl-C; a person's terminal does not."""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
@pytest.mark.parametrize("number", [signal.SIGTERM, *more(signal.SIGKILL, signal.SIGINT)])
@pytest.mark.thorough
def test_whatever_stops_an_audit_leaves_no_older_verdict(tmp_path: Path, number: signal.Signals) -> None:
    out = passed_before(tmp_path)
    os.mkfifo(tmp_path / "people.pipe")
    running = start("audit", tmp_path / "policy.yaml", tmp_path / "people.pipe", "--out", out, before=LISTEN)
    with (tmp_path / "people.pipe").open("w"):  # opens once the audit reads
        running.send_signal(number)
        running.communicate(timeout=60)
    assert running.returncode != 0
    earlier = {f"earlier-{name}" for name in ("release.json", "report.json", *FILES.values())}
    assert {path.name for path in out.iterdir()} == {"timings.json", *earlier}


def test_a_report_or_diff_that_cannot_be_made_leaves_no_older_one(tmp_path: Path) -> None:
    out = passed_before(tmp_path)
    for words in (["report", "none.json", "--to", "junit"], ["diff", "none.yaml", tmp_path / "policy.yaml"]):
        stale = tmp_path / "stale"
        stale.write_text("passed")
        assert leafgate(*words, "--out", stale).code == 2
        assert not stale.exists()
    for words in (["report", out / "report.json"], ["diff", out / "report.json", out / "report.json"]):
        assert leafgate(*words, "--out", out / "report.json").code == 2
        assert (out / "report.json").exists()


@pytest.mark.thorough
def test_no_cell_of_a_sweeps_csv_is_a_formula(tmp_path: Path) -> None:
    metrics: list[dict[str, Any]] = [{"use": "k_anonymity", "name": "=1+1", "at_least": 3}]
    path, out = survey(tmp_path, {"metrics": metrics}), tmp_path / "swept"
    names = ["=cmd|calc!A1", "+1", "-1e5", "-x", "@sum(1)", "plain"]
    leafgate("sweep", path, "--over", f"name={json.dumps(names)[1:-1]}", "--out", out, "--workers", 1)
    with (out / "sweep.csv").open(newline="") as file:
        heads, *rows = csv.reader(file)
    assert [row[0] for row in rows] == ["'=cmd|calc!A1", "+1", "-1e5", "'-x", "'@sum(1)", "plain"]
    assert heads[2] == "'=1+1@linking#ill"
