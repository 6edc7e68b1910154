"""Private random trees beside scikit-learn: python tests/benchmarks/dp_trees.py --root DIR [--write CSV].

DIR holds the folder `adult` with the UCI files. Both are given tables in memory. No time is asserted anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from adult_rows import adult, drawn, matrix
from leafgate import Release, Table
from leafgate.api import make_table
from leafgate_plugins.dp_random_trees.accounting import Forest, at_delta
from leafgate_plugins.dp_random_trees.options import DpLaplaceTrees, DpRandomTrees
from timing import Pair, command, markdown, paired, seconds

START, END = "<!-- dp -->", "<!-- /dp -->"
MILLION = 1_000_000
BUILDERS: dict[str, tuple[DpRandomTrees | DpLaplaceTrees, str]] = {
    "random structure, numbers added up": (DpRandomTrees(trees=64, structure="random", combine="sum"), "at most 2"),
    "balanced structure, numbers added up": (DpRandomTrees(trees=64, combine="sum"), "at most 2"),
    "balanced structure, with scores": (DpRandomTrees(trees=64), ""),
    "Laplace noise, numbers added up": (DpLaplaceTrees(trees=64, combine="sum"), ""),
}


def grown(builder: DpRandomTrees | DpLaplaceTrees, table: Table) -> Release:
    return builder.build(table, np.random.default_rng(0))


def growing(table: Table, large: Table) -> Iterator[Pair]:
    """64 trees of depth 2; the account, which depends on no data, is made once before."""
    for people, one, rounds in (("30,162 people", table, 5), ("1,000,000 people drawn", large, 3)):
        rows, classes = matrix(one)
        peer = ExtraTreesClassifier(64, max_depth=2, n_jobs=1, random_state=0)
        for name, (builder, target) in BUILDERS.items():
            target = target if one is table else ""
            yield paired(
                f"{name}, {people}", partial(grown, builder, one), partial(peer.fit, rows, classes), rounds, target
            )


def bounded(trees: int) -> float:
    return at_delta(Forest(20, 0.075, trees), 1e-6).epsilon_lower


def accounting() -> Iterator[str]:
    yield "| tight account, k = 20, beta = 0.075 | seconds | target |"
    yield "| --- | ---: | --- |"
    for trees, target in ((64, "under 3"), (1_000, "under 10")):
        took = min(seconds(partial(bounded, trees)) for _ in range(3))
        yield f"| {trees:,} trees, with the lower bound | {took:.2f} | {target} |"


def report(root: Path) -> str:
    table = adult(root).table
    frame, schema = drawn(table, MILLION)
    return "\n".join([markdown(growing(table, make_table(schema, frame)), "ExtraTrees"), "", *accounting()])


if __name__ == "__main__":
    command(report, START, END)
