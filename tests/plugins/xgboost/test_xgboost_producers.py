"""What files of XGBoost say that the producer matrix (tests/plugins/test_producers.py) does not compare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data_files import CASES
from installed_readers import read_foreign
from producer_archive import Archive, archives_in, columns_of
from producer_matrix import scores_of

ARCHIVES = archives_in(Path(__file__).parent / "producers")
SINGLE = 4e-6
"""Sums in single precision, in another order, differ by this part of the largest."""


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.version)
def test_the_producer_is_the_version_that_wrote_the_file(archive: Archive) -> None:
    name = archive.answered[0]
    assert read_foreign(archive.models[name], name).producer == f"XGBoost {archive.version}"


OTHERS = sorted((CASES / "xgboost").glob("*.json")) if CASES.is_dir() else []


@pytest.mark.skipif(not OTHERS, reason="the cases are not here: set LEAFGATE_CASES to the folder that holds `xgboost`")
@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_the_small_cases_are_read_as_their_producer_answers(path: Path) -> None:
    answers = columns_of(path.with_suffix(".csv").read_text())
    model = read_foreign(path.read_bytes(), path.name)
    scores = scores_of(model, np.column_stack([answers[name] for name in model.features]))
    if scores.shape[1] == 2:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        expected = np.column_stack([answers["p0"], answers["p1"]])
        assert powers / powers.sum(axis=1, keepdims=True) == pytest.approx(expected, rel=SINGLE)
    elif model.classes:
        assert 1 / (1 + np.exp(-scores[:, 0])) == pytest.approx(answers["p0"], rel=SINGLE)
    else:
        assert scores[:, 0] == pytest.approx(answers["p0"], rel=SINGLE)
