"""What first policies cost (docs/measurements/first-policy-cost.md): the page, and some of its rows again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import leafgate
from data_files import DATA

DOCS = Path(__file__).resolve().parents[1] / "docs"
RESULTS = DOCS / "results" / "first-policy-cost.csv"
MODELS = (
    DecisionTreeClassifier(min_samples_leaf=10, max_leaf_nodes=8, random_state=0),
    DecisionTreeClassifier(min_samples_leaf=50, random_state=0),
    RandomForestClassifier(2, min_samples_leaf=100, max_leaf_nodes=3, random_state=0),
    RandomForestClassifier(20, min_samples_leaf=50, max_leaf_nodes=8, random_state=0),
)


@pytest.fixture
def script(scripts: Callable[[str], ModuleType]) -> ModuleType:
    """The page's script."""
    return scripts("first_policy_cost")


def people_of(script: ModuleType, data: str, folder: str) -> Any:
    if not (DATA / folder).exists():
        pytest.skip(f"the table is not here: set LEAFGATE_DATA to the folder that holds `{folder}`")
    return script.People.of(data, DATA)


def rows_of(script: ModuleType) -> list[Any]:
    rows: list[Any] = script.read_rows(RESULTS, script.Row)
    return rows


@pytest.mark.thorough
@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize(("data", "folder"), [("german", "german_credit"), ("nursery", "nursery")])
def test_the_audit_finds_which_limits_a_model_keeps(script: ModuleType, data: str, folder: str, model: Any) -> None:
    people = people_of(script, data, folder)
    some = people.subsample(0)
    features, labels = people.features.iloc[some], people.cells[people.target].iloc[some]
    model.fit(features, labels)
    leaf = model.apply(features).reshape(len(some), -1)
    group = np.unique(leaf, axis=0, return_inverse=True)[1].reshape(-1)
    for judged, keeps in people.keeps(group, some).items():
        audit = leafgate.audit(model, features, labels, harmless=people.harmless(judged) or None, search_remedies=False)
        findings = {finding.metric: finding.passed for finding in audit.report.findings}
        assert {name: findings[name] for name in script.LIMITS} == keeps


@pytest.mark.thorough
def test_a_row_of_trees_is_measured_again(script: ModuleType) -> None:
    people = people_of(script, "german", "german_credit")
    measured = [script.fitted_tree(people, 50, 8, run) for run in range(script.RUNS)]
    again = list(script.model_rows(people, script.TREE, 1, 50, 8, measured))
    assert_in_results(script, again)


@pytest.mark.thorough
def test_kadet_is_measured_again(script: ModuleType) -> None:
    people = people_of(script, "german", "german_credit")
    assert_in_results(script, list(script.kadet(people, [script.AS_PROPOSED])))


def assert_in_results(script: ModuleType, again: list[Any]) -> None:
    keys = ("data", "model", "judged", "trees", "leaf", "max_leaves", "runs", "people")
    written = {tuple(getattr(row, key) for key in keys): row for row in rows_of(script)}
    for row in again:
        before = written[tuple(getattr(row, key) for key in keys)]
        for name in ("kept", "confidence_limit", "auc", "leaves"):
            assert getattr(row, name) == pytest.approx(getattr(before, name), abs=1e-3), name
