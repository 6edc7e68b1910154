"""Fitted scikit-learn models in memory."""

from __future__ import annotations

import sys
from typing import Any

from leafgate.foreign.checking import check
from leafgate.foreign.model import Foreign
from leafgate.foreign.seen import seen
from leafgate.foreign.sklearn.models import model_of


def from_sklearn(model: Any) -> Foreign:
    """The neutral trees of a fitted scikit-learn estimator or pipeline, as its file would tell them.

    Its attributes are read, no method of it is called. Raises ReleaseError for what is no tree and no forest, and for
    features made in ways that cannot be told in columns; it names them.
    """
    version = getattr(sys.modules.get("sklearn"), "__version__", "")
    return check(model_of(seen(model), "scikit-learn in memory", str(version), "model"), "model")
