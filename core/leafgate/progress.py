"""How far a long piece of work has come: reported to whoever watches it, and to nobody by default.

The engine reports its steps, and attacks, metrics and commands report the parts of a step. A command that runs on a
terminal watches (`leafgate.console.progress`). Nothing is returned and no clock is read here, so that no result can
depend on who watches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class ProgressWatcher(Protocol):
    """Is told of steps, which may have steps within them, and of the parts of the innermost step."""

    def begin(self, step: str) -> None:
        """A step begins, within the step that is under way."""

    def end(self) -> None:
        """The step that began last has ended, with or without an error."""

    def report(self, done: int, total: int, parts: str) -> None:
        """Of the parts of the step that began last, this many are done."""


_watcher: ProgressWatcher | None = None


@contextmanager
def progress_watched_by(watcher: ProgressWatcher) -> Iterator[None]:
    """Tell this watcher, and nobody else, of all progress of this process."""
    global _watcher
    before, _watcher = _watcher, watcher
    try:
        yield
    finally:
        _watcher = before


@contextmanager
def progress_step(step: str) -> Iterator[None]:
    """Report that a step begins here and ends there.

    Args:
        step: its name in a few words, such as "attack lira (2 of 5)".
    """
    watcher = _watcher
    if watcher is None:
        yield
        return
    watcher.begin(step)
    try:
        yield
    finally:
        watcher.end()


def report_progress(done: int, total: int, parts: str) -> None:
    """Report how many parts of the present step are done; a terminal shows it with a forecast of the time that is left.

    Call it with 0 before the first part and again after each part. Any thread may call it; where nobody watches it does
    nothing.

    Args:
        done: how many parts are done, from 0 to `total`.
        total: how many there are; each should take about as long as any other.
        parts: what they are, in the plural, such as "shadow models".
    """
    if _watcher is not None:
        _watcher.report(done, total, parts)
