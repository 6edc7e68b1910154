"""Interruptions of a process: the signals that end it, and the work that they wait for.

SIGTERM and SIGHUP end Python without any clean-up. The command line has them end it as Ctrl-C does, so that temporary
files and workers go with it. What writes files holds all of them back until its files are whole.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals by which others end a process that is asked to clean up; Windows has the first one only."""
REPEATED_SECONDS = 0.5
"""Within so long the same signal again is the same interruption."""
LONGEST_WRITE_SECONDS = 5.0
"""How long a process whose parent is gone may go on with what it writes."""

_UNDISTURBED = threading.RLock()
"""Is held while files are written."""


def _forget_writers() -> None:
    """A forked process has no other threads: none writes files, whatever its parent was doing."""
    global _UNDISTURBED
    _UNDISTURBED = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_writers)


def interrupt_on_signals() -> list[int]:
    """Have SIGTERM and SIGHUP interrupt this process as Ctrl-C does, unless they are ignored (nohup) or handled.

    A signal that arrives twice within REPEATED_SECONDS interrupts once: a terminal sends it to all processes of a
    command, and the one that was started passes it on to the other.

    Returns:
        A list that the signals are added to when they arrive.
    """
    received: list[int] = []
    last: dict[int, float] = {}

    def interrupt(number: int, frame: FrameType | None) -> None:
        before, last[number] = last.get(number), time.monotonic()
        if before is None or last[number] - before > REPEATED_SECONDS:
            received.append(number)
            raise KeyboardInterrupt

    for number in (signal.SIGINT, *ENDING):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)
    return received


def end_at_once_on_signals() -> None:
    """Have signals end this process without any clean-up again: it has nothing left to do but to exit."""
    for number in (signal.SIGINT, *ENDING):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Signals that would end the process arrive when this block is left; only SIGKILL does not wait.

    Python handles signals in its main thread alone, so other threads need no more than that the process waits for them.
    """
    with _UNDISTURBED:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        received: list[int] = []
        handlers: dict[int, signal._HANDLER] = {}
        try:
            for number in (signal.SIGINT, *ENDING):
                handler = signal.getsignal(number)
                if handler not in (signal.SIG_IGN, None):  # None: code that is not Python's handles it
                    handlers[number] = handler
                    signal.signal(number, lambda number, frame: received.append(number))
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            if received:
                signal.raise_signal(received[0])


def wait_for_files() -> None:
    """Wait until no thread of this process writes files, but no longer than LONGEST_WRITE_SECONDS."""
    _UNDISTURBED.acquire(timeout=LONGEST_WRITE_SECONDS)
