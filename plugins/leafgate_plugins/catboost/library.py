"""CatBoost itself, which opens its binary file and writes the JSON of the same model."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from leafgate.api import Floats


def as_json(content: bytes, rows: Floats, table: pd.DataFrame) -> Mapping[str, Any]:
    """The bytes of the JSON file of the model in a binary file (.cbm), under `content`; no row is asked about."""
    import catboost

    model = catboost.CatBoost()
    model.load_model(blob=content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return {"content": np.frombuffer(path.read_bytes(), dtype=np.uint8)}
