"""Small models of XGBoost with its own answers, made by the version that is installed where this is run.

    PYTHONPATH=tests/support python make_xgboost_files.py FOLDER

It needs XGBoost and NumPy, and writes the archive FOLDER/VERSION.zip (`producer_archive`): every second model as
UBJSON, and `ward` is a category in some cases.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb

from producer_archive import NAMES, Making, made_up_people, quantiles, with_probes

ROUNDS = 3
USUAL = {"max_depth": 2, "eta": 0.5, "nthread": 1, "verbosity": 0, "tree_method": "hist", "seed": 1}
DART = {"booster": "dart", "rate_drop": 0.5, "seed": 3}
LOGISTIC = {"objective": "binary:logistic"}
SOFTPROB_OF_TWO = {"objective": "multi:softprob", "num_class": 2}
VECTORS = {"multi_strategy": "multi_output_tree"}
SETS = {"native": True, "max_cat_to_onehot": 1}
PARALLEL = {"num_parallel_tree": 2, "subsample": 0.7}
CASES: dict[str, dict[str, Any]] = {
    "logistic": LOGISTIC,
    "logistic-base": {**LOGISTIC, "base_score": 0.2},
    "logistic-dart": {**LOGISTIC, **DART},
    "logistic-dart-forest": {**LOGISTIC, **DART, "normalize_type": "forest", "one_drop": 1},
    "logistic-categories": {**LOGISTIC, **SETS},
    "logistic-one-hot-categories": {**LOGISTIC, "native": True, "max_cat_to_onehot": 9},
    "logistic-dart-categories": {**LOGISTIC, **DART, **SETS},
    "logistic-parallel": {**LOGISTIC, **PARALLEL},
    "logistic-pruned": {**LOGISTIC, "tree_method": "exact", "gamma": 1.0, "max_depth": 4},
    "logistic-weighted": {**LOGISTIC, "scale_pos_weight": 2.0},
    "logitraw": {"objective": "binary:logitraw"},
    "logitraw-base": {"objective": "binary:logitraw", "base_score": 0.2},
    "hinge": {"objective": "binary:hinge"},
    "hinge-base": {"objective": "binary:hinge", "base_score": 0.2},
    "softprob-of-two": SOFTPROB_OF_TWO,
    "softprob-of-two-base": {**SOFTPROB_OF_TWO, "base_score": 0.3},
    "softprob-of-two-parallel": {**SOFTPROB_OF_TWO, **PARALLEL},
    "softprob-of-two-dart": {**SOFTPROB_OF_TWO, **DART},
    "softprob-of-two-categories": {**SOFTPROB_OF_TWO, **SETS},
    "softmax-of-two": {"objective": "multi:softmax", "num_class": 2},
    "softprob-of-three": {"objective": "multi:softprob", "num_class": 3},
    "softmax-of-three-dart": {"objective": "multi:softmax", "num_class": 3, **DART},
    "squarederror": {"objective": "reg:squarederror"},
    "squarederror-base": {"objective": "reg:squarederror", "base_score": 7.5},
    "squarederror-dart": {"objective": "reg:squarederror", **DART},
    "absoluteerror": {"objective": "reg:absoluteerror"},
    "pseudohubererror": {"objective": "reg:pseudohubererror"},
    "squaredlogerror": {"objective": "reg:squaredlogerror"},
    "quantileerror": {"objective": "reg:quantileerror", "quantile_alpha": 0.5},
    "gamma": {"objective": "reg:gamma"},
    "tweedie": {"objective": "reg:tweedie", "tweedie_variance_power": 1.3},
    "poisson": {"objective": "count:poisson"},
    "poisson-base-dart": {"objective": "count:poisson", "base_score": 2.0, "max_delta_step": 1.0, **DART},
    "logistic-stopped": {**LOGISTIC, "best_iteration": 1},
    "softprob-of-three-dart-stopped": {"objective": "multi:softprob", "num_class": 3, **DART, "best_iteration": 0},
    "softprob-of-two-in-one-tree": {**SOFTPROB_OF_TWO, **VECTORS},
    "softprob-of-three-in-one-tree": {"objective": "multi:softprob", "num_class": 3, "base_score": 0.3, **VECTORS},
    "softprob-of-three-in-one-tree-parallel": {"objective": "multi:softprob", "num_class": 3, **VECTORS, **PARALLEL},
    "softmax-of-three-in-one-tree": {"objective": "multi:softmax", "num_class": 3, **VECTORS},
}

LOGS = {"reg:gamma", "reg:tweedie", "count:poisson"}
"""Objectives whose margins are logarithms: archives have the predicted numbers."""

REFUSED: dict[str, dict[str, Any]] = {
    "survival": {"objective": "survival:aft"},
    "cox": {"objective": "survival:cox"},
    "share": {"objective": "reg:logistic"},
    "rank": {"objective": "rank:pairwise"},
    "linear": {**LOGISTIC, "booster": "gblinear"},
    "several-targets": {"objective": "reg:squarederror", "targets": True},
    "several-targets-in-one-tree": {
        "objective": "reg:squarederror",
        "targets": True,
        **VECTORS,
    },
}


def learned(number: Any, options: dict[str, Any]) -> Any:
    """What a case learns: the number, its quantile, or both the number and its negative."""
    if options.pop("targets", False):
        return np.column_stack([number, -number])
    if options["objective"] == "reg:logistic":
        return quantiles(number, 11) / 10
    if options["objective"].partition(":")[0] in {"reg", "count", "survival"}:
        return np.abs(number) + (options["objective"] in {"reg:gamma", "reg:tweedie"})
    return quantiles(number, options.get("num_class", 2))


def labels_of(answers: Any, objective: str) -> Any:
    """The class of each row, from what XGBoost says of it."""
    if answers.ndim == 2:
        return answers.argmax(axis=1)
    limit = {"binary:logistic": 0.5, "binary:logitraw": 0.0}.get(objective)
    return answers if limit is None else answers > limit


def of_numbers(x: Any, label: Any, kinds: list[str], options: dict[str, Any]) -> Any:
    """The rows as XGBoost takes them."""
    data = xgb.DMatrix(x, label=label, feature_names=NAMES, feature_types=kinds, enable_categorical=True)
    if label is not None and options["objective"] == "survival:aft":
        data.set_float_info("label_lower_bound", label)
        data.set_float_info("label_upper_bound", label + 1)
    if label is not None and options["objective"] == "rank:pairwise":
        data.set_group([len(x)])
    return data


def main(folder: Path) -> None:
    x, number = made_up_people()
    rows = with_probes(x)
    made = Making(dict(zip(NAMES, rows.T)), digits=9)  # noqa: B905
    for name, case in {**CASES, **REFUSED}.items():
        options = dict(case)
        kinds = ["int", "int", "c" if options.pop("native", False) else "int"]
        y, best = learned(number, options), options.pop("best_iteration", ROUNDS - 1)
        usual = {**USUAL, **options}
        if options.get("booster") == "gblinear":
            usual = {key: value for key, value in usual.items() if key not in {"max_depth", "tree_method"}}
        try:
            booster = xgb.train(usual, of_numbers(x, y, kinds, options), num_boost_round=ROUNDS)
        except (xgb.core.XGBoostError, ValueError) as error:
            print(f"XGBoost {xgb.__version__} does not train {name}: {str(error)[:80]}")
            continue
        if best < ROUNDS - 1:
            booster.set_attr(best_iteration=str(best))  # as early stopping does
        file_name = f"{name}.{'ubj' if len(made.models) % 2 else 'json'}"
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / file_name
            booster.save_model(path)
            content = path.read_bytes()
            booster = xgb.Booster(model_file=path)
        if name in REFUSED:
            made.add(file_name, content)
            continue
        data = of_numbers(rows, None, kinds, options)
        classifies = not options["objective"].startswith(("reg:", "count:"))
        rounds = (0, best + 1)
        answers = booster.predict(data, iteration_range=rounds)
        labels = labels_of(answers, options["objective"]) if classifies else None
        is_log = options["objective"] in LOGS
        margins = answers if is_log else booster.predict(data, output_margin=True, iteration_range=rounds)
        made.add(file_name, content, margins, labels)
    made.write(folder / f"{xgb.__version__}.zip")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
