"""Downgrading real tables to a fixpoint, against all four adversaries; slow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from data_files import DATA
from leafgate.app import open_session

EVERY = ["tree_inference", "conditioning", "naive_bayes", "restoration"]
NAMES = "age workclass fnlwgt education education-num marital occupation relationship race sex gain loss hours country"
pytestmark = pytest.mark.slow


def adult() -> pd.DataFrame:
    path = DATA / "adult" / "adult.data"
    frame = pd.read_csv(path, names=[*NAMES.split(), "income"], skipinitialspace=True).drop(columns="fnlwgt")
    return frame[(frame != "?").all(axis=1)].sample(2000, random_state=1)


def german() -> pd.DataFrame:
    frame = pd.read_csv(DATA / "german_credit" / "german.data", sep=" ", header=None)
    frame.columns = pd.Index([*(f"a{i}" for i in range(1, 21)), "class"])
    return frame


def column(cells: pd.Series, role: str) -> dict[str, Any]:
    if pd.api.types.is_numeric_dtype(cells) and role == "private":
        return {"role": role, "bounds": [int(cells.min()), int(cells.max())]}
    return {"role": role, "values": sorted(map(str, cells.unique()))}


@pytest.mark.parametrize(("table", "secret", "price"), [("adult", "occupation", 0.25), ("german", "class", 0.75)])
def test_a_real_table_is_held_against_all_four_adversaries_and_says_at_what_cost(
    tmp_path: Path, table: str, secret: str, price: float
) -> None:
    if not DATA.exists():
        pytest.skip("the data are not here: set LEAFGATE_DATA")
    frame = adult() if table == "adult" else german()
    frame.insert(0, "id", [f"p{i}" for i in range(len(frame))])
    frame.to_csv(tmp_path / "data.csv", index=False)
    fields = {
        name: column(frame[name], "class" if name == secret == "class" else "private") for name in frame if name != "id"
    }
    people = np.random.default_rng(0).choice(frame["id"].to_numpy(), 100, replace=False).tolist()
    policy = {
        "leafgate": 1,
        "name": table,
        "data": {
            "path": "data.csv",
            "columns": {"id": {"role": "key"}, **fields},
            "protect": [{"column": secret, "keys": people}],
        },
        "build": {"use": "downgrading", "tau": 0.7, "rho": 0.7, "v": 0.05},
        "attacks": [{"use": use} for use in EVERY],
        "metrics": [
            {"use": "confidence", "at_most": 0.7},
            {"use": "functionality", "at_most": 0.05},
            {"use": "cells_withheld", "at_most": price},
        ],
    }
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy, sort_keys=False))
    audit = open_session(tmp_path / "policy.yaml").audit()
    assert {f.id: (f.value, f.passed) for f in audit.report.findings if not f.passed} == {}
    assert [f.people for f in audit.report.findings if f.metric == "confidence"] == [100] * 4
