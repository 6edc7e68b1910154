"""CatBoost's JSON documents, as CatBoost predicts raw values.

Source: CatBoost, catboost/libs/model/model_export/json_model_helpers.cpp: a test is the number `split_index` in the
list of all borders of `float_features`, then of all `values` of `categorical_features`, then of all borders of `ctrs`;
what else stands beside it is not read. Bit i of a leaf's number is the answer to test i. A statistic of `ctrs` is
computed as in model_export/resources/ctr_calcer.py, which CatBoost writes into models in Python.
"""

from __future__ import annotations

import json
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
    of_logarithms,
    softmax,
)

MISSING = {"AsIs": -np.inf, "AsFalse": -np.inf, "AsTrue": np.inf}
LOSSES_OF_NUMBERS = {"RMSE", "MAE", "Quantile", "MAPE", "Huber", "Lq", "Expectile", "LogCosh"}
LOSSES_OF_LOGARITHMS = {"Poisson", "Tweedie"}
MULTIPLIER = 0x4906BA494954CB65
FULL = 2**64 - 1

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
    for i, each in enumerate(info.get("ctrs") or ()):
        found += [("statistic", i, border) for border in each["borders"]]
    return found


def _base(kind: str, elements: Any) -> str:
    """What names a table: the kind of the statistic, and what it combines, borders in single precision."""
    plain = [{**each, "border": float(np.float32(each.get("border", 0)))} for each in elements]
    return json.dumps([kind, plain], sort_keys=True)


def _tables(document: Any) -> dict[str, Any]:
    keys = [(json.loads(key), table) for key, table in (document.get("ctr_data") or {}).items()]
    return {_base(key["type"], key["identifier"]): table for key, table in keys}


def _rows_of(table: Any) -> dict[int, list[int]]:
    """The numbers beside each hash; the mark of an empty place is none."""
    width, items = table["hash_stride"], table["hash_map"]
    if type(width) is not int or width < 2 or len(items) % width:
        raise NoModelError("no such table")
    rows = {int(items[i]): items[i + 1 : i + width] for i in range(0, len(items), width)}
    if not all(type(number) is int for row in rows.values() for number in row):
        raise NoModelError("no whole numbers")
    return {key: row for key, row in rows.items() if key != FULL}


def _statistic(ctr: Any, table: Any, hashes: list[int | None]) -> Floats:
    """The number of each combination by its hash; None is one that no table has."""
    kind, border = ctr["ctr_type"], ctr["target_border_idx"]
    rows = _rows_of(table)

    def of(row: list[int]) -> tuple[float, float]:
        if kind == "BinarizedTargetMeanValue":
            return row[0], row[1]
        if kind in {"Counter", "FeatureFreq"}:
            return row[0], table["counter_denominator"]
        if kind not in {"Borders", "Buckets"}:
            raise NoModelError("no such statistic")
        if kind == "Buckets":
            return row[border], sum(row)
        return (row[1] if len(row) == 2 else sum(row[border + 1 :])), sum(row)

    unknown = (0, table["counter_denominator"]) if kind in {"Counter", "FeatureFreq"} else (0, 0)
    pairs = [unknown if key is None or key not in rows else of(rows[key]) for key in hashes]
    counted, total = np.array(pairs, dtype=np.float32).T
    share = (counted + np.float32(ctr["prior_numerator"])) / (total + np.float32(ctr["prior_denomerator"]))
    return np.asarray((share + np.float32(ctr["shift"])) * np.float32(ctr["scale"]))


def _hashes(info: Any, elements: Any, columns: Columns, listed: list[Flags], n_rows: int) -> list[int | None]:
    """The hash of each row's combination: of its categories, then of its answers; None with an unknown category."""
    known = {each["value"]: each["hash"] for each in info.get("cat_features_hash") or ()}
    by_index = {each["feature_index"]: i for i, each in enumerate(info["categorical_features"])}
    names = _names(info, "categorical_features")
    parts: list[list[int | None]] = []
    for each in (one for one in elements if one["combination_element"] == "cat_feature_value"):
        numbers_of_cells = [known.get(cell) for cell in columns[names[by_index[each["cat_feature_index"]]]]]
        parts.append([None if n is None else (n - 2**32 if n >= 2**31 else n) & FULL for n in numbers_of_cells])
    for kind in ("float_feature", "cat_feature_exact_value"):
        for each in (one for one in elements if one["combination_element"] == kind):
            parts.append([int(answer) for answer in listed[_listed_at(info, each)]])
    found: list[int | None] = [0] * n_rows
    for part in parts:
        found = [
            None if a is None or b is None else MULTIPLIER * (a + MULTIPLIER * b & FULL) & FULL
            for a, b in zip(found, part, strict=True)
        ]
    return found


def _listed_at(info: Any, element: Any) -> int:
    """The number of the test that an element of a combination repeats."""
    for number, (kind, position, value) in enumerate(_tests(info)):
        if kind == "float" and "float_feature_index" in element:
            feature = info["float_features"][position]
            same = np.float32(feature["borders"][int(value)]) == np.float32(element["border"])
            if same and feature["feature_index"] == element["float_feature_index"]:
                return number
        index = info["categorical_features"][position]["feature_index"] if kind == "category" else None
        if index is not None and (index, value) == (element.get("cat_feature_index"), element.get("value")):
            return number
    raise NoModelError("an answer to no test")


def _answers(document: Any, columns: Columns, n_rows: int) -> list[Flags]:
    """The answers of all rows to each test."""
    info, tables = document["features_info"], _tables(document)
    hashes = {each["value"]: each["hash"] for each in info.get("cat_features_hash") or ()}
    found: list[Flags] = []
    for kind, position, value in _tests(info):
        if kind == "float":
            feature = info["float_features"][position]
            if feature["nan_value_treatment"] not in MISSING:
                raise NoModelError("no such treatment")
            cells = numbers(columns[_names(info, "float_features")[position]]).astype(np.float32)
            missing = MISSING[feature["nan_value_treatment"]] if feature.get("has_nans") is True else -np.inf
            cells = np.where(np.isnan(cells), missing, cells)
            above = sum((cells > np.float32(border)).astype(int) for border in feature["borders"])
            found.append(np.asarray(above > value))
        elif kind == "statistic":
            ctr = info["ctrs"][position]
            table = tables.get(_base(ctr["ctr_type"], ctr["elements"]))
            if table is None:
                raise NoModelError("a statistic without a table")
            combined = _hashes(info, ctr["elements"], columns, found, n_rows)
            found.append(np.asarray(_statistic(ctr, table, combined) > np.float32(value)))
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
    if loss in LOSSES_OF_NUMBERS | LOSSES_OF_LOGARITHMS:
        return None
    names = document["model_info"]["class_params"]["class_names"]
    return [str(int(name)) if type(name) is float and name.is_integer() else str(name) for name in names]


def evaluate(document: Any, columns: Columns) -> Answers:
    """The raw values, and the classes that follow from them."""
    n_rows = len(next(iter(columns.values())))
    loss = document["model_info"]["params"]["loss_function"]["type"]
    if loss not in LOSSES_OF_NUMBERS | LOSSES_OF_LOGARITHMS | {"Logloss", "MultiClass"}:
        raise NoModelError("no such loss")
    scale, bias = document["scale_and_bias"]
    bias = np.ravel(bias).astype(np.float64)
    answers = _answers(document, columns, n_rows)
    scores = np.tile(bias, (n_rows, 1))
    size = abs(scores).sum(axis=1)
    oblivious = document.get("oblivious_trees")
    evaluate_tree, trees = (_nested, document["trees"]) if oblivious is None else (_oblivious, oblivious)
    for tree in trees:
        added = scale * evaluate_tree(tree, answers, len(bias), n_rows)
        scores = scores + added
        size += abs(added).sum(axis=1)
    names = _labels(document, loss)
    if names is None and loss in LOSSES_OF_LOGARITHMS:
        return of_logarithms(scores, size)
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
        if info.get("ctrs"):
            listed += texts.values()
        found[name] = Question(categories={text for text in listed if text is not None})
    return found
