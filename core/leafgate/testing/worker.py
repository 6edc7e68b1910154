"""The other process: makes a plugin again, and says what comes of it, until there is nothing more to read."""

from __future__ import annotations

import os
import pickle
import sys
from typing import IO, Any

from leafgate.testing.outcomes import outcomes


def main() -> None:
    """Answer what stands on stdin, one after the other; what plugins print goes nowhere."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = open(os.devnull, "w")  # noqa: SIM115  as long as this process
    os.dup2(nowhere.fileno(), 1)
    while True:
        try:
            asked = pickle.load(sys.stdin.buffer)  # noqa: S301  from the process that started this one
        except EOFError:
            return
        _answer(asked, answers)


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
