"""The skops files of estimators in memory: the same bytes every time, and what skops itself would write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import skops.io

from installed_readers import BY_NAME
from leafgate import ReleaseError
from sklearn_zoo import CLASSIFIERS, rows, skops_bytes

SKOPS = BY_NAME["skops"]


def to_file(thing: object) -> tuple[str, bytes] | None:
    """The file of an object, as the reader of skops files writes it."""
    assert SKOPS.to_file is not None
    return SKOPS.to_file(thing)


def fitted(name: str) -> Any:
    made = rows(0, 200)
    return CLASSIFIERS[name].fit(made, (made[:, 0] > 0).astype(int))


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "hist categories"])
def test_an_estimator_has_one_file_that_says_what_skops_writes(name: str) -> None:
    model = fitted(name)
    written = to_file(model)
    assert written == to_file(model)
    assert written is not None
    assert written[0] == "model.skops"
    ours, theirs = SKOPS.read(written[1], "m"), SKOPS.read(skops_bytes(model), "m")
    assert ours.disclosures == theirs.disclosures
    assert all(
        np.array_equal(one.values, other.values) and np.array_equal(one.threshold, other.threshold, equal_nan=True)
        for one, other in zip(ours.trees, theirs.trees, strict=True)
    )
    loaded = skops.io.loads(written[1], trusted=skops.io.get_untrusted_types(data=written[1]))
    made = rows(1, 100)
    assert np.array_equal(loaded.predict_proba(made), model.predict_proba(made))


def test_objects_of_other_libraries_are_left_to_others() -> None:
    assert to_file(object()) is None
    assert to_file(np.zeros(3)) is None


def test_an_estimator_that_skops_cannot_save_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(thing: object) -> bytes:
        raise TypeError("a cell")

    model = fitted("tree")
    monkeypatch.setattr("skops.io.dumps", fail)
    with pytest.raises(ReleaseError, match=r"cannot be saved by skops \(TypeError\)") as caught:
        to_file(model)
    assert "a cell" not in str(caught.value)
