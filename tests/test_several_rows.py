"""Trees of patients with several rows (docs/reproduce/several_rows.py): what passes, and its adversary."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from example_counts import seeds

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture
def script(scripts: Callable[[str], ModuleType]) -> ModuleType:
    """The page's script."""
    return scripts("several_rows")


def by_enumeration(rows: np.ndarray, truth: np.ndarray) -> bool:
    """Has somebody one illness in all assignments that agree with the leaves and with one insider, or none?"""
    everything = np.array(list(itertools.product([False, True], repeat=len(truth))))
    agreeing = everything[(everything @ rows == truth @ rows).all(axis=1)]
    for insider in (None, *range(len(truth))):
        known = agreeing if insider is None else agreeing[agreeing[:, insider] == truth[insider]]
        certain = (known == known[0]).all(axis=0)
        if certain[[person for person in range(len(truth)) if person != insider]].any():
            return True
    return False


@pytest.mark.parametrize("seed", seeds(60))
def test_the_adversary_is_certain_of_what_the_enumeration_says(script: ModuleType, seed: int) -> None:
    """On one leaf sums of rows decide it; on several an integer programme does, and sums never say more."""
    rng = np.random.default_rng(seed)
    n_leaves, n = int(rng.choice([1, 3])), int(rng.integers(4, 10))
    rows, truth = np.zeros((n, n_leaves), dtype=np.int64), rng.random(n) < 0.5
    for person in range(n):
        for leaf in rng.integers(n_leaves, size=int(rng.integers(1, n_leaves + 1))):
            rows[person, leaf] += int(rng.integers(1, 3))
    expected = by_enumeration(rows, truth)
    assert script.by_programme(rows, truth) == expected
    assert script.by_leaf(rows, truth) <= expected
    assert n_leaves > 1 or script.by_leaf(rows, truth) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_no_tree_passes_by_which_somebody_is_certain(script: ModuleType, seed: int) -> None:
    for law in script.LAWS:
        outcome = script.outcome_of(1000 + seed, law)
        assert not (outcome.verdict == "pass" and outcome.certain)
