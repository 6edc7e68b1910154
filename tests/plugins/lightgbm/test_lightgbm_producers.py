"""What files of LightGBM say that the producer matrix (tests/plugins/test_producers.py) does not compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from installed_readers import read_foreign
from producer_archive import archives_in

NEWEST = archives_in(Path(__file__).parent / "producers")[-1]


@pytest.mark.parametrize("name", ["multiclass-of-two.txt", "one-versus-all-of-two.txt"])
def test_the_estimator_that_fits_two_classes_with_a_tree_each_is_not_known(name: str) -> None:
    model = read_foreign(NEWEST.models[name], name)
    assert {tree.output for tree in model.trees} == {0, 1}
    assert model.learner is None
    assert read_foreign(NEWEST.models["multiclass.txt"], "multiclass").learner is not None
