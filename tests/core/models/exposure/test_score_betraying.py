import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import skops.io
import xgboost
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier

from example_counts import seeds
from installed_readers import minimise, neutral_file, read_foreign
from leafgate.kernel.arrays import Floats
from leafgate.models.exposure.implied import with_implied_disclosures
from leafgate.models.exposure.scores import (
    PEOPLE,
    RECOVERABLE_FROM_SCORES,
    UNSETTLED,
    _fewest,
    _first,
    _laws,
    counts_recoverable_from_scores,
)
from leafgate.readers import LEAF, ModelIR, TreeIR

RNG = np.random.default_rng(0)
X = np.c_[RNG.integers(18, 80, 3_000), np.round(RNG.normal(30, 10, 3_000), 1)].astype(float)
Y = ((X[:, 0] > 40) ^ (X[:, 1] > 33) ^ (RNG.random(3_000) < 0.1)).astype(int)
THREE = Y + (X[:, 0] > 35)


def xgb(y: Any = Y, **options: Any) -> bytes:
    model = xgboost.XGBClassifier(**{"n_estimators": 2, "max_depth": 5, "n_jobs": 1, **options})
    return bytes(model.fit(X, y).get_booster().save_raw("json"))


def lgb(**options: Any) -> bytes:
    fields = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5, **options}
    return str(lightgbm.train(fields, lightgbm.Dataset(X, Y), 2).model_to_string()).encode()


def sklearn(model: Any, y: Any = Y) -> bytes:
    file = io.BytesIO()
    skops.io.dump(model.fit(X, y), file)
    return file.getvalue()


def catboost(name: str) -> bytes:
    """A file that CatBoost wrote."""
    with zipfile.ZipFile(Path(__file__).parents[3] / "plugins" / "catboost" / "producers" / "1.2.10.zip") as files:
        return files.read(f"{name}.json")


def gradient(**options: Any) -> GradientBoostingClassifier:
    return GradientBoostingClassifier(**{"n_estimators": 2, "random_state": 0, **options})


def histogram(**options: Any) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(**{"max_iter": 2, "early_stopping": False, **options})


def after_scrubbing(content: bytes) -> ModelIR:
    return read_foreign(neutral_file(minimise(read_foreign(content, "m"), "shares", "m")), "m")


FOUND_OUT: dict[str, Callable[[], bytes]] = {
    "XGBoost": xgb,
    "XGBoost, its other settings": lambda: xgb(learning_rate=0.1, reg_lambda=0.0),
    "XGBoost, a rate of somebody's own": lambda: xgb(learning_rate=0.07),
    "XGBoost, three classes": lambda: xgb(THREE),
    "XGBoost, a tree for each of two classes": lambda: xgb(objective="multi:softprob", num_class=2),
    "gradient boosting": lambda: sklearn(gradient()),
    "gradient boosting, three classes": lambda: sklearn(gradient(), THREE),
    "histogram boosting": lambda: sklearn(histogram()),
    "histogram boosting with a penalty": lambda: sklearn(histogram(l2_regularization=1.0)),
    "histogram boosting, three classes": lambda: sklearn(histogram(), THREE),
    "LightGBM from nothing": lambda: lgb(boost_from_average=False),
    "CatBoost, a score for each of two classes": lambda: catboost("multi-of-two"),
    "CatBoost, three classes": lambda: catboost("multi-of-three"),
}


@pytest.mark.parametrize("make", FOUND_OUT.values(), ids=FOUND_OUT)
def test_first_scores_that_are_those_of_a_few_people_count_as_counts(make: Callable[[], bytes]) -> None:
    found = after_scrubbing(make())
    assert found.level == "counts"
    assert RECOVERABLE_FROM_SCORES in found.discloses


NOT_TOLD: dict[str, Callable[[], bytes]] = {
    "rows of many weights": lambda: bytes(
        xgboost.XGBClassifier(n_estimators=2, max_depth=5, n_jobs=1)
        .fit(X, Y, sample_weight=np.random.default_rng(1).random(len(Y)))
        .get_booster()
        .save_raw("json")
    ),
    "a start that stands in no file": lgb,
    "leaves of many people": lambda: xgb(max_depth=1),
}


@pytest.mark.parametrize("make", NOT_TOLD.values(), ids=NOT_TOLD)
def test_scores_that_could_not_be_told_are_said_to_be_so(make: Callable[[], bytes]) -> None:
    found = after_scrubbing(make())
    assert found.level == "shares"
    assert UNSETTLED in found.discloses


def test_the_people_of_each_leaf_are_the_fewest_that_explain_its_score() -> None:
    """As anybody would work them out; held against the people of the training data."""
    model = xgboost.XGBClassifier(n_estimators=1, max_depth=5, n_jobs=1).fit(X, Y)
    found = after_scrubbing(bytes(model.get_booster().save_raw("json")))
    scores, chances = _first(found)
    law = next(_laws(found, scores, chances))
    worked_out = dict(zip(scores.tolist(), _fewest(law, scores).tolist(), strict=True))
    base = found.base[0]
    leaves = model.apply(X).ravel()
    margins = model.predict(X, output_margin=True)
    true = {leaf: (float(margins[leaves == leaf][0]) - base, int((leaves == leaf).sum())) for leaf in np.unique(leaves)}
    small = [(score, people) for score, people in true.values() if people <= PEOPLE]
    right = [people for score, people in small if worked_out[min(worked_out, key=lambda s: abs(s - score))] == people]
    assert len(small) >= 5
    assert len(right) >= 0.8 * len(small)


def test_the_weights_of_trees_that_vote_are_of_no_small_leaf() -> None:
    for y in (Y, THREE):
        found = after_scrubbing(sklearn(AdaBoostClassifier(n_estimators=3), y))
        assert not {RECOVERABLE_FROM_SCORES.kind, UNSETTLED.kind} & {item.kind for item in found.discloses}


def of_scores(scores: Floats, base: float) -> ModelIR:
    """A tree with these scores on its leaves: shape (n_leaves,), or (n_leaves, n_classes)."""
    n, i = len(scores), np.arange(len(scores) - 1)
    tree = TreeIR(
        feature=np.r_[np.zeros(n - 1, dtype=np.int64), np.full(n, LEAF)],
        threshold=np.zeros(2 * n - 1),
        low=np.r_[2 * i + 1, np.full(n, LEAF)],
        high=np.r_[2 * i + 2, np.full(n, LEAF)],
        values=np.r_[np.full((n - 1, scores[0].size), np.nan), scores.reshape(n, -1)],
    )
    classes = ("n", "p", "q")[: max(2, scores[0].size)]
    return ModelIR("x", ("a",), classes, (tree,), "scores", "boost", base=(base,))


@pytest.mark.parametrize(
    "digits", [None, 2, pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("leaves", [2, 8, 64])
def test_scores_by_chance_are_not_taken_for_people(leaves: int, single: bool, digits: int | None) -> None:
    """A control: of 20 trees of random scores none, where one in a hundred is allowed for."""
    for seed in seeds(20):
        rng = np.random.default_rng(seed)
        scores = rng.normal(scale=0.3, size=leaves)
        scores = scores.astype(np.float32).astype(float) if single else scores
        assert not counts_recoverable_from_scores(
            of_scores(scores if digits is None else np.round(scores, digits), rng.normal())
        )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.thorough
def test_scores_of_each_class_by_chance_are_not_taken_for_people(classes: int) -> None:
    for seed in seeds(20):
        scores = np.random.default_rng(seed).normal(scale=0.3, size=(16, classes))
        assert not counts_recoverable_from_scores(of_scores(scores - scores.mean(axis=1, keepdims=True), 0.0))


def score(k: int, n: int, chance: float) -> float:
    """Of n people, k of the class, with XGBoost's usual settings."""
    return float(np.float32(0.3 * (k - n * chance) / (n * chance * (1 - chance) + 1)))


def test_one_small_leaf_among_large_ones_is_found() -> None:
    rng = np.random.default_rng(3)
    large = [
        score(int(k), int(n), 0.5)
        for n, k in zip(rng.integers(9_000, 9_999, 10), rng.integers(1, 9_000, 10), strict=True)
    ]
    assert not counts_recoverable_from_scores(of_scores(np.array(large), 0.0))
    assert counts_recoverable_from_scores(of_scores(np.array([*large, score(2, 9, 0.5)]), 0.0))


def test_scores_of_one_digit_tell_nothing() -> None:
    content = neutral_file(of_scores(np.array([0.3, -0.2, 0.5]), 0.0)).replace(b"[0,0,-1,-1,-1]", b"[0,1,-1,-1,-1]")
    model = read_foreign(content.replace(b'"features":["a"]', b'"features":["a","b"]'), "m")
    assert not {RECOVERABLE_FROM_SCORES.kind, UNSETTLED.kind} & {item.kind for item in model.discloses}


def test_trees_of_one_class_beside_trees_of_all_are_judged_by_themselves() -> None:
    scores = of_scores(np.array([[0.25, 0.75], [1.0, 0.0]]), 0.0)
    (tree,) = scores.trees
    mixed = replace(scores, trees=(tree, replace(tree, values=tree.values[:, :1], output=0)))
    assert with_implied_disclosures(mixed).discloses == with_implied_disclosures(scores).discloses
