"""Fitted models of every producer, as their owners would publish them, and how an outsider walks them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from first_policy_cases.people import TARGET, People, Rng, is_number
from first_policy_cases.published import Floats, Ids, Published, read_model
from installed_readers import read_foreign
from leafgate.commands.convert.neutral import written
from leafgate.commands.convert.scrub import LeafContent, minimise
from sklearn_zoo import skops_bytes

LEAST_LEAVES = (1, 5, 10, 20, 30, 45, 60)
DEPTHS = (1, 2, 3, 4, 6, None)
UNITS = (20, 100)
"""Scrubbed shares are multiples of 1 / 20, or have two digits."""
SUFFIXES = {"xgboost": "json", "lightgbm": "txt"}


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model and its file.

    Attributes:
        file: the name of its file.
        content: the bytes of the file.
        published: what an outsider has of it.
        estimator: the model in memory; None where the file alone is given to an audit.
        encoding: what a policy has to say of the class.
    """

    file: str
    content: bytes
    published: Published
    estimator: Any = None
    encoding: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """How models of one kind are made.

    Attributes:
        fit: fits one; None where leafgate builds the release itself.
        share: of all cases.
        numbers: does it predict numbers?
        gaps: does it take missing cells?
        only_numbers: does it take no texts?
        init: can `leafgate init` describe its file?
        builder: what builds the release; empty for fitted models.
    """

    fit: Callable[[Rng, People], Fitted] | None
    share: float
    numbers: bool = False
    gaps: bool = False
    only_numbers: bool = False
    init: bool = True
    builder: str = ""


def dummies(people: People) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """From people to a matrix: numbers as they are, a column of zeros and ones for each text of this table."""
    values = {name: sorted(people.frame[name].dropna().unique()) for name in people.texts}

    def encode(frame: pd.DataFrame) -> pd.DataFrame:
        columns: dict[str, Any] = {}
        for name in people.features:
            if name in values:
                columns |= {f"{name}_{value}": (frame[name] == value).to_numpy(dtype=float) for value in values[name]}
            else:
                columns[name] = frame[name].to_numpy(dtype=float)
        return pd.DataFrame(columns)

    return encode


def published_estimator(model: Any, content: bytes, encode: Callable[[pd.DataFrame], Any]) -> Published:
    """What an outsider has of a model of scikit-learn, XGBoost or LightGBM, by what the library says of rows."""
    if isinstance(model, Pipeline):
        return published_estimator(model[-1], content, model[:-1].transform)
    if isinstance(model, xgboost.XGBModel):
        return _published_xgboost(model, content, encode)
    if isinstance(model, lightgbm.LGBMModel):
        return _published_lightgbm(model, content, encode)
    if isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        return _published_histogram(model, content, encode)
    trees = [model] if hasattr(model, "tree_") else np.ravel(model.estimators_).tolist()
    is_number = not hasattr(model, "classes_")

    def leaves(frame: pd.DataFrame) -> Ids:
        rows = encode(frame)
        rows = rows.to_numpy() if isinstance(rows, pd.DataFrame) else rows
        return np.column_stack([tree.tree_.apply(rows.astype(np.float32)) for tree in trees])

    if not is_number:
        return Published(content, leaves)

    def numbers(frame: pd.DataFrame) -> Floats:
        ends = leaves(frame)
        return np.column_stack([tree.tree_.value[ends[:, t], 0, 0] for t, tree in enumerate(trees)])

    whole = Published(content, leaves, numbers, lambda frame: np.asarray(model.predict(encode(frame))))
    if isinstance(model, GradientBoostingRegressor):
        base = float(model.init_.constant_[0, 0])
        added = lambda frame: numbers(frame) * model.learning_rate  # noqa: E731
        return replace(
            whole,
            numbers=added,
            constants=(base,),
            is_added=True,
            is_mean=model.loss == "squared_error",
            learning_rate=model.learning_rate,
        )
    return replace(whole, is_mean=model.criterion == "squared_error" and not getattr(model, "bootstrap", False))


def _published_histogram(model: Any, content: bytes, encode: Callable[[pd.DataFrame], Any]) -> Published:
    nodes = [tree.nodes for trees in model._predictors for tree in trees]

    def leaves(frame: pd.DataFrame) -> Ids:
        rows = np.asarray(encode(frame), dtype=np.float64)
        return np.column_stack([_walk_histogram(each, rows) for each in nodes])

    if hasattr(model, "classes_"):
        return Published(content, leaves)

    def numbers(frame: pd.DataFrame) -> Floats:
        return np.column_stack([each["value"][at] for each, at in zip(nodes, leaves(frame).T, strict=True)])

    base = float(np.ravel(model._baseline_prediction)[0])
    return Published(
        content,
        leaves,
        numbers,
        lambda frame: np.asarray(model.predict(encode(frame))),
        constants=(base,),
        is_mean=model.loss == "squared_error",
        is_added=True,
        learning_rate=model.learning_rate,
    )


def _walk_histogram(nodes: Any, rows: Floats) -> Ids:
    at = np.zeros(len(rows), dtype=np.int64)
    while True:
        inner = np.flatnonzero(nodes["is_leaf"][at] == 0)
        if not len(inner):
            return at
        node = nodes[at[inner]]
        x = rows[inner, node["feature_idx"].astype(np.int64)]
        is_low = np.where(np.isnan(x), node["missing_go_to_left"] == 1, x <= node["num_threshold"])
        at[inner] = np.where(is_low, node["left"], node["right"]).astype(np.int64)


def _published_xgboost(model: Any, content: bytes, encode: Callable[[pd.DataFrame], Any]) -> Published:
    booster = model.get_booster()

    def leaves(frame: pd.DataFrame) -> Ids:
        ends = booster.predict(xgboost.DMatrix(encode(frame)), pred_leaf=True)
        return np.asarray(ends, dtype=np.int64).reshape(len(frame), -1)

    if isinstance(model, xgboost.XGBClassifier):
        return Published(content, leaves)
    table = booster.trees_to_dataframe()
    ends = table[table["Feature"] == "Leaf"]
    said = {(tree, node): gain for tree, node, gain in zip(ends["Tree"], ends["Node"], ends["Gain"], strict=True)}

    def numbers(frame: pd.DataFrame) -> Floats:
        return np.array([[said[t, node] for t, node in enumerate(row)] for row in leaves(frame).tolist()])

    return Published(
        content,
        leaves,
        numbers,
        lambda frame: np.asarray(model.predict(encode(frame)), dtype=np.float64),
        constants=(float(np.ravel(model.intercept_)[0]),),
        is_mean=model.objective == "reg:squarederror",
        is_added=True,
        learning_rate=model.learning_rate,
        regularisation=1.0,
    )


def _published_lightgbm(model: Any, content: bytes, encode: Callable[[pd.DataFrame], Any]) -> Published:
    def leaves(frame: pd.DataFrame) -> Ids:
        return np.asarray(model.booster_.predict(encode(frame), pred_leaf=True), dtype=np.int64).reshape(len(frame), -1)

    if isinstance(model, lightgbm.LGBMClassifier):
        return Published(content, leaves)

    def numbers(frame: pd.DataFrame) -> Floats:
        output = model.booster_.get_leaf_output
        return np.array([[output(t, node) for t, node in enumerate(row)] for row in leaves(frame).tolist()])

    return Published(
        content,
        leaves,
        numbers,
        lambda frame: np.asarray(model.predict(encode(frame))),
        is_mean=model.objective == "regression",
        is_added=True,
        learning_rate=model.learning_rate,
        first_has_base=True,
    )


def published_file(content: bytes, people: People, like: Published) -> Published:
    """What an outsider has of a file that leafgate wrote in place of another one."""
    if content.startswith(b'{"format":"leafgate/model/1"'):
        read = read_model(content)
        return replace(
            read,
            is_mean=like.is_mean,
            is_added=like.is_added,
            learning_rate=like.learning_rate,
            regularisation=like.regularisation,
            first_has_base=like.first_has_base,
        )
    import skops.io

    model = skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))
    return published_estimator(model, content, dummies(people))


def _in_file(model: Any, people: People, kind: str = "skops") -> Fitted:
    """The model in its producer's own format."""
    encode = dummies(people)
    encoding: dict[str, Mapping[str, Any]] = {}
    match kind:
        case "xgboost":
            content = bytes(model.get_booster().save_raw(raw_format="json"))
        case "lightgbm":
            content = model.booster_.model_to_string().encode()
        case _:
            content = skops_bytes(model)
    if kind in SUFFIXES and not people.predicts_numbers:
        codes = {value: float(i) for i, value in enumerate(_values(people))}
        encoding = {TARGET: {"codes": codes}}
    published = published_estimator(model, content, encode)
    file = f"model.{SUFFIXES.get(kind, 'skops')}"
    return Fitted(file, content, published, None if kind in SUFFIXES else model, encoding)


def _values(people: People) -> list[str]:
    return sorted(people.frame[TARGET].unique())


def _codes(people: People) -> Any:
    """The class as numbers, the number itself where one is predicted."""
    if people.predicts_numbers:
        return people.frame[TARGET].to_numpy()
    return np.searchsorted(_values(people), people.frame[TARGET].to_numpy().astype(str))


def scrubbed(fitted: Fitted, people: People, leaves: LeafContent, units: int = 100) -> Fitted:
    """The model as `leafgate scrub` leaves it, shares as multiples of 1 / units."""
    model = minimise(read_foreign(fitted.content, fitted.file), leaves, "model", units)
    content = written(model)
    return Fitted("scrubbed.json", content, published_file(content, people, fitted.published), None, fitted.encoding)


def _leaves(rng: Rng, people: People) -> dict[str, Any]:
    """How large leaves are and how deep trees: some for as many people as policies ask for, some for one."""
    least = int(rng.choice(LEAST_LEAVES, p=[0.1, 0.08, 0.17, 0.2, 0.2, 0.15, 0.1]))
    return {"min_samples_leaf": min(least, len(people) // 3), "max_depth": rng.choice(np.array(DEPTHS, dtype=object))}


def _few_leaves(rng: Rng, people: People) -> dict[str, Any]:
    """How large the leaves of trees that are added up are: together these part people into more groups."""
    least = int(rng.choice([5, 20, 40, 60, 90], p=[0.1, 0.2, 0.3, 0.2, 0.2]))
    return {"min_samples_leaf": min(least, len(people) // 3), "max_depth": int(rng.integers(1, 4))}


def _rounds(rng: Rng) -> int:
    """How many trees are added up."""
    return int(rng.choice([1, 2, 3], p=[0.45, 0.35, 0.2]))


def _tree(rng: Rng, people: People) -> Fitted:
    criterion = str(rng.choice(["gini", "entropy"]))
    model = DecisionTreeClassifier(criterion=criterion, random_state=0, **_leaves(rng, people))
    return _in_file(model.fit(dummies(people)(people.frame), people.frame[TARGET]), people)


def _forest(rng: Rng, people: People) -> Fitted:
    trees = int(rng.integers(1, 4))
    kind = RandomForestClassifier if rng.random() < 0.5 else ExtraTreesClassifier
    model = kind(trees, random_state=0, **_leaves(rng, people))
    return _in_file(model.fit(dummies(people)(people.frame), people.frame[TARGET]), people)


def _histogram(rng: Rng, people: People) -> Fitted:
    options = _few_leaves(rng, people) | {"max_iter": _rounds(rng), "early_stopping": False}
    model: Any = HistGradientBoostingClassifier(**options)
    if people.predicts_numbers:
        loss = str(rng.choice(["squared_error", "absolute_error", "quantile"]))
        quantile = {"quantile": float(rng.choice([0.5, 0.9]))} if loss == "quantile" else {}
        model = HistGradientBoostingRegressor(loss=loss, **options, **quantile)
    return _in_file(model.fit(dummies(people)(people.frame), people.frame[TARGET]), people)


def _gradient_boosting(rng: Rng, people: People) -> Fitted:
    loss = str(rng.choice(["squared_error", "absolute_error"]))
    options = _few_leaves(rng, people) | {"n_estimators": _rounds(rng), "random_state": 0}
    model = GradientBoostingRegressor(loss=loss, **options)
    return _in_file(model.fit(dummies(people)(people.frame), people.frame[TARGET]), people)


def _xgboost(rng: Rng, people: People) -> Fitted:
    kind = xgboost.XGBRegressor if people.predicts_numbers else xgboost.XGBClassifier
    options = _few_leaves(rng, people)
    model = kind(
        n_estimators=_rounds(rng),
        max_depth=options["max_depth"],
        min_child_weight=options["min_samples_leaf"] * (1 if people.predicts_numbers else 0.2),
        learning_rate=float(rng.choice([0.1, 0.3])),
        reg_lambda=1.0,
        n_jobs=1,
        verbosity=0,
        random_state=0,
        **({"objective": "reg:squarederror"} if people.predicts_numbers else {}),
    )
    return _in_file(model.fit(dummies(people)(people.frame), _codes(people)), people, "xgboost")


def _lightgbm(rng: Rng, people: People) -> Fitted:
    kind = lightgbm.LGBMRegressor if people.predicts_numbers else lightgbm.LGBMClassifier
    objective = str(rng.choice(["regression", "regression_l1"])) if people.predicts_numbers else None
    model = kind(
        n_estimators=_rounds(rng),
        num_leaves=int(rng.integers(2, 7)),
        min_child_samples=_few_leaves(rng, people)["min_samples_leaf"],
        min_child_weight=0.0,
        min_data_in_bin=1,
        n_jobs=1,
        verbosity=-1,
        random_state=0,
        objective=objective,
    )
    return _in_file(model.fit(dummies(people)(people.frame), _codes(people)), people, "lightgbm")


def _pipeline(rng: Rng, people: People) -> Fitted:
    """A one-hot encoder and a tree; the encoder may know everybody's name, which the tree never asks about."""
    numbers = [name for name in people.features if is_number(people.frame[name])]
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    texts = [*people.texts, *people.names]
    before = ColumnTransformer([("texts", encoder, texts), ("numbers", "passthrough", numbers)])
    options = _leaves(rng, people)
    options["min_samples_leaf"] = max(2, options["min_samples_leaf"])
    kind = DecisionTreeRegressor if people.predicts_numbers else DecisionTreeClassifier
    model = Pipeline([("before", before), ("tree", kind(random_state=0, **options))])
    return _in_file(model.fit(people.frame[[*people.features, *people.names]], people.frame[TARGET]), people)


def _mean_tree(rng: Rng, people: People, criterion: str = "squared_error") -> Fitted:
    model = DecisionTreeRegressor(criterion=criterion, random_state=0, **_leaves(rng, people))
    return _in_file(model.fit(dummies(people)(people.frame), people.frame[TARGET]), people)


def _mean_forest(rng: Rng, people: People) -> Fitted:
    kind = RandomForestRegressor if rng.random() < 0.5 else ExtraTreesRegressor
    model = kind(int(rng.integers(1, 4)), random_state=0, **_leaves(rng, people))
    return _in_file(model.fit(dummies(people)(people.frame), people.frame[TARGET]), people)


def _onnx(rng: Rng, people: People) -> Fitted:
    """A tree as skl2onnx writes it; it takes numbers alone."""
    options = _leaves(rng, people)
    kind = DecisionTreeRegressor if people.predicts_numbers else DecisionTreeClassifier
    model = kind(random_state=0, **options).fit(dummies(people)(people.frame), people.frame[TARGET])
    rows = dummies(people)(people.frame).to_numpy(np.float32)
    content = bytes(to_onnx(model, rows[:1]).SerializeToString())
    return Fitted("model.onnx", content, published_estimator(model, content, dummies(people)))


def _scrubbed(rng: Rng, people: People, fit: Callable[[Rng, People], Fitted], leaves: LeafContent) -> Fitted:
    return scrubbed(fit(rng, people), people, leaves, int(rng.choice(UNITS)))


RECIPES: Mapping[str, Recipe] = {
    "tree": Recipe(_tree, 3, gaps=True),
    "tree, labels": Recipe(partial(_scrubbed, fit=_tree, leaves="labels"), 12, gaps=True),
    "tree, shares": Recipe(partial(_scrubbed, fit=_tree, leaves="shares"), 10, gaps=True),
    "forest": Recipe(_forest, 2, gaps=True),
    "forest, labels": Recipe(partial(_scrubbed, fit=_forest, leaves="labels"), 6, gaps=True),
    "forest, shares": Recipe(partial(_scrubbed, fit=_forest, leaves="shares"), 6, gaps=True),
    "histogram boosting": Recipe(_histogram, 1, gaps=True),
    "histogram boosting, scores": Recipe(partial(_scrubbed, fit=_histogram, leaves="shares"), 2, gaps=True),
    "xgboost": Recipe(_xgboost, 1, gaps=True),
    "xgboost, scores": Recipe(partial(_scrubbed, fit=_xgboost, leaves="shares"), 2, gaps=True),
    "lightgbm": Recipe(_lightgbm, 1, gaps=True),
    "lightgbm, scores": Recipe(partial(_scrubbed, fit=_lightgbm, leaves="shares"), 1, gaps=True),
    "pipeline": Recipe(_pipeline, 2),
    "pipeline, labels": Recipe(partial(_scrubbed, fit=_pipeline, leaves="labels"), 4),
    "onnx": Recipe(_onnx, 4, only_numbers=True, init=False),
    "mean tree": Recipe(_mean_tree, 2, numbers=True),
    "mean tree, scrubbed": Recipe(partial(_scrubbed, fit=_mean_tree, leaves="labels"), 6, numbers=True),
    "median tree": Recipe(partial(_mean_tree, criterion="absolute_error"), 2, numbers=True),
    "median tree, scrubbed": Recipe(
        partial(_scrubbed, fit=partial(_mean_tree, criterion="absolute_error"), leaves="labels"), 5, numbers=True
    ),
    "mean forest, scrubbed": Recipe(partial(_scrubbed, fit=_mean_forest, leaves="labels"), 4, numbers=True),
    "numbers by histograms, scrubbed": Recipe(
        partial(_scrubbed, fit=_histogram, leaves="labels"), 5, numbers=True, gaps=True
    ),
    "numbers by boosting, scrubbed": Recipe(
        partial(_scrubbed, fit=_gradient_boosting, leaves="labels"), 3, numbers=True
    ),
    "numbers by xgboost": Recipe(_xgboost, 3, numbers=True, gaps=True),
    "numbers by xgboost, scrubbed": Recipe(
        partial(_scrubbed, fit=_xgboost, leaves="labels"), 3, numbers=True, gaps=True
    ),
    "numbers by lightgbm, scrubbed": Recipe(
        partial(_scrubbed, fit=_lightgbm, leaves="labels"), 3, numbers=True, gaps=True
    ),
    "numbers by a pipeline": Recipe(_pipeline, 1, numbers=True),
    "numbers in onnx": Recipe(_onnx, 4, numbers=True, only_numbers=True, init=False),
    "kadet": Recipe(None, 14, gaps=True, builder="kadet"),
    "c45": Recipe(None, 5, gaps=True, builder="c45"),
    "id3": Recipe(None, 5, gaps=True, builder="id3"),
}
"""The kinds of cases; the shares are relative to each other.

Boosted classes are few: their scores disclose more than is worked out, so that no first policy lets them pass.
"""


def fit(recipe: Recipe, rng: Rng, people: People) -> Fitted:
    """A fitted model of this kind."""
    assert recipe.fit is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return recipe.fit(rng, people)
