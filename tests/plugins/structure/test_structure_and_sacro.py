"""SACRO-ML's structural flags, as limits: the same models, its rules read from its documentation and computed here.

Its rules: a group is a leaf of a single tree, or the training people who are predicted the same shares. A flag is up
where a group has fewer than 10 people, a class of share 0, or a class of some share and fewer than 10 people; where
people less parameters are fewer than 10; where losses differ with p below 0.05; and by the settings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.stats import ks_2samp
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from components import new_metric
from installed_readers import lower_model, neutral_file, read_foreign
from leafgate import from_sklearn
from leafgate.api import Counted, Metric, ScoringContext
from scoring import score_of_release
from sklearn_release import case_of, release_of, table_of_numbers

FEW = 10
Flags = dict[str, bool]


@dataclass(frozen=True)
class People:
    """Who a model is fitted on, and others."""

    x: np.ndarray
    y: np.ndarray
    other_x: np.ndarray
    other_y: np.ndarray


@cache
def people(seed: int = 0, size: int = 1200) -> People:
    """Numbers and a class of three that they tell something of; several people have the same numbers."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(2 * size, 4)), 1)
    y = np.clip(np.rint(x[:, 0] + 0.5 * x[:, 1] + rng.normal(scale=0.7, size=2 * size)) + 1, 0, 2).astype(int)
    return People(x[:size], y[:size], x[size:], y[size:])


def flags_by_sacro(model: Any, of: People) -> Flags:
    """The flags, from scikit-learn's own functions."""
    shares = model.predict_proba(of.x)
    single = isinstance(model, DecisionTreeClassifier)
    key = model.apply(of.x)[:, None] if single else shares
    _, first, group = np.unique(key, axis=0, return_index=True, return_inverse=True)
    size = np.bincount(group.ravel())
    result = shares[first] * size[:, None]
    losses = [1 - model.predict_proba(x)[np.arange(len(y)), y] for x, y in ((of.x, of.y), (of.other_x, of.other_y))]
    members = [model] if single else model.estimators_
    leaves = sum(member.tree_.n_leaves for member in members)
    learned = 2 * sum(member.tree_.node_count - member.tree_.n_leaves for member in members) + 2 * leaves
    return {
        "k_anonymity": bool((size < FEW).any()),
        "class_disclosure": bool(np.isclose(shares, 0).any()),
        "small_group": bool(((result > 0) & (result < FEW)).any()),
        "degrees_of_freedom": len(of.x) - learned < FEW,
        "losses": ks_2samp(np.round(losses[0], 12), np.round(losses[1], 12), method="asymp").pvalue < 0.05,
    }


def kept(metric: Metric, case: ScoringContext) -> bool:
    """Does the limit hold?"""
    score = score_of_release(metric, case)
    assert isinstance(score, float)
    return metric.holds(score)


def flags_by_limits(case: ScoringContext, *, single: bool) -> Flags:
    """The same, as limits that do not hold."""
    groups: dict[str, Any] = {"groups": "all_trees", "by": "features"} if single else {"groups": "outputs"}
    document: dict[str, Any] = {"groups": groups["groups"], "scored": "derived", "at_most": 0}
    limits: dict[str, Metric] = {
        "k_anonymity": new_metric("smallest_leaf", at_least=FEW, **groups),
        "class_disclosure": new_metric("class_disclosure", form="ruled_out", **document),
        "small_group": new_metric("class_disclosure", form="few", k=FEW, **document),
        "degrees_of_freedom": new_metric("residual_degrees_of_freedom", at_least=FEW),
    }
    flags = {name: not kept(metric, case) for name, metric in limits.items()}
    distance = score_of_release(new_metric("generalisation_gap", form="losses", at_most=0), case)
    assert case.test is not None
    people, others = case.table.total_weight, case.test.total_weight
    return flags | {"losses": stats.kstwo.sf(distance, round(people * others / (people + others))) < 0.05}


TREES = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(max_depth=2, random_state=0),
    DecisionTreeClassifier(min_samples_leaf=40, random_state=0),
    DecisionTreeClassifier(min_samples_leaf=200, max_depth=3, random_state=0),
    DecisionTreeClassifier(max_leaf_nodes=3, random_state=0),
]
FORESTS = [
    RandomForestClassifier(n_estimators=5, random_state=0),
    RandomForestClassifier(n_estimators=5, bootstrap=False, max_depth=3, random_state=0),
    RandomForestClassifier(n_estimators=3, max_depth=1, random_state=0),
    RandomForestClassifier(n_estimators=10, min_samples_leaf=100, random_state=0),
]


def both(model: Any) -> tuple[Flags, Flags]:
    of = people()
    model.fit(of.x, of.y)
    table, test = table_of_numbers(of.x, of.y), table_of_numbers(of.other_x, of.other_y)
    counted: Counted = "bootstrap" if getattr(model, "bootstrap", False) else "exact"
    case = case_of(release_of(model, table, counted=counted), table, test)
    return flags_by_sacro(model, of), flags_by_limits(case, single=isinstance(model, DecisionTreeClassifier))


@pytest.mark.parametrize("model", [*TREES, *FORESTS], ids=str)
def test_its_flags_are_limits_that_do_not_hold(model: Any) -> None:
    theirs, ours = both(model)
    assert ours == theirs


def test_every_flag_is_up_for_some_model_and_down_for_another() -> None:
    seen = [both(model)[0] for model in (*TREES, *FORESTS)]
    assert all({flags[name] for flags in seen} == {True, False} for name in seen[0])


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (DecisionTreeClassifier(), 1),
        (DecisionTreeClassifier(max_depth=7, max_features="sqrt"), 0),
        (DecisionTreeClassifier(max_depth=3), 0),
        (DecisionTreeClassifier(min_samples_leaf=16), 0),
        (DecisionTreeClassifier(splitter="random", max_features=2, min_samples_split=16), 0),
        (RandomForestClassifier(), 1),
        (RandomForestClassifier(n_estimators=20, bootstrap=False), 1),
        (RandomForestClassifier(n_estimators=20), 0),
        (RandomForestClassifier(max_features=None, bootstrap=False), 0),
    ],
    ids=str,
)
def test_settings_that_a_model_declares_are_judged_as_they_stand(model: Any, changes: int) -> None:
    of = people(size=60)
    model.fit(of.x, of.y)
    table = table_of_numbers(of.x, of.y)
    metric = new_metric("risky_settings", at_most=0)
    case = case_of(release_of(model, table), table)
    assert score_of_release(metric, case) == changes
    assert all(each["from"] == "declared" for each in metric.score(case).evidence["settings"].values())


def test_settings_in_a_models_file_are_declared() -> None:
    of = people(size=60)
    model = RandomForestClassifier(n_estimators=20, bootstrap=False).fit(of.x, of.y)
    table = table_of_numbers(of.x, of.y)
    read = read_foreign(neutral_file(replace(from_sklearn(model), features=("x0", "x1", "x2", "x3"))), "model")
    case = case_of(lower_model(read, table.schema, {}, "model").release, table)
    metric = new_metric("risky_settings", at_most=0)
    assert score_of_release(metric, case) == 1
    settings = metric.score(case).evidence["settings"]
    assert settings["n_estimators"] == {"value": 20.0, "from": "declared"}
    assert settings["bootstrap"] == {"value": "no", "from": "declared"}
