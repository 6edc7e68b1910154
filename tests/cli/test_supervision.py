"""A process that ends without a verdict is no pass, whatever its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cases import more
from command_line import LISTEN, MAIN, process, start, wait_for
from session_processes import PROC, running_in
from stranger import install
from survey import survey

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
ENDS = """
from typing import Literal
from leafgate.api import AttackModel, hookimpl
import ctypes, os, time
leafgate_api = ">=3,<4"

def end():
    {how}

{at_import}

class Ending(AttackModel):
    use: Literal["ending"] = "ending"

    def infer(self, release, known):
        end()

@hookimpl
def attack_models():
    return [Ending]
"""
EXIT = "os._exit(0)"
NATIVE = "ctypes.CDLL(None).exit(0)"
KILLED = "os.kill(os.getpid(), 9)", "by signal 9"


def validating(folder: Path, how: str) -> list[object]:
    """A command that imports a plugin, which ends its process so when it is imported."""
    install(folder, "leafgate_ending", ENDS.format(how=how, at_import="end()"))
    return ["validate", survey(folder, {"attacks": [{"use": "ending"}]})]


@pytest.mark.parametrize(
    ("how", "ending"),
    [(NATIVE, "with exit code 0"), *more((EXIT, "with exit code 0"), ("os._exit(3)", "with exit code 3")), KILLED],
)
@pytest.mark.thorough
def test_a_process_that_ends_without_a_verdict_ends_in_4(tmp_path: Path, how: str, ending: str) -> None:
    ended = process(*validating(tmp_path, how), path=tmp_path)
    message = f"leafgate: the process that ran the command ended {ending}, without a verdict\n"
    assert (ended.code, ended.out, ended.err) == (4, "", message)


@pytest.mark.thorough
def test_an_audit_that_ends_without_a_verdict_has_no_report(tmp_path: Path) -> None:
    install(tmp_path, "leafgate_ending", ENDS.format(how=EXIT, at_import=""))
    policy = survey(tmp_path, {"attacks": [{"use": "ending"}]})
    ended = process("audit", policy, "--out", tmp_path / "out", "--json", path=tmp_path)
    assert (ended.code, ended.problems[0]["message"].endswith("without a verdict")) == (4, True)
    assert not {"report.json", "release.json"} & {*os.listdir(tmp_path / "out")}


@pytest.mark.thorough
def test_an_exit_code_that_is_not_the_stated_one_ends_in_4(tmp_path: Path) -> None:
    ended = process("validate", survey(tmp_path), before="import atexit, os; atexit.register(os._exit, 1)")
    assert (ended.code, "ended with exit code 1, without a verdict" in ended.err) == (4, True)


@pytest.mark.thorough
def test_what_a_command_started_may_outlive_it(tmp_path: Path) -> None:
    """It keeps the pipe open by which the exit code is stated."""
    stays = tmp_path / "stays"
    before = f"""
import atexit, os, pathlib, time
def start():
    if os.fork() == 0:
        os.close(1), os.close(2)
        pathlib.Path({str(stays)!r}).write_text(str(os.getpid()))
        time.sleep(600)
atexit.register(start)
"""
    try:
        assert process("validate", survey(tmp_path), before=before).code == 0
    finally:
        os.kill(int(stays.read_text()), signal.SIGKILL)


def test_no_process_could_be_started_is_an_internal_error(tmp_path: Path) -> None:
    before = """
import errno, os
def fork():
    raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
os.fork = fork
"""
    ended = process("validate", survey(tmp_path), before=before)
    assert (ended.code, "no process could be started" in ended.err, "Traceback" in ended.err) == (4, True, False)


@pytest.mark.thorough
def test_the_process_ends_when_the_one_that_was_started_is_killed(tmp_path: Path) -> None:
    words = validating(tmp_path, f"open({str(tmp_path / 'awake')!r}, 'w'); time.sleep(60)")
    running = start(*words, path=tmp_path, start_new_session=True)
    wait_for((tmp_path / "awake").exists)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    wait_for(lambda: not PROC.exists() or not running_in(running.pid))


@pytest.mark.parametrize("to_group", [True, *more(False)])
@pytest.mark.thorough
def test_an_interruption_of_both_processes_interrupts_once(tmp_path: Path, to_group: bool) -> None:
    """A terminal sends Ctrl-C to both; the second of two interruptions would end the clean-up of the first."""
    cleaned = tmp_path / "cleaned"
    how = f"""
    try:
        open({str(tmp_path / "awake")!r}, "w")
        time.sleep(60)
    finally:
        time.sleep(0.3)
        open({str(cleaned)!r}, "w")
"""
    running = start(*validating(tmp_path, how), before=LISTEN, path=tmp_path, start_new_session=True)
    wait_for((tmp_path / "awake").exists)
    (os.killpg if to_group else os.kill)(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, cleaned.exists(), "Traceback" in err) == (130, True, False)


@pytest.mark.thorough
def test_a_command_reads_from_stdin_and_its_terminal_as_before(tmp_path: Path) -> None:
    before = "import sys, atexit; atexit.register(lambda: sys.stderr.write(sys.stdin.read()))"
    command = [sys.executable, "-c", f"{before}\n{MAIN}", "validate", str(survey(tmp_path))]
    done = subprocess.run(command, input="typed", capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.endswith("typed")) == (0, True)
