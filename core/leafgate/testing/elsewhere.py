"""Another process, in which hashes, the time zone and all that happens once at an import come out otherwise."""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from leafgate.interfaces import Component

LONGEST = 600.0
"""Seconds one plugin may take there."""


def asked_elsewhere(component: Component, more: Sequence[Any]) -> Any:
    """A digest of what comes of it there, by the setting; in a text what it ends in; None where it cannot be sent."""
    whole = _packed((component, more))
    packed = whole or _packed((component, ()))
    told = _worker().asked(packed) if packed else None
    return told if whole or not isinstance(told, str) else None


def _packed(thing: Any) -> bytes:
    """As it is sent; empty where it cannot be."""
    try:
        return pickle.dumps(thing)
    except Exception:
        return b""


class Worker:
    """One other process for all plugins that this one asks about."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    def asked(self, packed: bytes) -> Any:
        """What comes of a plugin there; the process that a plugin took down with it is started anew."""
        process = self._running()
        late = threading.Timer(LONGEST, process.kill)
        late.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            pickle.dump((sys.path, packed), process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)  # noqa: S301  from the process started here
        except (EOFError, OSError, pickle.UnpicklingError):
            self.end()
            return "no answer"
        finally:
            late.cancel()

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "leafgate.testing.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | otherwise(),
            )
        return self.process

    def end(self) -> None:
        if self.process is not None:
            with self.process as process:
                process.kill()
            self.process = None


def otherwise() -> Mapping[str, str]:
    """An environment with other hashes, and a time zone where it is another hour."""
    hashes = "2" if os.environ.get("PYTHONHASHSEED") != "2" else "3"
    zone = "KIT+11:30" if time.localtime().tm_gmtoff > 0 else "KIT-13:45"
    return {"PYTHONHASHSEED": hashes, "TZ": zone, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@cache
def _worker() -> Worker:
    return Worker()
