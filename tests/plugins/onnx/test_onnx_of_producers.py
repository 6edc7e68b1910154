"""Every file of the producer matrix written as ONNX: onnxruntime and what is read back answer as the model routes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from installed_readers import onnx_file, read_foreign
from leafgate.api import ReleaseError
from leafgate.readers import ModelIR
from onnx_pipelines import session
from producer_matrix import PRODUCERS, Producer, model_of
from routed_answers import cells_of, expected

REFUSED = ("asks about nothing", "has a leaf that says no class", "predicts by the exponential", "by calibrated sums")


@pytest.mark.parametrize("producer", PRODUCERS, ids=lambda producer: producer.name)
@pytest.mark.thorough
def test_files_of_the_producer_matrix_answer_alike_as_onnx(producer: Producer) -> None:
    archive = producer.archives[-1]
    refused, compared = 0, 0
    for number, name in enumerate(archive.models):
        try:
            model = model_of(archive, name)
        except ReleaseError:
            continue
        try:
            content = onnx_file(model)
        except ReleaseError as error:
            if not any(why in str(error) for why in REFUSED):
                raise
            refused += 1
            continue
        compared += 1
        _compare(model, content, cells_of(model, 200, number), name)
    assert compared > 2 * refused


def _compare(model: ModelIR, content: bytes, cells: dict[str, list[Any]], name: str) -> None:
    labels, scores = expected(model, cells)
    running = session(content)
    answers = running.run(
        None, {each.name: _given(each, cells.get(each.name), len(labels)) for each in running.get_inputs()}
    )
    taken = np.array([label is not None for label in labels], dtype=bool)
    again, _ = expected(read_foreign(content, name), cells)
    if not model.classes:
        np.testing.assert_allclose(answers[0][taken, 0], np.array(labels)[taken].astype(float), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(
            np.array(again)[taken].astype(float), np.array(labels)[taken].astype(float), rtol=1e-9
        )
        return
    clear = taken
    if scores is not None and model.values != "labels":
        clear = taken & (np.ptp(np.sort(scores, axis=1)[:, -2:], axis=1) > 1e-9)
        if model.link == "softmax":
            np.testing.assert_allclose(answers[1][taken], scores[taken], atol=5e-6, err_msg=name)
    assert answers[0][clear].astype(str).tolist() == np.array(labels)[clear].tolist(), name
    assert np.array(again)[clear].tolist() == np.array(labels)[clear].tolist(), name


def _given(given: Any, column: list[Any] | None, n: int) -> Any:
    """A column as onnxruntime is given it: empty texts and NaN in place of missing cells."""
    cells = [None] * n if column is None else column
    if "string" in given.type:
        return np.array([["" if cell is None else str(cell)] for cell in cells], dtype=object)
    return np.array([[math.nan if cell is None else float(cell)] for cell in cells], dtype=np.float64)
