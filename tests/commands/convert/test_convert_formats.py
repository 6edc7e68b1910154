"""The ending of the new file's name says in which format `leafgate convert` and `scrub` write."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from feature_rows import predicted
from installed_readers import read_foreign
from repairs import fit_in, people, policy_file
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


@pytest.mark.parametrize("command", [("convert",), ("scrub", "--leaves", "shares")])
@pytest.mark.thorough
def test_a_name_without_an_ending_is_a_neutral_file(tmp_path: Path, command: tuple[str, ...]) -> None:
    for name in ("new.json", "new.JSON", "new"):
        assert leafgate(command[0], model_file(tmp_path), tmp_path / name, *command[1:]).code == 0
        assert (tmp_path / name).read_bytes().startswith(b'{"format":"leafgate/model/1"')


@pytest.mark.parametrize("command", [("convert",), ("scrub", "--leaves", "shares")])
@pytest.mark.parametrize("name", ["new.neutral", "new.pmml", "new.json.gz", "new.joblib", "new.ubj"])
def test_an_ending_that_nobody_writes_is_refused(tmp_path: Path, command: tuple[str, ...], name: str) -> None:
    ended = leafgate(command[0], model_file(tmp_path), tmp_path / "folder" / name, *command[1:])
    assert ended.code == 2
    assert f"{name}: is of a format that no installed plugin writes" in ended.err
    assert ".json, .onnx, .skops" in ended.err
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize("leaves", ["labels", "shares"])
@pytest.mark.parametrize("ending", [".onnx", ".skops"])
@pytest.mark.thorough
def test_a_scrubbed_file_is_of_the_format_of_its_ending(tmp_path: Path, leaves: str, ending: str) -> None:
    policy, given = people_and_policy(tmp_path), tmp_path / "model.skops"
    new = tmp_path / f"new{ending}"
    ended = leafgate("scrub", given, new, "--leaves", leaves, "--policy", policy)
    assert ended.code == 0, ended.err
    before, after = (read_foreign(path.read_bytes(), path.name) for path in (given, new))
    assert (after.format, after.level) == (ending[1:] if ending == ".onnx" else before.format, leaves)
    points = rows(7)
    wide = np.zeros((len(points), len(before.features)))
    wide[:, : points.shape[1]] = points[:, : wide.shape[1]]
    mine = wide[:, [before.features.index(name) for name in after.features]]
    np.testing.assert_array_equal(
        np.array(after.classes)[predicted(after, mine)], np.array(before.classes)[predicted(before, wide)]
    )
    assert leafgate("audit", changed(policy, new.name)).code == 0


def test_a_scrubbed_file_that_cannot_say_what_is_unproved_needs_a_policy(tmp_path: Path) -> None:
    people_and_policy(tmp_path)
    ended = leafgate("scrub", tmp_path / "model.skops", tmp_path / "new.onnx", "--leaves", "labels")
    assert ended.code == 2
    assert "new.onnx: cannot record that no table has shown what" in ended.err
    assert "--policy" in ended.err
    assert not (tmp_path / "new.onnx").exists()


def people_and_policy(folder: Path) -> Path:
    """A policy that publishes shares of a tree, beside the tree and its people."""
    fit_in(folder, people(1, 300), DecisionTreeClassifier(max_depth=3, min_samples_leaf=20, random_state=0))
    return policy_file(folder, [{"use": "k_anonymity", "at_least": 10}], leaves="shares")


def changed(policy: Path, name: str) -> Path:
    """The policy for another file."""
    document = json.loads(policy.read_text())
    document["build"]["path"] = name
    policy.write_text(json.dumps(document))
    return policy


def test_a_skops_file_cannot_be_made_of_a_neutral_one(tmp_path: Path) -> None:
    leafgate("convert", model_file(tmp_path), tmp_path / "new.json")
    ended = leafgate("convert", tmp_path / "new.json", tmp_path / "again.skops")
    assert ended.code == 2
    assert "needs the skops file of the model" in ended.err
    assert not (tmp_path / "again.skops").exists()
