"""Run many random cases: `python -m dominance --cases 10000`; each failure is printed with its seed."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress

from dominance.properties import Failure, cases, check

LISTED = 3


def main() -> int:
    """Run the cases; 1 where a property does not hold."""
    parser = argparse.ArgumentParser(prog="dominance", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--kind", default="", choices=["", *cases()], help="cases of one kind alone")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    started, used, done = time.perf_counter(), time.process_time(), 0
    found: Counter[tuple[str, str, str]] = Counter()
    with suppress(KeyboardInterrupt):  # what was found by then is told
        for seed in range(chosen.first, chosen.first + chosen.cases):
            if time.perf_counter() - started > chosen.seconds:
                break
            _count(_tried(seed, chosen.kind), found)
            done += 1
    seconds = f"{time.perf_counter() - started:.0f} s ({time.process_time() - used:.0f} s of CPU)"
    sys.stdout.write(f"\n{done:,} cases in {seconds}; {sum(found.values()):,} failures of {len(found)} kinds\n")
    for (prop, kind, text), number in sorted(found.items()):
        sys.stdout.write(f"{number:6} ({prop}) {kind}: {text}\n")
    return 1 if found else 0


def _count(failures: list[Failure], found: Counter[tuple[str, str, str]]) -> None:
    """Count each kind of failure, and print the first few of it."""
    for failure in failures:
        key = (failure.prop, failure.kind, failure.text.lstrip("0123456789 "))
        found[key] += 1
        if found[key] <= LISTED:
            sys.stdout.write(f"{failure}\n")
            sys.stdout.flush()


def _tried(seed: int, kind: str) -> list[Failure]:
    """The failures of a case; an error that is no finding is one too."""
    try:
        return check(seed, kind)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return [Failure(seed, "crash", type(error).__name__, f"{where.filename}:{where.lineno} {error}")]


if __name__ == "__main__":
    sys.exit(main())
