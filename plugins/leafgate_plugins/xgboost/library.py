"""XGBoost itself, which opens a file and answers for rows of its features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from leafgate.api import Floats


def answer(content: bytes, rows: Floats, table: pd.DataFrame) -> Mapping[str, Any]:
    """The scores of classes or the numbers that the model in a file of XGBoost predicts for rows of its features.

    Raises KeyError where a feature whose categories stand in the file as texts is no column of the table.
    """
    import json

    import xgboost

    booster = xgboost.Booster()
    booster.load_model(bytearray(content))
    kinds = booster.feature_types
    rows = _with_codes(booster, rows, table)
    data = xgboost.DMatrix(
        rows, feature_names=booster.feature_names, feature_types=kinds, enable_categorical=bool(kinds and "c" in kinds)
    )
    objective = json.loads(booster.save_config())["learner"]["objective"]["name"]
    best = booster.attr("best_iteration")
    predicted = booster.predict(data, iteration_range=(0, 0 if best is None else int(best) + 1))
    if objective.startswith(("reg:", "count:")):
        return {"numbers": predicted}
    if objective in {"binary:hinge", "multi:softmax"}:
        return {"labels": predicted.astype(np.int64)}
    if objective == "binary:logitraw":
        predicted = 1 / (1 + np.exp(-predicted))
    return {"scores": predicted if predicted.ndim == 2 else np.column_stack([1 - predicted, predicted])}


def _with_codes(booster: Any, rows: Floats, table: pd.DataFrame) -> Floats:
    """The rows with the codes of categories whose texts the file keeps: the model's trees name these texts."""
    import json

    from leafgate_plugins.xgboost.reader import category_texts

    saved = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]["gradient_booster"]
    features = booster.feature_names or []
    rows = rows.copy()
    for i, texts in category_texts(saved.get("gbtree", saved)["model"], features, "").items():
        codes = {text: float(code) for code, text in enumerate(texts)}
        rows[:, i] = [codes.get(str(cell), np.nan) for cell in table[features[i]]]
    return rows
