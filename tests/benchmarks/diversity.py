"""Group metrics beside pyCANON, in one run: python tests/benchmarks/diversity.py --root DIR [--write CSV].

DIR holds the folder `adult` with the UCI files; LEAFGATE_PYCANON names the folder that holds pyCANON. No time is
asserted anywhere; medians and how many times faster are printed.
"""

from __future__ import annotations

import os
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from adult_rows import adult, drawn
from leafgate import Table
from leafgate.api import PersonMetric, Schema, ScoringContext, make_table
from leafgate.engine.knowledge import grant_knowledge
from leafgate_plugins.diversity.metrics import BetaLikeness, DeltaDisclosure, LDiversity, TCloseness
from leafgate_plugins.linking.components import Linking
from leafgate_plugins.protection.metrics import KAnonymity
from leafgate_plugins.tables.raw_table import PublishedTable
from scoring import scores_of_people
from timing import command, seconds

START, END = "<!-- diversity -->", "<!-- /diversity -->"
SECRET = "occupation"
FEW = ("sex", "race", "relationship", "education")
MANY = ("age", "sex", "race", "education")
SIZES = (100_000, 1_000_000)
ROUNDS = 5
Work = Callable[[], object]
METRICS: dict[str, tuple[PersonMetric, str, str]] = {
    "k": (KAnonymity(at_least=1), "k_anonymity", "20"),
    "distinct l": (LDiversity(form="distinct", at_least=1), "l_diversity", "20"),
    "entropy l": (LDiversity(form="entropy", at_least=1), "entropy_l_diversity", "20"),
    "t-closeness": (TCloseness(at_most=1), "t_closeness", "100"),
    "delta-disclosure": (DeltaDisclosure(at_most=1), "delta_disclosure", ""),
    "beta-likeness": (BetaLikeness(at_most=1), "basic_beta_likeness", ""),
}
"""Ours, the name of theirs, and how many times faster it should be."""


@dataclass(frozen=True)
class Compared:
    """Median seconds: ours from rows and from a Table, theirs from the same rows."""

    work: str
    from_rows: float
    from_table: float
    peer: float
    target: str = ""

    @property
    def line(self) -> str:
        faster = f"{self.peer / self.from_rows:.1f} | {self.peer / self.from_table:.1f}"
        text = f"{self.from_rows:.4f} | {self.from_table:.4f} | {self.peer:.3f}"
        return f"| {self.work} | {text} | {faster} | {self.target and f'at least {self.target}'} |"


def people(root: Path, public: Sequence[str], size: int) -> tuple[pd.DataFrame, Schema]:
    """Typed rows drawn from Adult: these columns are public, and the occupation is the secret."""
    table, _ = adult(root).table.project([*public, SECRET])
    frame, schema = drawn(table, size)
    secret = replace(schema[SECRET], roles=frozenset({"sensitive"}), hierarchy=None)
    return frame, Schema((*(schema[name] for name in public), secret))


def scored(metrics: Sequence[PersonMetric], table: Table) -> list[float]:
    """The worst-off person's scores when the records of a Table are published and linked; one link for all."""
    fresh = replace(table)  # its public records are collapsed anew
    release = PublishedTable().build(fresh, np.random.default_rng(0))
    known = grant_knowledge(fresh)
    belief = Linking().infer(release, known)[0]
    case = ScoringContext(fresh, None, release, known, belief)
    worst = {"at_least": np.min, "at_most": np.max}
    return [float(worst[metric.direction](scores_of_people(metric, case))) for metric in metrics]


def from_rows(metrics: Sequence[PersonMetric], schema: Schema, frame: pd.DataFrame) -> list[float]:
    """The same from typed rows."""
    return scored(metrics, make_table(schema, frame))


def pycanon() -> Any:
    """The module `pycanon.anonymity`."""
    place = os.environ.get("LEAFGATE_PYCANON", "")
    if not (Path(place) / "pycanon").is_dir() or not place:
        raise SystemExit("pip install --no-deps --target DIR pycanon, and set LEAFGATE_PYCANON to DIR")
    if place not in sys.path:
        sys.path.append(place)
    return import_module("pycanon.anonymity")


def theirs(name: str, public: Sequence[str], frame: pd.DataFrame) -> object:
    """What pyCANON computes from the same rows."""
    secrets = [] if name == "k_anonymity" else [[SECRET]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas announces what it will change
        return getattr(pycanon(), name)(frame, list(public), *secrets)


def compared(frame: pd.DataFrame, schema: Schema) -> Iterator[Compared]:
    """Each metric by itself, in turn; then all of them, which for us are one link."""
    public, table = [column.name for column in schema.public], make_table(schema, frame)
    peers = 0.0
    for name, (metric, peer, target) in METRICS.items():
        rows, linked = partial(from_rows, [metric], schema, frame), partial(scored, [metric], table)
        found = timed(name, rows, linked, partial(theirs, peer, public, frame), target)
        peers += found.peer
        yield found
    every = [metric for metric, _, _ in METRICS.values()]
    together = timed("all six", partial(from_rows, every, schema, frame), partial(scored, every, table), lambda: None)
    yield replace(together, peer=peers)


def timed(work: str, rows: Work, linked: Work, peer: Work, target: str = "") -> Compared:
    """All three in turn; the peer's is run once only where that takes longer than a second."""
    rows(), linked()
    ours: list[tuple[float, float]] = []
    peers: list[float] = []
    for _ in range(ROUNDS):
        ours.append((seconds(rows), seconds(linked)))
        if not peers or peers[0] < 1:
            peers.append(seconds(peer))
    return Compared(work, median(a for a, _ in ours), median(b for _, b in ours), median(peers), target)


def peaks(frame: pd.DataFrame, schema: Schema) -> Iterator[str]:
    """The most memory that each holds beside the rows, by what Python, numpy and pandas ask for."""
    size, text = (result.memory_usage(deep=True).sum() / 2**20 for result in (frame, frame.astype(str)))
    sizes = f"times the typed rows, {size:.1f} MB | times the rows as texts, {text:.1f} MB"
    yield f"| t-closeness, {len(frame):,} people | peak (MB) | {sizes} |"
    yield "| --- | ---: | ---: | ---: |"
    public = [column.name for column in schema.public]
    works: dict[str, Work] = {
        "leafgate": partial(from_rows, [METRICS["t-closeness"][0]], schema, frame),
        "pyCANON": partial(theirs, "t_closeness", public, frame),
    }
    for name, work in works.items():
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        yield f"| {name} | {peak:.1f} | {peak / size:.1f} | {peak / text:.2f} |"


def report(root: Path) -> str:
    """All of it as Markdown."""
    pycanon()
    parts = []
    for public in (FEW, MANY):
        for size in SIZES:
            frame, schema = people(root, public, size)
            groups = len(frame.groupby(list(public), observed=True).size())
            lines = [
                f"| {size:,} people in {groups:,} groups by {', '.join(public)} | from rows (s) | from a Table (s) "
                "| pyCANON (s) | times faster, rows | times faster, Table | target |",
                "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
                *(each.line for each in compared(frame, schema)),
            ]
            parts.append("\n".join(lines))
    return "\n\n".join([*parts, "\n".join(peaks(*people(root, FEW, SIZES[-1])))])


if __name__ == "__main__":
    command(report, START, END)
