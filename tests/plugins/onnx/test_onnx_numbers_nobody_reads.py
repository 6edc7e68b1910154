"""Numbers of an ONNX file that no reader takes into account are told: they could spell a text."""

from collections.abc import Callable
from functools import cache

import numpy as np
import onnx
import pytest
import skl2onnx
from sklearn.tree import DecisionTreeClassifier

from installed_readers import read_foreign

TEXT = b"Jane Doe has flu"


@cache
def saved() -> bytes:
    ages = np.arange(20, 60, dtype=np.float32)[:, None]
    rows = np.hstack([ages, np.zeros((len(ages), 127), dtype=np.float32)])  # a feature for each letter
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, (ages[:, 0] // 5 % 2).astype(int))
    model = skl2onnx.to_onnx(tree, rows[:1], options={"zipmap": False})
    return bytes(model.SerializeToString())


def other_content(content: bytes) -> list[str]:
    return [item.severity for item in read_foreign(content, "model.onnx").discloses if item.kind == "other_content"]


def with_leaves(key: str) -> bytes:
    """The file with letters in the places of a list that belong to leaves."""
    model = onnx.ModelProto.FromString(saved())
    attributes = {attribute.name: attribute for attribute in model.graph.node[0].attribute}
    letters = iter(TEXT * 9)
    numbers = attributes[key].ints
    for i, mode in enumerate(attributes["nodes_modes"].strings):
        if mode == b"LEAF":
            numbers[i] = next(letters)
    return bytes(model.SerializeToString())


def with_fields(*fields: bytes) -> bytes:
    """The file with more fields of the model behind its first."""
    return saved()[:2] + b"".join(fields) + saved()[2:]


SPELLED: dict[str, Callable[[], bytes]] = {
    "features of leaves": lambda: with_leaves("nodes_featureids"),
    "left children of leaves": lambda: with_leaves("nodes_truenodeids"),
    "right children of leaves": lambda: with_leaves("nodes_falsenodeids"),
    "versions of the model": lambda: with_fields(*(bytes([5 << 3, letter]) for letter in TEXT)),
    "versions of operators": lambda: with_fields(*(bytes([8 << 3 | 2, 2, 2 << 3, letter]) for letter in TEXT)),
    "versions in one set of operators": lambda: with_fields(
        bytes([8 << 3 | 2, 2 * len(TEXT)]), *(bytes([2 << 3, letter]) for letter in TEXT)
    ),
}


def test_what_skl2onnx_writes_is_no_other_content() -> None:
    assert other_content(saved()) == []


@pytest.mark.parametrize("place", SPELLED)
def test_numbers_that_could_spell_a_text_are_other_content(place: str) -> None:
    assert other_content(SPELLED[place]())
