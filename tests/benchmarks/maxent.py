"""The maximum-entropy attack at full size: python tests/benchmarks/maxent.py --root DIR [--write CSV].

DIR holds the folder `adult` with the UCI files. From a release and a table in memory to a checked belief, each work in
a process of its own, the best of a few rounds; peak memory is that process's. No time is asserted anywhere.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from adult_rows import POLICIES, drawn
from leafgate import Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import AdversaryKnowledge, Column, Schema, make_table
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.release import Level, Publish
from leafgate.policy.load import document_of, policy_of
from leafgate.session.run import read_tables
from leafgate_plugins.baselines.builders import Id3
from leafgate_plugins.maxent.problem.build import build_model
from leafgate_plugins.maxent.problem.problem import SolveSettings
from leafgate_plugins.maxent.solve.active_set import solve
from timing import command

START, END = "<!-- maxent -->", "<!-- /maxent -->"
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
WORKS: dict[str, tuple[dict[str, Any], str]] = {
    "counts, gain": ({"level": "counts", "measure": "gain"}, "under 1 s"),
    "counts, gini": ({"level": "counts", "measure": "gini"}, "under 1 s"),
    "counts, gain, all by GEKKO": ({"level": "counts", "measure": "gain", "solver": "gekko"}, "under 10 s"),
    "counts, gini, all by GEKKO": ({"level": "counts", "measure": "gini", "solver": "gekko"}, "under 10 s"),
    "labels, gain": ({"level": "labels", "measure": "gain"}, "milliseconds"),
    "error rates, gain, leaves alone": ({"level": "error_rates", "measure": "gain", "internal": False}, "milliseconds"),
    "error rates, gini, one start and the bound": (
        {"level": "error_rates", "measure": "gini", "solver": "structured", "rounds": 1},
        "under 30 s",
    ),
    "error rates, gain, one start and the bound": (
        {"level": "error_rates", "measure": "gain", "solver": "structured", "rounds": 1},
        "under 60 s",
    ),
    "1,000,000 people drawn, counts, gain": ({"level": "counts", "measure": "gain", "people": 1_000_000}, ""),
    "binary tree on numbers, all thresholds": ({"level": "counts", "measure": "gini", "numbers": True}, ""),
    "binary tree, error rates": ({"level": "error_rates", "measure": "gini", "numbers": True}, ""),
}


def people_of(root: Path, people: int, numbers: bool) -> Table:
    """Adult as in the paper, or its numbers with income for the secret; `people` of them drawn, or all."""
    document = document_of(POLICIES / "adult-education.yaml") | {"attacks": [{"use": "linking"}]}
    table = read_tables(policy_of(document, POLICIES, root).policy).in_memory
    if numbers:
        return _numbers(root)
    return make_table(table.schema, drawn(table, people)[0]) if people else table


def _numbers(root: Path) -> Table:
    schema = document_of(POLICIES / "adult-education.yaml")["data"]["columns"]
    raw = pd.read_csv(root / "adult" / "adult.data", header=None, names=list(schema), skipinitialspace=True)
    incomes = ("<=50K", ">50K")
    columns = [Column(name, frozenset({"quasi_identifier"}), bounds=(0.0, 2e6)) for name in NUMBERS]
    secret = Column("income", frozenset({"class", "sensitive"}), values=incomes)
    frame = raw[list(NUMBERS)].astype(float).assign(income=pd.Categorical(raw["income"], categories=list(incomes)))
    return make_table(Schema((*columns, secret)), frame)


def released(table: Table, measure: Any, level: Level, numbers: bool) -> tuple[Release, AdversaryKnowledge]:
    builder = Id3(measure=measure, min_split=300 if numbers else 6)
    draft = builder.build(table, np.random.default_rng(0))
    return published(draft, Publish(leaves=level, measure=True), builder.measure_options), grant_knowledge(table)


def child(root: Path, work: dict[str, Any]) -> dict[str, Any]:
    """One work, measured in this process."""
    numbers = bool(work.get("numbers"))
    table = people_of(root, int(work.get("people", 0)), numbers)
    release, known = released(table, work["measure"], work["level"], numbers)
    settings = SolveSettings(work.get("solver", "auto"), starts=1, time_limit=3600)
    times = []
    for _ in range(work.get("rounds", 3)):
        start = time.perf_counter()
        problem = build_model(release, known, internal=work.get("internal", True)).problem
        outcome = solve(problem, settings)
        times.append(time.perf_counter() - start)
    return {
        "seconds": min(times),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "gap": outcome.gap,
        "internal": sum(map(len, problem.split_constraints)),
        "rows": len(problem.weight),
    }


def lines(root: Path) -> Iterator[str]:
    yield "| work | distinct public records | internal constraints | seconds | MB | certified gap | target |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    for name, (work, target) in WORKS.items():
        words = [sys.executable, __file__, "--child", str(root), json.dumps(work)]
        document = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        seconds = f"{document['seconds']:.2f} | {document['megabytes']:.0f} | {document['gap']:.1e}"
        yield f"| {name} | {document['rows']:,} | {document['internal']:,} | {seconds} | {target} |"


def report(root: Path) -> str:
    """The table as Markdown."""
    return "\n".join(lines(root))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(Path(sys.argv[2]), json.loads(sys.argv[3]))))
    else:
        command(report, START, END)
