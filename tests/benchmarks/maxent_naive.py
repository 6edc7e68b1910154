"""MaxEnt written out for GEKKO beside ours: python tests/benchmarks/maxent_naive.py --root DIR [--write CSV].

DIR holds the folder `adult` with the UCI files. Samples of Adult grow until the naive model takes too long. Each
solution is a process of its own; its time begins with a release in memory, its memory is that of the process or of
the solver's binary, whichever held more. No time is asserted anywhere.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from adult_rows import POLICIES, drawn
from leafgate import Release
from leafgate.algorithms.publication import published
from leafgate.api import AdversaryKnowledge, make_table
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.release import Level, Publish
from leafgate.policy.load import document_of, policy_of
from leafgate.session.run import read_tables
from leafgate_plugins.baselines.builders import Id3
from leafgate_plugins.maxent.problem.build import build_model
from naive_maxent import solve_naively
from reduced_maxent import solve_reduced
from timing import write_report

START, END = "<!-- naive -->", "<!-- /naive -->"
SIZES = (25, 50, 100, 200, 400, 800)
LEVELS: tuple[Level, ...] = ("counts", "error_rates")
LIMIT = 120.0
"""Seconds that each may take."""


@dataclass(frozen=True)
class Measured:
    """One solution: its cells and constraints, what it cost, how good it is (nats a person; people it misses by)."""

    cells: int
    constraints: int
    seconds: float
    megabytes: float
    entropy: float
    missed: float

    @property
    def as_cell(self) -> str:
        good = f"{self.entropy:.6f}" if self.missed < 1e-3 else f"misses by {self.missed:.1g} people"
        return f"{self.seconds:.2f} | {self.megabytes:.0f} | {good}"


def released(root: Path, people: int, level: Level) -> tuple[Release, AdversaryKnowledge]:
    """An ID3 tree that tells education, of people drawn from Adult."""
    document = document_of(POLICIES / "adult-education.yaml") | {"attacks": [{"use": "linking"}]}
    table = read_tables(policy_of(document, POLICIES, root).policy).in_memory
    frame, schema = drawn(table, people)
    table = make_table(schema, frame)
    builder = Id3(measure="gain", min_split=6)
    draft = builder.build(table, np.random.default_rng(0))
    return published(draft, Publish(leaves=level, measure=True), builder.measure_options), grant_knowledge(table)


def measured(root: Path, people: int, level: Level, naive: bool) -> Measured:
    """One solution in this process."""
    release, known = released(root, people, level)
    start = time.perf_counter()
    problem = build_model(release, known, internal=True).problem
    found = solve_naively(problem, LIMIT) if naive else solve_reduced(problem, LIMIT)
    seconds = time.perf_counter() - start
    used = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    missed = max(problem.violations(found).values())
    constraints = sum(map(len, problem.linear)) + sum(map(len, problem.split_constraints))
    return Measured(found.size, constraints, seconds, max(used) / 1024, problem.entropy(found), missed)


def in_a_child(root: Path, people: int, level: Level, naive: bool) -> Measured | str:
    """The same in a process of its own; or why there is no result."""
    words = [sys.executable, __file__, "--root", str(root), "--child", str(people), level, "naive" if naive else "ours"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=1.5 * LIMIT)
    except subprocess.TimeoutExpired:
        return f"over {LIMIT:.0f} s"
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1]
        return f"over {LIMIT:.0f} s" if "Time" in why else "ends without a solution"
    return Measured(**json.loads(done.stdout))


def lines(root: Path) -> Iterator[str]:
    """For each level a line a size, until the naive model gives up."""
    titles = ("leaves tell", "people", "cells", "constraints", "leafgate (s)", "MB", "entropy (nats)")
    yield f"| {' | '.join((*titles, 'written out (s)', 'MB', 'entropy (nats)'))} |"
    yield f"| --- |{' ---: |' * 9}"
    for level in LEVELS:
        gave_up = ""
        for people in SIZES:
            ours = in_a_child(root, people, level, naive=False)
            assert isinstance(ours, Measured), ours
            theirs = gave_up or in_a_child(root, people, level, naive=True)
            text = f"{theirs} | | " if isinstance(theirs, str) else theirs.as_cell
            yield f"| {level} | {people:,} | {ours.cells:,} | {ours.constraints:,} | {ours.as_cell} | {text} |"
            gave_up = "not tried" if isinstance(theirs, str) and theirs.startswith(("over", "not")) else ""


def main() -> None:
    """Run everything; with --write keep the table in a CSV file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--child", nargs=3)
    chosen = parser.parse_args()
    if chosen.child:
        people, level, which = chosen.child
        with contextlib.redirect_stdout(io.StringIO()):  # GEKKO prints what it is told
            found = measured(chosen.root, int(people), level, which == "naive")
        print(json.dumps(asdict(found)))
        return
    items = []
    for line in lines(chosen.root):
        print(line, flush=True)
        items.append(line)
    if chosen.write is not None:
        write_report(chosen.write, START, END, "\n".join(items))


if __name__ == "__main__":
    main()
