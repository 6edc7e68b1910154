"""A second process, with other hash seeds, another time zone and imports of its own, that runs a component again."""

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
from queue import SimpleQueue
from typing import IO, Any

from leafgate.kernel.components import Component
from leafgate.testing.sandbox import digest
from leafgate.testing.subjects import subject_of

MAX_SECONDS = 600.0
"""Seconds one plugin may take there."""


def digests_elsewhere(component: Component, more: Sequence[Any]) -> Any:
    """Digests of its outputs there, by instance; a text if it fails there; None if it cannot be sent."""
    whole = _packed((component, more))
    packed = whole or _packed((component, ()))
    result = _worker().ask(packed) if packed else None
    return result if whole or not isinstance(result, str) else None


def _packed(thing: Any) -> bytes:
    """The pickled object; empty if it cannot be pickled."""
    try:
        return pickle.dumps(thing)
    except Exception:
        return b""


class Worker:
    """One other process for all plugins that this one asks about."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    def ask(self, packed: bytes) -> Any:
        """Outcomes of a plugin there; a process that a plugin ended is started again."""
        process = self._running()
        late = threading.Timer(MAX_SECONDS, process.kill)
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
                [sys.executable, "-m", "leafgate.testing.subprocess_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | other_environment(),
            )
        return self.process

    def end(self) -> None:
        if self.process is not None:
            with self.process as process:
                process.kill()
            self.process = None


def other_environment() -> Mapping[str, str]:
    """An environment with other hashes, and a time zone where it is another hour."""
    hashes = "2" if os.environ.get("PYTHONHASHSEED") != "2" else "3"
    zone = "KIT+11:30" if time.localtime().tm_gmtoff > 0 else "KIT-13:45"
    return {"PYTHONHASHSEED": hashes, "TZ": zone, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@cache
def _worker() -> Worker:
    return Worker()


def outcomes(component: Component, more: Sequence[Any]) -> dict[str, str]:
    """A digest of the first output for each instance, by the instance's name."""
    return {name: digest(text) for name, text in subject_of(component, more).first.items()}


def main() -> None:
    """Answer the requests on stdin, one after the other; what plugins print is discarded.

    The process ends with the one that started it, also while it computes an answer.
    """
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = open(os.devnull, "w")  # noqa: SIM115  as long as this process
    os.dup2(nowhere.fileno(), 1)
    questions: SimpleQueue[tuple[list[str], bytes]] = SimpleQueue()
    threading.Thread(target=_listen, args=(questions,), daemon=True).start()
    try:
        while True:
            _answer(questions.get(), answers)
    finally:
        os._exit(1)  # a plugin that leaves; the thread, which waits at stdin, would hold up any other end


def _listen(questions: SimpleQueue[tuple[list[str], bytes]]) -> None:
    """Queue the requests on stdin; exit at its end, which comes when the first process closes it or ends."""
    try:
        while True:
            questions.put(pickle.load(sys.stdin.buffer))  # noqa: S301  from the process that started this one
    finally:
        os._exit(0)


def _answer(asked: tuple[list[str], bytes], answers: IO[bytes]) -> None:
    """Send the outcomes, or the kind of error; None for a plugin that cannot be imported here."""
    sys.path[:], packed = asked
    document: Any
    try:
        component, more = pickle.loads(packed)  # noqa: S301  as above
    except Exception:
        document = None
    else:
        try:
            document = outcomes(component, more)
        except Exception as error:
            document = type(error).__name__
    pickle.dump(document, answers)
    answers.flush()


if __name__ == "__main__":
    main()
