"""An attack, a report format and a data source whose faces load what is heavy."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from broken_plugins.attacks import ByLeaves
from broken_plugins.sources import Lines
from leafgate.api import ReportDocument

NOBODY = pd.DataFrame()


class HeavyFace(ByLeaves):
    """Imports pandas only to be listed."""


def render_in_a_heavy_module(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return f"{pd.Series(1).sum()}".encode()


class HeavySource(Lines):
    """Imports pandas only to be listed."""
