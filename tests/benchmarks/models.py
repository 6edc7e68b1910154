"""Reading and linking a fitted forest.

    python tests/benchmarks/models.py --root DIR [--write docs/results/benchmarks.csv]

DIR holds the folder `adult` with the UCI files. A million nodes are read from a skops file; 100 trees are linked with
100,000 people, all different, beside scikit-learn's own apply. No time is asserted anywhere.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from sklearn.ensemble import RandomForestClassifier

from adult_rows import adult, all_different, matrix
from leafgate import Release, Table
from leafgate.engine.knowledge import grant_knowledge
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate_plugins.linking.components import Linking
from leafgate_plugins.sklearn.estimators import from_sklearn
from timing import command, markdown, paired

START, END = "<!-- models -->", "<!-- /models -->"


def forest(nodes: int, trees: int) -> RandomForestClassifier:
    """A forest of so many nodes, on made-up numbers."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 10))
    answers = (rows[:, 0] + rows[:, 1] * rows[:, 2] + rng.normal(size=20_000) > 0).astype(int)
    leaves = (nodes // trees + 1) // 2 + 1
    return RandomForestClassifier(trees, max_leaf_nodes=leaves, random_state=0).fit(rows, answers)


SIZES = ((100_000, 50), (300_000, 150), (1_000_000, 500))
"""Nodes and trees of forests that are read."""

READ = """
import sys, time
from pathlib import Path
from installed_readers import read_foreign
peak = lambda: int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 2**10
content = Path(sys.argv[1]).read_bytes()
before, start = peak(), time.perf_counter()
read_foreign(content, "forest")
print(time.perf_counter() - start, peak() - before)
"""


def reading() -> str:
    """Seconds and memory of reading forests, checks included, each in a process of its own."""
    lines = ["| nodes | trees | file (MB) | read and checked (s) | memory beside the file (MB) |"]
    lines.append("| ---: | ---: | ---: | ---: | ---: |")
    for nodes, trees in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "forest.skops"
            model = forest(nodes, trees)
            skops.io.dump(model, path)
            size = path.stat().st_size / 1e6
            done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
        taken, memory = map(float, done.stdout.split())
        held = sum(tree.tree_.node_count for tree in model.estimators_)
        lines.append(f"| {held:,} | {trees} | {size:.0f} | {taken:.2f} | {memory:.0f} |")
    return "Reading forests from skops files (target: 1,000,000 nodes under 10 s, memory linear):\n\n" + "\n".join(
        lines
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
    return lower_model(read, table.schema, codes, "forest").release, model, rows


def report(root: Path) -> str:
    """Both, as Markdown."""
    people = all_different(adult(root).table, 100_000)
    release, model, rows = release_on(people, 100)
    known = grant_knowledge(people)
    leaves = sum(tree.tree_.n_leaves for tree in model.estimators_)
    pair = paired(
        f"link {people.total_weight:,} people, all different, with 100 trees, {leaves:,} leaves",
        partial(Linking.model_validate({"use": "linking"}).infer, release, known),
        partial(model.apply, rows),
        3,
        "at most 10",
    )
    return f"{markdown([pair], 'scikit-learn apply')}\n\n{reading()}"


if __name__ == "__main__":
    command(report, START, END)
