"""An attack whose face loads what is heavy."""

from __future__ import annotations

import pandas as pd

from broken_plugins.attacks import ByLeaves

NOBODY = pd.DataFrame()


class HeavyFace(ByLeaves):
    """Imports pandas only to be listed."""
