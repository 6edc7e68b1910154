"""Files of models that must be refused, or that may be read where they are still models."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from command_line import leafgate
from installed_readers import is_foreign, read_foreign
from leafgate.errors import ReleaseError
from leafgate.ir.model import LEAF
from leafgate.models.scrub.scrub import leaves_of

POLICY = """
leafgate: 1
name: model
data:
  columns:
    age: {role: quasi_identifier, bounds: [0, 99]}
    y: {role: [class, sensitive], values: [low, high]}
build: {use: published, path: NAME}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, at_least: 2}]
"""


def assert_refused(folder: Path, name: str, content: bytes) -> str:
    """The audit knows the format, and ends in exit code 2 with one clear error about the file; what it printed."""
    assert is_foreign(content[:4096])
    (folder / "policy.yaml").write_text(POLICY.replace("NAME", name))
    (folder / "people.csv").write_text("age,y\n30,low\n40,high\n")
    (folder / name).write_bytes(content)
    ended = leafgate("audit", folder / "policy.yaml", folder / "people.csv", "--json")
    assert ended.code == 2
    assert ended.problems[0]["place"].startswith(name)
    return ended.out


def assert_read_or_refused(content: bytes, place: str) -> None:
    """ReleaseError refuses the file, or it is a model in which every row ends in a leaf of each tree."""
    try:
        model = read_foreign(content, place)
    except ReleaseError:
        return
    rows = np.array([np.zeros(len(model.features)), np.full(len(model.features), np.nan)])
    for tree in model.trees:
        assert (tree.feature[leaves_of(tree, rows)] == LEAF).all()
