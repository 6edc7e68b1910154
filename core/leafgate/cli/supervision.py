"""A command in a forked process, whose exit code counts only if that process states it before it ends.

A native library that calls `exit(0)`, or a plugin that calls `os._exit(0)`, ends its process with the exit code of a
pass.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

from leafgate.interruptions import ENDING, wait_for_files

SIGNAL_CODE = 128
"""What shells add to the number of the signal that ended a program."""
INTERRUPTING = (signal.SIGINT, *ENDING)


def continue_in_fork(no_verdict: Callable[[str], int]) -> Callable[[int], None]:
    """Fork this process, and return in the new one alone; this one waits for it, and ends as it does.

    The new process ends at once when this one is gone.

    Args:
        no_verdict: called in this process where the new one ended without the exit code that it stated, with how it
            ended; returns the exit code.

    Returns:
        A function that states the exit code. Without fork, as on Windows, it does nothing, and nothing is forked.

    Raises:
        OSError: the system starts no further process.
    """
    if not hasattr(os, "fork"):
        return lambda code: None
    stated, to_state = os.pipe()
    parent_gone, kept_open = os.pipe()
    child = os.fork()
    if child:
        os.close(to_state)
        os._exit(_exit_code(child, stated, no_verdict))
    os.close(stated)
    os.close(kept_open)
    threading.Thread(target=_exit_with_parent, args=(parent_gone,), daemon=True).start()

    def state(code: int) -> None:
        os.write(to_state, bytes([code & 0xFF]))

    return state


def _exit_with_parent(parent_gone: int) -> None:
    os.read(parent_gone, 1)  # nobody writes: it returns when the parent's end is closed
    wait_for_files()
    os._exit(1)


def _exit_code(child: int, stated: int, no_verdict: Callable[[str], int]) -> int:
    """Wait for a forked process, pass signals on to it, and return the exit code of this one."""
    passed_on: set[int] = set()

    def pass_on(number: int, frame: object) -> None:
        passed_on.add(number)
        with suppress(ProcessLookupError):
            os.kill(child, number)

    for number in INTERRUPTING:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, pass_on)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if -code in INTERRUPTING:
        if -code in passed_on:
            return SIGNAL_CODE - code
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os.set_blocking(stated, False)
    try:
        is_stated = os.read(stated, 1) == bytes([code & 0xFF])
    except BlockingIOError:  # what the process started has the pipe, too
        is_stated = False
    if code >= 0 and is_stated:
        return code
    return no_verdict(f"by signal {-code}" if code < 0 else f"with exit code {code}")
