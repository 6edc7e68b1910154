"""SACRO-ML's structural flags beside leafgate's values, on trees and forests that scikit-learn learns from Adult.

    python -m venv sacro && sacro/bin/pip install "sacroml==2.0.1"          in an environment of its own: it needs torch
    python docs/reproduce/structure_on_adult.py --root DIR --sacro sacro/bin/python

DIR holds the folder `adult`. Writes docs/results/structure-adult.csv. Refuses where one of its flags is not what the
same rule as a limit says, or where the two environments' models differ.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from leafgate import from_sklearn
from leafgate.api import Metric, ScoringContext, Table
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.schema import Schema
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate.session.run import open_session
from leafgate_plugins.structure.metrics import (
    ClassDisclosure,
    GeneralisationGap,
    ResidualDegreesOfFreedom,
    RiskySettings,
    SmallestLeaf,
    by_chance,
)
from writing import write_csv

TOP = Path(__file__).resolve().parents[2]
UNKNOWN = ("capital-gain", "capital-loss")
"""What outsiders do not know of people."""

MODELS: Sequence[tuple[str, str, dict[str, Any]]] = (
    ("tree, as it comes", "tree", {}),
    ("tree, 50 a leaf", "tree", {"min_samples_leaf": 50}),
    ("tree, 500 a leaf, 3 deep", "tree", {"min_samples_leaf": 500, "max_depth": 3}),
    ("forest of 20, as it comes", "forest", {"n_estimators": 20}),
    ("forest of 20, 50 a leaf", "forest", {"n_estimators": 20, "min_samples_leaf": 50}),
    (
        "forest of 20, 500 a leaf, no bootstrap",
        "forest",
        {"n_estimators": 20, "min_samples_leaf": 500, "bootstrap": False},
    ),
    ("forest of 10, 500 a leaf, 3 deep", "forest", {"n_estimators": 10, "min_samples_leaf": 500, "max_depth": 3}),
    ("forest of 3, 2000 a leaf, 2 deep", "forest", {"n_estimators": 3, "min_samples_leaf": 2000, "max_depth": 2}),
)
KINDS: dict[str, Any] = {"tree": DecisionTreeClassifier, "forest": RandomForestClassifier}


@dataclass(frozen=True)
class Row:
    """One model: SACRO-ML's flags, and leafgate's values."""

    model: str
    k_anonymity_risk: bool
    class_disclosure_risk: bool
    smallgroup_risk: bool
    dof_risk: bool
    unnecessary_risk: bool
    gen_error_risk: bool
    smallest_output: float
    smallest_leaf: float
    smallest_joint: float
    smallest_public: float
    one_class: float
    few: float
    freedom: float
    changes: float
    losses: float
    accuracy: float


def main(root: Path, sacro: str) -> None:
    run = open_session(TOP / "policies" / "adult-all.yaml", root=root)
    assert run.tables.test is not None
    table, test = _with_unknown(run.table), _with_unknown(run.tables.test)
    x, y = _numbers(table)
    z, zy = _numbers(test)
    flags = _flags(sacro, x, y, z, zy)
    rows = [
        _row(name, kind, options, result, table, test)
        for (name, kind, options), result in zip(MODELS, flags, strict=True)
    ]
    write_csv(TOP / "docs/results/structure-adult.csv", rows)


def _with_unknown(table: Table) -> Table:
    """The same people, with some columns that outsiders do not know."""
    columns = (replace(c, roles=frozenset({"private"})) if c.name in UNKNOWN else c for c in table.schema.columns)
    return replace(table, schema=Schema(tuple(columns)))


def _numbers(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Everybody's columns as numbers, categories as positions in their domain, and their class."""
    columns = [table.numbers(c.name) if c.numeric else table.codes(c.name) for c in table.schema.features]
    people = np.repeat(np.arange(len(table)), table.weight)
    return np.column_stack(columns).astype(np.float64)[people], table.codes(table.schema.target.name)[people]


def _flags(sacro: str, *people: np.ndarray) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        file, models = Path(name) / "people.npz", Path(name) / "models.json"
        x, y, z, zy = people
        np.savez(file, x=x, y=y, z=z, zy=zy)
        models.write_text(json.dumps([{"kind": kind, "options": options} for _, kind, options in MODELS]))
        command = [sacro, str(Path(__file__).with_name("structure_peer.py")), str(file), str(models)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _row(name: str, kind: str, options: dict[str, Any], document: dict[str, Any], table: Table, test: Table) -> Row:
    x, y = _numbers(table)
    model = KINDS[kind](random_state=0, **options).fit(x, y)
    z, zy = _numbers(test)
    accuracy = float(model.score(z, zy))
    if accuracy != document.pop("accuracy"):
        raise SystemExit(f"{name}: the two environments do not fit the same model")
    case = _case(model, kind, options, table, test)
    single = kind == "tree"
    values = _values(case, single)
    mine = _as_flags(case, values, single)
    if mine != document:
        raise SystemExit(f"{name}: SACRO-ML says {document}, the limits say {mine}")
    everything: dict[str, Any] = document | values
    return Row(name, **everything, accuracy=accuracy)


def _case(model: Any, kind: str, options: dict[str, Any], table: Table, test: Table) -> ScoringContext:
    schema = table.schema
    read = replace(from_sklearn(model), features=tuple(column.name for column in schema.features), origins=None)
    codes = {c.name: {str(v): float(i) for i, v in enumerate(c.domain)} for c in schema.columns if c.values is not None}
    asked = {read.features[i] for tree in read.trees for i in tree.feature.tolist() if i >= 0} | {schema.target.name}
    said = {name: Encoding(codes=each) for name, each in codes.items() if name in asked}
    release = lower_model(read, schema, said, "model").release
    settings = {key: value for key, value in model.get_params().items() if key != "random_state"}
    return ScoringContext(
        table, test, replace(release, builder=dict(release.builder) | {"settings": settings}), grant_knowledge(table)
    )


def _score(metric: Metric, case: ScoringContext) -> float:
    found = float(metric.score(case).value or 0.0)
    assert isinstance(found, float)
    return found


def _values(case: ScoringContext, single: bool) -> dict[str, float]:
    output: dict[str, Any] = {"groups": "all_trees", "by": "features"} if single else {"groups": "outputs"}
    metrics: dict[str, Metric] = {
        "smallest_output": SmallestLeaf(at_least=0, **output),
        "smallest_leaf": SmallestLeaf(at_least=0, groups="each_tree", by="features"),
        "smallest_joint": SmallestLeaf(at_least=0, by="features"),
        "smallest_public": SmallestLeaf(at_least=0),
        "one_class": ClassDisclosure(at_most=0),
        "few": ClassDisclosure(at_most=0, form="few", k=10),
        "freedom": ResidualDegreesOfFreedom(at_least=0),
        "changes": RiskySettings(at_most=0),
        "losses": GeneralisationGap(at_most=0, form="losses"),
    }
    return {name: _score(metric, case) for name, metric in metrics.items()}


def _as_flags(case: ScoringContext, values: dict[str, float], single: bool) -> dict[str, bool]:
    """SACRO-ML's flags, as limits that do not hold."""
    document: dict[str, Any] = {"at_most": 0, "scored": "derived", "groups": "all_trees" if single else "outputs"}
    assert case.test is not None
    return {
        "k_anonymity_risk": values["smallest_output"] < 10,
        "class_disclosure_risk": _score(ClassDisclosure(form="ruled_out", **document), case) > 0,
        "smallgroup_risk": _score(ClassDisclosure(form="few", k=10, **document), case) > 0,
        "dof_risk": values["freedom"] < 10,
        "unnecessary_risk": values["changes"] > 0,
        "gen_error_risk": by_chance(values["losses"], case.table.total_weight, case.test.total_weight) < 0.05,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `adult`")
    parser.add_argument("--sacro", required=True, help="a Python that has sacroml")
    asked = parser.parse_args()
    main(asked.root, asked.sacro)
