"""LightGBM itself, which opens a file and answers for rows of its features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from leafgate.api import Floats


def answer(content: bytes, rows: Floats, table: pd.DataFrame) -> Mapping[str, Any]:
    """The scores of classes or the numbers that the model in a file of LightGBM predicts for rows of its features."""
    import lightgbm

    text = content.decode()
    booster = lightgbm.Booster(params={"verbosity": -1}, model_str=text)
    predicted = np.asarray(booster.predict(rows))
    objective = next((line for line in text.splitlines() if line.startswith("objective=")), "")
    if predicted.ndim == 2:
        return {"scores": predicted / predicted.sum(axis=1, keepdims=True)}
    if objective.startswith("objective=binary"):
        return {"scores": np.column_stack([1 - predicted, predicted])}
    return {"numbers": predicted}
