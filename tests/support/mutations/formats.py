"""The formats of model files: how each is parsed, written and evaluated, and which files there are."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from evaluators import catboost_trees, lightgbm_trees, ubjson, xgboost_trees
from evaluators.answers import Answers, Cell, Columns, Questions
from mutations.changes import Path, Vocabulary

PLUGINS = FilePath(__file__).resolve().parents[2] / "plugins"


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """A producer's file, and rows that it was made or asked with."""

    name: str
    content: bytes
    rows: Columns


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of model files.

    Attributes:
        name: what the page calls it.
        files: the files there are.
        parse: the document in a file's bytes.
        dump: the bytes of a document.
        evaluate: what a document answers.
        questions: what the tests of a document ask.
        words: what mutations are made of.
        missing_texts: whether a cell of texts may be missing.
    """

    name: str
    files: Callable[[], Iterable[ModelFile]]
    parse: Callable[[bytes], Any]
    dump: Callable[[Any], bytes]
    evaluate: Callable[[Any, Columns], Answers]
    questions: Callable[[Any], Questions]
    words: Vocabulary
    missing_texts: bool = True


def numbers_of_csv(content: bytes) -> dict[str, list[Cell]]:
    """The columns of a CSV file; empty cells are missing, and columns of numbers are numbers."""
    names, *rows = csv.reader(io.StringIO(content.decode()))
    return {name: _cells(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _cells(column: Iterable[str]) -> list[Cell]:
    texts = list(column)
    try:
        return [None if text == "" else float(text) for text in texts]
    except ValueError:
        return [text or None for text in texts]


def archived(path: FilePath) -> dict[str, bytes]:
    """The files in an archive, by their names."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _xgboost_files() -> Iterable[ModelFile]:
    for path in sorted((PLUGINS / "xgboost" / "producers").glob("*.zip")):
        files = archived(path)
        rows = numbers_of_csv(files["rows.csv"])
        for name, content in files.items():
            if not name.endswith(".csv"):
                yield ModelFile(name=f"{path.stem}/{name}", content=content, rows=rows)


XGBOOST_KINDS = {
    **{"left_children": "children", "right_children": "children", "split_indices": "feature"},
    **{"default_left": "default direction", "weight_drop": "weight", "tree_info": "class order"},
    **{"base_score": "base score", "categories": "categories", "categories_nodes": "categories"},
    **{"categories_segments": "categories", "categories_sizes": "categories", "split_type": "categories"},
    **{"sum_hessian": "count", "name": "objective", "iteration_indptr": "rounds", "num_parallel_tree": "rounds"},
}


def _xgboost_kind(document: Any, path: Path) -> str:
    keys = [step for step in path if isinstance(step, str)]
    if not keys or keys[0] == "version":
        return "other"
    if keys[-1] == "split_conditions" and isinstance(path[-1], int):
        tree: Any = document
        for step in path[:-2]:
            tree = tree[step]
        return "leaf" if tree["left_children"][path[-1]] == -1 else "threshold"
    return XGBOOST_KINDS.get(keys[-1], "other")


XGBOOST = Format(
    name="XGBoost",
    files=_xgboost_files,
    parse=lambda content: json.loads(content) if content[1:2] == b'"' else ubjson.parse(content),
    dump=lambda document: ubjson.dump(document) if _has_arrays(document) else json.dumps(document).encode(),
    evaluate=xgboost_trees.evaluate,
    questions=xgboost_trees.questions,
    words=Vocabulary(
        kind_of=_xgboost_kind,
        texts={
            "name": (
                *sorted(xgboost_trees.CLASSES | xgboost_trees.SEVERAL | xgboost_trees.AS_IT_IS),
                "gbtree",
                "dart",
                "gblinear",
                "count:poisson",
            )
        },
        additions={"trees": {"weight_drop": lambda model: [0.5] * len(model["trees"])}},
    ),
)


def _has_arrays(document: Any) -> bool:
    if isinstance(document, dict):
        return any(map(_has_arrays, document.values()))
    if isinstance(document, list):
        return any(map(_has_arrays, document))
    return hasattr(document, "dtype")


def _catboost_files() -> Iterable[ModelFile]:
    for path in sorted((PLUGINS / "catboost" / "producers").glob("*.zip")):
        files = archived(path)
        for name in files:
            if name.endswith(".csv"):
                content, rows = files[name.replace(".csv", ".json")], numbers_of_csv(files[name])
                own = {key: _as_texts(column) if key == "ward" else column for key, column in rows.items()}
                names = {key for key in rows if key != "label" and not key.startswith("raw.")}
                nameless = not json.loads(content)["features_info"]["float_features"][0].get("feature_name")
                positions = {"age": "0", "hours": "1"} if nameless else {}
                columns = {positions.get(key, key): column for key, column in own.items() if key in names}
                yield ModelFile(name=f"{path.stem}/{name}", content=content, rows=columns)


def _as_texts(column: Iterable[Cell]) -> list[Cell]:
    return [None if cell is None else f"{cell:.0f}" if isinstance(cell, float) else cell for cell in column]


CATBOOST_KINDS = {
    **{"leaf_values": "leaf", "value": "leaf", "border": "threshold", "borders": "threshold", "values": "categories"},
    **{"split_index": "feature", "float_feature_index": "feature", "cat_feature_index": "feature"},
    **{"feature_index": "feature", "flat_feature_index": "feature", "nan_value_treatment": "default direction"},
    **{"leaf_weights": "count", "weight": "count", "class_names": "class order", "class_to_label": "class order"},
    **{"scale_and_bias": "base score", "left": "children", "right": "children", "split_type": "objective"},
    **{"hash": "categories"},
}


def _catboost_kind(document: Any, path: Path) -> str:
    keys = [step for step in path if isinstance(step, str)]
    if keys[:2] == ["features_info", "cat_features_hash"] and keys[-1] == "value":
        return "categories"
    if keys[-1] == "feature_id":
        return ""
    if "model_info" in keys and "class_params" not in keys:
        return "objective" if keys[-2:] == ["loss_function", "type"] else "other" if len(keys) < 3 else ""
    return CATBOOST_KINDS.get(keys[-1], "other")


CATBOOST = Format(
    name="CatBoost",
    files=_catboost_files,
    parse=json.loads,
    dump=lambda document: json.dumps(document).encode(),
    evaluate=catboost_trees.evaluate,
    questions=catboost_trees.questions,
    words=Vocabulary(
        kind_of=_catboost_kind,
        texts={
            "type": ("Logloss", "MultiClass", "RMSE", "MAE", "Poisson", "CrossEntropy"),
            "nan_value_treatment": ("AsIs", "AsFalse", "AsTrue", "AsZero"),
            "split_type": ("FloatFeature", "OneHotFeature", "OnlineCtr"),
        },
    ),
    missing_texts=False,
)


LIGHTGBM_CASES: dict[str, dict[str, Any]] = {
    "binary": {"objective": "binary"},
    "binary-categories": {"objective": "binary", "sets": True},
    "binary-forest": {"objective": "binary", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
    "binary-dart": {"objective": "binary", "boosting": "dart", "drop_rate": 0.5},
    "binary-none-missing": {"objective": "binary", "missing": False},
    "binary-zero-missing": {"objective": "binary", "zero_as_missing": True, "use_missing": True},
    "multiclass": {"objective": "multiclass", "num_class": 3},
    "multiclassova-categories": {"objective": "multiclassova", "num_class": 3, "sets": True},
    "regression": {"objective": "regression"},
    "quantile-categories": {"objective": "quantile", "alpha": 0.7, "sets": True},
    "huber-forest": {"objective": "huber", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
}
LIGHTGBM_USUAL = {
    **{"num_leaves": 6, "verbose": -1, "num_threads": 1, "seed": 1, "deterministic": True, "min_data_in_leaf": 5},
    **{"min_data_per_group": 3, "cat_smooth": 1, "max_cat_to_onehot": 2, "learning_rate": 0.5},
}


def people(*, missing: bool = True) -> tuple[dict[str, list[Cell]], Any]:
    """Made-up people, and a number that models learn from."""
    rng = np.random.default_rng(7)
    x = np.column_stack([rng.integers(18, 90, 120), rng.integers(0, 9, 120), rng.integers(0, 6, 120)]).astype(float)
    number = x[:, 0] / 20 + (x[:, 2] % 2) * 2 + x[:, 1] / 6 + rng.normal(size=120)
    if missing:
        x[rng.random(x.shape) < 0.08] = np.nan
    names = ("age", "visits", "ward")
    cells: list[list[Cell]] = [[None if np.isnan(cell) else float(cell) for cell in column] for column in x.T]
    return dict(zip(names, cells, strict=True)), number


@cache
def lightgbm_boosters() -> dict[str, Any]:
    """A fitted booster of each case, by the library that is installed."""
    import lightgbm

    found = {}
    for name, case in LIGHTGBM_CASES.items():
        options = {**LIGHTGBM_USUAL, **case}
        sets = ["ward"] if options.pop("sets", False) else []
        rows, number = people(missing=options.pop("missing", True))
        kinds = options.get("num_class", 2)
        classes = np.searchsorted(np.quantile(number, np.arange(1, kinds) / kinds), number)
        target = number if options["objective"] in {"regression", "quantile", "huber"} else classes
        x = np.array([[np.nan if cell is None else cell for cell in column] for column in rows.values()]).T
        data = lightgbm.Dataset(x, target, feature_name=list(rows), categorical_feature=sets)
        found[name] = lightgbm.train(options, data, 3)
    return found


def _lightgbm_files() -> Iterable[ModelFile]:
    for name, booster in lightgbm_boosters().items():
        rows, _ = people(missing=LIGHTGBM_CASES[name].get("missing", True))
        yield ModelFile(name=name, content=booster.model_to_string().encode(), rows=rows)


LIGHTGBM_KINDS = {
    **{"left_child": "children", "right_child": "children", "split_feature": "feature", "threshold": "threshold"},
    **{"decision_type": "default direction", "leaf_value": "leaf", "cat_boundaries": "categories"},
    **{"cat_threshold": "categories", "num_cat": "categories", "objective": "objective", "num_class": "class order"},
    **{"num_tree_per_iteration": "class order", "average_output": "weight", "shrinkage": "weight"},
    **{"leaf_count": "count", "internal_count": "count", "leaf_weight": "count", "internal_weight": "count"},
}


def _lightgbm_kind(document: Any, path: Path) -> str:
    keys = [step for step in path if isinstance(step, str)]
    if keys[-1] in {"tree_sizes", "tail", "feature_names", "", "tree", "head"}:
        return ""
    return LIGHTGBM_KINDS.get(keys[-1], "other")


LIGHTGBM = Format(
    name="LightGBM",
    files=_lightgbm_files,
    parse=lightgbm_trees.parse,
    dump=lightgbm_trees.dump,
    evaluate=lightgbm_trees.evaluate,
    questions=lightgbm_trees.questions,
    words=Vocabulary(
        kind_of=_lightgbm_kind,
        texts={
            "objective": ("binary", "multiclass", "multiclassova", "regression", "quantile", "poisson", "sigmoid:1"),
            "decision_type": tuple(map(str, range(16))),
        },
        additions={"objective": {"average_output": lambda head: None}},
    ),
)


FORMATS = {each.name: each for each in (XGBOOST, CATBOOST, LIGHTGBM)}
