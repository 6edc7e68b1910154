"""Fitted models of every producer, as their owners would publish them, and how an outsider walks them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from numpy.typing import NDArray
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

from generator.people import TARGET, People, Rng, is_number
from generator.published import Floats, Ids, Published, descend, read_model
from installed_readers import minimise, neutral_file, read_foreign
from leafgate.commands.convert.scrub import LeafContent
from sklearn_zoo import skops_bytes

LEAST_LEAVES = (1, 5, 10, 20, 30, 45, 60)
DEPTHS = (1, 2, 3, 4, 6, None)
UNITS = (20, 100)
"""Scrubbed shares are multiples of 1 / 20, or have two digits."""
BY_CODES = (xgboost.XGBModel, lightgbm.LGBMModel)
"""Models that take numbers for classes, and whose files are audited without the model in memory."""
Encode = Callable[[pd.DataFrame], Any]
"""From people to the matrix that a model is given."""


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
        draw: draws one that is not fitted; None where leafgate builds the release itself.
        share: of all cases.
        scrub: what `leafgate scrub` leaves on its leaves; None where it is published as it is.
        numbers: does it predict numbers?
        gaps: does it take missing cells?
        in_onnx: is it written as ONNX? It takes no texts then, and `leafgate init` does not describe its file.
        builder: what builds the release; empty for fitted models.
    """

    draw: Callable[[Rng, People], Any] | None
    share: float
    scrub: LeafContent | None = None
    numbers: bool = False
    gaps: bool = False
    in_onnx: bool = False
    builder: str = ""


def dummies(people: People) -> Encode:
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


def published_estimator(model: Any, content: bytes, encode: Encode) -> Published:
    """What an outsider has of a model of scikit-learn, XGBoost or LightGBM, by what the library says of rows."""
    if isinstance(model, Pipeline):
        return published_estimator(model[-1], content, model[:-1].transform)
    if isinstance(model, xgboost.XGBModel):
        return _published_xgboost(model, content, encode)
    if isinstance(model, lightgbm.LGBMModel):
        return _published_lightgbm(model, content, encode)
    if isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        return _published_histogram(model, content, encode)
    trees = [model.tree_] if hasattr(model, "tree_") else [each.tree_ for each in np.ravel(model.estimators_)]

    def leaves(frame: pd.DataFrame) -> Ids:
        rows = np.asarray(encode(frame)).astype(np.float32)
        return np.column_stack([tree.apply(rows) for tree in trees])

    is_boosted = isinstance(model, GradientBoostingRegressor)
    rate = model.learning_rate if is_boosted else 1.0
    whole = _published(model, content, encode, leaves, lambda t, node: trees[t].value[node, 0, 0] * rate)
    if not is_boosted:
        return replace(whole, is_mean=model.criterion == "squared_error" and not getattr(model, "bootstrap", False))
    base = float(model.init_.constant_[0, 0])
    return replace(whole, constants=(base,), is_added=True, is_mean=model.loss == "squared_error", learning_rate=rate)


def _published(
    model: Any,
    content: bytes,
    encode: Encode,
    leaves: Callable[[pd.DataFrame], Ids],
    number_of: Callable[[int, int], float],
) -> Published:
    """A model with these leaves; `number_of` is the number on a leaf, by its tree and its number."""
    if hasattr(model, "classes_"):
        return Published(content, leaves)

    def numbers(frame: pd.DataFrame) -> Floats:
        return np.array([[number_of(t, leaf) for t, leaf in enumerate(row)] for row in leaves(frame).tolist()])

    def predictions(frame: pd.DataFrame) -> Floats:
        return np.asarray(model.predict(encode(frame)), dtype=np.float64)

    return Published(content, leaves, numbers, predictions)


def _published_histogram(model: Any, content: bytes, encode: Encode) -> Published:
    nodes = [tree.nodes for trees in model._predictors for tree in trees]

    def ends(tree: Any, rows: Floats) -> Ids:
        def is_low(node: Ids, x: Floats) -> NDArray[np.bool_]:
            by_missing = tree["missing_go_to_left"][node] == 1
            return np.asarray(np.where(np.isnan(x), by_missing, x <= tree["num_threshold"][node]))

        feature = np.where(tree["is_leaf"], -1, tree["feature_idx"])
        return descend(rows, feature, is_low, tree["left"], tree["right"])

    def leaves(frame: pd.DataFrame) -> Ids:
        rows = np.asarray(encode(frame), dtype=np.float64)
        return np.column_stack([ends(tree, rows) for tree in nodes])

    whole = _published(model, content, encode, leaves, lambda t, node: nodes[t]["value"][node])
    return replace(
        whole,
        constants=(float(np.ravel(model._baseline_prediction)[0]),),
        is_mean=model.loss == "squared_error",
        is_added=True,
        learning_rate=model.learning_rate,
    )


def _published_xgboost(model: Any, content: bytes, encode: Encode) -> Published:
    booster = model.get_booster()

    def leaves(frame: pd.DataFrame) -> Ids:
        ends = booster.predict(xgboost.DMatrix(encode(frame)), pred_leaf=True)
        return np.asarray(ends, dtype=np.int64).reshape(len(frame), -1)

    table = booster.trees_to_dataframe()
    ends = table[table["Feature"] == "Leaf"]
    said = {(tree, node): gain for tree, node, gain in zip(ends["Tree"], ends["Node"], ends["Gain"], strict=True)}
    return replace(
        _published(model, content, encode, leaves, lambda t, node: said[t, node]),
        constants=(float(np.ravel(model.intercept_)[0]),),
        is_mean=model.objective == "reg:squarederror",
        is_added=True,
        learning_rate=model.learning_rate,
        regularisation=1.0,
    )


def _published_lightgbm(model: Any, content: bytes, encode: Encode) -> Published:
    def leaves(frame: pd.DataFrame) -> Ids:
        return np.asarray(model.booster_.predict(encode(frame), pred_leaf=True), dtype=np.int64).reshape(len(frame), -1)

    return replace(
        _published(model, content, encode, leaves, model.booster_.get_leaf_output),
        is_mean=model.objective == "regression",
        is_added=True,
        learning_rate=model.learning_rate,
        first_has_base=True,
    )


def published_file(content: bytes, people: People, like: Published) -> Published:
    """What an outsider has of a file that leafgate wrote in place of another one."""
    if content.startswith(b'{"format":"leafgate/model/1"'):
        read = read_model(content)
        own = {name: getattr(read, name) for name in ("content", "leaves", "numbers", "predictions", "constants")}
        return replace(like, **own)
    import skops.io

    model = skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))
    return published_estimator(model, content, dummies(people))


def fit(recipe: Recipe, rng: Rng, people: People) -> Fitted:
    """A fitted model of this kind, in its file."""
    assert recipe.draw is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = recipe.draw(rng, people)
        if isinstance(model, Pipeline):
            model.fit(people.frame[[*people.features, *people.names]], people.frame[TARGET])
        else:
            target = _codes(people) if isinstance(model, BY_CODES) else people.frame[TARGET]
            model.fit(dummies(people)(people.frame), target)
        fitted = _in_file(model, people, in_onnx=recipe.in_onnx)
        return fitted if recipe.scrub is None else _scrubbed(fitted, people, recipe.scrub, int(rng.choice(UNITS)))


def _in_file(model: Any, people: People, *, in_onnx: bool) -> Fitted:
    """The fitted model in its producer's own format, or as skl2onnx writes it."""
    encode = dummies(people)
    estimator = None
    if in_onnx:
        file, content = "model.onnx", to_onnx(model, encode(people.frame).to_numpy(np.float32)[:1]).SerializeToString()
    elif isinstance(model, xgboost.XGBModel):
        file, content = "model.json", model.get_booster().save_raw(raw_format="json")
    elif isinstance(model, lightgbm.LGBMModel):
        file, content = "model.txt", model.booster_.model_to_string().encode()
    else:
        file, content, estimator = "model.skops", skops_bytes(model), model
    encoding: dict[str, Mapping[str, Any]] = {}
    if isinstance(model, BY_CODES) and not people.predicts_numbers:
        encoding = {TARGET: {"codes": {value: float(i) for i, value in enumerate(_values(people))}}}
    return Fitted(file, bytes(content), published_estimator(model, bytes(content), encode), estimator, encoding)


def _values(people: People) -> list[str]:
    return sorted(people.frame[TARGET].unique())


def _codes(people: People) -> Any:
    """The class as numbers, the number itself where one is predicted."""
    if people.predicts_numbers:
        return people.frame[TARGET].to_numpy()
    return np.searchsorted(_values(people), people.frame[TARGET].to_numpy().astype(str))


def _scrubbed(fitted: Fitted, people: People, leaves: LeafContent, units: int) -> Fitted:
    """The model as `leafgate scrub` leaves it, shares as multiples of 1 / units."""
    content = neutral_file(minimise(read_foreign(fitted.content, fitted.file), leaves, "model", units))
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


def _tree(rng: Rng, people: People) -> Any:
    criterion = str(rng.choice(["gini", "entropy"]))
    return DecisionTreeClassifier(criterion=criterion, random_state=0, **_leaves(rng, people))


def _forest(rng: Rng, people: People) -> Any:
    trees = int(rng.integers(1, 4))
    kind = RandomForestClassifier if rng.random() < 0.5 else ExtraTreesClassifier
    return kind(trees, random_state=0, **_leaves(rng, people))


def _histogram(rng: Rng, people: People) -> Any:
    options = _few_leaves(rng, people) | {"max_iter": _rounds(rng), "early_stopping": False}
    if not people.predicts_numbers:
        return HistGradientBoostingClassifier(**options)
    loss = str(rng.choice(["squared_error", "absolute_error", "quantile"]))
    quantile = {"quantile": float(rng.choice([0.5, 0.9]))} if loss == "quantile" else {}
    return HistGradientBoostingRegressor(loss=loss, **options, **quantile)


def _gradient_boosting(rng: Rng, people: People) -> Any:
    loss = str(rng.choice(["squared_error", "absolute_error"]))
    options = _few_leaves(rng, people) | {"n_estimators": _rounds(rng), "random_state": 0}
    return GradientBoostingRegressor(loss=loss, **options)


def _xgboost(rng: Rng, people: People) -> Any:
    kind = xgboost.XGBRegressor if people.predicts_numbers else xgboost.XGBClassifier
    options = _few_leaves(rng, people)
    return kind(
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


def _lightgbm(rng: Rng, people: People) -> Any:
    kind = lightgbm.LGBMRegressor if people.predicts_numbers else lightgbm.LGBMClassifier
    objective = str(rng.choice(["regression", "regression_l1"])) if people.predicts_numbers else None
    return kind(
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


def _pipeline(rng: Rng, people: People) -> Any:
    """A one-hot encoder and a tree; the encoder may know everybody's name, which the tree never asks about."""
    numbers = [name for name in people.features if is_number(people.frame[name])]
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    texts = [*people.texts, *people.names]
    before = ColumnTransformer([("texts", encoder, texts), ("numbers", "passthrough", numbers)])
    options = _leaves(rng, people)
    options["min_samples_leaf"] = max(2, options["min_samples_leaf"])
    return Pipeline([("before", before), ("tree", _plain_tree(people, options))])


def _plain_tree(people: People, options: Mapping[str, Any], **more: Any) -> Any:
    kind = DecisionTreeRegressor if people.predicts_numbers else DecisionTreeClassifier
    return kind(random_state=0, **options, **more)


def _any_tree(rng: Rng, people: People) -> Any:
    return _plain_tree(people, _leaves(rng, people))


def _median_tree(rng: Rng, people: People) -> Any:
    return _plain_tree(people, _leaves(rng, people), criterion="absolute_error")


def _mean_forest(rng: Rng, people: People) -> Any:
    kind = RandomForestRegressor if rng.random() < 0.5 else ExtraTreesRegressor
    return kind(int(rng.integers(1, 4)), random_state=0, **_leaves(rng, people))


RECIPES: Mapping[str, Recipe] = {
    "tree": Recipe(_tree, 3, gaps=True),
    "tree, labels": Recipe(_tree, 12, "labels", gaps=True),
    "tree, shares": Recipe(_tree, 10, "shares", gaps=True),
    "forest": Recipe(_forest, 2, gaps=True),
    "forest, labels": Recipe(_forest, 6, "labels", gaps=True),
    "forest, shares": Recipe(_forest, 6, "shares", gaps=True),
    "histogram boosting": Recipe(_histogram, 1, gaps=True),
    "histogram boosting, scores": Recipe(_histogram, 2, "shares", gaps=True),
    "xgboost": Recipe(_xgboost, 1, gaps=True),
    "xgboost, scores": Recipe(_xgboost, 2, "shares", gaps=True),
    "lightgbm": Recipe(_lightgbm, 1, gaps=True),
    "lightgbm, scores": Recipe(_lightgbm, 1, "shares", gaps=True),
    "pipeline": Recipe(_pipeline, 2),
    "pipeline, labels": Recipe(_pipeline, 4, "labels"),
    "onnx": Recipe(_any_tree, 4, in_onnx=True),
    "mean tree": Recipe(_any_tree, 2, numbers=True),
    "mean tree, scrubbed": Recipe(_any_tree, 6, "labels", numbers=True),
    "median tree": Recipe(_median_tree, 2, numbers=True),
    "median tree, scrubbed": Recipe(_median_tree, 5, "labels", numbers=True),
    "mean forest, scrubbed": Recipe(_mean_forest, 4, "labels", numbers=True),
    "numbers by histograms, scrubbed": Recipe(_histogram, 5, "labels", numbers=True, gaps=True),
    "numbers by boosting, scrubbed": Recipe(_gradient_boosting, 3, "labels", numbers=True),
    "numbers by xgboost": Recipe(_xgboost, 3, numbers=True, gaps=True),
    "numbers by xgboost, scrubbed": Recipe(_xgboost, 3, "labels", numbers=True, gaps=True),
    "numbers by lightgbm, scrubbed": Recipe(_lightgbm, 3, "labels", numbers=True, gaps=True),
    "numbers by a pipeline": Recipe(_pipeline, 1, numbers=True),
    "numbers in onnx": Recipe(_any_tree, 4, numbers=True, in_onnx=True),
    "kadet": Recipe(None, 14, gaps=True, builder="kadet"),
    "c45": Recipe(None, 5, gaps=True, builder="c45"),
    "id3": Recipe(None, 5, gaps=True, builder="id3"),
}
"""The kinds of cases; the shares are relative to each other.

Boosted classes are few: their scores disclose more than is worked out, so that no first policy lets them pass.
"""
