"""The ending of the new file's name says in which format `leafgate convert` writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from installed_readers import read_foreign
from sklearn_zoo import answers, rows, skops_bytes


def model_file(folder: Path) -> Path:
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows(1), answers(rows(1), 2))
    (folder / "model.skops").write_bytes(skops_bytes(tree))
    return folder / "model.skops"


def test_a_skops_file_is_written_by_its_ending(tmp_path: Path) -> None:
    ended = leafgate("convert", model_file(tmp_path), tmp_path / "new.skops")
    assert ended.code == 0, ended.err
    before, after = (read_foreign((tmp_path / f"{name}.skops").read_bytes(), name) for name in ("model", "new"))
    assert {"seed"} <= {item.kind for item in before.discloses} - {item.kind for item in after.discloses}
    np.testing.assert_array_equal(before.trees[0].threshold, after.trees[0].threshold)


def test_an_onnx_file_is_written_by_its_ending_from_a_neutral_file_too(tmp_path: Path) -> None:
    assert leafgate("convert", model_file(tmp_path), tmp_path / "new.json").code == 0
    assert leafgate("convert", tmp_path / "new.json", tmp_path / "new.ONNX").code == 0
    assert leafgate("convert", tmp_path / "model.skops", tmp_path / "direct.onnx").code == 0
    assert (tmp_path / "new.ONNX").read_bytes() == (tmp_path / "direct.onnx").read_bytes()
    assert read_foreign((tmp_path / "new.ONNX").read_bytes(), "new").level != "labels"


def test_other_endings_are_neutral_files(tmp_path: Path) -> None:
    for name in ("new.json", "new.neutral"):
        assert leafgate("convert", model_file(tmp_path), tmp_path / name).code == 0
        assert (tmp_path / name).read_bytes().startswith(b'{"format":"leafgate/model/1"')


def test_a_skops_file_cannot_be_made_of_a_neutral_one(tmp_path: Path) -> None:
    leafgate("convert", model_file(tmp_path), tmp_path / "new.json")
    ended = leafgate("convert", tmp_path / "new.json", tmp_path / "again.skops")
    assert ended.code == 2
    assert "needs the skops file of the model" in ended.err
    assert not (tmp_path / "again.skops").exists()
