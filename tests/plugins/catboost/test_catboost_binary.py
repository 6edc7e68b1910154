"""CatBoost's binary files (.cbm): opened by CatBoost in a process of its own, where their owner trusts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leafgate
from installed_readers import read_foreign
from leafgate.commands.convert.predict import Model
from leafgate.errors import ReleaseError
from leafgate.models.library import rewritten
from leafgate_plugins.catboost import BINARY, CATBOOST

catboost = pytest.importorskip("catboost.core", reason="CatBoost is not installed")  # a folder of tests is called so

QUIET = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}


def fitted(seed: int) -> tuple[Any, Any]:
    """A random model of two classes, of three, or of a number, and rows beside its borders."""
    rng = np.random.default_rng(seed)
    size, classes = int(rng.integers(60, 300)), int(rng.choice([0, 2, 3]))
    x = np.column_stack([rng.normal(size=size) * 1e3, rng.integers(0, 9, size), rng.normal(size=size).round(1)])
    x[rng.random(x.shape) < 0.05] = np.nan
    y = np.nan_to_num(x[:, 0]) / 1e3 + np.nan_to_num(x[:, 1]) / 3 + rng.normal(size=size)
    options = {"iterations": int(rng.integers(1, 12)), "depth": int(rng.integers(1, 5)), "random_seed": seed, **QUIET}
    options |= {"grow_policy": str(rng.choice(["SymmetricTree", "Depthwise", "Lossguide"]))}
    if classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, classes) / classes), y)
        options |= {"loss_function": "Logloss" if classes == 2 else "MultiClass"}
    model = (catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor)(**options).fit(x, y)
    listed = [np.array(each, dtype=np.float32) for each in model.get_borders().values()]
    borders = [each[abs(each) < 1e30] for each in listed]
    beside = [np.nextafter(each, np.float32(side)) for each in borders for side in (-np.inf, np.inf)]
    pool = np.concatenate([*borders, *beside, x.ravel(), [np.nan] * 9]).astype(float)
    return model, rng.choice(pool, (300, 3))


def check(seed: int, folder: Path) -> None:
    model, rows = fitted(seed)
    model.save_model(str(folder / "model.cbm"))
    ended = leafgate("convert", folder / "model.cbm", folder / "new.json", "--trust")
    assert ended.code == 0, ended.err
    script = Model(json.loads((folder / "new.json").read_bytes()))
    said = script.predict({name: rows[:, int(name)].tolist() for name in script.columns} or {"": [None] * len(rows)})
    theirs = np.ravel(model.predict(rows))
    if len(script.classes):
        assert [str(each) for each in said] == [str(each) for each in theirs]
    else:
        assert np.allclose(np.array(said, dtype=float), theirs, rtol=1e-9, atol=1e-9)


def test_a_binary_file_is_read_as_it_predicts(tmp_path: Path) -> None:
    check(0, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(1, 8))
def test_random_binary_files_are_read_as_they_predict(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


def test_nobody_opens_one_without_being_told_to(tmp_path: Path) -> None:
    path = tmp_path / "model.cbm"
    path.write_bytes(BINARY + b"anything")
    ended = leafgate("convert", path, tmp_path / "new.json")
    assert ended.code == 2
    assert "--trust" in ended.err
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize("content", [b"", b"\0" * 400, b"\xff" * 40])
def test_a_file_that_catboost_cannot_open_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.cbm"
    path.write_bytes(BINARY + content)
    ended = leafgate("convert", path, tmp_path / "new.json", "--trust")
    assert ended.code == 2
    assert "its library cannot answer for it" in ended.err


def test_statistics_of_categories_are_refused_by_name() -> None:
    rng = np.random.default_rng(0)
    texts = rng.choice(list("abcdefghij"), 200).astype(object)
    y = (texts < "e").astype(int) ^ (rng.random(200) < 0.1)
    model = catboost.CatBoostClassifier(iterations=5, one_hot_max_size=2, **QUIET).fit(
        np.column_stack([texts, texts]), y, cat_features=[0, 1]
    )
    assert CATBOOST.rewrites is not None
    content = rewritten(bytes(model._serialize_model()), CATBOOST.rewrites[1], "model.cbm")
    with pytest.raises(ReleaseError, match="statistics of categories"):
        read_foreign(content, "model.cbm")
