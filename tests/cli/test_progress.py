"""On a terminal a line says how far a long command has come; it leaves no trace, on the screen or in the results."""

from __future__ import annotations

import io
import itertools
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cases import more
from command_line import leafgate, process
from leafgate.api import report_progress
from leafgate.app import progress_step
from leafgate.console.progress import ProgressDisplay, progress_words, shown_progress
from leafgate.progress import progress_watched_by
from patience import SECONDS
from session_processes import PROC, ended_in
from stranger import install
from survey import survey
from terminal import CONTROL_C, ERASE_LINE, HIDE_CURSOR, SHOW_CURSOR, UP, on_terminal, screen

SLOW = """
import os, time
from typing import Literal
from leafgate.api import hookimpl, report_progress
from leafgate_linking.components import Linking
leafgate_api = ">=2,<3"

class SlowAttack(Linking):
    use: Literal["slow_attack"] = "slow_attack"
    rooms: int = 6

    def infer(self, release, known):
        for room in range(self.rooms):
            report_progress(room, self.rooms, "rooms")
            time.sleep(0.15)
            if room == 3:
                print("a word of the plugin")
        return super().infer(release, known)

class SilentAttack(Linking):
    use: Literal["silent_attack"] = "silent_attack"

    def infer(self, release, known):
        time.sleep(0.6)
        return super().infer(release, known)

@hookimpl
def attack_models():
    return [SlowAttack, SilentAttack]
"""
SOON = """
import leafgate.console.progress as progress
progress.QUICK_SECONDS, progress.REDRAWS_A_SECOND = 0.0, 50.0
"""
NO_RICH = """
import sys
sys.modules["rich"] = None
"""
"""Whoever imports rich, which takes as long as a small audit, fails."""
SLOW_AUDIT = {"attacks": [{"use": "linking"}, {"use": "slow_attack"}], "metrics.0.of": "slow_attack"}
FOREVER = {"attacks": [{"use": "slow_attack", "rooms": 10_000}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    install(tmp_path, "leafgate_slow", SLOW)
    return tmp_path


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Display(ProgressDisplay):
    """A display whose clock a test sets, and that draws nothing."""

    def __init__(self) -> None:
        self.clock = Clock()
        super().__init__(self.clock)

    def after(self, seconds: float) -> str:
        """What the line says so many seconds later."""
        assert self.steps is not None
        self.clock.now += seconds
        return progress_words(self.steps)


@pytest.fixture
def display() -> Iterator[Display]:
    made = Display()
    with progress_watched_by(made):
        yield made
    made.close()


def test_a_step_without_parts_says_for_how_long_it_runs(display: Display) -> None:
    with progress_step("build"):
        assert display.after(3) == "leafgate (for 3 s): build"
        with progress_step("grow"):
            assert display.after(600) == "leafgate (for 10 min): build, grow"
    assert display.after(0) == ""


def test_a_forecast_is_the_mean_time_of_the_parts_done(display: Display) -> None:
    with progress_step("attack lira (2 of 5)"):
        report_progress(0, 10, "shadow models")
        assert display.after(6) == "leafgate (for 6 s): attack lira (2 of 5), 0 of 10 shadow models"
        report_progress(1, 10, "shadow models")
        display.clock.now += 3
        report_progress(2, 10, "shadow models")
        display.clock.now += 5
        report_progress(3, 10, "shadow models")
        assert display.after(0) == "leafgate (about 28 s left): attack lira (2 of 5), 3 of 10 shadow models"
        report_progress(0, 20, "planted leaks")  # the time of other parts says nothing of these
        assert display.after(6) == "leafgate (for 20 s): attack lira (2 of 5), 0 of 20 planted leaks"


def test_the_outermost_forecast_is_shown_of_steps_within_steps(display: Display) -> None:
    with progress_step("sweep"):
        report_progress(1, 4, "points")
        display.clock.now += 30
        report_progress(2, 4, "points")
        with progress_step("attack lira"):
            report_progress(1, 3, "models")
            display.clock.now += 5
            report_progress(2, 3, "models")
            assert display.after(0) == "leafgate (about 60 s left): sweep, 2 of 4 points, attack lira, 2 of 3 models"


def test_a_name_cannot_move_the_cursor(display: Display) -> None:
    with progress_step("attack \x1b[2J\r[red]"):
        assert display.after(3) == "leafgate (for 3 s): attack \ufffd[2J\ufffd[red]"


def test_a_terminal_that_is_gone_ends_the_line_and_not_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("input/output error")

        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("leafgate.console.progress.QUICK_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr", Gone())
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with shown_progress(), progress_step("build"):
        time.sleep(0.1)
        report_progress(1, 2, "parts")


def test_without_a_watcher_nothing_happens() -> None:
    with progress_step("build"):
        report_progress(1, 2, "parts")


@pytest.mark.thorough
def test_an_audit_on_a_terminal_shows_its_steps_and_leaves_no_trace(folder: Path) -> None:
    policy = survey(folder, SLOW_AUDIT)
    shown, piped = folder / "shown", folder / "piped"
    environment = {"NO_COLOR": "1"}
    words = ["audit", policy, "--out", shown]
    with on_terminal(*words, folder=folder, before=SOON, environment=environment) as command:
        assert command.end() == 0
    assert re.search(r"leafgate \(about \d s left\): attack slow_attack \(2 of 2\), 3 of 6 rooms", command.text)
    moves = f"{re.escape(ERASE_LINE)}|{re.escape(UP)}|{re.escape(HIDE_CURSOR)}|{re.escape(SHOW_CURSOR)}"
    assert "\x1b" not in re.sub(moves, "", command.text)
    warning, *others = screen(command.text)
    assert warning.startswith("warning: policy.yaml: ")
    assert others == ["a word of the plugin", ""]
    ended = process("audit", policy, "--out", piped, before=SOON + NO_RICH, path=folder)
    assert ended.code == 0
    assert ended.trouble == "a word of the plugin\n"
    assert command.stdout.read_text() == ended.out
    for name in ("report.json", "release.json"):
        assert (shown / name).read_bytes() == (piped / name).read_bytes()
    steps = [json.loads((out / "timings.json").read_text()).keys() for out in (shown, piped)]
    assert steps[0] == steps[1]


def test_an_attack_that_reports_nothing_shows_for_how_long_it_runs(folder: Path) -> None:
    policy = survey(folder, {"attacks": [{"use": "silent_attack"}], "metrics.0.of": "silent_attack"})
    with on_terminal("audit", policy, folder=folder, before=SOON) as command:
        assert command.end() == 0
    assert "leafgate (for 0 s): attack silent_attack (1 of 1)" in command.text
    assert " left" not in command.text


@pytest.mark.parametrize("word", ["-q", *more("--json")])
def test_whoever_wants_no_progress_gets_none(folder: Path, word: str) -> None:
    with on_terminal("audit", survey(folder, SLOW_AUDIT), word, folder=folder, before=SOON) as command:
        assert command.end() == 0
    assert command.text == "a word of the plugin\r\n"


@pytest.mark.parametrize(
    ("environment", "is_terminal", "shown"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm", "CI": "true"}, True, False),
    ],
)
def test_only_a_terminal_of_a_person_shows_progress(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], is_terminal: bool, shown: bool
) -> None:
    monkeypatch.delenv("CI", raising=False)
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("leafgate.console.progress.QUICK_SECONDS", 0.0)
    monkeypatch.setattr("leafgate.console.progress.REDRAWS_A_SECOND", 100.0)
    with shown_progress(), progress_step("build"):
        deadline = time.monotonic() + (SECONDS if shown else 0.05)
        while not stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.002)
    assert bool(stream.getvalue()) == shown
    assert screen(stream.getvalue())[-1] == ""


def test_without_a_terminal_an_audit_prints_the_same_however_long_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit fails, so other settings are tried, which takes minutes on large tables."""
    policy = survey(tmp_path, {"metrics.0.at_least": 24})
    quick, clock = leafgate("audit", policy), itertools.count(step=1000.0)
    for name in ("monotonic", "perf_counter", "process_time", "time"):
        monkeypatch.setattr(time, name, lambda: next(clock))
    slow = leafgate("audit", policy)
    assert next(clock) > 5000
    assert slow == quick
    assert (slow.code, slow.err) == (1, "")


@pytest.mark.thorough
def test_a_narrow_terminal_gets_one_line(folder: Path) -> None:
    policy = survey(folder, SLOW_AUDIT)
    with on_terminal("audit", policy, folder=folder, before=SOON, columns=40) as command:
        assert command.end() == 0
    drawn = re.findall(r"leafgate \([^\x1b\r\n]*", command.text)
    assert max(map(len, drawn)) == 40
    assert any(line.startswith("leafgate (about ") and line.endswith("\u2026") for line in drawn)


@pytest.mark.skipif(not PROC.exists(), reason="there is no /proc here")
@pytest.mark.parametrize("workers", [2, *more(1)])
@pytest.mark.thorough
def test_an_interrupted_sweep_ends_at_once_in_130_with_its_workers_and_its_line(folder: Path, workers: int) -> None:
    words = ["--over", "build.k=1,2,3,4", "--out", folder / "swept", "--workers", workers]
    with on_terminal("sweep", survey(folder, FOREVER), *words, folder=folder, before=SOON) as command:
        inner = ", attack slow_attack (1 of 1), 2 of 10,000 rooms" if workers == 1 else ""
        command.wait_for(lambda text: f": sweep, 0 of 4 points{inner}" in text)
        command.wait_for(lambda text: workers == 1 or text.count("a word of the plugin") == workers)
        started = time.monotonic()
        command.press(CONTROL_C)
        assert command.end() == 130
        assert time.monotonic() - started < SECONDS
        assert ended_in(command.process.pid)
    assert screen(command.text)[-1] == ""
    assert "Traceback" not in command.text


@pytest.mark.thorough
def test_a_sweep_counts_its_points(folder: Path) -> None:
    words = ["--over", "build.k=1,2,3", "--out", folder / "swept", "--workers", 1]
    with on_terminal("sweep", survey(folder, SLOW_AUDIT), *words, folder=folder, before=SOON) as command:
        assert command.end() in {0, 1}
    assert "): sweep, 1 of 3 points, attack slow_attack (2 of 2), " in command.text
    assert screen(command.text)[-1] == ""


def test_an_interrupted_audit_on_a_terminal_ends_in_130_and_erases_the_line(folder: Path) -> None:
    out = folder / "out"
    policy = survey(folder, FOREVER)
    with on_terminal("audit", policy, "--out", out, folder=folder, before=SOON) as command:
        command.wait_for(lambda text: "2 of 10,000 rooms" in text)
        command.press(CONTROL_C)
        assert command.end() == 130
    assert screen(command.text)[-1] == ""
    assert "Traceback" not in command.text
    assert list(out.iterdir()) == []


def test_the_help_shows_flags_as_flags() -> None:
    text = leafgate("audit", "--help").out
    for flag in ("--quiet", "-q", "--json", "--verbose"):
        assert flag in text
    assert "--no-quiet" not in text


def test_the_version_imports_no_rich() -> None:
    ended = process("--version", before=NO_RICH)
    assert (ended.code, ended.err) == (0, "")
