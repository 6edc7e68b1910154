"""CatBoost's JSON documents, as CatBoost predicts raw values.

Source: CatBoost, catboost/libs/model/model_export/json_model_helpers.cpp: a test is the number `split_index` in the
list of all borders of `float_features`, then of all `values` of `categorical_features`; what else stands beside it is
not read. Bit i of a leaf's number is the answer to test i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluators.answers import (
    Answers,
    Columns,
    Flags,
    Floats,
    Ids,
    NoModelError,
    Question,
    Questions,
    leaves,
    numbers,
    softmax,
)

MISSING = {"AsIs": -np.inf, "AsFalse": -np.inf, "AsTrue": np.inf}
LOSSES_OF_NUMBERS = {"RMSE", "MAE", "Quantile", "MAPE", "Huber", "Lq", "Expectile"}

Test = tuple[str, int, float]
"""The kind of feature, its position among those of its kind, and the number of the border or the category's hash."""


def _names(info: Any, key: str) -> list[str]:
    return [each.get("feature_id") or str(each["flat_feature_index"]) for each in info.get(key) or ()]


def _tests(info: Any) -> list[Test]:
    found: list[Test] = []
    for i, each in enumerate(info.get("float_features") or ()):
        found += [("float", i, number) for number in range(len(each["borders"] or ()))]
    for i, each in enumerate(info.get("categorical_features") or ()):
        found += [("category", i, value) for value in each.get("values") or ()]
    return found


def _answers(info: Any, columns: Columns, n_rows: int) -> list[Flags]:
    """The answers of all rows to each test."""
    hashes = {each["value"]: each["hash"] for each in info.get("cat_features_hash") or ()}
    found = []
    for kind, position, value in _tests(info):
        if kind == "float":
            feature = info["float_features"][position]
            if feature["nan_value_treatment"] not in MISSING:
                raise NoModelError("no such treatment")
            cells = numbers(columns[_names(info, "float_features")[position]]).astype(np.float32)
            cells = np.where(np.isnan(cells), MISSING[feature["nan_value_treatment"]], cells)
            above = sum((cells > np.float32(border)).astype(int) for border in feature["borders"])
            found.append(np.asarray(above > value))
        else:
            name = _names(info, "categorical_features")[position]
            found.append(np.array([hashes.get(cell, -1) == value % 2**32 for cell in columns[name]]))
    return found


def _oblivious(tree: Any, answers: list[Flags], width: int, n_rows: int) -> Floats:
    splits = tree.get("splits") or ()
    number = np.zeros(n_rows, dtype=np.int64)
    for i, split in enumerate(splits):
        number |= _answer(split, answers).astype(np.int64) << i
    values = np.array(tree["leaf_values"], dtype=np.float64)
    if len(values) != width * 2 ** len(splits):
        raise NoModelError("another number of leaves")
    return np.asarray(values.reshape(-1, width)[number])


def _answer(split: Any, answers: list[Flags]) -> Flags:
    number = split["split_index"]
    if type(number) is not int or not 0 <= number < len(answers):
        raise NoModelError("a test that is not there")
    return answers[number]


def _nested(tree: Any, answers: list[Flags], width: int, n_rows: int) -> Floats:
    nodes: list[Any] = [tree]

    def step(node: int, rows: Ids) -> tuple[int, int, Flags] | None:
        document = nodes[node]
        if "split" not in document:
            return None
        nodes.extend((document["right"], document["left"]))
        return len(nodes) - 2, len(nodes) - 1, _answer(document["split"], answers)[rows]

    ends = leaves(n_rows, step)
    values = {int(node): np.ravel(nodes[node]["value"]).astype(np.float64) for node in set(ends.tolist())}
    if any(len(value) != width for value in values.values()):
        raise NoModelError("another number of scores")
    return np.array([values[node] for node in ends.tolist()])


def _labels(document: Any, loss: str) -> list[str] | None:
    if loss in LOSSES_OF_NUMBERS:
        return None
    names = document["model_info"]["class_params"]["class_names"]
    return [str(int(name)) if type(name) is float and name.is_integer() else str(name) for name in names]


def evaluate(document: Any, columns: Columns) -> Answers:
    """The raw values, and the classes that follow from them."""
    n_rows = len(next(iter(columns.values())))
    loss = document["model_info"]["params"]["loss_function"]["type"]
    if loss not in LOSSES_OF_NUMBERS | {"Logloss", "MultiClass"}:
        raise NoModelError("no such loss")
    scale, bias = document["scale_and_bias"]
    bias = np.ravel(bias).astype(np.float64)
    answers = _answers(document["features_info"], columns, n_rows)
    scores = np.tile(bias, (n_rows, 1))
    size = abs(scores).sum(axis=1)
    oblivious = document.get("oblivious_trees")
    evaluate_tree, trees = (_nested, document["trees"]) if oblivious is None else (_oblivious, oblivious)
    for tree in trees:
        added = scale * evaluate_tree(tree, answers, len(bias), n_rows)
        scores = scores + added
        size += abs(added).sum(axis=1)
    names = _labels(document, loss)
    if names is None:
        return Answers(scores=scores, size=size)
    if len(names) != max(2, len(bias)):
        raise NoModelError("another number of classes")
    chosen = (scores[:, 0] > 0).astype(int) if len(bias) == 1 else scores.argmax(axis=1)
    labels = tuple(names[i] for i in chosen.tolist())
    return Answers(scores=scores, size=size, labels=labels, classes=tuple(names), shares=softmax(scores))


def questions(document: Any) -> Questions:
    """Every border and every category, by feature."""
    info = document["features_info"]
    found: Questions = {}
    for name, each in zip(_names(info, "float_features"), info.get("float_features") or (), strict=True):
        found[name] = Question(thresholds={float(np.float32(border)) for border in each["borders"] or ()})
    texts = {each["hash"]: each["value"] for each in info.get("cat_features_hash") or ()}
    for name, each in zip(_names(info, "categorical_features"), info.get("categorical_features") or (), strict=True):
        listed = [texts.get(value % 2**32) for value in each.get("values") or ()]
        found[name] = Question(categories={text for text in listed if text is not None})
    return found
