"""Files of versions of XGBoost, which `producers/make_xgboost_files.py` made, are read as these versions predict."""

from __future__ import annotations

import csv
import io
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from data_files import CASES
from installed_readers import read_foreign
from leafgate.ir.model import Floats, ModelIR
from leafgate_convert.scrub import predicted, votes

PRODUCERS = sorted((Path(__file__).parent / "producers").glob("*.zip"))
VERSIONS = [path.stem for path in PRODUCERS]
SINGLE = 4e-6
"""Sums in single precision, in another order, differ by this part of the largest."""


@cache
def files_of(version: str) -> dict[str, bytes]:
    """The files that one version wrote, by their names."""
    with zipfile.ZipFile(Path(__file__).parent / "producers" / f"{version}.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def columns_of(content: str) -> dict[str, Floats]:
    """The columns of a CSV file of numbers; empty cells are NaN."""
    names, *rows = csv.reader(io.StringIO(content))
    cells = np.array([[float(cell or "nan") for cell in row] for row in rows])
    return dict(zip(names, cells.T, strict=True))


def models_of(version: str) -> dict[str, bytes]:
    return {name: content for name, content in files_of(version).items() if not name.endswith(".csv")}


EACH_MODEL = [(version, name) for version in VERSIONS for name in models_of(version)]


def scores_of(model: ModelIR, rows: Floats) -> Floats:
    """The scores of each row: of a class each, or of the second of two."""
    scores = votes(model, rows)
    alone = len(model.classes) == 2 and all(tree.output is None for tree in model.trees)
    return scores[:, 1:] if alone else scores


@pytest.mark.parametrize(("version", "name"), EACH_MODEL)
def test_scores_and_labels_are_those_of_the_producer(version: str, name: str) -> None:
    rows, margins, labels = (columns_of(files_of(version)[f"{n}.csv"].decode()) for n in ("rows", "margins", "labels"))
    case = name.rpartition(".")[0]
    model = read_foreign(models_of(version)[name], name)
    x = np.column_stack(list(rows.values()))
    expected = np.column_stack([column for key, column in margins.items() if key.rpartition(".")[0] == case])
    assert scores_of(model, x) == pytest.approx(expected, abs=SINGLE * max(1.0, float(abs(expected).max())))
    assert (case in labels) == bool(model.classes)
    if case in labels:
        assert np.array_equal(predicted(model, x), labels[case])
    assert model.producer == f"XGBoost {version}"


@pytest.mark.parametrize(("version", "name"), EACH_MODEL)
def test_nothing_that_a_version_writes_is_other_content_but_what_it_pruned(version: str, name: str) -> None:
    kinds = {item.kind for item in read_foreign(models_of(version)[name], name).discloses}
    assert ("other_content" in kinds) == ("pruned" in name)


def test_the_versions_are_those_that_the_documentation_names() -> None:
    assert VERSIONS == ["1.7.6", "2.1.4", "3.0.5", "3.2.0", "3.3.0", "3.4.1"]
    cases = [{name.rpartition(".")[0] for name in models_of(version)} for version in VERSIONS]
    assert all(each | {"quantileerror"} == cases[-1] for each in cases)  # 1.7 had no such objective


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
