"""One line on a terminal that says how far a command has come and about how long the rest will take."""

from __future__ import annotations

import os
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from typing import Any, TextIO, cast

from leafgate.io.text import printable_line
from leafgate.progress import progress_watched_by

QUICK_SECONDS = 2.0
"""Work that takes no longer than this shows nothing."""
REDRAW_SECONDS = 0.25
"""How often the line is drawn again."""
DEFAULT_WIDTH = 80
"""Columns of a terminal that does not say how many it has."""
MIN_WORDS_COLUMNS = 16
"""Where the words would get fewer columns, the time is left out."""
CUT = "..."
"""Stands at the end of words that are cut."""
MAX_SECONDS = 100
"""From here on a time is given in minutes, and from as many minutes on in hours."""
STEPS = "LEAFGATE_STEPS"
"""The variable of the environment that names the file to write steps to."""
ERASE_LINE = "\r\x1b[K"
"""Goes to the beginning of the line and clears it."""


@contextmanager
def shown_progress(*, shown: bool = True) -> Iterator[None]:
    """Show on stderr how far the work within has come, if stderr is a terminal that can erase a line.

    Where the environment names a file by `LEAFGATE_STEPS`, each step is a line of that file instead.

    Args:
        shown: False shows nothing, for `--quiet` and `--json`.
    """
    stream = sys.stderr
    if steps := os.environ.get(STEPS):
        with open(steps, "a", encoding="utf-8") as file, progress_watched_by(StepLines(file)):
            yield
        return
    if not shown or not _can_redraw(stream):
        yield
        return
    line = ProgressLine(stream)
    with progress_watched_by(line), redirect_stderr(cast(TextIO, StderrBesideLine(stream, line))):
        try:
            yield
        finally:
            line.close()


class StepLines:
    """Writes each step that begins outside of all others as a line with the time, for a program that shows them."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._depth = file, 0

    def begin(self, step: str) -> None:
        self._depth += 1
        if self._depth == 1:
            self._file.write(f"{time.time():.1f} {printable_line(step)}\n")
            self._file.flush()

    def end(self) -> None:
        self._depth -= 1

    def report(self, done: int, total: int, parts: str) -> None:
        """Parts of steps are not written."""


def _can_redraw(stream: TextIO | None) -> bool:
    """Is the stream a terminal of a person, on which a line can be erased?"""
    if os.environ.get("TERM") == "dumb" or os.environ.get("CI"):
        return False
    return stream is not None and not stream.closed and stream.isatty()


@dataclass
class _Step:
    """A step that is under way, the parts of it that are done, and when they were counted, in seconds of the clock."""

    name: str
    began: float
    parts: str = ""
    done: int = 0
    total: int = 0
    parts_began: float = 0.0
    counted: float = 0.0

    def count(self, done: int, total: int, parts: str, now: float) -> None:
        """Note how many parts are done; other parts than before begin now."""
        if (parts, total) != (self.parts, self.total) or done < self.done:
            self.parts_began = now
        self.parts, self.done, self.total, self.counted = parts, done, total, now

    @property
    def words(self) -> str:
        return f"{self.name}, {self.done:,} of {self.total:,} {self.parts}" if self.total else self.name

    def seconds_left(self, now: float) -> float | None:
        """A forecast by the mean time of the parts that are done; None where there is none yet."""
        spent = self.counted - self.parts_began
        if not 0 < self.done < self.total or spent <= 0:
            return None
        return max(1.0, spent / self.done * (self.total - self.done) - (now - self.counted))


class ProgressLine:
    """Watches progress and keeps one line of it on a terminal, from the third second of the work on."""

    def __init__(
        self, stream: TextIO, clock: Callable[[], float] = time.monotonic, width: Callable[[], int] | None = None
    ) -> None:
        """Draw nothing yet.

        Args:
            stream: the terminal.
            clock: seconds that never go back.
            width: the columns of the terminal; asked of it when left out.
        """
        self._stream, self._clock = stream, clock
        self._width = width or (lambda: _terminal_columns(stream))
        self._steps: list[_Step] = []
        self._began: float | None = None
        self._drawn = ""
        self._at_line_start = True
        self._lock = threading.RLock()  # a signal handler may write while the line is drawn
        self._closed = threading.Event()

    def begin(self, step: str) -> None:
        now = self._clock()
        with self._lock:
            self._steps.append(_Step(self._encodable(printable_line(step)), now))
            if self._began is None:
                self._began = now
                threading.Thread(target=self._redraw_until_closed, name="progress", daemon=True).start()

    def end(self) -> None:
        with self._lock:
            if self._steps:
                self._steps.pop()
            if not self._steps:
                self._erase()

    def report(self, done: int, total: int, parts: str) -> None:
        with self._lock:
            if self._steps:
                self._steps[-1].count(done, total, self._encodable(printable_line(parts)), self._clock())

    def close(self) -> None:
        """Erase the line for good."""
        self._closed.set()
        with self._lock:
            self._steps.clear()
            self._erase()

    def write(self, text: str) -> int:
        """Write something else to the terminal, above the line; the line comes back when it is drawn next."""
        with self._lock:
            if text:
                self._erase()
                self._at_line_start = text[-1:] == "\n"
            return self._stream.write(text)

    def draw(self) -> None:
        """Draw what is under way, if there has been work for a while and the terminal is at the start of a line."""
        with self._lock:
            now = self._clock()
            if self._began is None or now - self._began < QUICK_SECONDS or not self._steps or not self._at_line_start:
                return
            text = fitted(*self._words(now), self._width() - 1)
            if text != self._drawn:
                self._put(f"{ERASE_LINE}{text}")
                self._drawn = text

    def _words(self, now: float) -> tuple[str, str]:
        """What is done, and how long it still takes or, where nobody knows, for how long it has been done."""
        forecasts = [seconds for step in self._steps if (seconds := step.seconds_left(now)) is not None]
        spent = now - self._steps[0].began
        time_words = f"about {duration(forecasts[0])} left" if forecasts else f"for {duration(spent)}"
        return f"leafgate: {', '.join(step.words for step in self._steps)}", f", {time_words}"

    def _encodable(self, text: str) -> str:
        """The text with a question mark for each character that the terminal has not."""
        encoding = self._stream.encoding or "utf-8"
        return text.encode(encoding, "replace").decode(encoding)

    def _redraw_until_closed(self) -> None:
        while not self._closed.wait(REDRAW_SECONDS):
            self.draw()

    def _erase(self) -> None:
        if self._drawn:
            self._drawn = ""
            self._put(ERASE_LINE)

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone, which is no reason to end the work
            self._closed.set()


class StderrBesideLine:
    """Standard error while a line of progress may stand on it: what is written does not run into the line."""

    def __init__(self, stream: TextIO, line: ProgressLine) -> None:
        self._stream, self._line = stream, line

    def write(self, text: str) -> int:
        return self._line.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def fitted(words: str, time_words: str, columns: int) -> str:
    """The words and the time, in no more columns than there are: words are cut first, and the time left out last.

    >>> fitted("leafgate: attack lira, 3 of 12 shadow models", ", about 9 s left", 40)
    'leafgate: attack lira..., about 9 s left'
    """
    if columns_of(words) + columns_of(time_words) <= columns:
        return f"{words}{time_words}"
    if columns - columns_of(time_words) < MIN_WORDS_COLUMNS:
        time_words = ""
    room = columns - columns_of(time_words) - len(CUT)
    while words and columns_of(words) > room:
        words = words[:-1]
    return f"{words.rstrip(' ,')}{CUT}{time_words}" if room > 0 else ""


def columns_of(text: str) -> int:
    """How many columns of a terminal the text takes: characters of East Asian scripts take two."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
        for char in text
    )


def duration(seconds: float) -> str:
    """Seconds in words, with no more digits than a forecast deserves.

    >>> duration(42.4), duration(600), duration(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < MAX_SECONDS:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 60 * MAX_SECONDS else f"{seconds / 3600:.1f} h"


def _terminal_columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except (OSError, ValueError):
        return DEFAULT_WIDTH
