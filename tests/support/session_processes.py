"""The processes of a session that are still running, by Linux's /proc."""

from __future__ import annotations

import time
from pathlib import Path

PROC = Path("/proc/self/stat")
"""Is there where the others are."""


def session_of(process: int) -> tuple[str, int]:
    """The state of a process (Z: it has ended), and its session."""
    try:
        state, _, _, session = (Path("/proc") / str(process) / "stat").read_text().rpartition(") ")[2].split()[:4]
    except OSError:
        return "Z", 0
    return state, int(session)


def ended_in(session: int, seconds: float = 2.0) -> bool:
    """Do all processes of a session end within some seconds? Python's tracker of resources ends last."""
    end = time.monotonic() + seconds
    while running_in(session):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def running_in(session: int) -> list[int]:
    numbers = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    return [number for number in numbers if session_of(number)[1] == session and session_of(number)[0] not in "ZX"]
