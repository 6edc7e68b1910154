"""Files written of random pipelines answer in the program of their format as the pipeline itself does."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from installed_readers import PREDICT_SCRIPT, model_as_file, neutral_file, read_foreign
from leafgate import ReleaseError
from random_pipelines import Drawn, answers, drawn, features
from sklearn_zoo import skops_bytes

SINGLE = 1e-5
"""Scores closer than this are equal in single precision, in which onnxruntime adds them up."""


def as_texts(column: pd.Series) -> list[str]:
    """The cells as an input of texts is given them: whole numbers without a point, missing ones empty."""
    return [
        "" if cell is None or cell != cell else f"{cell:.0f}" if isinstance(cell, float) else cell for cell in column
    ]


def by_onnxruntime(content: bytes, frame: pd.DataFrame) -> list[str]:
    from onnx_pipelines import session

    running = session(content)
    given = {
        one.name: np.array(as_texts(frame[one.name]), dtype=object)[:, None]
        if one.type == "tensor(string)"
        else frame[one.name].to_numpy(dtype=float)[:, None]
        for one in running.get_inputs()
    }
    return [str(label) for label in running.run(None, given)[0]]


def by_skops(content: bytes, frame: pd.DataFrame) -> list[str]:
    from skops.io import get_untrusted_types, loads

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [str(label) for label in loads(content, trusted=get_untrusted_types(data=content)).predict(frame)]


def by_numpy(content: bytes, frame: pd.DataFrame) -> list[str]:
    import json

    spec = importlib.util.spec_from_file_location("predict_of_neutral_files", PREDICT_SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return [str(label) for label in script.Model(json.loads(content)).predict(frame.to_dict("list"))]


RUNTIMES: Mapping[str, Callable[[bytes, pd.DataFrame], list[str]]] = {
    ".onnx": by_onnxruntime,
    ".skops": by_skops,
    ".json": by_numpy,
}


def fitted(of: Drawn) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return of.pipeline.fit(features(of.people), of.people["rich"])
        except (ValueError, TypeError):
            return None


def file_of(content: bytes, ending: str) -> bytes | None:
    """The file of this ending; None where the pipeline cannot be read, or the format cannot hold it."""
    try:
        model = read_foreign(content, "m")
        return neutral_file(model) if ending == ".json" else model_as_file(model, content, f"m{ending}")
    except ReleaseError:
        return None


def is_compared(seed: int, ending: str) -> bool:
    """Compare a written file with the pipeline on people it was fitted on, gaps, and values it has never seen."""
    of = drawn(seed)
    pipeline = fitted(of)
    written = None if pipeline is None else file_of(skops_bytes(pipeline), ending)
    if written is None:
        return False
    people = pd.concat([of.people.iloc[:60], of.others], ignore_index=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = answers(pipeline, people)
        asked = features(people)[[each is not None for each in wanted]].reset_index(drop=True)
        if not len(asked):
            return False
        shares = np.sort(pipeline.predict_proba(asked), axis=1)
    found = RUNTIMES[ending](written, asked)
    clear = (shares[:, -1] - shares[:, -2] > SINGLE) | (ending != ".onnx")
    same = [one == other for one, other in zip(found, filter(None, wanted), strict=True)]
    assert all(np.array(same) | ~clear), seed
    return True


def compare(number: int, ending: str) -> None:
    """Compare as many files of seeds from 0 on; most pipelines can be read, and some be written as this format."""
    compared = seed = 0
    while compared < number:
        compared += is_compared(seed, ending)
        seed += 1
        assert seed < 20 + 8 * number, f"only {compared} of {seed} pipelines were written"


@pytest.mark.parametrize("ending", RUNTIMES)
@pytest.mark.thorough
def test_some_random_written_files_answer_as_their_pipelines(ending: str) -> None:
    compare(4, ending)


@pytest.mark.slow
@pytest.mark.parametrize("ending", RUNTIMES)
def test_300_random_written_files_answer_as_their_pipelines(ending: str) -> None:
    compare(300, ending)
