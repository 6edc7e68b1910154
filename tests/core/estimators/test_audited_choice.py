"""The choice of the most accurate candidate that passes an audit, beside brute force, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import leafgate
from leafgate.estimators import (
    AuditedChoice,
    ChoiceError,
    KAnonymousTreeClassifier,
    NoPassingCandidateError,
    PerturbedTreeClassifier,
    PrivateForestClassifier,
)


def people(rows: int = 240) -> tuple[pd.DataFrame, pd.Series]:
    """People whose class a tree learns better the smaller its groups may be."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.integers(18, 70, rows), "job": rng.choice(["clerk", "cook", "nurse"], rows)})
    rich = ((frame["age"] // 6 + frame["job"].str.len()) % 2 == 0) ^ (rng.random(rows) < 0.05)
    return frame, pd.Series(np.where(rich, "high", "low"), name="wage")


def brute_force(
    estimator: Any, grid: Mapping[str, Any], X: Any, y: Any, limits: Mapping[str, float]
) -> dict[str, Any] | None:
    """The best mean score of all candidates whose model of everybody passes; the first of equals."""
    passing = []
    for params in ParameterGrid(grid):
        model = clone(estimator).set_params(**params)
        if leafgate.audit(clone(model).fit(X, y), X, y, limits=limits, search_remedies=False).passed:
            passing.append((cross_val_score(model, X, y, cv=3).mean(), params))
    best = max((score for score, _ in passing), default=None)
    return next((params for score, params in passing if score == best), None)


ENCODED = make_pipeline(
    ColumnTransformer([("job", OneHotEncoder(sparse_output=False), ["job"])], remainder="passthrough"),
    DecisionTreeClassifier(random_state=0),
)
SEARCHES: dict[str, tuple[Any, dict[str, list[Any]], dict[str, float]]] = {
    "kADET": (KAnonymousTreeClassifier(), {"k": [2, 8, 30]}, {"k_anonymity": 8}),
    "a pipeline": (ENCODED, {"decisiontreeclassifier__min_samples_leaf": [1, 10]}, {"k_anonymity": 10}),
}


@pytest.mark.parametrize("name", ["kADET", pytest.param("a pipeline", marks=pytest.mark.thorough)])
def test_a_choice_is_the_best_of_all_candidates_that_pass(name: str) -> None:
    estimator, grid, limits = SEARCHES[name]
    X, y = people()
    choice = AuditedChoice(estimator, X, y, limits=limits)
    search = GridSearchCV(estimator, grid, refit=choice, cv=3).fit(X, y)
    assert search.best_params_ == brute_force(estimator, grid, X, y, limits)
    assert [each.verdict for each in choice.audits[:-1]].count("pass") == 0
    assert choice.audits[-1].index == search.best_index_
    assert choice.audits[0].verdict == "fail"
    assert any("k_anonymity" in finding for finding in choice.audits[0].broken)
    scores = [each.score for each in choice.audits]
    assert scores == sorted(scores, reverse=True)
    assert choice.audit is not None
    assert choice.audit.passed
    assert leafgate.audit(search.best_estimator_, X, y, limits=limits, search_remedies=False).passed


@pytest.mark.thorough
def test_a_choice_is_the_best_of_all_forests_that_pass() -> None:
    estimator = RandomForestClassifier(5, random_state=0)
    grid = {"min_samples_leaf": [1, 30], "max_depth": [1, 4]}
    X, y = people()
    X, limits = X[["age"]].assign(other=np.arange(len(X)) % 3), {"k_anonymity": 10}
    choice = AuditedChoice(estimator, X, y, limits=limits)
    expected = brute_force(estimator, grid, X, y, limits)
    if expected is None:
        with pytest.raises(NoPassingCandidateError):
            GridSearchCV(estimator, grid, refit=choice, cv=3).fit(X, y)
    else:
        assert GridSearchCV(estimator, grid, refit=choice, cv=3).fit(X, y).best_params_ == expected


def test_the_model_of_the_search_is_the_one_that_was_audited() -> None:
    X, y = people()
    tree = KAnonymousTreeClassifier(k=10)
    choice = AuditedChoice(tree, X, y, limits={"k_anonymity": 10})
    search = GridSearchCV(tree, {"measure": ["gain", "gini"]}, refit=choice, cv=3).fit(X, y)
    assert choice.audit is not None
    assert choice.audit.artifact is not None
    assert choice.audit.artifact.release.trees == search.best_estimator_.release_.trees


def test_with_several_scores_the_named_one_decides() -> None:
    X, y = people()
    tree = KAnonymousTreeClassifier()
    scoring = ["accuracy", "balanced_accuracy"]
    choice = AuditedChoice(tree, X, y, metric="balanced_accuracy", limits={"k_anonymity": 2})
    search = GridSearchCV(tree, {"k": [2, 60]}, refit=choice, scoring=scoring, cv=3).fit(X, y)
    assert search.best_params_ == {"k": 2}
    unnamed = AuditedChoice(tree, X, y, limits={"k_anonymity": 2})
    with pytest.raises(ChoiceError, match=r"no score 'score' \(choose metric= from accuracy, balanced_accuracy\)"):
        GridSearchCV(tree, {"k": [2]}, refit=unnamed, scoring=scoring, cv=3).fit(X, y)


def test_where_nothing_passes_the_search_ends_in_an_error() -> None:
    X, y = people()
    tree = KAnonymousTreeClassifier()
    choice = AuditedChoice(tree, X, y, limits={"k_anonymity": 100})
    with pytest.raises(NoPassingCandidateError, match=r"none of 2 candidate\(s\) passes: k_anonymity@linking#wage"):
        GridSearchCV(tree, {"k": [2, 5]}, refit=choice, cv=3).fit(X, y)
    assert [each.verdict for each in choice.audits] == ["fail", "fail"]
    assert choice.audit is None


def test_a_candidate_without_a_tree_is_passed_over() -> None:
    X, y = people()
    tree = KAnonymousTreeClassifier(require=[{"use": "confidence", "at_most": 0.7}])
    choice = AuditedChoice(tree, X, y, limits={"k_anonymity": 2})
    results = {"mean_test_score": np.array([0.9, 0.8, np.nan]), "params": [{"k": 500}, {"k": 2}, {"k": 3}]}
    assert choice(results) == 1
    assert [each.verdict for each in choice.audits] == [None, "pass"]
    assert "k" in choice.audits[0].broken[0]


X4, Y4 = [[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1]
REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "a private forest": (PrivateForestClassifier(), {}, "PrivateForestClassifier may not be chosen by a search"),
    "a seeded private forest": (PrivateForestClassifier(random_state=0), {}, "fit it once"),
    "perturbed numbers": (PerturbedTreeClassifier(), {}, "average their noise away"),
    "one in a pipeline": (make_pipeline(PrivateForestClassifier()), {}, "spend their epsilons"),
    "no seed": (DecisionTreeClassifier(), {}, "DecisionTreeClassifier draws anew at every fit.*set its random_state"),
    "an attack on members": (
        KAnonymousTreeClassifier(),
        {"attacks": ["linking", {"use": "leaf_exclusion"}]},
        "'leaf_exclusion' trains models or is judged by samples of people",
    ),
    "an attack that runs the builder": (KAnonymousTreeClassifier(), {"attacks": "distinguish"}, "'distinguish' trains"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_choice_that_breaks_a_promise_is_refused_before_anything_is_fitted(case: str) -> None:
    estimator, options, expected = REFUSED[case]
    with pytest.raises(ChoiceError, match=expected) as raised:
        AuditedChoice(estimator, X4, Y4, **options)
    assert isinstance(raised.value, leafgate.LeafgateError)
    assert "\n" not in str(raised.value)


POLICY = """
leafgate: 1
name: wages
data:
  columns:
    id: {role: identifier}
    age: {role: quasi_identifier, bounds: [0, 120]}
    job: {role: quasi_identifier, values: [clerk, cook, nurse]}
    wage: {role: [class, sensitive], values: [low, high]}
build: {use: kadet, k: 2}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, at_least: 8}]
"""


def test_a_choice_by_a_policy_is_the_one_by_its_limits(tmp_path: Path) -> None:
    X, y = people()
    (tmp_path / "policy.yaml").write_text(POLICY)
    domains = {"age": (0, 120), "job": ["clerk", "cook", "nurse"]}
    tree, grid = KAnonymousTreeClassifier(domains=domains, classes=["low", "high"]), {"k": [2, 8, 30]}
    by_policy = AuditedChoice(tree, X, y, policy=tmp_path / "policy.yaml")
    by_limits = AuditedChoice(tree, X, y, limits={"k_anonymity": 8})
    first, second = (GridSearchCV(tree, grid, refit=choice, cv=3).fit(X, y) for choice in (by_policy, by_limits))
    assert first.best_params_ == second.best_params_ == {"k": 8}
    assert by_policy.audit is not None
    assert by_policy.audit.artifact is not None
    assert by_policy.audit.artifact.release.schema["age"].bounds == (0, 120)


@pytest.mark.parametrize("section", ["knows: {distribution: true}", "  protect: [{column: wage, where: {job: cook}}]"])
def test_a_section_of_a_policy_that_a_search_cannot_take_into_account_is_refused(tmp_path: Path, section: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY.replace("build:", f"{section}\nbuild:").replace("[class, sensitive]", "class"))
    name = "knows" if section.startswith("knows") else "data.protect"
    with pytest.raises(ChoiceError, match=f"^{name}: a search cannot take this into account"):
        AuditedChoice(KAnonymousTreeClassifier(), *people(), policy=path)


def test_a_wrong_argument_of_the_audit_ends_the_search() -> None:
    X, y = people()
    tree = KAnonymousTreeClassifier()
    choice = AuditedChoice(tree, X, y, limits={"k_anonimity": 2})
    with pytest.raises(leafgate.LeafgateError, match="nobody offers 'k_anonimity'"):
        GridSearchCV(tree, {"k": [2]}, refit=choice, cv=3).fit(X, y)


def test_a_saved_choice_has_no_people_and_a_copied_one_has_them() -> None:
    X, y = people()
    tree = KAnonymousTreeClassifier()
    choice = AuditedChoice(tree, X, y, limits={"k_anonymity": 2})
    search = GridSearchCV(tree, {"k": [2]}, refit=choice, cv=3).fit(X, y)
    saved = pickle.loads(pickle.dumps(search))
    assert (saved.predict(X) == search.predict(X)).all()
    assert saved.refit._people is None
    assert saved.refit.audit is None
    with pytest.raises(ChoiceError, match="the people are not kept in a file"):
        saved.refit({"mean_test_score": [1.0], "params": [{"k": 2}]})
    assert copy.deepcopy(choice)({"mean_test_score": [1.0], "params": [{"k": 2}]}) == 0
    assert clone(search).fit(X, y).best_params_ == {"k": 2}
