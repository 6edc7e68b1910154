"""Pickles, opened only where their owner says so."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from leafgate.api import ReleaseError
from leafgate.bounded.objects import printable_name

SKOPS = "run `skops.io.dump(model, 'model.skops')` where the model was trained and name that file"
"""The way without a pickle."""


def opened(path: Path) -> Any:
    """What a joblib or pickle file holds, which runs what it says; ReleaseError where it cannot be opened here."""
    try:
        return importlib.import_module("joblib").load(path)
    except Exception as error:
        remedy = f"{SKOPS}; or run this there, with the same libraries and modules of your own"
        raise ReleaseError(f"cannot be opened here: {_reason(error)}", place=path.name, remedy=remedy) from None


NO_ATTRIBUTE = re.compile(
    r"Can't get attribute '(?P<name>[\w.]+)' on <module '(?P<module>[\w.]+)'"
    r"|module '(?P<older_module>[\w.]+)' has no attribute '(?P<older_name>[\w.]+)'"
)
"""What Python says where a module lacks a class or a function that a pickle names, of a newer and an older protocol."""


def _reason(error: Exception) -> str:
    """Which module or name is missing, else the kind of error."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"it needs the module {printable_name(error.name)!r}, which is missing"
    named = NO_ATTRIBUTE.match(str(error)) if isinstance(error, AttributeError) else None
    if named:
        name, module = named["name"] or named["older_name"], named["module"] or named["older_module"]
        return f"it needs {printable_name(name)!r} of the module {printable_name(module)!r}, which is missing"
    return type(error).__name__
