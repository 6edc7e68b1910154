"""Nobody reads stdout, the disk behind it is full, or somebody presses Ctrl-C or kills the command."""

from __future__ import annotations

import contextlib
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from cases import more
from command_line import LISTEN, MAIN, process, start, wait_for
from leafgate.app import ExitCode, guarded
from patience import SECONDS
from session_processes import PROC, ended_in, running_in
from slow_plugin import AWAKE, FOREVER, install_slow_plugin
from survey import survey

FULL = Path("/dev/full")


def interrupted(
    folder: Path, words: list[object], change: dict[str, Any], number: signal.Signals = signal.SIGINT
) -> subprocess.Popen[str]:
    """One command, interrupted as soon as the slow plugin sleeps."""
    install_slow_plugin(folder)
    before = f"{LISTEN}\nimport os; os.environ[{AWAKE!r}] = {str(folder / 'awake')!r}"
    command, *options = words
    running = start(command, survey(folder, change), *options, before=before, path=folder, start_new_session=True)
    wait_for(lambda: (folder / "awake").exists() or running.poll() is not None)
    running.send_signal(number)
    return running


BUILD = {"build": {"use": "slow_builder"}}


@pytest.mark.parametrize(
    ("command", "change", "number", "code"),
    [
        ("audit", FOREVER, signal.SIGINT, 130),
        ("audit", BUILD, signal.SIGINT, 130),
        ("audit", FOREVER, signal.SIGTERM, 143),
        ("build", BUILD, signal.SIGINT, 130),
    ],
)
@pytest.mark.thorough
def test_a_command_that_is_ended_by_a_signal_ends_in_its_code_and_leaves_what_was_there(
    tmp_path: Path, command: str, change: dict[str, Any], number: signal.Signals, code: int
) -> None:
    (out := tmp_path / "out").mkdir()
    if command == "build":
        out /= "release.json"
        out.write_text("old")
    running = interrupted(tmp_path, [command, "--out", out], change, number)
    result, err = running.communicate(timeout=30)
    assert (running.returncode, result, "Traceback" in err) == (code, "", False)
    left = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert left == ({"release.json": "old"} if command == "build" else {})


@pytest.mark.skipif(not PROC.exists(), reason="there is no /proc here")
@pytest.mark.thorough
def test_workers_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    """It can clean up nothing."""
    words: list[object] = ["sweep", "--over", "build.k=1,2,3,4", "--out", tmp_path / "swept", "--workers", 2]
    running = interrupted(tmp_path, words, FOREVER, signal.SIGCONT)  # it goes on
    assert len(running_in(running.pid)) >= 3
    running.kill()
    running.communicate(timeout=SECONDS)
    assert ended_in(running.pid, SECONDS)


def test_an_interruption_of_the_first_imports_ends_in_130_without_a_traceback(tmp_path: Path) -> None:
    """Importing typer is what takes longest before a command begins."""
    before = """
import sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
"""
    out = tmp_path / "out"
    ended = process("audit", survey(tmp_path), "--out", out, before=before)
    assert (ended.code, ended.out, ended.err) == (130, "", "")
    assert not out.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, *more(signal.SIGINT, signal.SIGHUP)])
@pytest.mark.thorough
def test_a_signal_while_python_exits_leaves_the_results_and_prints_no_traceback(
    tmp_path: Path, number: signal.Signals
) -> None:
    before = f"{LISTEN}\nimport atexit, os; atexit.register(lambda: os.kill(os.getpid(), {int(number)}))"
    ended = process("audit", survey(tmp_path), "--out", tmp_path / "out", "--quiet", before=before)
    assert (ended.code, ended.out, ended.err) == (-number, "", "")
    assert (tmp_path / "out" / "report.json").exists()


@pytest.mark.parametrize("stdout", ["closed", *(["full"] if FULL.exists() else [])])
@pytest.mark.parametrize("command", ["audit", "nonsense"])
@pytest.mark.thorough
def test_a_stdout_that_takes_nothing_is_an_internal_error(tmp_path: Path, stdout: str, command: str) -> None:
    words = ["audit", survey(tmp_path)] if command == "audit" else ["nonsense", "--json"]
    with FULL.open("w") if stdout == "full" else contextlib.nullcontext(subprocess.PIPE) as out:
        running = start(*words, stdout=out)
        if running.stdout is not None:
            running.stdout.close()
            running.stdout = None
        err = running.communicate(timeout=60)[1]
    assert (running.returncode, "Traceback" in err, "Exception ignored" in err) == (4, False, False)


def test_a_stdout_closed_before_the_start_is_an_internal_error(tmp_path: Path) -> None:
    command = " ".join(shlex.quote(word) for word in (sys.executable, "-c", MAIN, "audit", str(survey(tmp_path))))
    ended = subprocess.run(f"{command} >&-", shell=True, capture_output=True, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (4, False)


def test_an_interruption_that_a_library_made_an_error_of_is_one_all_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As pydantic does where a signal arrives while it compiles a schema."""

    def interrupted() -> int:
        raise TypeError("Error building 'model' validator:\n  KeyboardInterrupt: ")

    def caught() -> int:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise ValueError("not built") from error

    def broken() -> int:
        raise ValueError("not built")

    codes = []
    for each in (interrupted, caught, broken):
        with pytest.raises(typer.Exit) as ended:
            guarded(each)()
        codes.append(ended.value.exit_code)
    assert codes == [ExitCode.INTERRUPTED, ExitCode.INTERRUPTED, ExitCode.INTERNAL]
    assert "internal error: ValueError" in capsys.readouterr().err
