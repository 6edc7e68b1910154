"""Locks on folders and temporary files. The system ends them with the process that holds them, however that one ends.

Windows has no such locks, nor have some network file systems: there nothing is locked, and nobody is refused.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leafgate.errors import OutputError

PATIENCE_SECONDS = 10.0
"""How long a process waits for its turn to change a file that several processes share."""
POLL_SECONDS = 0.02
"""How often a process that waits asks for the lock."""


def lock(handle: int) -> bool | None:
    """Lock an open file or folder: False where somebody else holds the lock, None where there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


class _Claims(threading.local):
    """The folders that a thread has locked, by device and number."""

    def __init__(self) -> None:
        self.folders: set[tuple[int, int]] = set()


_claims = _Claims()


@contextmanager
def claimed_folder(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Nobody else writes results into the folder meanwhile. A thread may claim a folder that it has claimed already.

    Raises:
        OutputError: another audit or sweep has claimed the folder.
    """
    with _locked(folder, 0.0) as locked:
        if locked is False:
            raise OutputError(
                "another audit or sweep is writing its results there",
                place=str(folder),
                remedy="name another folder: --out; or run again when it has ended",
            )
        yield


@contextmanager
def turn_in_folder(folder: Path) -> Iterator[None]:
    """Wait until nobody else has the folder, to change a file of it by what stands in it; at most PATIENCE_SECONDS."""
    with _locked(folder, PATIENCE_SECONDS):
        yield


@contextmanager
def _locked(folder: str | os.PathLike[str], seconds: float) -> Iterator[bool | None]:
    """Whether the folder was locked within some seconds; None where nothing can be locked."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # no folder, one that only its owner lists, or Windows
        handle = -1
    if handle < 0:
        yield None
        return
    try:
        described = os.fstat(handle)
        name = described.st_dev, described.st_ino
        if name in _claims.folders:
            yield True
            return
        locked = lock(handle)
        end = time.monotonic() + seconds
        while locked is False and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
            locked = lock(handle)
        if locked:
            _claims.folders.add(name)
        try:
            yield locked
        finally:
            if locked:
                _claims.folders.discard(name)
    finally:
        os.close(handle)
