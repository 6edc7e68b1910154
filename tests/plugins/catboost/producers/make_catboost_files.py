"""Small models of CatBoost with its own answers, made by the version that is installed where this is run.

    PYTHONPATH=tests/support python make_catboost_files.py FOLDER

It needs CatBoost and pandas alone, and writes FOLDER/VERSION.zip:

- a JSON file for each case of `CASES`;
- `CASE.csv`, rows with the model's answers: made-up people, then for every border a row on it and one right above
  it, for every number a row where it is missing, and one with each category. An empty cell is missing. `raw.NUMBER`
  is a score of classes before its last transform, or the number that it predicts, and `label` the class.
"""

import json
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from producer_archive import write_archive

ROWS = 80
NUMBERS = ["age", "hours"]
CATEGORIES = ["colour", "ward"]
USUAL = {
    "iterations": 3,
    "depth": 2,
    "learning_rate": 0.5,
    "random_seed": 1,
    "thread_count": 1,
    "verbose": 0,
    "allow_writing_files": False,
    "one_hot_max_size": 255,
}
LOGLOSS = {"loss_function": "Logloss"}
MULTI = {"loss_function": "MultiClass"}
RMSE = {"loss_function": "RMSE"}
STATISTICS = {"categories": True, "one_hot_max_size": 2, "depth": 3}
COMBINED = {**STATISTICS, "iterations": 12, "model_size_reg": 0, "max_ctr_complexity": 3, "random_strength": 3}
CASES: dict[str, dict[str, Any]] = {
    "logloss": LOGLOSS,
    "logloss-deep": {**LOGLOSS, "depth": 4},
    "logloss-categories": {**LOGLOSS, "categories": True, "depth": 4},
    "logloss-numbered": {**LOGLOSS, "classes": "numbers"},
    "logloss-booleans": {**LOGLOSS, "classes": "booleans"},
    "logloss-weighted": {**LOGLOSS, "class_weights": [1, 2.5]},
    "logloss-bayesian": {**LOGLOSS, "bootstrap_type": "Bayesian"},
    "logloss-depthwise": {**LOGLOSS, "grow_policy": "Depthwise", "depth": 3},
    "logloss-lossguide-categories": {**LOGLOSS, "grow_policy": "Lossguide", "categories": True, "depth": 4},
    "logloss-missing-max": {**LOGLOSS, "nan_mode": "Max", "depth": 3},
    "logloss-none-missing": {**LOGLOSS, "nan_mode": "Forbidden", "missing": False},
    "logloss-scaled": {**LOGLOSS, "scale_and_bias": (2.0, 0.25)},
    "logloss-nameless": {**LOGLOSS, "names": False},
    "multi-of-two": MULTI,
    "multi-of-three": {**MULTI, "kinds": 3},
    "multi-of-three-categories": {**MULTI, "kinds": 3, "categories": True, "depth": 4},
    "multi-of-three-lossguide": {**MULTI, "kinds": 3, "grow_policy": "Lossguide", "depth": 3},
    "rmse": RMSE,
    "rmse-categories": {**RMSE, "categories": True, "depth": 4},
    "rmse-depthwise": {**RMSE, "grow_policy": "Depthwise", "depth": 3},
    "rmse-without-mean": {**RMSE, "boost_from_average": False},
    "mae": {"loss_function": "MAE"},
    "quantile": {"loss_function": "Quantile:alpha=0.8"},
    "mape": {"loss_function": "MAPE"},
    "huber": {"loss_function": "Huber:delta=2"},
    "lq": {"loss_function": "Lq:q=2"},
    "expectile": {"loss_function": "Expectile:alpha=0.3"},
    "logcosh": {"loss_function": "LogCosh"},
    "poisson": {"loss_function": "Poisson"},
    "tweedie": {"loss_function": "Tweedie:variance_power=1.5"},
    "statistics-of-categories": {**LOGLOSS, **STATISTICS},
    "statistics-of-combined-categories": {**LOGLOSS, **COMBINED},
    "statistics-beside-one-hot-categories": {**LOGLOSS, **COMBINED, "one_hot_max_size": 4},
    "statistics-of-three-by-categories": {**MULTI, **STATISTICS, "kinds": 3, "simple_ctr": ["Borders", "Buckets"]},
    "statistics-of-means-by-categories": {
        **RMSE,
        **STATISTICS,
        "grow_policy": "Depthwise",
        "simple_ctr": ["BinarizedTargetMeanValue:Prior=0.3", "Counter:Prior=0.7"],
    },
}
REFUSED: dict[str, dict[str, Any]] = {
    "hashes": {**LOGLOSS, "categories": True, "depth": 4, "pool": False},
    "parts-of-numbers": {**RMSE, **STATISTICS, "simple_ctr": ["BinarizedTargetMeanValue:TargetBorderCount=3"]},
    "threshold": {**LOGLOSS, "threshold": 0.3},
}
"""Models that are refused: files without answers."""


def people() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS).astype(float),
            "hours": np.round(rng.normal(40, 10, ROWS), 3),
            "colour": rng.choice(["red", "green", "blue", "très clair"], ROWS),
            "ward": rng.integers(0, 5, ROWS).astype(str),
        }
    )
    rows.loc[::7, "hours"] = np.nan
    score = rows["age"] / 30 + rows["hours"].fillna(60) / 20 + 2 * (rows["colour"] == "red") + (rows["ward"] == "3")
    return rows, score.to_numpy() + rng.normal(0, 0.3, ROWS)


def learned(score: np.ndarray, options: dict[str, Any]) -> Any:
    """What a case learns."""
    kinds, classes = options.pop("kinds", 2), options.pop("classes", "texts")
    if not options["loss_function"].startswith(("Logloss", "Multi")):
        return score
    codes = np.searchsorted(np.quantile(score, np.arange(1, kinds) / kinds), score)
    if classes == "numbers":
        return codes
    return codes == 1 if classes == "booleans" else np.array(["low", "some", "high"])[codes]


def asked_of(rows: pd.DataFrame, document: dict[str, Any]) -> pd.DataFrame:
    """The people, and rows that differ from the first of them in one cell that a test asks for."""
    changed = []
    numeric = document["features_info"]["float_features"]
    for name, each in zip(NUMBERS, numeric, strict=True):
        borders = [np.float32(border) for border in each["borders"]]
        cells = [*borders, *(np.nextafter(border, np.float32(np.inf)) for border in borders), np.nan]
        changed += [{**rows.iloc[i % len(rows)], name: float(cell)} for i, cell in enumerate(cells)]
    for name in (each for each in CATEGORIES if each in rows):
        for i, cell in enumerate([*sorted(set(rows[name])), "unheard of"]):
            changed.append({**rows.iloc[i], name: cell})
    return pd.concat([rows, pd.DataFrame(changed)], ignore_index=True)


def fitted(case: dict[str, Any], folder: Path) -> tuple[Any, pd.DataFrame, bytes]:
    """The model of a case, its rows, and its file."""
    catboost = import_module("catboost")
    options = {**USUAL, **case}
    rows, score = people()
    categories = CATEGORIES if options.pop("categories", False) else []
    rows = rows[NUMBERS + categories]
    if not options.pop("missing", True):
        rows = rows.fillna({"hours": 40.0})
    scaled, threshold = options.pop("scale_and_bias", None), options.pop("threshold", None)
    with_pool, named = options.pop("pool", True), options.pop("names", True)
    target = learned(score, options)
    classifies = options["loss_function"].startswith(("Logloss", "Multi"))
    model = (catboost.CatBoostClassifier if classifies else catboost.CatBoostRegressor)(**options)
    pool = catboost.Pool(rows if named else rows.to_numpy(), target, cat_features=categories)
    model.fit(pool)
    if scaled:
        model.set_scale_and_bias(*scaled)
    if threshold:
        model.set_probability_threshold(threshold)
    path = folder / "model.json"
    model.save_model(str(path), format="json", **({"pool": pool} if with_pool else {}))
    return model, rows, path.read_bytes()


def main(folder: Path) -> None:
    catboost = import_module("catboost")
    files: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, case in {**CASES, **REFUSED}.items():
            model, rows, content = fitted(case, Path(temporary))
            files[f"{name}.json"] = content
            if name in REFUSED:
                continue
            asked = asked_of(rows, json.loads(content))
            given = asked if case.get("names", True) else asked.to_numpy()
            classifies = isinstance(model, catboost.CatBoostClassifier)
            kind = {"prediction_type": "RawFormulaVal"} if classifies else {}
            raw = np.reshape(model.predict(given, **kind), (len(asked), -1))
            answers = asked.assign(**{f"raw.{i}": column for i, column in enumerate(raw.T)})
            if classifies:
                answers["label"] = model.predict(given).ravel()
            files[f"{name}.csv"] = answers.to_csv(index=False, float_format="%.17g").encode()
    write_archive(folder / f"{catboost.__version__}.zip", files)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
