"""Metric, builder, repair and an adversary who tries all insiders call the same people exposed; proposals agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafgate
from leafgate.commands.scaffold.policy import Files, first_policy
from leafgate.io.yaml import parse_yaml


@given(st.integers(0, 2**31), st.sampled_from([(), ("no",), ("yes",)]), st.booleans())
@pytest.mark.thorough
def test_init_and_python_propose_the_same_for_a_model(
    tmp_path_factory: pytest.TempPathFactory, seed: int, harmless: tuple[str, ...], numbers: bool
) -> None:
    tree = pytest.importorskip("sklearn.tree")
    skops = pytest.importorskip("skops.io")
    folder: Path = tmp_path_factory.mktemp("proposal")
    rng = np.random.default_rng(seed)
    size = int(rng.integers(20, 400))
    table = pd.DataFrame({"age": rng.integers(18, 80, size), "area": rng.choice(["x", "y", "z"], size)})
    encoded = table.assign(area=(table["area"] == "x").astype(int))
    if numbers:
        harmless = ()
        secret = pd.Series(np.round(rng.lognormal(8, 1, size) * (rng.random(size) < rng.random()), 2), name="pay")
        if secret.nunique() < 3:
            return
        model: Any = tree.DecisionTreeRegressor(min_samples_leaf=10).fit(encoded[["age"]], secret)
    else:
        secret = pd.Series(np.where(rng.random(size) < rng.uniform(0.01, 0.99), "yes", "no"), name="ill")
        if secret.nunique() < 2:
            return
        model = tree.DecisionTreeClassifier(min_samples_leaf=10).fit(encoded[["age"]], secret)
    table[str(secret.name)] = secret
    table.to_csv(folder / "people.csv", index=False)
    (folder / "model.skops").write_bytes(skops.dumps(model))
    written = first_policy(
        Files(folder / "people.csv", folder / "model.skops", folder), str(secret.name), harmless=harmless
    )
    by_init = parse_yaml(written.text.encode(), "policy.yaml")
    audit = leafgate.audit(model, table[["age", "area"]], secret, harmless=harmless or None, search_remedies=False)
    by_python = parse_yaml(audit.to_policy().encode(), "policy.yaml")
    for key in ("attacks", "metrics"):
        assert by_init[key] == by_python[key]
    columns = (each["data"]["columns"][str(secret.name)] for each in (by_init, by_python))
    assert next(columns) == next(columns)
