"""Fitted models of other libraries in every file format that is read, and the properties tried on them."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from numpy.typing import NDArray
from skl2onnx import convert_sklearn, to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dominance.audits import LENIENT, Outcome, audited_file, strict_metrics
from dominance.people import People, Rng, contradicting_table, draw_people
from dominance.properties import (
    Case,
    Problem,
    certain_are_exposed,
    does_not_pass,
    honest_passes,
    more_is_not_safer,
    not_milder,
)
from installed_readers import read_foreign
from leafgate import LeafgateError, Table, from_sklearn
from leafgate.api import make_table
from leafgate.commands.convert.neutral import written
from leafgate.commands.convert.scrub import minimise
from leafgate.kernel.policy import Data
from pmml_of import pmml_of
from sklearn_zoo import skops_bytes

Ids = NDArray[np.int64]
XGBOOST_NUMBERS = r'"sum_hessian":\[(?:[-\d.E]+,)*?([-\d.E]+)'
LIGHTGBM_NUMBERS = r"(?:leaf_count=|internal_count=)(?:\d+ )*?(\d+)"
"""The numbers of people in the files of the two libraries."""


@dataclass(frozen=True)
class Fitted:
    """A model in one or several file formats, the first of which is its exact twin.

    `leaves` gives for rows of features the number of each one's leaf, a column for each tree whose leaves the file
    counts; `edits` are patterns of numbers in a file's text that count people, `encoding` what a policy says of a
    format's features. `sampled` says that the file counts fewer people than the table has.
    """

    name: str
    files: Mapping[str, bytes]
    leaves: Callable[[pd.DataFrame], Ids]
    encoding: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    edits: Mapping[str, str] = field(default_factory=dict)
    sampled: bool = False


def features_of(table: Table) -> pd.DataFrame:
    """A row of numbers for each person: numbers as they are, a column of zeros and ones for each value."""
    columns: dict[str, Any] = {}
    for column in table.schema.features:
        if column.numeric:
            columns[column.name] = table.numbers(column.name)
            continue
        for value in column.domain:
            columns[f"{column.name}_{value}"] = (table.frame[column.name] == value).to_numpy(dtype=float)
    return pd.DataFrame(columns).loc[np.repeat(np.arange(len(table)), table.weight)].reset_index(drop=True)


def classes_of(table: Table) -> NDArray[Any]:
    """Each person's class."""
    return np.repeat(table.frame[table.schema.target.name].astype(object).to_numpy(), table.weight)


def _meaning(name: str) -> dict[str, str]:
    column, _, value = name.partition("_")
    return {"column": column} | ({"value": value} if value else {})


def _numbered(x: pd.DataFrame, trees: Sequence[Any]) -> dict[str, dict[str, str]]:
    """What the features of a matrix are, which an ONNX file calls by their places: those that trees ask about."""
    asked = sorted({int(i) for tree in trees for i in tree.tree_.feature if i >= 0})
    return {f"x{i}": _meaning(x.columns[i]) for i in asked}


def fit_tree(rng: Rng, people: People) -> Fitted:
    """A decision tree as skops, ONNX and PMML, and as its exact neutral file."""
    x, y = features_of(people.table), classes_of(people.table)
    model = DecisionTreeClassifier(
        max_depth=int(rng.integers(1, 5)), min_samples_leaf=int(rng.choice([1, 2, 5])), random_state=0
    ).fit(x, y)
    classes, target = [str(name) for name in model.classes_], people.schema.target.name
    numbered = _numbered(x, [model])
    files = {
        "neutral": written(from_sklearn(model)),
        "skops": skops_bytes(model),
        "onnx": to_onnx(model, x.to_numpy(np.float32)[:1]).SerializeToString(),
        "pmml": pmml_of(model, list(x.columns), target, classes),
    }
    edits = {
        "neutral": r'(?:"size":\[|"counts":\[\[)([\d.]+)',
        "pmml": r'(?<=recordCount=")(\d+)',
    }
    return Fitted("tree", files, lambda rows: np.asarray(model.apply(rows)).reshape(-1, 1), {"onnx": numbered}, edits)


def fit_weighted_tree(rng: Rng, people: People) -> Fitted:
    """A tree whose classes weigh alike, so that its shares are nobody's; the file still counts people."""
    x, y = features_of(people.table), classes_of(people.table)
    model = DecisionTreeClassifier(max_depth=int(rng.integers(1, 5)), class_weight="balanced", random_state=0).fit(x, y)
    files = {"skops": skops_bytes(model), "neutral": written(from_sklearn(model))}
    return Fitted("weighted tree", files, lambda rows: np.asarray(model.apply(rows)).reshape(-1, 1))


def fit_forest(rng: Rng, people: People) -> Fitted:
    """A forest of three trees, on bootstraps or on everybody."""
    x, y = features_of(people.table), classes_of(people.table)
    bootstrap = bool(rng.random() < 0.5)
    kind = RandomForestClassifier if rng.random() < 0.5 else ExtraTreesClassifier
    model = kind(3, max_depth=int(rng.integers(1, 4)), bootstrap=bootstrap, random_state=0).fit(x, y)
    name = f"{'bootstrap' if bootstrap else 'exact'} forest"
    files = {"skops": skops_bytes(model), "neutral": written(from_sklearn(model))}
    files["onnx"] = to_onnx(model, x.to_numpy(np.float32)[:1]).SerializeToString()
    encoding = {"onnx": _numbered(x, model.estimators_)}
    return Fitted(name, files, lambda rows: np.asarray(model.apply(rows)), encoding, sampled=bootstrap)


def fit_histogram_boosting(rng: Rng, people: People) -> Fitted:
    """Histogram boosting, whose file discloses how many people every node has."""
    x, y = features_of(people.table), classes_of(people.table)
    model = HistGradientBoostingClassifier(
        max_iter=2, max_depth=3, min_samples_leaf=int(rng.choice([2, 10])), early_stopping=False
    ).fit(x, y)
    read = from_sklearn(model)
    files = {"skops": skops_bytes(model), "neutral": written(read)}

    def leaves(rows: pd.DataFrame) -> Ids:
        from leafgate.commands.convert.prediction import leaves_of

        return np.column_stack([leaves_of(tree, rows.to_numpy(dtype=float)) for tree in read.trees])

    return Fitted("histogram boosting", files, leaves)


def fit_xgboost(rng: Rng, people: People) -> Fitted:
    """One or two rounds of XGBoost as JSON and UBJSON; the first round's hessians count people."""
    x, target, classes = features_of(people.table), people.schema.target, people.schema.classes
    y = np.array([classes.index(value) for value in classes_of(people.table)])
    several = len(classes) > 2
    objective = (
        {"objective": "multi:softprob", "num_class": len(classes)} if several else {"objective": "binary:logistic"}
    )
    options = objective | {"max_depth": int(rng.integers(1, 4)), "nthread": 1, "verbosity": 0, "min_child_weight": 0.1}
    model = xgboost.train(options, xgboost.DMatrix(x, label=y), num_boost_round=int(rng.integers(1, 3)))
    text = bytes(model.save_raw(raw_format="json"))
    files = {"neutral": written(read_foreign(text, "m")), "json": text, "ubj": bytes(model.save_raw(raw_format="ubj"))}
    first = len(classes) if several else 1

    def leaves(rows: pd.DataFrame) -> Ids:
        ends = model.predict(xgboost.DMatrix(rows), pred_leaf=True).reshape(len(rows), -1)
        return np.asarray(ends[:, :first], dtype=np.int64)

    codes = {target.name: {"codes": {value: float(i) for i, value in enumerate(classes)}}}
    return Fitted("xgboost", files, leaves, dict.fromkeys(files, codes), {"json": XGBOOST_NUMBERS})


def fit_lightgbm(rng: Rng, people: People) -> Fitted:
    """One or two rounds of LightGBM as text, which counts the people of every node."""
    x, target, classes = features_of(people.table), people.schema.target, people.schema.classes
    y = np.array([classes.index(value) for value in classes_of(people.table)])
    several = {"objective": "multiclass", "num_class": len(classes)} if len(classes) > 2 else {"objective": "binary"}
    options = several | {"num_leaves": int(rng.integers(2, 6)), "min_data_in_leaf": int(rng.choice([2, 10]))}
    options |= {"verbosity": -1, "num_threads": 1, "min_data_in_bin": 1, "feature_pre_filter": False}
    model = lightgbm.train(options, lightgbm.Dataset(x, label=y), num_boost_round=int(rng.integers(1, 3)))
    text = model.model_to_string().encode()
    files = {"neutral": written(read_foreign(text, "m")), "text": text}

    def leaves(rows: pd.DataFrame) -> Ids:
        return np.asarray(model.predict(rows, pred_leaf=True)).reshape(len(rows), -1).astype(np.int64)

    codes = {target.name: {"codes": {value: float(i) for i, value in enumerate(classes)}}}
    return Fitted("lightgbm", files, leaves, dict.fromkeys(files, codes), {"text": LIGHTGBM_NUMBERS})


def fit_regression(rng: Rng, people: People) -> Fitted:
    """Trees that predict a number, whose files count the people of every node."""
    x = features_of(people.table)
    y = np.repeat(people.table.numbers(people.schema.target.name), people.table.weight)
    depth = int(rng.integers(1, 4))
    kind = str(rng.choice(["tree", "forest", "xgboost", "lightgbm"]))
    if kind in {"tree", "forest"}:
        forest = ExtraTreesRegressor(2, max_depth=depth, random_state=0)
        model: Any = (DecisionTreeRegressor(max_depth=depth, random_state=0) if kind == "tree" else forest).fit(x, y)
        files = {"neutral": written(from_sklearn(model)), "skops": skops_bytes(model)}
        return Fitted(f"regression {kind}", files, lambda rows: np.asarray(model.apply(rows)).reshape(len(rows), -1))
    if kind == "xgboost":
        options = {"objective": "reg:squarederror", "max_depth": depth, "nthread": 1, "verbosity": 0}
        booster = xgboost.train(options, xgboost.DMatrix(x, label=y), num_boost_round=2)
        text = bytes(booster.save_raw(raw_format="json"))
        files = {"neutral": written(read_foreign(text, "m")), "json": text}

        def ends(rows: pd.DataFrame) -> Ids:
            return np.asarray(booster.predict(xgboost.DMatrix(rows), pred_leaf=True)).astype(np.int64)

        return Fitted("regression xgboost", files, ends, {}, {"json": XGBOOST_NUMBERS})
    lgb = {"objective": "regression", "num_leaves": 2**depth, "min_data_in_leaf": 2, "verbosity": -1, "num_threads": 1}
    trained = lightgbm.train(lgb | {"min_data_in_bin": 1}, lightgbm.Dataset(x, label=y), num_boost_round=2)
    text = trained.model_to_string().encode()
    files = {"neutral": written(read_foreign(text, "m")), "text": text}

    def leaves(rows: pd.DataFrame) -> Ids:
        return np.asarray(trained.predict(rows, pred_leaf=True)).reshape(len(rows), -1).astype(np.int64)

    return Fitted("regression lightgbm", files, leaves, {}, {"text": LIGHTGBM_NUMBERS})


def with_class_of_numbers(people: People) -> People:
    """The same people, their classes intervals of a number, which differs among them."""
    target, edges = people.schema.target, [0.0, 10.0, 20.0, 30.0][: len(people.schema.classes) + 1]
    columns = dict(people.data["columns"]) | {target.name: {"role": ["class", "sensitive"], "bins": edges}}
    data = dict(people.data) | {"columns": columns}
    schema = Data.model_validate_json(json.dumps(data)).meaning()
    numbers = np.array(edges)[people.table.codes(target.name)] + np.arange(len(people.table)) * 7 % 9
    frame = people.table.frame.assign(**{target.name: numbers})
    return People(data, make_table(schema, frame, people.table.weight))


FITS: Mapping[str, Callable[[Rng, People], Fitted]] = {
    "tree": fit_tree,
    "weighted": fit_weighted_tree,
    "forest": fit_forest,
    "histogram": fit_histogram_boosting,
    "xgboost": fit_xgboost,
    "lightgbm": fit_lightgbm,
    "regression": fit_regression,
}


TAKES_MISSING = frozenset({"xgboost", "lightgbm", "histogram"})


def fitted_case(rng: Rng, name: str) -> Iterator[Problem]:
    """A model in two of its formats, scrubbed, beside another table, and with a number of people changed."""
    people = draw_people(rng, plain=True, gaps=name in TAKES_MISSING and rng.random() < 0.3)
    if len(set(classes_of(people.table).tolist())) < len(people.schema.classes):
        return
    people = with_class_of_numbers(people) if name == "regression" else people
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = FITS[name](rng, people)
    metrics = strict_metrics(rng)
    twin_name = "neutral"
    twin = _audited(people, fitted, twin_name, metrics)
    yield from certain_are_exposed(twin, people, f"{fitted.name} neutral", ["linking"])
    others = [each for each in fitted.files if each != twin_name]
    chosen = str(rng.choice(others))
    outcome = _audited(people, fitted, chosen, metrics)
    if outcome.verdict == "refused" and twin.verdict != "refused":
        yield "b", f"{fitted.name} {chosen}", f"is refused: {outcome.error}"
    yield from not_milder(outcome, twin, f"{fitted.name} {chosen}")
    if rng.random() < 0.3:
        yield from honest_passes(_audited(people, fitted, chosen, LENIENT), f"{fitted.name} {chosen}")
    yield from certain_are_exposed(outcome, people, f"{fitted.name} {chosen}", ["linking"])
    yield from _scrubbed(people, fitted, twin, metrics)
    file = str(rng.choice([twin_name, *others]))
    if file != "onnx":
        yield from _beside_another_table(rng, people, fitted, file)
        yield from _with_a_number_changed(rng, people, fitted, file)


def _audited(people: People, fitted: Fitted, file: str, metrics: Any, content: bytes = b"") -> Outcome:
    return audited_file(people, content or fitted.files[file], metrics, fitted.encoding.get(file))


def _scrubbed(people: People, fitted: Fitted, twin: Outcome, metrics: Any) -> Iterator[Problem]:
    """(a) for the same file with labels, shares and counts on its leaves."""
    model, before = read_foreign(fitted.files["neutral"], "m"), None
    for level in ("labels", "shares", "counts"):
        try:
            content = written(minimise(model, level, "m"))
        except LeafgateError:
            continue
        outcome = _audited(people, fitted, "neutral", metrics, content)
        kind = f"{fitted.name} scrubbed to {level}"
        yield from certain_are_exposed(outcome, people, kind, ["linking"])
        if before is not None:
            yield from more_is_not_safer(before, outcome, people, kind, plain=False)
        before = outcome
    if before is not None:
        yield from more_is_not_safer(before, twin, people, f"{fitted.name} scrubbed -> whole", plain=False)


def _tells_weights_alone(content: bytes) -> bool:
    """Has a neutral file the weights of its nodes by class, and no number of rows?

    Whole weights take the place of the rows in it; where they are no whole numbers, its `size` counts rows.
    """
    if not content.startswith(b'{"format":"leafgate/model/1"'):
        return False
    document = json.loads(content)
    return document["counted"] == "unknown" and all(tree["counts"] is not None for tree in document["trees"])


def _beside_another_table(rng: Rng, people: People, fitted: Fitted, file: str) -> Iterator[Problem]:
    """(d) where the table's people end in other leaves than those whom the file counts."""
    how, others = contradicting_table(rng, people)
    if _tells_weights_alone(fitted.files[file]):
        return  # weights of classes that nobody knows: other people may have weighed as much
    one, other = (fitted.leaves(features_of(each.table)) for each in (people, others))
    size = int(max(one.max(), other.max())) + 1
    for t in range(one.shape[1]):
        before, after = np.bincount(one[:, t], minlength=size), np.bincount(other[:, t], minlength=size)
        fewer_than_half = fitted.sampled and (after < before * 0.4).any() and before[after < before * 0.4].max() >= 10
        if fewer_than_half or (not fitted.sampled and (before != after).any()):
            outcome = _audited(others, fitted, file, LENIENT)
            yield from does_not_pass(outcome, f"{fitted.name} {file} beside a table {how}")
            return


def _with_a_number_changed(rng: Rng, people: People, fitted: Fitted, file: str) -> Iterator[Problem]:
    """(d) where one number of people in the file's text is another."""
    if file not in fitted.edits:
        return
    text = fitted.files[file].decode()
    places = list(re.finditer(fitted.edits[file], text))
    if not places:
        return
    place = places[int(rng.integers(len(places)))]
    number = float(place[1])
    changed = number * float(rng.choice([0.5, 2.0, 10.0])) if rng.random() < 0.5 or file == "json" else number + 1
    changed = number + 1 if changed == number else changed  # 0 is 0, however often
    whole = "." not in place[1] and file != "json" and not (file == "pmml" and rng.random() < 0.3)
    message = str(round(changed) if round(changed) != number else round(number) + 1) if whole else repr(changed)
    content = (text[: place.start(1)] + message + text[place.end(1) :]).encode()
    yield from does_not_pass(
        _audited(people, fitted, file, LENIENT, content), f"{fitted.name} {file}, a number of people changed"
    )


def model_cases() -> Mapping[str, tuple[float, Case]]:
    """A kind of case for each kind of model."""
    often = {
        "tree": 0.1,
        "weighted": 0.03,
        "forest": 0.05,
        "histogram": 0.03,
        "regression": 0.04,
        "xgboost": 0.05,
        "lightgbm": 0.04,
    }

    def case(name: str) -> Case:
        return lambda rng: fitted_case(rng, name)

    return {name: (share, case(name)) for name, share in often.items()} | {"names": (0.02, names_case)}


def names_case(rng: Rng) -> Iterator[Problem]:
    """(e) where an encoder of a column that is no attribute holds what stands in it of everybody."""
    people = draw_people(rng, plain=True)
    table, y = people.table, classes_of(people.table)
    if len(set(y.tolist())) < len(people.schema.classes):
        return
    cells = {
        c.name: table.numbers(c.name) if c.numeric else table.frame[c.name].astype(object)
        for c in people.schema.features
    }
    frame = pd.DataFrame(cells).loc[np.repeat(np.arange(len(table)), table.weight)].reset_index(drop=True)
    role = str(rng.choice(["identifier", "ignored", "undeclared"]))
    columns = dict(people.data["columns"]) | ({} if role == "undeclared" else {"name": {"role": role}})
    named = People(dict(people.data) | {"columns": columns}, table)
    onnx, one_hot = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    names = [f"{chr(97 + i % 26)}{i} smith" for i in range(len(frame))]
    kind = f"names of the role {role} in {'onnx' if onnx else 'skops'}, {'one-hot' if one_hot else 'ordinal'}"
    metrics = (*LENIENT, {"use": "file_disclosure", "at_most": 1000, "severity": "high"})
    items = []
    for columns_given in (frame.assign(name=names), frame):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = _pipeline_file(people, columns_given, y, onnx=onnx, one_hot=one_hot)
        outcome = audited_file(named, content, metrics)
        items.append(outcome.findings["file_disclosure"].value if outcome.findings else None)
        if outcome.verdict == "refused" and "name" not in columns_given:
            yield "f", kind, f"is refused without them: {outcome.error}"
    with_names, without = items
    if with_names is not None and without is not None and with_names <= without:
        yield "e", kind, "are not disclosed"


def _pipeline_file(people: People, frame: pd.DataFrame, y: NDArray[Any], *, onnx: bool, one_hot: bool) -> bytes:
    """A pipeline whose tree never asks about the names that its encoder holds."""
    numbers = [column.name for column in people.schema.features if column.numeric]
    texts = [column.name for column in people.schema.features if not column.numeric]
    dummies = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    encoder = clone(dummies) if one_hot else OrdinalEncoder()
    steps = [("numbers", "passthrough", numbers), ("texts", dummies, texts), ("names", encoder, ["name"])]
    before = ColumnTransformer([step for step in steps if step[2] and (step[0] != "names" or "name" in frame)])
    rows = np.array(before.fit_transform(frame), dtype=float)
    rows[:, [str(name).startswith("names__") for name in before.get_feature_names_out()]] = 0
    model = Pipeline([("before", before), ("tree", DecisionTreeClassifier(max_depth=2, random_state=0).fit(rows, y))])
    if not onnx:
        return skops_bytes(model)
    kinds = [(str(c), FloatTensorType([None, 1]) if c in numbers else StringTensorType([None, 1])) for c in frame]
    return bytes(convert_sklearn(model, initial_types=kinds, options={"zipmap": False}).SerializeToString())
