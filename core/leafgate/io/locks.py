"""Locks on folders and files. The system ends them with the process that holds them, however that one ends.

Windows has no such locks, nor have some network file systems: there nothing is locked, and nobody is refused.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


def _is_locked_in_time(handle: int, end: float) -> bool:
    """Lock an open file or folder, waiting until `end`: False where somebody else holds the lock all the time."""
    locked = lock(handle)
    while locked is False and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
        locked = lock(handle)
    return locked is not False


@contextmanager
def locked_folder(folder: Path, seconds: float = 0.0) -> Iterator[bool]:
    """Hold the lock of a folder, which nobody else holds meanwhile.

    Args:
        folder: any folder.
        seconds: how long to wait for it.

    Yields:
        False where somebody else holds the lock all the time; True where it is held, or nothing can be locked.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # no folder, one that only its owner lists, or Windows
        yield True
        return
    try:
        yield _is_locked_in_time(handle, time.monotonic() + seconds)
    finally:
        os.close(handle)


@contextmanager
def locked_file(path: Path, seconds: float) -> Iterator[bool]:
    """Hold the lock of a file that is replaced as a whole whenever it is changed; it is made where there is none.

    A process that waited for a file which was replaced meanwhile waits for the new one.

    Args:
        path: the file, which is no link.
        seconds: how long to wait for it.

    Yields:
        False where others hold the lock all the time; True where it is held, or nothing can be locked.

    Raises:
        OSError: the file cannot be opened for writing.
    """
    if sys.platform == "win32":  # there an open file cannot be replaced
        yield True
        return
    end = time.monotonic() + seconds
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            locked = _is_locked_in_time(handle, end)
            if not locked or _is_same_file(handle, path):
                yield locked
                return
        finally:
            os.close(handle)


def _is_same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


@contextmanager
def turn_in_folder(folder: Path) -> Iterator[None]:
    """Wait until nobody else has the folder, to change a file of it by what stands in it; at most PATIENCE_SECONDS."""
    with locked_folder(folder, PATIENCE_SECONDS):
        yield
