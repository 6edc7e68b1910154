"""Small models of XGBoost with its own answers, made by the version that is installed where this is run.

    python make_xgboost_files.py FOLDER

It needs XGBoost and NumPy alone, and writes FOLDER/VERSION.zip:

- a model for each case of `CASES`, every second one as UBJSON;
- `rows.csv`, made-up people; an empty cell is missing, `ward` is a category in some cases;
- `margins.csv`, what XGBoost says of each row before its last transform: a column `CASE.NUMBER` for each score;
- `labels.csv`, which class it predicts for each row: a column for each case that has classes.
"""

import io
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb

ROWS = 80
ROUNDS = 3
NAMES = ["age", "visits", "ward"]
USUAL = {"max_depth": 2, "eta": 0.5, "nthread": 1, "verbosity": 0, "tree_method": "hist", "seed": 1}
DART = {"booster": "dart", "rate_drop": 0.5, "seed": 3}
LOGISTIC = {"objective": "binary:logistic"}
SOFTPROB_OF_TWO = {"objective": "multi:softprob", "num_class": 2}
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
}


def table() -> tuple[Any, Any]:
    """Made-up people, and a number that they learn from; classes are its quantiles."""
    rng = np.random.default_rng(7)
    x = np.column_stack([rng.integers(18, 90, ROWS), rng.integers(0, 9, ROWS), rng.integers(0, 6, ROWS)]).astype(float)
    number = x[:, 0] / 20 + (x[:, 2] % 2) * 2 + x[:, 1] / 6 + rng.normal(size=ROWS)
    x[rng.random(x.shape) < 0.08] = np.nan
    return x, number


def learned(number: Any, options: dict[str, Any]) -> Any:
    """What a case learns: the number, or its quantile."""
    if options["objective"].startswith("reg:"):
        return np.abs(number)
    classes = options.get("num_class", 2)
    return np.searchsorted(np.quantile(number, np.arange(1, classes) / classes), number)


def labels_of(answers: Any, objective: str) -> Any:
    """The class of each row, from what XGBoost says of it."""
    if answers.ndim == 2:
        return answers.argmax(axis=1)
    limit = {"binary:logistic": 0.5, "binary:logitraw": 0.0}.get(objective)
    return answers if limit is None else answers > limit


def as_csv(columns: dict[str, Any]) -> str:
    rows = zip(
        *[[f"{cell:.9g}" for cell in np.asarray(column, dtype=float)] for column in columns.values()], strict=True
    )
    return "\n".join([",".join(columns), *(",".join(row).replace("nan", "") for row in rows)]) + "\n"


def main(folder: Path) -> None:
    x, number = table()
    models: dict[str, bytes] = {}
    margins: dict[str, Any] = {}
    labels: dict[str, Any] = {}
    for name, case in CASES.items():
        options = dict(case)
        kinds = ["int", "int", "c" if options.pop("native", False) else "int"]
        y = learned(number, options)
        data = xgb.DMatrix(x, label=y, feature_names=NAMES, feature_types=kinds, enable_categorical=True)
        try:
            booster = xgb.train({**USUAL, **options}, data, num_boost_round=ROUNDS)
        except xgb.core.XGBoostError:
            print(f"{xgb.__version__} does not train {name}")
            continue
        file_name = f"{name}.{'ubj' if len(models) % 2 else 'json'}"
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / file_name
            booster.save_model(path)
            models[file_name] = path.read_bytes()
            booster = xgb.Booster(model_file=path)
        for i, scores in enumerate(booster.predict(data, output_margin=True).reshape(ROWS, -1).T):
            margins[f"{name}.{i}"] = scores
        if not options["objective"].startswith("reg:"):
            labels[name] = labels_of(booster.predict(data), options["objective"])
    texts = {
        "rows.csv": as_csv(dict(zip(NAMES, x.T, strict=True))),
        "margins.csv": as_csv(margins),
        "labels.csv": as_csv(labels),
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for file_name, file in {**{key: text.encode() for key, text in texts.items()}, **models}.items():
            made.writestr(zipfile.ZipInfo(file_name), file, zipfile.ZIP_DEFLATED)
    (folder / f"{xgb.__version__}.zip").write_bytes(content.getvalue())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
