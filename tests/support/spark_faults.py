"""Audits whose Spark is killed, or which are ended themselves, at one of the calls that they make of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

SUPPORT = Path(__file__).parent
"""Must be on the path of such an audit."""
Victim = Literal["python", "java", "executor"]

LINES = """
import os, signal
from pathlib import Path
import leafgate.io.tables.reader
import py4j.clientserver
from session_processes import running_in

leafgate.io.tables.reader.MOST_IN_MEMORY = {most_in_memory}
calls, send_command = 0, py4j.clientserver.ClientServerConnection.send_command

def command_of(process):
    try:
        return (Path("/proc") / str(process) / "cmdline").read_text()
    except OSError:
        return ""

def victims():
    if {victim!r} == "python":
        return [os.getpid()]
    java = [each for each in running_in(os.getpid()) if each != os.getpid()]
    return [each for each in java if ("ExecutorBackend" in command_of(each)) == ({victim!r} == "executor")]

def disturbed(connection, command):
    global calls
    calls += command[0] != "m"  # of Python's memory, which do not come at the same time in each run
    if calls == {call}:
        for process in victims()[:1]:
            os.kill(process, signal.{signal})
    return send_command(connection, command)

py4j.clientserver.ClientServerConnection.send_command = disturbed
"""

CALLS = 370
"""So many calls an audit of one CSV file makes of Spark; a third of them start the session."""


def disturb(victim: Victim, call: int, signal: str = "SIGKILL", most_in_memory: int = 0) -> str:
    """Python lines to run before an audit, the leader of its session: a signal ends the victim at a call of Spark.

    Args:
        victim: the audit itself, Spark's driver or one of its executors.
        call: the number of the call; 0 is none.
        signal: its name.
        most_in_memory: from how many distinct records on they are stored block by block.
    """
    return LINES.format(victim=victim, call=call, signal=signal, most_in_memory=most_in_memory)
