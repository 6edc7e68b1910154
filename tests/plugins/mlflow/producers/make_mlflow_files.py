"""Small models that MLflow saved, with the answers of their own libraries.

    PYTHONPATH=tests/support python make_mlflow_files.py FOLDER

It needs MLflow, scikit-learn, skops, LightGBM and XGBoost, and writes the archive FOLDER/VERSION.tar.xz
(`producer_archive`): the model's own file of each case, and below a folder of the case's name all files of MLflow.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from producer_archive import NAMES, Making, made_up_people, quantiles, with_probes

TREE: dict[str, Any] = {"max_depth": 3, "min_samples_leaf": 3, "random_state": 1}
HIST: dict[str, Any] = {"max_iter": 3, "max_leaf_nodes": 4, "min_samples_leaf": 5, "random_state": 1}
LGBM: dict[str, Any] = {
    **{"n_estimators": 3, "num_leaves": 4, "min_child_samples": 5, "learning_rate": 0.5},
    **{"n_jobs": 1, "random_state": 1, "verbose": -1},
}
XGB: dict[str, Any] = {"n_estimators": 3, "max_depth": 2, "learning_rate": 0.5, "n_jobs": 1, "random_state": 1}
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "sklearn-tree": ("sklearn.tree.DecisionTreeClassifier", TREE, "two"),
    "sklearn-forest": ("sklearn.ensemble.RandomForestClassifier", {**TREE, "n_estimators": 3}, "three"),
    "sklearn-hist": ("sklearn.ensemble.HistGradientBoostingClassifier", HIST, "two missing"),
    "sklearn-number": ("sklearn.tree.DecisionTreeRegressor", TREE, "number"),
    "lightgbm": ("lightgbm.LGBMClassifier", LGBM, "two missing"),
    "lightgbm-number": ("lightgbm.LGBMRegressor", LGBM, "number missing"),
    "lightgbm-booster": ("lightgbm.LGBMClassifier", LGBM, "two missing"),
    "xgboost": ("xgboost.XGBClassifier", XGB, "two missing"),
    "xgboost-three": ("xgboost.XGBClassifier", XGB, "three missing"),
    "xgboost-number": ("xgboost.XGBRegressor", XGB, "number missing"),
}


def learned(number: Any, kind: str) -> Any:
    """What a case learns."""
    return {"two": quantiles(number, 2), "three": quantiles(number, 3), "number": np.abs(number) + 0.1}[kind]


def saved(model: Any, flavour: str, folder: Path) -> dict[str, bytes]:
    """The files that MLflow writes of a model, by their paths."""
    more: dict[str, Any] = {}
    if flavour == "sklearn":
        skops = import_module("skops.io")
        more["skops_trusted_types"] = skops.get_untrusted_types(data=skops.dumps(model))
    import_module(f"mlflow.{flavour}").save_model(model, str(folder), **more)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def margins_of(model: Any, given: Any, name: str) -> Any:
    """What the library says of each row: raw scores of boosting, shares of classes, or numbers."""
    if not hasattr(model, "classes_"):
        return model.predict(given)
    if name.startswith("xgboost"):
        return model.predict(given, output_margin=True)
    if name.startswith("lightgbm"):
        return model.predict(given, raw_score=True)
    return model.decision_function(given) if name == "sklearn-hist" else model.predict_proba(given)


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    mlflow = import_module("mlflow")
    x, number = made_up_people()
    rows = with_probes(x)
    made = Making(dict(zip(NAMES, rows.T, strict=True)))
    folders: dict[str, bytes] = {}
    for name, (kind, options, kinds) in CASES.items():
        what, _, more = kinds.partition(" ")
        given = rows if more else np.where(np.isnan(rows), 4.0, rows)
        place, _, estimator = kind.rpartition(".")
        make: Callable[..., Any] = getattr(import_module(place), estimator)
        model = make(**options).fit(given[: len(x)], learned(number, what))
        with tempfile.TemporaryDirectory() as temporary:
            told = model.booster_ if name.endswith("booster") else model
            files = saved(told, name.partition("-")[0], Path(temporary) / "model")
        (own,) = (path for path in files if path.startswith("model."))
        folders |= {f"{name}/{path}": content for path, content in files.items()}
        answered = ~np.isnan(rows).any(axis=1) | bool(more)
        margins = np.where(answered[:, None], np.reshape(margins_of(model, given, name), (len(rows), -1)), np.nan)
        labels = np.where(answered, model.predict(given).astype(str), "") if hasattr(model, "classes_") else None
        made.add(f"{name}.{own.partition('.')[2]}", files[own], margins, labels)
    made.models |= folders
    made.made_with = {each: import_module(each).__version__ for each in ("sklearn", "skops", "lightgbm", "xgboost")}
    made.write(folder / f"{mlflow.__version__}.tar.xz")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
