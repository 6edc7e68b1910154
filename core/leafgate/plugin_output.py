"""What plugins print, warn of and log while leafgate runs them: dropped, because it may hold a cell of the data."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
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
    show_warning, disabled = warnings.showwarning, logging.root.manager.disable
    try:
        warnings.showwarning = lambda *warning, **options: None
        logging.disable(sys.maxsize)  # a handler may hold the stream that was stderr when it was made
        with redirect_stdout(nowhere()), redirect_stderr(nowhere()):
            yield
    finally:
        logging.disable(disabled)
        warnings.showwarning = show_warning


@cache
def nowhere() -> TextIO:
    """A file that keeps nothing; it stays open to the end, because a handler of a log may keep it."""
    stream = open(os.devnull, "w", encoding="utf-8", errors="replace")  # noqa: SIM115
    atexit.register(stream.close)
    return stream
