"""The formats of model files: how each is parsed, written and evaluated, and which files there are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from evaluators import catboost_trees, lightgbm_trees, onnx_trees, pmml_trees, skops_trees, ubjson, xgboost_trees
from evaluators.answers import Answers, Cell, Columns, Questions
from generator.changes import Path, Vocabulary
from producer_archive import NAMES, Archive, archives_in, case_of

PLUGINS = FilePath(__file__).resolve().parents[2] / "plugins"


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """A producer's file, and rows that it was made or asked with; `missing`: whether cells may be missing."""

    name: str
    content: bytes
    rows: Columns
    missing: bool = True


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of model files.

    Attributes:
        name: what the page calls it.
        folders: where archives of its files are, below the tests of plugins.
        files: the files there are.
        parse: the document in a file's bytes.
        dump: the bytes of a document.
        evaluate: what a document answers.
        questions: what the tests of a document ask.
        words: what mutations are made of.
        missing_texts: whether a cell of texts may be missing.
        by_shares: whether the shares of classes are compared, for the evaluator gives no other scores.
    """

    name: str
    folders: Sequence[str]
    files: Callable[[], Iterable[ModelFile]]
    parse: Callable[[bytes], Any]
    dump: Callable[[Any], bytes]
    evaluate: Callable[[Any, Columns], Answers]
    questions: Callable[[Any], Questions]
    words: Vocabulary
    missing_texts: bool = True
    by_shares: bool = False

    @property
    def versions(self) -> list[str]:
        """The beginnings of the names of its files: the version of the program, of several its name before it."""
        named = {folder: folder.rpartition("/")[2] for folder in self.folders}
        beginnings = {folder: "" if name == "producers" else f"{name} " for folder, name in named.items()}
        return [f"{beginnings[each]}{a.version}" for each in self.folders for a in archives_in(PLUGINS / each)]


def _cell(text: Any) -> Cell:
    return None if text == "" or (isinstance(text, float) and np.isnan(text)) else text


def archive_of(format: Format, file: ModelFile) -> tuple[Archive, str]:
    """The archive that a file is in, and the name of its case."""
    version, _, name = file.name.rpartition("/")
    folder = next(each for each in format.folders if each.rpartition("/")[2] in {"producers", version.split(" ")[0]})
    archives = {each.version: each for each in archives_in(PLUGINS / folder)}
    return archives[version.split(" ")[-1]], case_of(name)


def archived(folder: str, names: Callable[[str], Sequence[str]] = lambda case: NAMES) -> Iterable[ModelFile]:
    """The files of the archives of a program that have answers, with the columns of their rows."""
    for archive in archives_in(PLUGINS / folder / "producers"):
        for name in archive.answered:
            own = archive.own_rows(case_of(name))
            rows = {key: _numbers(column) for key, column in own.items()} if own else archive.rows
            columns = {key: [_cell(each) for each in rows[key]] for key in names(case_of(name))}
            yield ModelFile(name=f"{archive.version}/{name}", content=archive.models[name], rows=columns)


def _numbers(column: Sequence[str]) -> list[float] | list[str]:
    try:
        return [float(cell or "nan") for cell in column]
    except ValueError:
        return list(column)


XGBOOST_KINDS = {
    **{"left_children": "children", "right_children": "children", "split_indices": "feature"},
    **{"default_left": "default direction", "weight_drop": "weight", "tree_info": "class order"},
    **{"base_score": "base score", "categories": "categories", "categories_nodes": "categories"},
    **{"categories_segments": "categories", "categories_sizes": "categories", "split_type": "categories"},
    **{"sum_hessian": "count", "name": "objective", "iteration_indptr": "rounds", "num_parallel_tree": "rounds"},
    **{"leaf_weights": "leaf"},
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
    folders=("xgboost/producers",),
    files=lambda: archived("xgboost"),
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
    for file in archived("catboost", lambda case: ["age", "hours"] + ["colour", "ward"] * ("categories" in case)):
        texts = {key: _as_texts(column) if key == "ward" else column for key, column in file.rows.items()}
        if "nameless" in file.name:
            texts = {str(i): column for i, column in enumerate(texts.values())}
        yield ModelFile(name=file.name, content=file.content, rows=texts)


def _as_texts(column: Iterable[Cell]) -> list[Cell]:
    return [f"{cell:.0f}" if isinstance(cell, float) else cell for cell in column]


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
    folders=("catboost/producers",),
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
    folders=("lightgbm/producers",),
    files=lambda: archived("lightgbm"),
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


SKOPS_KINDS = {
    **{"left_child": "children", "right_child": "children", "left": "children", "right": "children"},
    **{"feature": "feature", "feature_idx": "feature", "threshold": "threshold", "num_threshold": "threshold"},
    **{"missing_go_to_left": "default direction", "value": "leaf", "values": "leaf", "is_leaf": "children"},
    **{"raw_left_cat_bitsets": "categories", "bitset_idx": "categories", "is_categorical": "categories"},
    **{"estimator_weights_": "weight", "learning_rate": "weight", "weights": "weight", "voting": "weight"},
    **{"classes_": "class order", "_baseline_prediction": "base score", "class_prior_": "base score"},
    **{"constant_": "base score", "init_": "base score", "loss": "objective", "algorithm": "objective"},
    **{"n_node_samples": "count", "weighted_n_node_samples": "count", "impurity": "count", "count": "count"},
    **{"a_": "weight", "b_": "weight", "X_thresholds_": "weight", "y_thresholds_": "weight", "method": "objective"},
    "estimators_features_": "feature",
}
SKOPS_CASES = ("pipeline", "voting-hard")
"""Beginnings of the names of cases without an evaluator."""


def _roles(schema: Any, key: str = "") -> dict[str, str]:
    """Of each array of a skops file the attribute that it is, by the name of its file."""
    found: dict[str, str] = {}
    if isinstance(schema, dict):
        if "file" in schema and isinstance(schema["file"], str):
            found[schema["file"]] = key
        for name, each in schema.items():
            found |= _roles(each, key if name in {"content", "args"} or name.startswith("__") else name)
    elif isinstance(schema, list):
        for each in schema:
            found |= _roles(each, key)
    return found


def _skops_kind(document: Any, path: Path) -> str:
    if path[0] == "arrays":
        if len(path) < 4 or path[2] != "columns":
            return ""
        role = path[3] or document["roles"].get(path[1], "")
        return "" if len(path) == 4 and path[3] else SKOPS_KINDS.get(str(role), "other")
    keys = [step for step in path if isinstance(step, str) and step != "content"]
    if path[0] == "schema" and path[-1] == "__class__" and len(path) == 2:
        return "objective"
    if (
        "__reduce__" in keys
        or len(keys) < 2
        or any(key in keys for key in ("__id__", "__module__", "__loader__", "key_types"))
    ):
        return ""
    attribute = path[-1] == "content" or (len(path) > 2 and path[-2] == "content")
    return SKOPS_KINDS.get(keys[-1], "other") if attribute and not keys[-1].startswith("__") else ""


def _parsed_skops(content: bytes) -> Any:
    document = skops_trees.parse(content)
    return {**document, "roles": _roles(document["schema"])}


SKOPS = Format(
    name="skops",
    folders=("sklearn/producers",),
    files=lambda: (file for file in archived("sklearn") if not file.name.split("/")[1].startswith(SKOPS_CASES)),
    parse=_parsed_skops,
    dump=skops_trees.dump,
    evaluate=skops_trees.evaluate,
    questions=lambda document: skops_trees.questions_of(NAMES, document),
    words=Vocabulary(
        kind_of=_skops_kind,
        texts={"__class__": ("RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier")},
    ),
)


ONNX_KINDS = {
    **{"nodes_truenodeids": "children", "nodes_falsenodeids": "children", "nodes_nodeids": "children"},
    **{"nodes_treeids": "children", "nodes_featureids": "feature", "nodes_values": "threshold"},
    **{"nodes_missing_value_tracks_true": "default direction", "nodes_modes": "comparison"},
    **{"class_weights": "leaf", "target_weights": "leaf", "class_nodeids": "leaf", "target_nodeids": "leaf"},
    **{"class_treeids": "leaf", "target_treeids": "leaf", "class_ids": "class order", "target_ids": "class order"},
    **{"classlabels_strings": "class order", "classlabels_int64s": "class order", "base_values": "base score"},
    **{"post_transform": "objective", "aggregate_function": "weight", "op_type": "objective"},
}


def _onnx_kind(document: Any, path: Path) -> str:
    keys = [step for step in path if isinstance(step, str)]
    if keys[0] == "model" or keys[-1] in {"operators", "input", "output", "domain", "attributes"}:
        return ""
    return ONNX_KINDS.get(keys[-1], "other")


def _onnx_files() -> Iterable[ModelFile]:
    for folder in ("onnx/producers/skl2onnx", "onnx/producers/onnxmltools"):
        for archive in archives_in(PLUGINS / folder):
            rows = {key: [_cell(each) for each in archive.rows[key]] for key in NAMES}
            for name in archive.answered:
                if not name.startswith("pipeline"):
                    file = f"{folder.rpartition('/')[2]} {archive.version}/{name}"
                    yield ModelFile(name=file, content=archive.models[name], rows=rows)


ONNX = Format(
    name="ONNX",
    folders=("onnx/producers/skl2onnx", "onnx/producers/onnxmltools"),
    files=_onnx_files,
    parse=onnx_trees.parse,
    dump=onnx_trees.dump,
    evaluate=onnx_trees.evaluate,
    questions=lambda document: onnx_trees.questions_of(NAMES, document),
    words=Vocabulary(
        kind_of=_onnx_kind,
        texts={
            "nodes_modes": ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "LEAF"),
            "post_transform": ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"),
            "aggregate_function": ("SUM", "AVERAGE", "MIN", "MAX"),
            "op_type": ("TreeEnsembleClassifier", "TreeEnsembleRegressor", "Identity", "Cast"),
        },
    ),
    by_shares=True,
)


PMML_KINDS = {
    **{"operator": "comparison", "field": "feature", "value": "threshold", "score": "leaf", "recordCount": "leaf"},
    **{"missingValueStrategy": "default direction", "defaultChild": "default direction", "id": "default direction"},
    **{"noTrueChildStrategy": "default direction", "multipleModelMethod": "weight", "rescaleFactor": "weight"},
    **{"rescaleConstant": "base score", "functionName": "objective", "dataType": "objective"},
}


def _pmml_kind(document: Any, path: Path) -> str:
    if path[-1] in {"tag", "text", "attributes", "name"} or ("attributes" not in path and path[-1] != "children"):
        return ""
    element: Any = document
    for step in path[:-2] if path[-1] != "children" else path[:-1]:
        element = element[step]
    kind = element["tag"].rpartition("}")[2]
    if path[-1] == "children":
        return "children" if kind == "Node" else "other"
    if kind in {"Value", "ScoreDistribution"} and path[-1] == "value":
        return "class order"
    return PMML_KINDS.get(str(path[-1]), "other")


def _pmml_files() -> Iterable[ModelFile]:
    for file in archived("pmml"):
        case = file.name.rpartition("/")[2]
        if b"TransformationDictionary" not in file.content and not case.startswith("pipeline"):
            single = b"<MiningModel" not in file.content and "number" not in case
            yield ModelFile(name=file.name, content=file.content, rows=file.rows, missing=single)


PMML = Format(
    name="PMML",
    folders=("pmml/producers",),
    files=_pmml_files,
    parse=pmml_trees.parse,
    dump=pmml_trees.dump,
    evaluate=pmml_trees.evaluate,
    questions=pmml_trees.questions,
    words=Vocabulary(
        kind_of=_pmml_kind,
        texts={
            "operator": tuple(pmml_trees.COMPARISONS),
            "field": (*NAMES, "colour"),
            "missingValueStrategy": (*sorted(pmml_trees.STRATEGIES), "weightedConfidence"),
            "noTrueChildStrategy": ("returnNullPrediction", "returnLastPrediction"),
            "multipleModelMethod": ("sum", "average", "max", "median", "majorityVote", "weightedAverage"),
            "functionName": ("classification", "regression"),
            "dataType": ("float", "double", "integer", "string"),
        },
    ),
    by_shares=True,
)


FORMATS = {each.name: each for each in (XGBOOST, CATBOOST, LIGHTGBM, SKOPS, ONNX, PMML)}
