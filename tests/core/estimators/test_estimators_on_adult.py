"""The estimators on the 30,162 people of Adult, beside what a policy builds and audits of the same people."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adult import adult
from leafgate import Table
from leafgate.algorithms import prediction
from leafgate.app import open_session
from leafgate.estimators import KAnonymousTreeClassifier, PrivateForestClassifier
from leafgate.session.run import build_release

pytestmark = pytest.mark.thorough


def table() -> Table:
    return adult("adult-all").table


@cache
def frame() -> tuple[pd.DataFrame, pd.Series]:
    """Everybody as a row of numbers and texts, in random order, and the classes."""
    people = table()
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(len(people)), people.weight))
    cells = people.frame.iloc[rows].reset_index(drop=True)
    cells = cells.assign(**{c.name: cells[c.name].astype(str) for c in people.schema.columns if not c.numeric})
    return cells.drop(columns="income"), cells["income"]


def domains(*, hierarchies: bool) -> dict[str, Any]:
    """The domains that the policy declares."""
    declared: dict[str, Any] = {}
    for column in table().schema.features:
        declared[column.name] = column.bounds if column.numeric else {"values": list(column.values or ())}
        if hierarchies and column.hierarchy is not None:
            declared[column.name]["hierarchy"] = dict(column.hierarchy.groups)
    return declared


def test_the_tree_from_a_data_frame_is_byte_for_byte_the_one_from_the_policy(tmp_path: Path) -> None:
    X, y = frame()
    run = adult("adult-all")
    built = build_release(run.policy, run.plugins, run.table)
    tree = KAnonymousTreeClassifier(
        k=50, measure="gain_ratio", domains=domains(hierarchies=True), classes=["<=50K", ">50K"]
    )
    assert tree.fit(X, y).export(tmp_path / "release.json").read_bytes() == built.content
    codes = prediction.predict(built.release, table())
    predicted = np.array(["<=50K", ">50K"])[codes]
    cells = table().frame.drop(columns="income")
    assert (tree.predict(cells.astype(dict.fromkeys(cells.select_dtypes("category"), str))) == predicted).all()


def test_a_forest_that_claims_epsilon_passes_the_audit_of_its_claim(tmp_path: Path) -> None:
    X, y = frame()
    forest = PrivateForestClassifier(
        1.0, combine="sum", domains=domains(hierarchies=False), classes=["<=50K", ">50K"]
    ).fit(X, y)
    assert forest.claim_["epsilon"]["at_most"] <= 1
    forest.export(tmp_path / "release.json")
    X.assign(income=y).to_csv(tmp_path / "people.csv", index=False)
    columns = {
        column.name: {"role": sorted(column.roles)}
        | ({"bounds": list(column.bounds or ())} if column.numeric else {"values": list(column.values or ())})
        for column in table().schema.columns
    }
    document = {
        "leafgate": 1,
        "name": "forest",
        "data": {"path": "people.csv", "columns": columns},
        "build": {"use": "published", "path": "release.json"},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "differential_privacy", "at_most": 1.0}],
    }
    (tmp_path / "policy.yaml").write_text(json.dumps(document))
    assert open_session(tmp_path / "policy.yaml").audit().report.verdict == "pass"
