"""Small models of LightGBM with its own answers, made by the version that is installed where this is run.

    PYTHONPATH=tests/support python make_lightgbm_files.py FOLDER

It needs LightGBM and NumPy, and writes the archive FOLDER/VERSION.tar.xz (`producer_archive`).
"""

import sys
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np

from producer_archive import NAMES, Making, made_up_people, quantiles, with_probes

ROUNDS = 3
USUAL = {
    "num_leaves": 4,
    "min_data_in_leaf": 5,
    "learning_rate": 0.5,
    "num_threads": 1,
    "verbose": -1,
    "seed": 1,
    "deterministic": True,
}
DART = {"boosting": "dart", "drop_rate": 0.5}
FOREST = {"boosting": "rf", "bagging_fraction": 0.7, "bagging_freq": 1}
SETS = {"native": True, "max_cat_to_onehot": 1, "min_data_per_group": 5, "cat_smooth": 1}
BINARY = {"objective": "binary"}
THREE = {"objective": "multiclass", "num_class": 3}
NUMBER = {"objective": "regression"}
CASES: dict[str, dict[str, Any]] = {
    "binary": BINARY,
    "binary-forest": {**BINARY, **FOREST},
    "binary-dart": {**BINARY, **DART},
    "binary-dart-xgboost-mode": {**BINARY, **DART, "xgboost_dart_mode": True},
    "binary-goss": {**BINARY, "boosting": "goss", "learning_rate": 0.9},
    "binary-categories": {**BINARY, **SETS},
    "binary-one-hot-categories": {**BINARY, "native": True, "max_cat_to_onehot": 9, "min_data_per_group": 5},
    "binary-categories-forest": {**BINARY, **SETS, **FOREST},
    "binary-categories-dart": {**BINARY, **SETS, **DART},
    "binary-none-missing": {**BINARY, "filled": True},
    "binary-missing-not-used": {**BINARY, "use_missing": False},
    "binary-sigmoid": {**BINARY, "sigmoid": 2.0},
    "binary-from-zero": {**BINARY, "boost_from_average": False},
    "binary-unbalanced": {**BINARY, "is_unbalance": True},
    "binary-weighted": {**BINARY, "scale_pos_weight": 2.5},
    "binary-monotone": {**BINARY, "monotone_constraints": [1, 0, 0]},
    "binary-smooth": {**BINARY, "path_smooth": 2.0},
    "binary-extra": {**BINARY, "extra_trees": True},
    "binary-stump": {**BINARY, "min_data_in_leaf": 1000},
    "multiclass": THREE,
    "multiclass-forest": {**THREE, **FOREST},
    "multiclass-dart": {**THREE, **DART},
    "multiclass-categories": {**THREE, **SETS},
    "multiclass-of-two": {**THREE, "num_class": 2},
    "one-versus-all": {**THREE, "objective": "multiclassova"},
    "one-versus-all-of-two": {"objective": "multiclassova", "num_class": 2},
    "regression": NUMBER,
    "regression-forest": {**NUMBER, **FOREST},
    "regression-dart": {**NUMBER, **DART},
    "regression-categories": {**NUMBER, **SETS},
    "regression-from-zero": {**NUMBER, "boost_from_average": False},
    "regression-l1": {"objective": "regression_l1"},
    "huber": {"objective": "huber"},
    "fair": {"objective": "fair"},
    "quantile": {"objective": "quantile", "alpha": 0.8},
    "mape": {"objective": "mape"},
    "poisson": {"objective": "poisson"},
    "gamma": {"objective": "gamma"},
    "tweedie": {"objective": "tweedie"},
    "poisson-forest": {"objective": "poisson", **FOREST},
}
LOGS = {"poisson", "gamma", "tweedie"}
"""Objectives whose raw scores are logarithms: archives have the predicted numbers."""

REFUSED: dict[str, dict[str, Any]] = {
    "zero-as-missing": {**BINARY, "zero_as_missing": True},
    "linear-tree": {**NUMBER, "linear_tree": True},
    "square-root": {**NUMBER, "reg_sqrt": True},
    "cross-entropy": {"objective": "cross_entropy"},
    "rank": {"objective": "lambdarank"},
}


def learned(number: Any, objective: str, classes: int) -> Any:
    """What a case learns: the number, or its quantile."""
    of_numbers = {"regression", "regression_l1", "huber", "fair", "quantile", "mape", "poisson", "gamma", "tweedie"}
    return np.abs(number) + 0.1 if objective in of_numbers else quantiles(number, classes)


def labels_of(answers: Any) -> Any:
    """The class of each row, from the chances that LightGBM gives."""
    return answers.argmax(axis=1) if answers.ndim == 2 else answers > 0.5


def main(folder: Path) -> None:
    x, number = made_up_people()
    rows = with_probes(x)
    made = Making(dict(zip(NAMES, rows.T)))  # noqa: B905
    for name, case in {**CASES, **REFUSED}.items():
        options = dict(case)
        sets = [2] if options.pop("native", False) else []
        given = np.nan_to_num(x) if options.pop("filled", False) else x
        y = learned(number, options["objective"], options.get("num_class", 2))
        groups = [len(x)] if options["objective"] == "lambdarank" else None
        data = lgb.Dataset(given, label=y, feature_name=NAMES, categorical_feature=sets, group=groups)
        try:
            booster = lgb.train({**USUAL, **options}, data, num_boost_round=ROUNDS)
        except lgb.basic.LightGBMError as error:
            print(f"{lgb.__version__} does not train {name}: {error}")
            continue
        text = booster.model_to_string()
        booster = lgb.Booster(model_str=text)
        answers = np.asarray(booster.predict(rows))
        margins = answers if options["objective"] in LOGS else booster.predict(rows, raw_score=True)
        classifies = options["objective"] in {"binary", "multiclass", "multiclassova"}
        if name in REFUSED:
            made.add(f"{name}.txt", text.encode())
        else:
            made.add(f"{name}.txt", text.encode(), margins, labels_of(answers) if classifies else None)
    made.write(folder / f"{lgb.__version__}.tar.xz")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
