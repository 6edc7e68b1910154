"""Reading and linking a fitted forest: python tests/benchmarks/models.py --root DIR [--write docs/benchmarks.md].

DIR holds the folder `adult` with the UCI files. A million nodes are read from a skops file; 100 trees are linked with
100,000 people, all different, beside scikit-learn's own apply. No time is asserted anywhere.
"""

from __future__ import annotations

import io
import resource
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from sklearn.ensemble import RandomForestClassifier

from adult_rows import adult, all_different, matrix
from leafgate.foreign.encoding import Encoding
from leafgate.foreign.reading import read_foreign
from leafgate.foreign.sklearn_memory import from_sklearn
from leafgate.foreign.translating import release_of
from leafgate.known import known_of
from leafgate.release import Release
from leafgate.table import Table
from leafgate_linking import Linking
from timing import command, markdown, paired, seconds

START, END = "<!-- models -->", "<!-- /models -->"


def forest(nodes: int, trees: int) -> RandomForestClassifier:
    """A forest of so many nodes, on made-up numbers."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 10))
    answers = (rows[:, 0] + rows[:, 1] * rows[:, 2] + rng.normal(size=20_000) > 0).astype(int)
    leaves = (nodes // trees + 1) // 2 + 1
    return RandomForestClassifier(trees, max_leaf_nodes=leaves, random_state=0).fit(rows, answers)


def reading() -> str:
    """Seconds and memory of reading a large forest, checks included."""
    model = forest(1_000_000, 500)
    file = io.BytesIO()
    skops.io.dump(model, file)
    content = file.getvalue()
    nodes = sum(tree.tree_.node_count for tree in model.estimators_)
    taken = seconds(partial(read_foreign, content, "forest"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return (
        f"Reading a forest of {len(model.estimators_)} trees and {nodes:,} nodes from a skops file of "
        f"{len(content) / 1e6:.0f} MB, and checking it: {taken:.1f} s (target: under 10), at most {peak:,.0f} MB in "
        "all, the forest itself and its training data included."
    )


def release_on(table: Table, trees: int) -> tuple[Release, Any, Any]:
    """A forest fitted on the table's people, as a release; scikit-learn's, and its rows."""
    rows, classes = matrix(table)
    model = RandomForestClassifier(trees, max_depth=8, random_state=0).fit(rows, classes)
    features = [column.name for column in table.schema.features]
    coded = [column for column in (*table.schema.features, table.schema.target) if not column.numeric]
    codes = {c.name: Encoding(codes={value: float(i) for i, value in enumerate(c.domain)}) for c in coded}
    named = from_sklearn(model)
    read = replace(named, features=tuple(features))
    return release_of(read, b"", table.schema, codes, "forest"), model, rows


def report(root: Path) -> str:
    """Both, as Markdown."""
    people = all_different(adult(root).table, 100_000)
    release, model, rows = release_on(people, 100)
    known = known_of(people)
    leaves = sum(tree.tree_.n_leaves for tree in model.estimators_)
    pair = paired(
        f"link {people.people:,} people, all different, with 100 trees, {leaves:,} leaves",
        partial(Linking.model_validate({"use": "linking"}).infer, release, known),
        partial(model.apply, rows),
        3,
        "at most 10",
    )
    return f"{markdown([pair], 'scikit-learn apply')}\n\n{reading()}"


if __name__ == "__main__":
    command(report, START, END)
