"""On a terminal a line says how far a long command has come; it leaves no trace, on the screen or in the results."""

from __future__ import annotations

import io
import itertools
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from cases import more
from command_line import leafgate, process
from leafgate.api import report_progress
from leafgate.app import progress_watched_by
from leafgate.console.progress import STEPS, ProgressLine, StderrBesideLine, shown_progress
from leafgate.progress import progress_step
from patience import SECONDS
from session_processes import PROC, ended_in
from slow_plugin import FOREVER, WORD, install_slow_plugin
from survey import survey
from terminal import CONTROL_C, ERASE_LINE, on_terminal, screen

SOON = """
import leafgate.console.progress as progress
progress.QUICK_SECONDS, progress.REDRAW_SECONDS = 0.0, 0.02
"""
NO_RICH = """
import sys
sys.modules["rich"] = None
"""
"""Whoever imports rich, which takes as long as a small audit, fails."""
SLOW_AUDIT = {"attacks": [{"use": "linking"}, {"use": "slow_attack"}], "metrics.0.of": "slow_attack"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAFGATE_TRACEBACK", "1")  # the tests wait for what the plugin prints
    install_slow_plugin(tmp_path)
    return tmp_path


class Display:
    """A line of progress on a made-up terminal, drawn when a test says so, and a clock that stands still until then."""

    def __init__(self, columns: int, stream: TextIO) -> None:
        self.stream, self.now = stream, 100.0
        self.line = ProgressLine(stream, lambda: self.now, lambda: columns)

    def after(self, seconds: float) -> str:
        """The last line of the screen so many seconds later."""
        self.now += seconds
        self.line.draw()
        return self.screen[-1]

    @property
    def screen(self) -> list[str]:
        self.stream.seek(0)
        return screen(self.stream.read())


@contextmanager
def display(step: str, columns: int = 80, stream: TextIO | None = None) -> Iterator[Display]:
    """A display of one step of work."""
    made = Display(columns, stream or io.StringIO(newline=""))
    with progress_watched_by(made.line), progress_step(step):
        yield made
    made.line.close()


def test_work_of_two_seconds_shows_nothing_and_longer_work_how_long_it_has_been_done() -> None:
    with display("build") as shown:
        assert shown.after(1.9) == ""
        assert shown.after(0.2) == "leafgate: build, for 2 s"
    assert shown.after(0) == ""


def test_a_forecast_is_the_mean_time_of_the_parts_done_and_counts_down() -> None:
    with display("attack lira (2 of 5)") as shown:
        report_progress(0, 10, "shadow models")
        assert shown.after(6) == "leafgate: attack lira (2 of 5), 0 of 10 shadow models, for 6 s"
        report_progress(3, 10, "shadow models")
        for seconds, forecast in ((0, 14), (4, 10), (100, 1)):
            words = f"leafgate: attack lira (2 of 5), 3 of 10 shadow models, about {forecast} s left"
            assert shown.after(seconds) == words
        report_progress(0, 20, "planted leaks")  # the time of other parts says nothing of these
        assert shown.after(2) == "leafgate: attack lira (2 of 5), 0 of 20 planted leaks, for 2 min"


def test_the_outermost_forecast_is_shown_of_steps_within_steps() -> None:
    with display("sweep", 120) as shown:
        report_progress(0, 4, "points")
        shown.now += 30
        report_progress(1, 4, "points")
        with progress_step("attack lira"):
            report_progress(0, 2, "models")
            shown.now += 5
            report_progress(1, 2, "models")
            words = "leafgate: sweep, 1 of 4 points, attack lira, 1 of 2 models, about 85 s left"
            assert shown.after(0) == words


def test_the_line_stays_away_while_somebody_else_writes_a_line() -> None:
    with display("build") as shown:
        stderr = StderrBesideLine(shown.stream, shown.line)
        assert shown.after(3) == "leafgate: build, for 3 s"
        stderr.write("half a")
        assert shown.after(1) == "half a"
        stderr.write(" line\n")
        assert shown.after(1) == "leafgate: build, for 5 s"
    assert shown.screen == ["half a line", ""]


@pytest.mark.parametrize("columns", [0, 1, 5, 10, 20, 40, 79, 200])
def test_a_line_never_reaches_the_end_of_a_terminal(columns: int) -> None:
    with display("attack 東京 " + 40 * "long ", columns) as shown:
        report_progress(0, 3, "models")
        shown.now += 10
        report_progress(1, 3, "models")
        line = shown.after(0)
        assert len(line) + sum(map(line.count, "東京")) < max(columns, 1)
        if 40 <= columns < 100:
            assert line.endswith("..., about 20 s left")


@pytest.mark.parametrize(("columns", "line"), [(25, "leafgate: build, for 3 s"), (24, "leafgate: build...")])
def test_words_that_fit_are_not_cut(columns: int, line: str) -> None:
    with display("build", columns) as shown:
        assert shown.after(3) == line


def test_a_name_cannot_move_the_cursor_and_is_written_in_the_terminals_letters() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
    with display("attack \x1b[2J\r東", stream=stream) as shown:
        assert shown.after(3) == "leafgate: attack ?[2J??, for 3 s"


def test_a_terminal_that_is_gone_ends_the_line_and_not_the_work() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("input/output error")

    with display("build", stream=Gone()) as shown:
        assert shown.after(3) == ""


@pytest.mark.thorough
def test_an_audit_on_a_terminal_shows_its_steps_and_leaves_no_trace(folder: Path) -> None:
    policy = survey(folder, SLOW_AUDIT)
    shown, piped = folder / "shown", folder / "piped"
    with on_terminal(
        "audit", policy, "--out", shown, folder=folder, before=SOON, environment={"NO_COLOR": "1"}
    ) as command:
        assert command.end() == 0
    assert "leafgate: attack slow_attack (2 of 2), 3 of 6 rooms, about " in command.text
    assert "\x1b" not in command.text.replace(ERASE_LINE, "")
    warning, *others = screen(command.text)
    assert warning.startswith("warning: policy.yaml: ")
    assert others == [WORD, ""]
    ended = process("audit", policy, "--out", piped, before=SOON + NO_RICH, path=folder)
    assert ended.code == 0
    assert ended.trouble == f"{WORD}\n"
    assert command.stdout.read_text() == ended.out
    for name in ("report.json", "release.json"):
        assert (shown / name).read_bytes() == (piped / name).read_bytes()
    steps = [json.loads((out / "timings.json").read_text()).keys() for out in (shown, piped)]
    assert steps[0] == steps[1]


@pytest.mark.parametrize("word", ["-q", *more("--json")])
@pytest.mark.thorough
def test_whoever_wants_no_progress_gets_none(folder: Path, word: str) -> None:
    with on_terminal("audit", survey(folder, SLOW_AUDIT), word, folder=folder, before=SOON) as command:
        assert command.end() == 0
    assert command.text == f"{WORD}\r\n"


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
    monkeypatch.setattr("leafgate.console.progress.REDRAW_SECONDS", 0.001)
    with shown_progress(), progress_step("build"):
        deadline = time.monotonic() + (SECONDS if shown else 0.05)
        while not stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.002)
    assert bool(stream.getvalue()) == shown
    assert screen(stream.getvalue()) == [""]


@pytest.mark.thorough
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


@pytest.mark.skipif(not PROC.exists(), reason="there is no /proc here")
@pytest.mark.parametrize("workers", [2, *more(1)])
@pytest.mark.thorough
def test_an_interrupted_sweep_ends_at_once_in_130_with_its_workers_and_its_line(folder: Path, workers: int) -> None:
    words = ["--over", "build.k=1,2,3,4", "--out", folder / "swept", "--workers", workers]
    with on_terminal("sweep", survey(folder, FOREVER), *words, folder=folder, before=SOON) as command:
        inner = ", attack slow_attack (1 of 1), 2 of 10,000 rooms, about " if workers == 1 else ", for "
        command.wait_for(lambda text: f"leafgate: sweep, 0 of 4 points{inner}" in text)
        command.wait_for(lambda text: workers == 1 or text.count(WORD) == workers)
        started = time.monotonic()
        command.press(CONTROL_C)
        assert command.end() == 130
        assert time.monotonic() - started < SECONDS
        assert ended_in(command.process.pid)
    assert screen(command.text)[-1] == ""
    assert "Traceback" not in command.text


def test_the_version_imports_no_rich() -> None:
    ended = process("--version", before=NO_RICH)
    assert (ended.code, ended.err) == (0, "")


def test_steps_are_lines_of_the_file_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STEPS, str(tmp_path / "steps"))
    with shown_progress(shown=False), progress_step("read"):
        with progress_step("within"):
            report_progress(1, 2, "parts")
        lines = (tmp_path / "steps").read_text(encoding="utf-8").splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["read"]
    assert float(lines[0].partition(" ")[0]) > 0
