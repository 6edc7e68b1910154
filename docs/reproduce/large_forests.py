"""Audits of large scikit-learn forests on made-up people, as skops files, with `leafgate init` and `leafgate audit`.

    pip install ".[sklearn]"
    python docs/reproduce/large_forests.py default nodes people

fits the forests in a temporary folder and prints the lines of `large forests` in docs/results/benchmarks.csv: a default
forest of 100 trees on 6,000 people, one of a million nodes on 20,000, and 100 trees of 1,000 leaves on a million
people, whose fitting alone takes minutes. Each audit is a process of its own, measured from its start to its end, once
without and once with the search for remedies.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import skops.io
from sklearn.ensemble import RandomForestClassifier

from large_tables import measured

FORESTS = {
    "default": (6_000, {"n_estimators": 100}),
    "nodes": (20_000, {"n_estimators": 500, "max_leaf_nodes": 1_001}),
    "people": (1_000_000, {"n_estimators": 100, "max_leaf_nodes": 1_000, "max_features": 3, "n_jobs": -1}),
}
"""By name how many people, and what their forest is fitted with besides its seed."""
COLUMNS = ("age", "income", "height", "weight", "rent", "distance", "hours", "debt", "visits", "score")

LEAFGATE = ("-c", "from leafgate.cli import main; main()")
"""Arguments of Python that run the command."""


def write_forest(folder: Path, name: str) -> RandomForestClassifier:
    """People whose ten numbers are all different, and a forest that is fitted on them."""
    people, parameters = FORESTS[name]
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(people, len(COLUMNS))).round(4)
    frame = pd.DataFrame(numbers, columns=list(COLUMNS))
    ill = np.where(numbers[:, 0] + numbers[:, 1] * numbers[:, 2] + rng.normal(size=people) > 0, "yes", "no")
    model = RandomForestClassifier(random_state=0, **parameters).fit(frame, ill)
    skops.io.dump(model, folder / "forest.skops")
    frame.assign(ill=ill).to_csv(folder / "people.csv", index=False)
    return model


def line(name: str) -> str:
    """A line of the table."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model = write_forest(folder, name)
        written = ["init", "people.csv", "--class", "ill", "--model", "forest.skops", "--out", "policy.yaml"]
        measured([*LEAFGATE, *written], folder)
        audit = [*LEAFGATE, "audit", "policy.yaml", "--out", "results"]
        both = measured([*audit, "--no-remedies"], folder), measured(audit, folder)
        document = (folder / "results" / "release.json").stat().st_size / 1e6
    nodes = sum(tree.tree_.node_count for tree in model.estimators_)
    taken = (f"{one.seconds:.1f} ({one.processor_seconds:.1f}) | {one.megabytes:,.0f}" for one in both)
    cells = f"{FORESTS[name][0]:,}", f"{len(model.estimators_)}", f"{nodes:,}", f"{document:.0f}", *taken
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        print(line(chosen), flush=True)
