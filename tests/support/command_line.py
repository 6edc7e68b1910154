"""The command line as its callers see it: an exit code, what stands on stdout, what on stderr."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafgate.cli import run

MAIN = "from leafgate.cli import main; main()"
LISTEN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""
"""A process in the background may have been told to ignore Ctrl-C and hang-ups; a person's terminal does not."""


@dataclass(frozen=True)
class Ended:
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def trouble(self) -> str:
        """What stands on stderr beside warnings."""
        return "".join(line for line in self.err.splitlines(keepends=True) if not line.startswith("warning: "))

    @property
    def document(self) -> Any:
        """The one JSON document that stdout must hold."""
        return json.loads(self.out)

    @property
    def problems(self) -> list[dict[str, str]]:
        """What an error document lists."""
        assert self.document["format"] == "leafgate/error/1"
        found: list[dict[str, str]] = self.document["problems"]
        return found


def leafgate(*words: object) -> Ended:
    """Run one command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(word) for word in words])
    return Ended(code, out.getvalue(), err.getvalue())


def start(*words: object, before: str = "", path: Path | None = None, **options: Any) -> subprocess.Popen[str]:
    """Start one command in a process of its own, after the Python lines `before`; `path` is searched for plugins."""
    search = os.pathsep.join(filter(None, [str(path or ""), os.environ.get("PYTHONPATH", "")]))
    environment: Mapping[str, str] = {**os.environ, "PYTHONPATH": search}
    command = [sys.executable, "-c", f"{before}\n{MAIN}", *map(str, words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen(command, text=True, env=environment, **pipes)


def process(*words: object, before: str = "", **options: Any) -> Ended:
    """Run one command in a process of its own."""
    running = start(*words, before=before, **options)
    out, err = running.communicate(timeout=60)
    return Ended(running.returncode, out or "", err or "")


def wait_for(done: Callable[[], bool]) -> None:
    """Wait until something is done."""
    deadline = time.monotonic() + 30
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)
