"""Reading, sealing and reading back a large forest, beside another version of leafgate.

    python tests/benchmarks/large_forest.py --against PYTHON [--nodes 1000000] [--trees 500] [--rounds 3]

PYTHON is the interpreter of an environment in which the other version is installed. Both versions read the same skops
file as a release over a policy's columns, write it as a release file, and read that back, in turn and each in a
process of its own. Printed are the medians of CPU seconds, the median of the ratios, the peaks of memory, and whether
both wrote the same bytes. No time is asserted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import skops.io
from sklearn.ensemble import RandomForestClassifier

COLUMNS = 10

WORK = """
import hashlib, json, sys, time
from pathlib import Path
from leafgate.api import Column, Schema
from leafgate.api.registry import load_plugins
from leafgate.io.release_codec import read_release, serialize
from leafgate.models.load import load_release

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 2**10

columns = [Column(f"x{i}", frozenset({"quasi_identifier"}), bounds=(-1e9, 1e9)) for i in range(int(sys.argv[2]))]
schema = Schema((*columns, Column("y", frozenset({"class"}), values=("0", "1"))))
load_plugins().readers  # which reading would import first
path, idle, took = Path(sys.argv[1]), peak(), {}
start = time.process_time()
loaded = load_release(path, schema)
took["read"] = time.process_time() - start
start = time.process_time()
sealed = serialize(loaded)
took["seal"] = time.process_time() - start
del loaded
content = sealed.content
del sealed
start = time.process_time()
back = read_release(content, "release")
took["read back"] = time.process_time() - start
took["all"] = sum(took.values())
found = {"took": took, "peak": peak() - idle, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
print(json.dumps(found))
"""


def forest(nodes: int, trees: int, file: Path) -> int:
    """Fit a forest of about so many nodes on made-up numbers and save it; the number that it has."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, COLUMNS))
    answers = (rows[:, 0] + rows[:, 1] * rows[:, 2] + rng.normal(size=20_000) > 0).astype(int)
    leaves = (nodes // trees + 1) // 2 + 1
    model = RandomForestClassifier(trees, max_leaf_nodes=leaves, random_state=0).fit(rows, answers)
    skops.io.dump(model, file)
    return sum(tree.tree_.node_count for tree in model.estimators_)


def run(python: str, file: Path) -> dict[str, Any]:
    """The CPU seconds of each step, and the peak of memory beside what Python and its libraries take."""
    done = subprocess.run([python, "-c", WORK, file, str(COLUMNS)], capture_output=True, text=True, check=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def report(against: str, nodes: int, trees: int, rounds: int) -> str:
    """Both versions, as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forest.skops"
        held = forest(nodes, trees, file)
        pairs = [(run(sys.executable, file), run(against, file)) for _ in range(rounds)]
    ours, theirs = zip(*pairs, strict=True)
    same = {each["sha256"] for each in (*ours, *theirs)}
    lines = [
        f"{held:,} nodes in {trees} trees, a release file of {ours[0]['bytes'] / 1e6:.0f} MB; the same bytes: "
        f"{'yes' if len(same) == 1 else 'no'}",
        "",
        "| step | this version (CPU s) | the other (CPU s) | ratio |",
        "| --- | ---: | ---: | ---: |",
    ]
    for step in ours[0]["took"]:
        a, b = ([each["took"][step] for each in side] for side in (ours, theirs))
        ratio = median(other / own for own, other in zip(a, b, strict=True))
        lines.append(f"| {step} | {median(a):.2f} | {median(b):.2f} | {ratio:.2f} |")
    peaks = [median(each["peak"] for each in side) for side in (ours, theirs)]
    lines.append(f"| peak of memory (MB) | {peaks[0]:.0f} | {peaks[1]:.0f} | {peaks[1] / peaks[0]:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--against", required=True)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    print(report(chosen.against, chosen.nodes, chosen.trees, chosen.rounds))
