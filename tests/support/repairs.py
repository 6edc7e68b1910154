"""Small tables, fitted models and policies for repairs, and every pruning of a tree."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.commands.repair.pruning import PrunableTree
from sklearn_zoo import skops_bytes

LABELS = ("a", "b", "c")


def people(seed: int, n: int, classes: int = 2) -> pd.DataFrame:
    """People with three public numbers, and a class that depends on them, with noise."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.integers(18, 30, n), "zip": rng.integers(0, 6, n), "sex": rng.integers(0, 2, n)})
    score = table["age"] / 6 + table["zip"] * table["sex"] + rng.normal(0, 1.5, n)
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    table["class"] = np.array(LABELS)[np.digitize(score, cuts)]
    return table


def policy_file(
    folder: Path,
    metrics: Sequence[Mapping[str, Any]],
    *,
    leaves: str = "counts",
    classes: Sequence[str] = LABELS[:2],
    private: Sequence[str] = (),
    test: bool = False,
    **others: Any,
) -> Path:
    """A policy in the folder, for its `people.csv` and its `model.skops`."""
    bounds = {"age": [0, 100], "zip": [0, 9], "sex": [0, 1]}
    columns: dict[str, Any] = {
        name: {"role": "private" if name in private else "quasi_identifier", "bounds": ends}
        for name, ends in bounds.items()
    }
    columns["class"] = {"role": ["class", "sensitive"], "values": list(classes)}
    data = {"path": "people.csv", "columns": columns} | ({"test": "test.csv"} if test else {})
    document = {
        "leafgate": 1,
        "name": "repairs",
        "data": data,
        "build": {"use": "published", "path": "model.skops"},
        "publish": {"leaves": leaves},
        "attacks": [{"use": "linking"}],
        "metrics": list(metrics),
    } | others
    path = folder / "policy.yaml"
    path.write_text(json.dumps(document))
    return path


def fit_in(folder: Path, table: pd.DataFrame, estimator: Any) -> Any:
    """The estimator, fitted on the people; both are written to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    model = estimator.fit(table.drop(columns="class"), table["class"])
    table.to_csv(folder / "people.csv", index=False)
    (folder / "model.skops").write_bytes(skops_bytes(model))
    return model


def every_pruning(tree: PrunableTree) -> Iterator[NDArray[np.bool_]]:
    """The cut of each pruning of a tree, one after another."""

    def below(node: int) -> list[frozenset[int]]:
        if tree.is_leaf[node]:
            return [frozenset({node})]
        both = itertools.product(below(int(tree.tree.low[node])), below(int(tree.tree.high[node])))
        return [frozenset({node}), *(low | high for low, high in both)]

    for leaves in below(0):
        cut = np.zeros(tree.tree.nodes, dtype=bool)
        cut[list(leaves)] = True
        yield cut
