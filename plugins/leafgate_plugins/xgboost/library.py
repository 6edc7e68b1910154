"""XGBoost itself, which opens a file and answers for rows of its features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from leafgate.api import Floats


def answer(content: bytes, rows: Floats, table: pd.DataFrame) -> Mapping[str, Any]:
    """The scores of classes or the numbers that the model in a file of XGBoost predicts for rows of its features."""
    import json

    import xgboost

    booster = xgboost.Booster()
    booster.load_model(bytearray(content))
    kinds = booster.feature_types
    data = xgboost.DMatrix(
        rows, feature_names=booster.feature_names, feature_types=kinds, enable_categorical=bool(kinds and "c" in kinds)
    )
    objective = json.loads(booster.save_config())["learner"]["objective"]["name"]
    predicted = booster.predict(data)
    if objective.startswith("reg:"):
        return {"numbers": predicted}
    if objective in {"binary:hinge", "multi:softmax"}:
        return {"labels": predicted.astype(np.int64)}
    if objective == "binary:logitraw":
        predicted = 1 / (1 + np.exp(-predicted))
    return {"scores": predicted if predicted.ndim == 2 else np.column_stack([1 - predicted, predicted])}
