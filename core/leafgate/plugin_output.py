"""What plugins print, warn of and log while leafgate runs them: dropped, because it may hold a cell of the data."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import ctypes

TRACEBACK = "LEAFGATE_TRACEBACK"
"""The environment variable with which the authors of plugins see tracebacks and what plugins print."""


def is_output_shown() -> bool:
    """Does somebody who writes a plugin ask for what it prints?"""
    return os.environ.get(TRACEBACK) == "1"


@contextmanager
def plugin_output_dropped() -> Iterator[None]:
    """Drop what is written to stdout and stderr, warned of or logged within, by whichever thread.

    With LEAFGATE_TRACEBACK=1 all of it is shown on stderr. What code that is not Python's writes to the file descriptor
    of stdout is treated alike; what it writes to that of stderr is not held back.
    """
    with _SHOWN if is_output_shown() else _DROPPED:
        yield


class _Redirected:
    """Redirects output while one thread or several are within; the first one begins it, and the last one ends it."""

    def __init__(self, begin: Callable[[ExitStack], None]) -> None:
        self._lock = threading.Lock()
        self._within = 0
        self._begin = begin
        self._undo = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._within += 1
            if self._within == 1:
                self._begin(self._undo)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within:
                self._undo.close()


def _drop(undo: ExitStack) -> None:
    """Drop all output until it is undone."""
    undo.callback(logging.disable, logging.root.manager.disable)
    undo.callback(setattr, warnings, "showwarning", warnings.showwarning)
    logging.disable(sys.maxsize)  # a handler may hold the stream that was stderr when it was made
    warnings.showwarning = lambda *warning, **options: None
    undo.enter_context(redirect_stdout(null_stream()))
    undo.enter_context(redirect_stderr(null_stream()))
    undo.enter_context(_stdout_descriptor_to(null_stream().fileno()))


def _show(undo: ExitStack) -> None:
    """Send stdout to stderr until it is undone."""
    undo.enter_context(redirect_stdout(sys.stderr))
    undo.enter_context(_stdout_descriptor_to(STDERR))


_DROPPED, _SHOWN = _Redirected(_drop), _Redirected(_show)
STDOUT = 1
STDERR = 2


@contextmanager
def _stdout_descriptor_to(target: int) -> Iterator[None]:
    """Let the file descriptor of stdout be another one, to which programs and libraries write that are not Python's."""
    try:
        kept = os.dup(STDOUT)
    except OSError:  # it is closed
        yield
        return
    os.dup2(target, STDOUT)
    try:
        yield
    finally:
        _flush_c_library()
        os.dup2(kept, STDOUT)
        os.close(kept)


def _flush_c_library() -> None:
    """Write what the C library of the process holds back: it would come out where stdout then leads."""
    if sys.platform != "win32":
        _c_library().fflush(None)


@cache
def _c_library() -> ctypes.CDLL:
    """The C library of the process."""
    import ctypes

    return ctypes.CDLL(None)


@cache
def null_stream() -> TextIO:
    """A file that keeps nothing; it stays open to the end, because a handler of a log may keep it."""
    stream = open(os.devnull, "w", encoding="utf-8", errors="replace")  # noqa: SIM115
    atexit.register(stream.close)
    return stream
