"""What plugins print, warn of and log while leafgate runs them: dropped, because it may hold a cell of the data."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from typing import TextIO

TRACEBACK = "LEAFGATE_TRACEBACK"
"""The environment variable with which the authors of plugins see tracebacks and what plugins print."""


def is_output_shown() -> bool:
    """Does somebody who writes a plugin ask for what it prints?"""
    return os.environ.get(TRACEBACK) == "1"


@contextmanager
def plugin_output_dropped() -> Iterator[None]:
    """Drop what is written to stdout and stderr, warned of or logged within, by whichever thread.

    With LEAFGATE_TRACEBACK=1 all of it is shown on stderr. What code that is not Python's writes to the file
    descriptors of the process is not held back.
    """
    if is_output_shown():
        with redirect_stdout(sys.stderr):
            yield
        return
    with _DROPPED:
        yield


class _Dropped:
    """Drops output while one thread or several are within; the first one begins it, and the last one ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._within = 0
        self._undo = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._within += 1
            if self._within > 1:
                return
            self._undo.callback(logging.disable, logging.root.manager.disable)
            self._undo.callback(setattr, warnings, "showwarning", warnings.showwarning)
            logging.disable(sys.maxsize)  # a handler may hold the stream that was stderr when it was made
            warnings.showwarning = lambda *warning, **options: None
            self._undo.enter_context(redirect_stdout(null_stream()))
            self._undo.enter_context(redirect_stderr(null_stream()))

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within:
                self._undo.close()


_DROPPED = _Dropped()


@cache
def null_stream() -> TextIO:
    """A file that keeps nothing; it stays open to the end, because a handler of a log may keep it."""
    stream = open(os.devnull, "w", encoding="utf-8", errors="replace")  # noqa: SIM115
    atexit.register(stream.close)
    return stream
