"""The plain tree whose depth and leaves are tuned by cross-validation: their order, and when a repair tries it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from installed_readers import Encoding, read_foreign
from leafgate import repair as repair_model
from leafgate.api import Column, Schema, make_table
from leafgate.app import open_session
from leafgate.commands.repair.distil import with_features
from leafgate.commands.repair.refit import Settings, columns_taken, rows_for
from leafgate.commands.repair.tuning import tuned_settings
from leafgate.models.reader import read_model
from leafgate.search.people import folds_of
from repairs import fit_in, people, policy_file
from sklearn_zoo import skops_bytes


def numbers(seed: int) -> pd.DataFrame:
    """People with a number that depends on three others, with noise."""
    table = people(seed, 400)
    noise = np.random.default_rng(seed).integers(0, 9, len(table))
    return table.assign(**{"class": (table["age"] + table["zip"] * table["sex"] + noise).astype(float)})


def area(tree: Any, rows: Any, truth: Any) -> float:
    shares = tree.predict_proba(rows)
    return float(roc_auc_score(truth, shares[:, 1] if shares.shape[1] == 2 else shares, multi_class="ovr"))


def explained(tree: Any, rows: Any, truth: Any) -> float:
    return float(r2_score(truth, tree.predict(rows)))


@pytest.mark.parametrize(
    ("table", "kind", "use"),
    [
        (people(1, 400), DecisionTreeClassifier, area),
        pytest.param(people(1, 400, classes=3), DecisionTreeClassifier, area, marks=pytest.mark.thorough),
        pytest.param(numbers(1), DecisionTreeRegressor, explained, marks=pytest.mark.thorough),
    ],
    ids=["two classes", "three classes", "numbers"],
)
def test_depth_and_leaves_are_tuned_as_scikit_learn_cross_validates(
    table: pd.DataFrame, kind: type[Any], use: Callable[..., float], tmp_path: Path
) -> None:
    fit_in(tmp_path, table, kind(max_depth=3, random_state=0))
    path = policy_file(
        tmp_path, [{"use": "k_anonymity", "at_least": 10}], classes=sorted(map(str, set(table["class"])))
    )
    if kind is DecisionTreeRegressor:
        policy = json.loads(path.read_text())
        policy["data"]["columns"]["class"] = {"role": ["class", "sensitive"], "bins": [18, 25, 30, 35, 60]}
        path.write_text(json.dumps(policy))
    session = open_session(path)
    model, fold = read_model(tmp_path / "model.skops", session.plugins.readers), folds_of(session.table, 3)
    rows = rows_for(model, session.table, {}, {name: name for name in model.classes}, "model")
    found = tuned_settings(10, model, rows, session.table, fold, session.plugins.readers)

    def cross_validated(settings: Settings) -> float:
        uses = []
        for number in range(3):
            own, asked = (
                [np.repeat(each[part], rows.persons[part], axis=0) for each in (rows.features, rows.target)]
                for part in (fold != number, fold == number)
            )
            uses.append(use(kind(**settings.learner.parameters, random_state=0).fit(*own), *asked))
        return float(np.mean(uses))

    scores = [round(cross_validated(settings), 4) for settings in found]
    assert len({settings.fineness for settings in found}) == len(found) == 30
    assert scores == sorted(scores, reverse=True)


@pytest.mark.thorough
def test_the_tuned_tree_is_the_first_thing_that_is_fitted_anew() -> None:
    table = people(0, 300)
    rows, labels = table.drop(columns="class"), table["class"]
    model = RandomForestClassifier(5, random_state=0).fit(rows, labels)
    found = repair_model(model, rows, labels, limits={"k_anonymity": 10}, effort=0.001)
    assert found.found
    assert found.candidates is not None
    anew = found.candidates[found.candidates["step"] == "distillation"]
    assert anew["words"].iloc[0].startswith("DecisionTreeClassifier, min_samples_leaf ")
    assert anew["verdict"].iloc[0] == "pass"


def test_a_model_takes_the_columns_of_features_that_no_tree_asks_about() -> None:
    table = people(0, 300)
    table["visits"] = 3
    rows = table.drop(columns="class")
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(rows, table["class"])
    model = read_foreign(skops_bytes(stump), "model.skops")
    public = tuple(Column(str(name), frozenset({"quasi_identifier"}), bounds=(0.0, 99.0)) for name in rows)
    schema = Schema((*public, Column("class", frozenset({"class"}), values=("a", "b"))))
    assert columns_taken(model, {}, schema, "model.skops") == {"age", "zip", "sex", "visits"}
    renamed = replace(model, features=("age", "zip", "sex", "v"))
    encoding = {"v": Encoding(column="visits")}
    assert columns_taken(renamed, encoding, schema, "model.skops") == {"age", "zip", "sex", "visits"}


def test_sensitive_columns_stay_for_limits_on_what_is_learned_of_them() -> None:
    schema = Schema(
        (
            Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 9.0)),
            Column("visits", frozenset({"quasi_identifier"}), bounds=(0.0, 9.0)),
            Column("ill", frozenset({"sensitive"}), values=("no", "yes")),
            Column("class", frozenset({"class"}), values=("a", "b")),
        )
    )
    rows = pd.DataFrame({"age": [1.0, 1.0], "visits": [1.0, 2.0], "ill": ["no", "no"], "class": ["a", "a"]})
    table = make_table(schema, rows)
    less = with_features(table, {"age"})
    assert [column.name for column in less.schema.columns] == ["age", "ill", "class"]
    assert len(less) == len(table) == 2  # equal records stay apart, as the scores of each are
