"""Pickles, opened only where their owner says so."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from leafgate.api import ReleaseError


def opened(path: Path) -> Any:
    """What a joblib or pickle file holds, which runs what it says; ReleaseError where it cannot be opened here."""
    try:
        return importlib.import_module("joblib").load(path)
    except Exception as error:
        remedy = "run this where the model was trained, with the same libraries"
        raise ReleaseError(f"cannot be opened here ({type(error).__name__})", place=path.name, remedy=remedy) from None


def refused(path: Path) -> Any:
    """Raise ReleaseError: nobody said that the file may be opened."""
    remedy = "if it is yours, and you are where it was made: --trust"
    raise ReleaseError("is a pickle, which runs whatever it holds when it is opened", place=path.name, remedy=remedy)
