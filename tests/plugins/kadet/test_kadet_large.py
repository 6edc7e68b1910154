"""kADET on tables that do not fit into memory grows the trees of tables that do, whatever it requires."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import new_builder, new_source
from engine_files import section
from leafgate import NoReleaseError
from leafgate.algorithms.induction import large
from leafgate.api import LargeTable
from leafgate.app import serialize
from table_files import any_table_in, in_blocks, table_in

pytest.importorskip("duckdb", reason="DuckDB is not installed")

CLASSES: Sequence[dict[str, Any]] = [
    {"role": ["class", "sensitive"], "values": ["0", "1", "2"]},
    {"role": "class", "values": ["0", "1", "2"]},
    {"role": ["class", "sensitive"], "bins": [0, 1.5, 2]},
]
"""A secret class, a class that is no secret, and a secret class of numbers."""
REQUIRED: Sequence[dict[str, Any]] = [
    {"use": "exposure"},
    {"use": "exposure", "insiders": 1},
    {"use": "exposure", "insiders": 1, "secret": "club", "values": ("x",)},
    {"use": "confidence", "at_most": 0.7, "secret": "club", "values": ("y", "z")},
]


def people(rng: np.random.Generator, size: int) -> pd.DataFrame:
    """People whose class and club depend on their age and town."""
    age, town = rng.integers(0, 9, size), rng.choice(["a", "b", "c"], size)
    club = np.where(rng.random(size) < 0.08 * age, "x", rng.choice(["y", "z"], size))
    grade = np.minimum(2, (age + rng.integers(0, 4, size) + 3 * (town == "b")) // 5)
    return pd.DataFrame({"age": age, "town": town, "club": club, "grade": grade})


def release_file(builder: Any, path: Path, columns: dict[str, Any], *, in_blocks: bool) -> bytes | str:
    """The bytes of the release, or why there is none."""
    data, rng = section(new_source("duckdb"), columns=columns, missing=[]), np.random.default_rng(0)
    try:
        if not in_blocks:
            return serialize(builder.build(table_in(data, path), rng)).content
        found = any_table_in(data, path)
        assert isinstance(found, LargeTable)
        return serialize(builder.build_large(found, rng)).content
    except NoReleaseError as error:
        return str(error)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(20, 150),
    st.sampled_from(CLASSES),
    st.sampled_from(["quasi_identifier", "private"]),
    st.sampled_from(REQUIRED),
)
@pytest.mark.thorough
def test_the_tree_of_a_large_table_is_that_of_the_same_people_in_memory(
    seed: int, size: int, target: dict[str, Any], role_of_town: str, required: dict[str, Any]
) -> None:
    columns: dict[str, Any] = {
        "age": {"role": "quasi_identifier", "bounds": [0, 10]},
        "town": {"role": role_of_town, "values": ["a", "b", "c"]},
        "club": {"role": "sensitive", "values": ["x", "y", "z"]},
        "grade": target,
    }
    builder = new_builder("kadet", k=2, prune=False, require=(required,))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        people(np.random.default_rng(seed), size).to_parquet(path := Path(folder) / "people.parquet")
        small = release_file(builder, path, columns, in_blocks=False)
        in_blocks(patched, size=7)
        patched.setattr(large, "PART_RECORDS", 11)
        assert release_file(builder, path, columns, in_blocks=True) == small
