"""One line on a terminal that says how far a command has come, drawn by rich, which is imported at the first step."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import TYPE_CHECKING

from leafgate.io.text import printable_line
from leafgate.progress import progress_watched_by

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import Progress, TaskID

QUICK_SECONDS = 2.0
"""Work that takes no longer than this shows nothing."""
REDRAWS_A_SECOND = 4.0
ALL_SECONDS = float("inf")
"""A forecast is made of all parts that are done, however long ago."""
MAX_SECONDS = 100
"""From here on a time is given in minutes, and from as many minutes on in hours."""


@contextmanager
def shown_progress(*, shown: bool = True) -> Iterator[None]:
    """Show on stderr how far the work within has come, if stderr is a terminal of a person.

    Args:
        shown: False shows nothing, for `--quiet` and `--json`.
    """
    if not shown or not _is_persons_terminal():
        yield
        return
    display = ProgressDisplay()
    with progress_watched_by(display):
        try:
            yield
        finally:
            display.close()


def _is_persons_terminal() -> bool:
    """Is stderr a terminal of a person, on which a line can be erased?"""
    if os.environ.get("TERM") == "dumb" or os.environ.get("CI"):
        return False
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


class ProgressDisplay:
    """Watches progress and keeps one line of it on a terminal, from the third second of the work on.

    Only threads draw, so that the work goes on where the terminal is gone. What is written to stderr meanwhile stands
    above the line.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.steps: Progress | None = None
        self._under_way: list[tuple[str, TaskID]] = []
        self._line: tuple[Live, Timer] | None = None

    def begin(self, step: str) -> None:
        if self.steps is None:
            self.steps, live = _line_of_steps(self._clock)
            timer = Timer(QUICK_SECONDS, _start, [live])
            timer.start()
            self._line = live, timer
        name = printable_line(step)
        self._under_way.append((name, self.steps.add_task(name, total=None)))

    def end(self) -> None:
        if self.steps is not None and self._under_way:
            self.steps.remove_task(self._under_way.pop()[1])

    def report(self, done: int, total: int, parts: str) -> None:
        if self.steps is not None and self._under_way:
            name, task = self._under_way[-1]
            words = f"{name}, {done:,} of {total:,} {printable_line(parts)}"
            self.steps.update(task, completed=done, total=total, description=words)

    def close(self) -> None:
        """Erase the line for good."""
        if self._line is not None:
            live, timer = self._line
            timer.cancel()
            timer.join()
            with suppress(OSError, ValueError):  # the terminal is gone
                live.stop()


def _start(live: Live) -> None:
    with suppress(OSError, ValueError):  # the terminal is gone
        live.start()


def _line_of_steps(clock: Callable[[], float]) -> tuple[Progress, Live]:
    """The steps as rich counts them, and the line of a terminal that shows them, which is not drawn yet."""
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.progress import Progress
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    progress = Progress(console=console, auto_refresh=False, speed_estimate_period=ALL_SECONDS, get_time=clock)

    def line() -> RenderableType:
        return Text(progress_words(progress), no_wrap=True, overflow="ellipsis")

    live = Live(
        console=console,
        get_renderable=line,
        refresh_per_second=REDRAWS_A_SECOND,
        transient=True,
        redirect_stdout=False,
    )
    return progress, live


def progress_words(progress: Progress) -> str:
    """All steps that are under way, and how long the outermost with a forecast still takes, or for how long it runs."""
    tasks = progress.tasks
    if not tasks:
        return ""
    forecasts = [task.time_remaining for task in tasks if task.time_remaining is not None]
    time_words = f"about {duration(forecasts[0])} left" if forecasts else f"for {duration(tasks[0].elapsed or 0.0)}"
    return f"leafgate ({time_words}): {', '.join(task.description for task in tasks)}"


def duration(seconds: float) -> str:
    """Seconds in words, with no more digits than a forecast deserves.

    >>> duration(42.4), duration(600), duration(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < MAX_SECONDS:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 60 * MAX_SECONDS else f"{seconds / 3600:.1f} h"
