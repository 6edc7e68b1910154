"""A sweep beside single audits, in one run: python tests/benchmarks/sweeping.py --root DIR [--write CSV].

DIR holds the folder `adult` with the UCI files. No time is asserted anywhere; medians and ratios are printed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from adult_rows import POLICIES
from timing import command, seconds

START, END = "<!-- sweep -->", "<!-- /sweep -->"
KS = (2, 5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 100, 125, 150, 200, 250, 300, 400, 500, 1000)
ROUNDS = 5


def run(root: Path, *words: str) -> None:
    """One command in a process of its own, as a user runs it; its exit code is that of a verdict."""
    words_run = [str(Path(sys.executable).with_name("leafgate")), *words, "--root", str(root)]
    done = subprocess.run(words_run, capture_output=True)
    assert done.returncode in {0, 1}, done.stderr


def lines(root: Path) -> Iterator[str]:
    """For both settings: one audit, and a sweep over 20 values of k on one core and on two."""
    yield f"| {len(KS)} values of k | one audit (s) | sweep, 1 worker (s) | audits | sweep, 2 workers (s) | audits |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for setting in ("adult-id3", "adult-all"):
        policy = str(POLICIES / f"{setting}.yaml")
        with tempfile.TemporaryDirectory() as out:
            audit = partial(run, root, "audit", policy, "--out", f"{out}/one")
            over = ("--over", f"build.k={','.join(map(str, KS))}", "--fresh")
            sweeps = [
                partial(run, root, "sweep", policy, *over, "--out", f"{out}/{n}", "--workers", str(n)) for n in (1, 2)
            ]
            rounds = [[seconds(work) for work in (audit, *sweeps)] for _ in range(ROUNDS)]
        one, alone, two = (median(times) for times in zip(*rounds, strict=True))
        yield f"| {setting} | {one:.2f} | {alone:.2f} | {alone / one:.1f} | {two:.2f} | {two / one:.1f} |"


def report(root: Path) -> str:
    """The table as Markdown."""
    return "\n".join(lines(root))


if __name__ == "__main__":
    command(report, START, END)
