"""Small ONNX files of skl2onnx and onnxmltools, with the answers of onnxruntime.

    PYTHONPATH=tests/support python make_onnx_files.py FOLDER

It needs both converters, onnxruntime, scikit-learn, XGBoost, LightGBM and pandas, and writes the archives (see
`producer_archive`) FOLDER/skl2onnx/VERSION.tar.xz and FOLDER/onnxmltools/VERSION.tar.xz. `margins.csv` has what
onnxruntime says, shares of classes or numbers, and `originals.csv` on how many rows the model that was converted
says the same. Rows are given in single precision; those with missing cells have answers where training had such.
"""

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from producer_archive import NAMES, Making, made_up_people, quantiles, with_probes

WORDS = np.array(["low", "some", "high"])
TREE: dict[str, Any] = {"max_depth": 3, "min_samples_leaf": 3, "random_state": 1}
FEW: dict[str, Any] = {**TREE, "n_estimators": 3}
HIST: dict[str, Any] = {"max_iter": 3, "max_leaf_nodes": 4, "min_samples_leaf": 5, "random_state": 1}
XGB: dict[str, Any] = {"n_estimators": 3, "max_depth": 2, "learning_rate": 0.5, "n_jobs": 1, "random_state": 1}
LGBM: dict[str, Any] = {
    **{"n_estimators": 3, "num_leaves": 4, "min_child_samples": 5, "learning_rate": 0.5},
    **{"n_jobs": 1, "random_state": 1, "verbose": -1},
}
SAME = 1e-5
"""So much may an answer differ from that of the model that was converted: onnxruntime has single precision."""

Make = Callable[[], Any]


def of(kind: Any, usual: dict[str, Any], **options: Any) -> Make:
    return lambda: kind(**{**usual, **options})


def of_library(name: str, usual: dict[str, Any], **options: Any) -> Make:
    """An estimator of XGBoost or LightGBM."""
    library, _, kind = name.partition(".")
    return lambda: getattr(import_module(library), kind)(**{**usual, **options})


def pipeline(final: Any) -> Make:
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    prepare = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), (numbers, NAMES))
    return lambda: make_pipeline(prepare, final)


SKL2ONNX: dict[str, tuple[Make, str]] = {
    "tree": (of(DecisionTreeClassifier, TREE), "two"),
    "tree-maps": (of(DecisionTreeClassifier, TREE), "three"),
    "tree-three": (of(DecisionTreeClassifier, TREE), "three"),
    "tree-words": (of(DecisionTreeClassifier, TREE), "words"),
    "tree-missing": (of(DecisionTreeClassifier, TREE), "two missing"),
    "tree-number": (of(DecisionTreeRegressor, TREE), "number"),
    "forest": (of(RandomForestClassifier, FEW), "two"),
    "forest-three": (of(RandomForestClassifier, FEW), "three"),
    "forest-number": (of(RandomForestRegressor, FEW), "number"),
    "extra-trees": (of(ExtraTreesClassifier, FEW), "two"),
    "gradient": (of(GradientBoostingClassifier, FEW), "two"),
    "gradient-three": (of(GradientBoostingClassifier, FEW), "three"),
    "gradient-number": (of(GradientBoostingRegressor, FEW), "number"),
    "hist": (of(HistGradientBoostingClassifier, HIST), "two missing"),
    "hist-three": (of(HistGradientBoostingClassifier, HIST), "three missing"),
    "hist-number": (of(HistGradientBoostingRegressor, HIST), "number missing"),
    "pipeline-tree": (pipeline(DecisionTreeClassifier(**TREE)), "two texts"),
    "pipeline-forest": (pipeline(RandomForestClassifier(**FEW)), "two texts"),
    "calibrated": (lambda: CalibratedClassifierCV(DecisionTreeClassifier(**TREE), cv=2), "two"),
    "bagging": (lambda: BaggingClassifier(DecisionTreeClassifier(**TREE), n_estimators=2, random_state=1), "two"),
    "voting": (
        lambda: VotingClassifier([("tree", DecisionTreeClassifier(**TREE))], voting="soft", flatten_transform=False),
        "two",
    ),
    "adaboost": (lambda: AdaBoostClassifier(n_estimators=2, random_state=1, **SAMME), "two"),
    "logistic": (LogisticRegression, "two"),
}
ONNXMLTOOLS: dict[str, tuple[Make, str]] = {
    "xgboost": (of_library("xgboost.XGBClassifier", XGB), "two missing"),
    "xgboost-three": (of_library("xgboost.XGBClassifier", XGB), "three missing"),
    "xgboost-number": (of_library("xgboost.XGBRegressor", XGB), "number missing"),
    "xgboost-base": (of_library("xgboost.XGBClassifier", XGB, base_score=0.3), "two missing"),
    "xgboost-dart": (of_library("xgboost.XGBClassifier", XGB, booster="dart", rate_drop=0.5), "two missing"),
    "lightgbm": (of_library("lightgbm.LGBMClassifier", LGBM), "two missing"),
    "lightgbm-three": (of_library("lightgbm.LGBMClassifier", LGBM), "three missing"),
    "lightgbm-number": (of_library("lightgbm.LGBMRegressor", LGBM), "number missing"),
    "lightgbm-dart": (of_library("lightgbm.LGBMClassifier", LGBM, boosting_type="dart"), "two missing"),
    "lightgbm-forest": (
        of_library("lightgbm.LGBMClassifier", LGBM, boosting_type="rf", subsample=0.7, subsample_freq=1),
        "two missing",
    ),
    "lightgbm-poisson": (of_library("lightgbm.LGBMRegressor", LGBM, objective="poisson"), "number missing"),
    "xgboost-poisson": (of_library("xgboost.XGBRegressor", XGB, objective="count:poisson"), "number missing"),
}
REFUSED = frozenset(
    {
        *("calibrated", "bagging", "voting", "adaboost", "logistic"),
        *("lightgbm-forest", "lightgbm-poisson", "xgboost-poisson"),
    }
)
SAMME: dict[str, Any] = {} if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 6) else {"algorithm": "SAMME"}


def learned(number: Any, kind: str) -> Any:
    """What a case learns."""
    return {
        "two": quantiles(number, 2),
        "three": quantiles(number, 3),
        "words": WORDS[quantiles(number, 3)],
        "number": np.abs(number) + 0.1,
    }[kind]


def by_skl2onnx(model: Any, name: str, texts: bool) -> bytes:
    skl2onnx = import_module("skl2onnx")
    types = import_module("skl2onnx.common.data_types")
    inputs = [("X", types.FloatTensorType([None, len(NAMES)]))]
    if texts:
        numbers = [(key, types.FloatTensorType([None, 1])) for key in NAMES]
        inputs = [*numbers, ("colour", types.StringTensorType([None, 1]))]
    options: Any = {"zipmap": False} if hasattr(model, "classes_") and not name.endswith("maps") else None
    converted = skl2onnx.convert_sklearn(model, initial_types=inputs, options={id(model): options} if options else None)
    return bytes(converted.SerializeToString())


def by_onnxmltools(model: Any, name: str, texts: bool) -> bytes:
    tools = import_module("onnxmltools")
    inputs = [("X", import_module("onnxmltools.convert.common.data_types").FloatTensorType([None, len(NAMES)]))]
    convert = tools.convert_xgboost if name.startswith("xgboost") else tools.convert_lightgbm
    more = {} if name.startswith("xgboost") else {"zipmap": False}
    return bytes(convert(model, initial_types=inputs, **more).SerializeToString())


def answers_of(content: bytes, given: Any) -> tuple[Any, Any]:
    """What onnxruntime says of each row: labels, or None, and shares of classes or numbers."""
    session = import_module("onnxruntime").InferenceSession(content, providers=["CPUExecutionProvider"])
    if isinstance(given, pd.DataFrame):
        feed = {key: given[[key]].to_numpy(dtype=object if key == "colour" else np.float32) for key in given}
    else:
        feed = {"X": given.astype(np.float32)}
    found = session.run(None, feed)
    if len(found) == 1:
        return None, found[0]
    labels, scores = found
    return labels, np.array([list(row.values()) for row in scores]) if isinstance(scores, list) else scores


def made(
    program: str, cases: dict[str, tuple[Make, str]], convert: Callable[[Any, str, bool], bytes], folder: Path
) -> None:
    """Write the archive of a converter."""
    version = import_module(program).__version__
    x, number = made_up_people()
    rows = with_probes(x)
    filled = np.where(np.isnan(rows), 4.0, rows)
    texts = np.random.default_rng(5).choice(["red", "green", "blue"], len(rows)).astype(object)
    making = Making({**dict(zip(NAMES, rows.T, strict=True)), "colour": texts}, digits=9)
    for name, (make, kinds) in cases.items():
        kind, _, more = kinds.partition(" ")
        given = rows if more == "missing" else filled
        if more == "texts":
            given = pd.DataFrame(rows, columns=NAMES).assign(colour=texts)
        try:
            model = make().fit(given[: len(x)], learned(number, kind))
            content = convert(model, name, more == "texts")
            labels, scores = answers_of(content, given)
        except Exception as error:
            print(f"{program} {version} does not convert {name}: {type(error).__name__} {str(error)[:80]}")
            continue
        if name in REFUSED:
            making.add(f"{name}.onnx", content)
            continue
        original = model.predict_proba(given) if hasattr(model, "classes_") else model.predict(given)
        answered = ~np.isnan(rows).any(axis=1) | bool(more)
        scores = np.reshape(scores, (len(rows), -1)).astype(float)
        equal = (abs(scores - np.reshape(original, scores.shape)) <= SAME * abs(scores).max()).all(axis=1)
        making.originals[name] = int((equal & answered).sum())
        texts_of = None if labels is None else np.where(answered, labels.astype(str), "")
        making.add(f"{name}.onnx", content, np.where(answered[:, None], scores, np.nan), texts_of)
    programs = ["onnxruntime", "onnx", "sklearn", *(["xgboost", "lightgbm"] if program == "onnxmltools" else [])]
    making.made_with = {each: str(import_module(each).__version__) for each in programs}
    (folder / program).mkdir(exist_ok=True)
    making.write(folder / program / f"{version}.tar.xz")


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    made("skl2onnx", SKL2ONNX, by_skl2onnx, folder)
    made("onnxmltools", ONNXMLTOOLS, by_onnxmltools, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
