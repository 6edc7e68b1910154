"""`leafgate.audit` asks the estimator itself: what was read of its file answers as it does, or the audit says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn import ensemble, tree
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leafgate
from leafgate.app import Finding

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


def people(*, missing: bool = False, n: int = 250) -> tuple[pd.DataFrame, np.ndarray]:
    """Made-up people, and a number that is learned."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {"age": rng.integers(18, 90, n), "pay": rng.normal(3e4, 1e4, n).round(2), "kids": rng.integers(0, 4, n)}
    ).astype(float)
    number = table["age"].to_numpy() + rng.normal(size=n) * 20
    if missing:
        table.loc[rng.random(n) < 0.1, "pay"] = np.nan
    return table, number


def small_tree() -> Any:
    return tree.DecisionTreeClassifier(max_depth=3, random_state=0)


QUIET: dict[str, Any] = {"n_estimators": 4, "n_jobs": 1, "random_state": 0}
CLASSIFIERS: dict[str, tuple[Callable[[], Any], int, bool]] = {
    "tree": (small_tree, 3, True),
    "forest": (lambda: ensemble.RandomForestClassifier(max_depth=3, **QUIET), 3, False),
    "extra trees": (lambda: ensemble.ExtraTreesClassifier(max_depth=3, **QUIET), 2, False),
    "gradient boosting of two": (lambda: ensemble.GradientBoostingClassifier(n_estimators=4), 2, False),
    "gradient boosting of three": (lambda: ensemble.GradientBoostingClassifier(n_estimators=4), 3, False),
    "exponential loss": (lambda: ensemble.GradientBoostingClassifier(n_estimators=4, loss="exponential"), 2, False),
    "histograms": (lambda: ensemble.HistGradientBoostingClassifier(max_iter=4), 3, True),
    "AdaBoost": (lambda: ensemble.AdaBoostClassifier(small_tree(), n_estimators=4), 3, False),
    "bagging": (lambda: ensemble.BaggingClassifier(small_tree(), 3, random_state=0), 2, False),
    "votes of labels": (lambda: ensemble.VotingClassifier([("a", small_tree()), ("b", small_tree())]), 3, False),
    "XGBoost": (lambda: xgboost.XGBClassifier(max_depth=2, **QUIET), 3, True),
    "DART": (lambda: xgboost.XGBClassifier(max_depth=2, booster="dart", rate_drop=0.5, **QUIET), 2, True),
    "LightGBM with a steep sigmoid": (lambda: lightgbm.LGBMClassifier(sigmoid=2.0, verbose=-1, **QUIET), 2, True),
    "LightGBM of one class against the rest": (
        lambda: lightgbm.LGBMClassifier(objective="multiclassova", num_leaves=4, verbose=-1, **QUIET),
        3,
        True,
    ),
    "XGBoost with a hinge": (lambda: xgboost.XGBClassifier(objective="binary:hinge", **QUIET), 2, True),
    "LightGBM": (lambda: lightgbm.LGBMClassifier(num_leaves=4, verbose=-1, **QUIET), 3, True),
}
OTHER_LINKS = {
    *("exponential loss", "XGBoost with a hinge"),
    *("LightGBM with a steep sigmoid", "LightGBM of one class against the rest"),
}
"""Models whose scores of classes are not the softmax of what the trees add up to."""

REGRESSORS: dict[str, Callable[[], Any]] = {
    "tree": lambda: tree.DecisionTreeRegressor(max_depth=3),
    "forest": lambda: ensemble.RandomForestRegressor(max_depth=3, **QUIET),
    "gradient boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=4),
    "XGBoost": lambda: xgboost.XGBRegressor(max_depth=2, **QUIET),
    "LightGBM": lambda: lightgbm.LGBMRegressor(num_leaves=4, verbose=-1, **QUIET),
}


def reading(audit: leafgate.Audit) -> Finding:
    (found,) = [finding for finding in audit.report.findings if finding.id == "reading"]
    return found


def answered_rows(audit: leafgate.Audit) -> int:
    assert audit.files is not None
    return audit.files.contents["answers.csv"].count(b"\r\n") - 1


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_is_read_of_a_classifier_answers_as_it_does_on_both_sides_of_thresholds(name: str) -> None:
    made, classes, missing = CLASSIFIERS[name]
    table, number = people(missing=missing)
    codes = np.searchsorted(np.quantile(number, np.arange(1, classes) / classes), number)
    learned = codes if name.startswith(("XGBoost", "DART")) else np.array(["low", "middle", "high"])[codes]
    audit = leafgate.audit(made().fit(table, learned), table, learned, search_remedies=False)
    found = reading(audit)
    known = "what was read answers as the witness does"
    classes_alone = (
        "what was read predicts the classes that the witness does; of scores it is known that files of this program "
        "and version are read in tests as it predicts"
    )
    assert (found.passed, found.evidence["reason"]) == (True, classes_alone if name in OTHER_LINKS else known)
    assert answered_rows(audit) > len(table)


@pytest.mark.parametrize("name", REGRESSORS)
def test_what_is_read_of_a_regression_predicts_the_same_numbers(name: str) -> None:
    table, number = people()
    model = REGRESSORS[name]().fit(table, number)
    roles = {"class": {"role": ["class", "sensitive"], "bins": [-100, 40, 70, 200]}}
    audit = leafgate.audit(model, table, number, roles=roles, search_remedies=False)
    assert (reading(audit).passed, answered_rows(audit) > len(table)) == (True, True)


def test_a_pipeline_is_asked_about_the_columns_of_the_table(tmp_path: Path) -> None:
    table, number = people(missing=True)
    table = table.assign(job=np.random.default_rng(1).choice(["cook", "nurse"], len(table)), note="x")
    prepare = make_column_transformer(
        (OneHotEncoder(), ["job"]), (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "pay"])
    )
    model = make_pipeline(prepare, xgboost.XGBClassifier(max_depth=2, **QUIET))
    learned = (number > 55).astype(int)
    model.fit(table[["job", "age", "pay"]], learned)
    audit = leafgate.audit(model, table.drop(columns="note"), learned, search_remedies=False)
    assert reading(audit).passed
    audit.to_policy(tmp_path / "again")
    assert b"witness: " in (tmp_path / "again" / "policy.yaml").read_bytes()


def test_an_estimator_that_answers_otherwise_than_its_file_is_found() -> None:
    table, number = people()
    learned = np.where(number > 55, "ill", "well")
    model = small_tree().fit(table, learned)
    answering = small_tree().fit(table, learned)
    answering.predict_proba = lambda rows: np.roll(model.predict_proba(rows), 1, axis=1)
    found = reading(leafgate.audit(answering, table, learned, search_remedies=False))
    assert (found.passed, "first in its row 1" in found.evidence["problem"]) == (None, True)


def test_an_estimator_that_refuses_the_table_is_not_asked() -> None:
    table, number = people()
    learned = np.where(number > 55, "ill", "well")
    model = small_tree().fit(table, learned)

    def refuse(rows: Any) -> Any:
        raise ValueError("no")

    model.predict_proba = refuse
    audit = leafgate.audit(model, table, learned, search_remedies=False)
    assert audit.files is not None
    assert "answers.csv" not in audit.files.contents
    assert reading(audit).passed
