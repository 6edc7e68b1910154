"""A command on a terminal: a pseudo-terminal that is its stderr, its keyboard and its controlling terminal."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from command_line import MAIN
from patience import SECONDS

CONTROL_C = b"\x03"
ERASE_LINE = "\x1b[K"


def screen(text: str) -> list[str]:
    """What stands on a terminal after this text, a line each; it knows line ends, returns and erasing to the end."""
    lines, column = [""], 0
    for part in re.findall(r"\x1b\[K|\r|\n|.", text):
        line = lines[-1]
        match part:
            case "\x1b[K":
                lines[-1] = line[:column]
            case "\r":
                column = 0
            case "\n":
                lines.append("")
                column = 0
            case _:
                lines[-1] = line[:column].ljust(column) + part + line[column + 1 :]
                column += 1
    return lines


@dataclass
class Command:
    """A command that runs on a terminal; its stdout is a file."""

    process: subprocess.Popen[bytes]
    keyboard: int
    stdout: Path
    text: str = ""

    def read(self, seconds: float) -> bool:
        """Read what appears on the terminal within so many seconds; False at its end."""
        if not select.select([self.keyboard], [], [], seconds)[0]:
            return True
        try:
            got = os.read(self.keyboard, 65_536)
        except OSError:  # Linux says so where nobody holds the terminal any more
            return False
        self.text += got.decode()
        return bool(got)

    def wait_for(self, there: Callable[[str], object]) -> None:
        """Read until what has appeared is as wanted."""
        deadline = time.monotonic() + SECONDS
        while not there(self.text):
            assert time.monotonic() < deadline, self.text
            assert self.read(0.05) or there(self.text), self.text

    def press(self, key: bytes) -> None:
        os.write(self.keyboard, key)

    def end(self) -> int:
        """Read to the end of the command; its exit code."""
        deadline = time.monotonic() + SECONDS
        while self.read(0.05):
            assert time.monotonic() < deadline, self.text
        return self.process.wait(SECONDS)


@contextmanager
def on_terminal(
    *words: object, folder: Path, before: str = "", columns: int = 100, environment: Mapping[str, str] | None = None
) -> Iterator[Command]:
    """Start a command on a terminal with so many columns, after the Python lines `before`; plugins lie in `folder`."""
    keyboard, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    own = "import fcntl, signal, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); "
    own += "signal.signal(signal.SIGINT, signal.default_int_handler)"
    kept = {name: text for name, text in os.environ.items() if name not in {"CI", "NO_COLOR", "TERM"}}
    search = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    kept |= {"PYTHONPATH": search, "TERM": "xterm"}
    stdout = folder / "stdout"
    with stdout.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", f"{own}\n{before}\n{MAIN}", *map(str, words)],
            stdin=terminal,
            stdout=out,
            stderr=terminal,
            env={**kept, **(environment or {})},
            start_new_session=True,
        )
    os.close(terminal)
    try:
        yield Command(process, keyboard, stdout)
    finally:
        process.kill()
        process.wait()
        os.close(keyboard)
