"""One number for each record."""

from __future__ import annotations

import numpy as np
import pandas as pd

from leafgate import ScoringContext

CERTAIN = 1 - 1e-9


def exposed(case: ScoringContext) -> pd.Series:
    """1.0 where the true value is believed with certainty, else 0.0.

    Where certainty is never wrong, the truth is not looked at: the public may have the numbers.
    """
    chances = case.posterior
    if case.certain_is_true:
        return pd.Series((chances.to_numpy().max(axis=1) >= CERTAIN).astype(float))
    truth = chances.columns.get_indexer(pd.Index(case.truth.astype(object)))
    believed = chances.to_numpy()[np.arange(len(truth)), truth]
    return pd.Series((believed >= CERTAIN).astype(float))
