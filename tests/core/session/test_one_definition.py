"""Metric, builder, repair and an adversary who tries all insiders call the same people exposed; proposals agree."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafgate
from components import built_by
from generator.policies import first_policy
from leafgate.api import Branch, CategoricalSplit, Column, Leaf, NoReleaseError, Release, Schema
from leafgate.app import parse_yaml
from random_tables import table_of

VALUES = ("a", "b", "c")
GROUPS = tuple(f"g{number}" for number in range(100))
SCHEMA = Schema(
    (
        Column("group", frozenset({"quasi_identifier"}), values=GROUPS),
        Column("secret", frozenset({"class", "sensitive"}), values=VALUES),
    )
)


def certain_people(values: list[str], judged: tuple[str, ...]) -> int:
    """The people of a group whose judged value is certain to an outsider, or to another member who knows her own."""
    found = 0
    for i, value in enumerate(values):
        others = [j for j in range(len(values)) if j != i]
        views = [values, *([v for j, v in enumerate(values) if j != insider] for insider in others)]
        found += value in judged and any(set(view) == {value} for view in views)
    return found


def people_in_groups(seed: int) -> pd.DataFrame:
    """People in a hundred groups of 1 to 8, many of them nearly of one value."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, len(GROUPS))
    lean = np.repeat(rng.integers(0, 3, len(GROUPS)), sizes)
    secret = np.where(rng.random(len(lean)) < 0.8, lean, rng.integers(0, 3, len(lean)))
    return pd.DataFrame({"group": np.repeat(GROUPS, sizes), "secret": np.array(VALUES)[secret]})


def release_of(people: pd.DataFrame) -> Release:
    """A tree with a leaf for each group, which counts its people."""
    counts = pd.crosstab(people["group"], people["secret"]).reindex(columns=list(VALUES), fill_value=0)
    branches = [
        Branch((str(group),), Leaf(str(row.idxmax()), {value: int(row[value]) for value in VALUES}))
        for group, row in counts.iterrows()
    ]
    return Release({"use": "test"}, SCHEMA, (CategoricalSplit("group", tuple(branches)),))


@cache
def can_be_one_group(counts: tuple[int, ...], judged: tuple[str, ...]) -> bool:
    """May the builder that requires the limit put so many people of each value into one group?"""
    people = [("g0", value) for value, n in zip(VALUES, counts, strict=True) for _ in range(n)]
    required = {"use": "exposure", "insiders": 1, "values": None if judged == VALUES else judged}
    try:
        built_by("kadet", table_of(SCHEMA.columns, people), k=1, require=(required,))
    except NoReleaseError:
        return False
    return True


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.thorough
def test_metric_builder_and_adversary_agree_on_two_thousand_groups(seed: int) -> None:
    people = people_in_groups(seed)
    judged = VALUES if seed % 2 else VALUES[:2]
    values = {} if judged == VALUES else {"values": list(judged)}
    exposed = {group: certain_people(list(each["secret"]), judged) for group, each in people.groupby("group")}

    counts = pd.crosstab(people["group"], people["secret"]).reindex(columns=list(VALUES), fill_value=0)
    kept = [can_be_one_group(tuple(map(int, each)), judged) for each in counts.to_numpy()]
    assert [not fine for fine in kept] == [exposed[group] > 0 for group in counts.index]

    limit = {"use": "exposure", "at_most": 0, "insiders": 1, **values}
    audit = leafgate.audit(release_of(people), people, "secret", limits=[limit], search_remedies=False)
    [finding] = [each for each in audit._document("auditor")["findings"] if each["metric"] == "exposure"]
    assert finding["beyond"] == sum(exposed.values())


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 1])
def test_a_repaired_tree_exposes_nobody_to_the_adversary(seed: int) -> None:
    tree = pytest.importorskip("sklearn.tree")
    skops = pytest.importorskip("skops.io")
    people = people_in_groups(seed)
    table = pd.DataFrame({"group": people["group"].str[1:].astype(int)})
    model = tree.DecisionTreeClassifier(random_state=0).fit(table, people["secret"])
    limits = [{"use": "exposure", "at_most": 0, "insiders": 1}]
    repaired = leafgate.repair(leafgate.audit(model, table, people["secret"], limits=limits, search_remedies=False))
    assert repaired.content is not None
    new = skops.loads(repaired.content, trusted=skops.get_untrusted_types(data=repaired.content))
    assert len(set(new.apply(table))) > 1
    groups = people["secret"].groupby(new.apply(table))
    assert all(certain_people(list(values), VALUES) == 0 for _, values in groups)


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
    model_file = folder / "model.skops"
    model_file.write_bytes(skops.dumps(model))
    written = first_policy(folder / "people.csv", str(secret.name), harmless, model=model_file, folder=folder)
    by_init = parse_yaml(written.encode(), "policy.yaml")
    audit = leafgate.audit(model, table[["age", "area"]], secret, harmless=harmless or None, search_remedies=False)
    by_python = parse_yaml(audit.to_policy().encode(), "policy.yaml")
    for key in ("attacks", "metrics"):
        assert by_init[key] == by_python[key]
    columns = (each["data"]["columns"][str(secret.name)] for each in (by_init, by_python))
    assert next(columns) == next(columns)
