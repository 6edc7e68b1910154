"""Pickles, opened only where their owner says so."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from leafgate.errors import ReleaseError
from leafgate.models.ir.model import ModelIR
from leafgate.models.reader import HEAD, is_pickle, read_bounded, read_foreign
from leafgate.models.readers.sklearn.estimators import from_sklearn


def read_any(path: Path, *, trust: bool) -> ModelIR:
    """The checked model in a file; a pickle is opened, which runs what it holds, only where it is trusted."""
    content = read_bounded(path)
    if not is_pickle(content[:HEAD]):
        return read_foreign(content, path.name)
    if not trust:
        remedy = "if it is yours, and you are where it was made: --trust"
        raise ReleaseError(
            "is a pickle, which runs whatever it holds when it is opened", place=path.name, remedy=remedy
        )
    return from_sklearn(_opened(path))


def _opened(path: Path) -> Any:
    """What a joblib or pickle file holds."""
    try:
        return importlib.import_module("joblib").load(path)
    except Exception as error:
        remedy = "run this where the model was trained, with the same libraries"
        raise ReleaseError(f"cannot be opened here ({type(error).__name__})", place=path.name, remedy=remedy) from None
