"""Python looks for no unused cycles while a large release is read, and goes on afterwards as before."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from leafgate import Release, ReleaseError
from leafgate.api import Branch, CategoricalSplit, Leaf, Schema
from leafgate.app import read_release, serialize
from random_tables import categorical

VALUES = tuple(f"v{number}" for number in range(20_000))
COLUMNS = (categorical("job", "quasi_identifier", values=VALUES), categorical("ill", "class", values=("no", "yes")))
TREE = CategoricalSplit("job", tuple(Branch((each,), Leaf("no", {"no": 2, "yes": 0})) for each in VALUES))
LARGE = serialize(Release({"use": "test"}, Schema(COLUMNS), (TREE,))).content


@contextmanager
def searches_counted() -> Iterator[list[str]]:
    """The searches for cycles that Python begins."""
    begun: list[str] = []

    def count(phase: str, info: dict[str, Any]) -> None:
        begun.extend([phase] if phase == "start" else [])

    gc.callbacks.append(count)
    try:
        yield begun
    finally:
        gc.callbacks.remove(count)


def test_no_cycles_are_looked_for_while_a_release_is_read() -> None:
    with searches_counted() as begun:
        read_release(LARGE, "release")
    assert len(begun) <= 2  # at the end, when searches go on
    assert gc.isenabled()


def test_cycles_are_looked_for_again_after_an_error() -> None:
    with pytest.raises(ReleaseError):
        read_release(LARGE[:-9], "release")
    assert gc.isenabled()


def test_a_process_that_never_looks_for_cycles_does_not_begin_to() -> None:
    gc.disable()
    try:
        read_release(LARGE, "release")
        assert not gc.isenabled()
    finally:
        gc.enable()
