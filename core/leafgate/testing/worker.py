"""The other process: makes a plugin again, and says what comes of it, until there is nothing more to read."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from queue import SimpleQueue
from typing import IO, Any

from leafgate.testing.outcomes import outcomes


def main() -> None:
    """Answer what stands on stdin, one after the other; what plugins print goes nowhere.

    The process ends with the one that started it, also in the midst of an answer.
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
    """Queue what stands on stdin; leave at its end, which comes when the other process closes it or is gone."""
    try:
        while True:
            questions.put(pickle.load(sys.stdin.buffer))  # noqa: S301  from the process that started this one
    finally:
        os._exit(0)


def _answer(asked: tuple[list[str], bytes], answers: IO[bytes]) -> None:
    """What came of it, or the kind of error; of a plugin that is not to be found here, None."""
    sys.path[:], packed = asked
    told: Any
    try:
        component, more = pickle.loads(packed)  # noqa: S301  as above
    except Exception:
        told = None
    else:
        try:
            told = outcomes(component, more)
        except Exception as error:
            told = type(error).__name__
    pickle.dump(told, answers)
    answers.flush()


if __name__ == "__main__":
    main()
