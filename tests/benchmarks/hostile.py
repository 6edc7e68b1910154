"""Model files that mean harm: python tests/benchmarks/hostile.py [--write docs/results/benchmarks.csv].

Every hostile file that the tests make is given to `leafgate convert` in a process of its own, held to 4 GB and 60
seconds. Told of each format: how many files, the most processor seconds and the most memory that one took, starting
Python included. No time is asserted anywhere.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from timing import write_report

sys.path.append(str(Path(__file__).parent.parent / "support"))

from hostile_models import LARGE

START, END = "<!-- hostile -->", "<!-- /hostile -->"
SECONDS, BYTES = 60, 4 * 2**30


@dataclass(frozen=True)
class Taken:
    """What one file took, and how it ended."""

    name: str
    code: int
    seconds: float
    megabytes: float


def converted(name: str, content: bytes, folder: Path) -> Taken:
    """What `leafgate convert` takes for a file."""
    (folder / "model").write_bytes(content)
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1), os.dup2(nowhere, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        leafgate = str(Path(sys.executable).with_name("leafgate"))
        os.execv(leafgate, [leafgate, "convert", str(folder / "model"), str(folder / "out")])
    _, status, used = os.wait4(child, 0)
    megabytes = used.ru_maxrss / 2**10
    return Taken(name, os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, megabytes)


def row(form: str, files: Mapping[str, Callable[[], bytes]]) -> str:
    """One format's line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        taken = [converted(name, make(), Path(folder)) for name, make in files.items()]
    slowest, largest = max(taken, key=lambda one: one.seconds), max(taken, key=lambda one: one.megabytes)
    codes = ", ".join(map(str, sorted({one.code for one in taken})))
    ends = f"{slowest.seconds:.1f} ({slowest.name}) | {largest.megabytes:.0f} ({largest.name})"
    return f"| {form} | {len(taken)} | {codes} | {ends} |"


def report() -> str:
    """A line for each format, as Markdown."""
    head = ["| format | files | exit codes | most seconds | most MB |", "| --- | ---: | --- | --- | --- |"]
    return "\n".join([*head, *(row(form, files) for form, files in LARGE.items())])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    report_document = report()
    print(report_document)
    if chosen.write is not None:
        write_report(chosen.write, START, END, report_document)


if __name__ == "__main__":
    main()
