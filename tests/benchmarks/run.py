"""Speed beside a peer, in one run.

    PYTHONPATH=tests/support python tests/benchmarks/run.py --root DIR [--write docs/results/benchmarks.csv]

DIR holds the folder `adult` with the UCI files. No time is asserted anywhere; ratios and medians are printed.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from adult_rows import POLICIES, adult, all_different, drawn, matrix, with_private
from leafgate import Release, Table
from leafgate.algorithms.routing import count_leaves
from leafgate.api import AdversaryKnowledge, ScoringContext, make_table
from leafgate.engine.knowledge import grant_knowledge
from leafgate_plugins.kadet.builder import Kadet
from leafgate_plugins.linking.components import Linking
from leafgate_plugins.protection.metrics import KAnonymity
from scoring import scores_of_people
from timing import Pair, markdown, paired, seconds, write_report

PEOPLE = 1_000_000
START, END = "<!-- speed -->", "<!-- /speed -->"


def kadet(table: Table, **options: object) -> Release:
    """A kADET tree of the table."""
    builder = Kadet.model_validate({"use": "kadet", "k": 50, **options})
    return builder.build(table, np.random.default_rng(0))


def growing(table: Table, large: Table) -> Iterator[Pair]:
    """kADET against scikit-learn's tree with the same minimum leaf."""
    for name, one, rounds in (("30,162 people", table, 7), ("1,000,000 people drawn", large, 3)):
        rows, classes = matrix(one)
        peer = DecisionTreeClassifier(min_samples_leaf=50)
        target = "at most 3" if one is table else "at most 1"
        for measure in ("gain", "gain_ratio"):
            work = f"kADET k = 50, {measure}, {name}, {len(one):,} distinct"
            ours = partial(kadet, one, measure=measure)
            yield paired(work, ours, partial(peer.fit, rows, classes), rounds, target)


def growing_in_order(table: Table) -> Iterator[Pair]:
    """kADET where the order of splits matters, because some columns are private."""
    rows, classes = matrix(table)
    peer = DecisionTreeClassifier(min_samples_leaf=50)
    for private in (["sex"], ["relationship", "education-num", "hours-per-week"]):
        work = f"kADET k = 50, gain, 30,162 people, private: {', '.join(private)}"
        one = with_private(table, private)
        yield paired(work, partial(kadet, one, measure="gain"), partial(peer.fit, rows, classes), 3)


def link_and_count(release: Release, known: AdversaryKnowledge, table: Table) -> float:
    """The smallest group the linking attack finds."""
    belief = Linking().infer(release, known)[0]
    return float(scores_of_people(KAnonymity(at_least=1), ScoringContext(table, None, release, known, belief)).min())


def from_table(release: Release, table: Table) -> float:
    """The same from a Table alone, its public records collapsed anew."""
    fresh = replace(table)
    return link_and_count(release, grant_knowledge(fresh), fresh)


def two_hundred_leaves(table: Table) -> Release:
    """A kADET tree with about 200 leaves, by the k that gives them."""
    trees = (kadet(table, k=k, measure="gain", prune=False) for k in (40, 50, 60, 80, 100, 120, 150))
    return min(trees, key=lambda release: abs(count_leaves(release) - 200))


def linking(table: Table, large: Table, different: Table) -> Iterator[Pair]:
    """Linking attack and k against scikit-learn's apply on as many rows."""
    release = two_hundred_leaves(table)
    peer = DecisionTreeClassifier(max_leaf_nodes=200).fit(*matrix(table))
    for name, one in (("drawn from Adult", large), ("all different", different)):
        rows, _ = matrix(one)
        known, apply = grant_knowledge(one), partial(peer.apply, rows)
        work = f"link and count {PEOPLE:,} people, {name}, {count_leaves(release)} leaves"
        yield paired(work, partial(link_and_count, release, known, one), apply, target="at most 5")
        yield paired(f"{work}, with collapsing the public records", partial(from_table, release, one), apply)


def collapsing(table: Table) -> Iterator[Pair]:
    """Typed rows to distinct records against pandas' own group-by."""
    frame, schema = drawn(table, PEOPLE)
    names = list(frame.columns)
    group = lambda: frame.groupby(names, observed=True, dropna=False, sort=False).size()  # noqa: E731
    yield paired(f"collapse {PEOPLE:,} rows to distinct records", lambda: make_table(schema, frame), group, 3)


def starting() -> Iterator[Pair]:
    """Commands that touch no data against importing pandas."""
    script = Path(sys.executable).with_name("leafgate")
    for words in (["--help"], ["validate", str(POLICIES / "mortgage.yaml")]):
        mine: Sequence[str] = [str(script), *words]
        peer: Sequence[str] = [sys.executable, "-c", "import pandas"]
        yield paired(
            f"leafgate {words[0]}",
            partial(subprocess.run, mine, check=True, capture_output=True),
            partial(subprocess.run, peer, check=True, capture_output=True),
            target="at most 1",
        )


def growth(table: Table) -> Iterator[str]:
    """How time grows with people and with distinct records."""
    yield "| people | distinct, drawn | kADET (s) | link (s) | distinct, all different | kADET (s) | link (s) |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    release = two_hundred_leaves(table)
    for people in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        frame, schema = drawn(table, people)
        cells = []
        for one in (make_table(schema, frame), all_different(table, people)):
            times = [seconds(partial(kadet, one, measure="gain")), seconds(partial(from_table, release, one))]
            cells += [f"{len(one):,}", *(f"{time:.3f}" for time in times)]
        yield f"| {people:,} | {' | '.join(cells)} |"


def memory(root: Path) -> int:
    """Peak memory in MB of a process that holds a million people and links them."""
    frame, schema = drawn(adult(root).table, PEOPLE)
    table = make_table(schema, frame)
    from_table(two_hundred_leaves(table), table)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def report(root: Path) -> str:
    """All benchmarks as Markdown."""
    table = adult(root).table
    frame, schema = drawn(table, PEOPLE)
    large, different = make_table(schema, frame), all_different(table, PEOPLE)
    peak = subprocess.run(
        [sys.executable, __file__, "--root", str(root), "--memory"], check=True, capture_output=True, text=True
    ).stdout.strip()
    parts = [
        markdown([*growing(table, large), *growing_in_order(table)], "scikit-learn"),
        markdown(linking(table, large, different), "scikit-learn apply"),
        markdown(collapsing(table), "pandas group-by"),
        markdown(starting(), "import pandas"),
        "\n".join(growth(table)),
        f"Peak memory of a process that draws {PEOPLE:,} people, grows a tree and links them: {peak} MB.",
    ]
    return "\n\n".join(parts)


def main() -> None:
    """Run everything; with --write keep the tables in a CSV file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--memory", action="store_true")
    chosen = parser.parse_args()
    if chosen.memory:
        print(memory(chosen.root))
        return
    report_document = report(chosen.root)
    print(report_document)
    if chosen.write is not None:
        write_report(chosen.write, START, END, report_document)


if __name__ == "__main__":
    main()
