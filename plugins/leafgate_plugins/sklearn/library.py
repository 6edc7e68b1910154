"""scikit-learn itself, which opens a skops file and answers for rows of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from leafgate.api import Floats


def answer(content: bytes, rows: Floats, table: pd.DataFrame) -> Mapping[str, Any]:
    """What the estimator in a skops file predicts; a pipeline is given the table's columns, a bare estimator the rows.

    Every type that the file names is trusted.
    """
    import skops.io

    model = skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))
    names = list(getattr(model, "feature_names_in_", ()))
    given: Any = table[names] if names and set(names) <= set(table.columns) else rows
    if hasattr(model, "score_samples"):
        return {"numbers": -model.score_samples(given)}
    if not hasattr(model, "classes_"):
        return {"numbers": model.predict(given)}
    classes = np.array([str(name) for name in model.classes_])
    if hasattr(model, "predict_proba"):
        return {"scores": model.predict_proba(given), "classes": classes}
    return {"labels": np.searchsorted(model.classes_, model.predict(given)), "classes": classes}
