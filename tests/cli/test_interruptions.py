"""Nobody reads stdout, the disk behind it is full, or somebody presses Ctrl-C."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from cases import more
from command_line import LISTEN, process, start, wait_for
from leafgate.app import ExitCode, guarded
from stranger import install
from survey import survey

FULL = Path("/dev/full")
SLOW = """
import os, time
from typing import Literal
from leafgate.api import AttackModel, TreeBuilder, hookimpl
leafgate_api = ">=3,<4"

def sleep():
    open(os.environ["AWAKE"], "w").close()
    time.sleep(60)

class SlowAttack(AttackModel):
    use: Literal["slow_attack"] = "slow_attack"

    def infer(self, release, known):
        sleep()

class SlowBuilder(TreeBuilder):
    use: Literal["slow_builder"] = "slow_builder"

    def build(self, table, rng):
        sleep()

@hookimpl
def tree_builders():
    return [SlowBuilder]

@hookimpl
def attack_models():
    return [SlowAttack]
"""


def interrupted(
    folder: Path, policy: Path, *words: object, number: signal.Signals = signal.SIGINT
) -> subprocess.Popen[str]:
    """One command, interrupted as soon as the slow plugin sleeps."""
    install(folder, "leafgate_slow", SLOW)
    before = f"{LISTEN}\nimport os; os.environ['AWAKE'] = {str(folder / 'awake')!r}"
    running = start(*words[:1], policy, *words[1:], before=before, path=folder)
    wait_for(lambda: (folder / "awake").exists() or running.poll() is not None)
    running.send_signal(number)
    return running


@pytest.mark.parametrize(
    ("change", "number", "code"),
    [
        ({"attacks": [{"use": "slow_attack"}]}, signal.SIGINT, 130),
        ({"build": {"use": "slow_builder"}}, signal.SIGINT, 130),
        ({"attacks": [{"use": "slow_attack"}]}, signal.SIGTERM, 143),
    ],
)
@pytest.mark.thorough
def test_an_audit_that_is_ended_by_a_signal_ends_in_its_code_and_leaves_no_file(
    tmp_path: Path, change: dict[str, Any], number: signal.Signals, code: int
) -> None:
    out = tmp_path / "out"
    running = interrupted(tmp_path, survey(tmp_path, change), "audit", "--out", out, number=number)
    result, err = running.communicate(timeout=30)
    assert (running.returncode, result, "Traceback" in err) == (code, "", False)
    assert list(out.iterdir()) == []


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


@pytest.mark.thorough
def test_an_interrupted_build_ends_in_130_and_leaves_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "out" / "release.json"
    out.parent.mkdir()
    out.write_text("old")
    policy = survey(tmp_path, {"build": {"use": "slow_builder"}})
    running = interrupted(tmp_path, policy, "build", "--out", out)
    running.communicate(timeout=30)
    assert running.returncode == 130
    assert [(path.name, path.read_text()) for path in out.parent.iterdir()] == [("release.json", "old")]


def commands(folder: Path) -> list[list[object]]:
    return [["audit", survey(folder)], ["nonsense", "--json"]]


each_command = pytest.mark.parametrize("number", [0, 1])


@each_command
@pytest.mark.thorough
def test_a_closed_stdout_is_an_internal_error(tmp_path: Path, number: int) -> None:
    with start(*commands(tmp_path)[number]) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        err = running.stderr.read()
    assert running.returncode == 4
    assert "Traceback" not in err
    assert "Exception ignored" not in err


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
@each_command
@pytest.mark.thorough
def test_a_full_stdout_is_an_internal_error(tmp_path: Path, number: int) -> None:
    with FULL.open("w") as full:
        ended = process(*commands(tmp_path)[number], stdout=full)
    assert ended.code == 4
    assert "Traceback" not in ended.err
    assert "Exception ignored" not in ended.err


def test_a_stdout_closed_before_the_start_is_an_internal_error(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from leafgate.cli import main; main()", "audit", str(survey(tmp_path))]
    command = " ".join(shlex.quote(word) for word in words)
    ended = subprocess.run(f"{command} >&-", shell=True, capture_output=True, text=True, check=False)
    assert ended.returncode == 4
    assert "Traceback" not in ended.stderr


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
