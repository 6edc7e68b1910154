"""Small PMML files of sklearn2pmml, with the answers of JPMML's evaluator.

    PYTHONPATH=tests/support python make_pmml_files.py FOLDER

It needs sklearn2pmml, jpmml-evaluator with JPype, Java, scikit-learn, XGBoost, LightGBM and pandas, and writes the
archive FOLDER/VERSION.tar.xz (`producer_archive`), VERSION that of sklearn2pmml. `originals.csv` has on how many rows
the model that was converted says the same. Rows with missing cells have answers in the cases that were trained on such,
where the PMML predicts anything for them.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
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
"""So much may an answer differ from that of the model that was converted: XGBoost has single precision."""

Make = Callable[[], Any]


def of(kind: Any, usual: dict[str, Any], **options: Any) -> Make:
    return lambda: kind(**{**usual, **options})


def of_library(name: str, usual: dict[str, Any], **options: Any) -> Make:
    """An estimator of XGBoost or LightGBM."""
    library, _, kind = name.partition(".")
    return lambda: getattr(import_module(library), kind)(**{**usual, **options})


def pipeline(numbers: Any, final: Any) -> Make:
    prepare = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), (numbers, NAMES))
    return lambda: make_pipeline(prepare, final)


CASES: dict[str, tuple[Make, str]] = {
    "tree": (of(DecisionTreeClassifier, TREE), "two"),
    "tree-three": (of(DecisionTreeClassifier, TREE), "three"),
    "tree-words": (of(DecisionTreeClassifier, TREE), "words"),
    "tree-missing": (of(DecisionTreeClassifier, TREE), "two missing"),
    "tree-number": (of(DecisionTreeRegressor, TREE), "number"),
    "forest": (of(RandomForestClassifier, FEW), "two"),
    "forest-three": (of(RandomForestClassifier, FEW), "three"),
    "forest-number": (of(RandomForestRegressor, FEW), "number"),
    "extra-trees": (of(ExtraTreesClassifier, FEW), "two"),
    "gradient-number": (of(GradientBoostingRegressor, FEW), "number"),
    "hist-number": (of(HistGradientBoostingRegressor, HIST), "number missing"),
    "gradient": (of(GradientBoostingClassifier, FEW), "two"),
    "gradient-three": (of(GradientBoostingClassifier, FEW), "three"),
    "hist": (of(HistGradientBoostingClassifier, HIST), "two missing"),
    "bagging": (lambda: BaggingClassifier(DecisionTreeClassifier(**TREE), n_estimators=2, random_state=1), "two"),
    "voting": (lambda: VotingClassifier([("tree", DecisionTreeClassifier(**TREE))], voting="soft"), "two"),
    "adaboost": (lambda: AdaBoostClassifier(n_estimators=2, random_state=1, **SAMME), "two"),
    "logistic": (LogisticRegression, "two"),
    "pipeline-tree": (pipeline("passthrough", DecisionTreeClassifier(**TREE)), "two texts"),
    "pipeline-scaled": (
        pipeline(make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), DecisionTreeClassifier(**TREE)),
        "two texts",
    ),
    "xgboost": (of_library("xgboost.XGBClassifier", XGB), "two missing"),
    "xgboost-number": (of_library("xgboost.XGBRegressor", XGB), "number missing"),
    "lightgbm": (of_library("lightgbm.LGBMClassifier", LGBM), "two missing"),
    "lightgbm-number": (of_library("lightgbm.LGBMRegressor", LGBM), "number missing"),
}
REFUSED = frozenset(
    {"gradient", "gradient-three", "hist", "adaboost", "logistic", "pipeline-scaled", "xgboost", "lightgbm"}
)
SAMME: dict[str, Any] = {} if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 6) else {"algorithm": "SAMME"}


def learned(number: Any, kind: str) -> Any:
    """What a case learns, under a name that the file keeps."""
    values = {
        "two": quantiles(number, 2),
        "three": quantiles(number, 3),
        "words": WORDS[quantiles(number, 3)],
        "number": np.abs(number) + 0.1,
    }
    return pd.Series(values[kind], name="learned")


def _reason(error: Exception) -> str:
    """The line of Java's that says why a model is not converted."""
    lines = [line for line in str(error).splitlines() if "Exception" in line]
    return (lines or str(error).splitlines() or [""])[0][:120]


def answers_of(content: bytes, given: Any, classifies: bool) -> tuple[Any, Any]:
    """What JPMML's evaluator says of each row: shares of classes and labels, or numbers and None; NaN for nothing."""
    package = import_module("jpmml_evaluator")
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "model.pmml"
        path.write_bytes(content)
        found = package.make_evaluator(str(path), backend=package.make_backend("jpype")).evaluateAll(given)
    if not classifies:
        return found[["learned"]].to_numpy(dtype=float), None
    shares = found[sorted(key for key in found if key.startswith("probability("))].to_numpy(dtype=float)
    labels = [label if isinstance(label, str) else "" if label is None else f"{label:g}" for label in found["learned"]]
    return shares, np.array(labels)


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    package = import_module("sklearn2pmml")
    x, number = made_up_people()
    rows = with_probes(x)
    texts = np.random.default_rng(5).choice(["red", "green", "blue"], len(rows)).astype(object)
    made = Making({**dict(zip(NAMES, rows.T, strict=True)), "colour": texts})
    for name, (make, kinds) in CASES.items():
        kind, _, more = kinds.partition(" ")
        given = pd.DataFrame(rows, columns=NAMES)
        if more != "missing":
            given = given.fillna(4.0)
        if more == "texts":
            given = given.assign(colour=texts)
        y = learned(number, kind)
        pmml = package.PMMLPipeline([("model", make())])
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / "model.pmml"
            try:
                pmml.fit(given[: len(x)], y)
                package.sklearn2pmml(pmml, str(path))
            except Exception as error:
                print(f"sklearn2pmml {package.__version__} does not convert {name}: {_reason(error)}")
                continue
            content = path.read_bytes()
        if name in REFUSED:
            made.add(f"{name}.pmml", content)
            continue
        margins, labels = answers_of(content, given, kind != "number")
        answered = ~np.isnan(margins).any(axis=1) & (~np.isnan(rows).any(axis=1) | (more == "missing"))
        original = pmml.predict_proba(given) if labels is not None else pmml.predict(given)
        equal = (abs(margins - np.reshape(original, margins.shape)) <= SAME * np.nanmax(abs(margins))).all(axis=1)
        made.originals[name] = int((equal & answered).sum())
        margins = np.where(answered[:, None], margins, np.nan)
        made.add(f"{name}.pmml", content, margins, None if labels is None else np.where(answered, labels, ""))
    made.made_with = {each: import_module(each).__version__ for each in ("sklearn", "xgboost", "lightgbm")}
    made.write(folder / f"{package.__version__}.tar.xz")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
