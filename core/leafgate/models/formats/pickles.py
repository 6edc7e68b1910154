"""Pickles, opened only where their owner says so."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leafgate.api.model_readers import HEAD, ModelReader
from leafgate.errors import Problem, ReleaseError
from leafgate.ir.model import ModelIR
from leafgate.models.reader import is_pickle, model_of_object, read_bounded, read_foreign


def read_any(path: Path, readers: Sequence[ModelReader], *, trust: bool) -> ModelIR:
    """The checked model in a file; a pickle is opened, which runs what it holds, only where it is trusted."""
    content = read_bounded(path)
    if not is_pickle(content[:HEAD]):
        return read_foreign(content, path.name, readers)
    if not trust:
        remedy = "if it is yours, and you are where it was made: --trust"
        raise ReleaseError(
            "is a pickle, which runs whatever it holds when it is opened", place=path.name, remedy=remedy
        )
    return _model_of(_opened(path), readers)


def _model_of(thing: Any, readers: Sequence[ModelReader]) -> ModelIR:
    """The model of the first reader that knows the object; the errors of all where none does."""
    problems: list[Problem] = []
    for reader in readers:
        if reader.from_object is not None:
            try:
                return model_of_object(thing, reader.name, readers)
            except ReleaseError as error:
                problems += error.problems
    if not problems:
        raise ReleaseError("is an object, and no installed plugin reads models in memory", place="model")
    raise ReleaseError.listing(problems)


def _opened(path: Path) -> Any:
    """What a joblib or pickle file holds."""
    try:
        return importlib.import_module("joblib").load(path)
    except Exception as error:
        remedy = "run this where the model was trained, with the same libraries"
        raise ReleaseError(f"cannot be opened here ({type(error).__name__})", place=path.name, remedy=remedy) from None
