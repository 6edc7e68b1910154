"""How many people some cells have at most, compared with every assignment there is."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from leafgate import InconclusiveError
from leafgate.algorithms.joint_bounds import most_people
from leafgate.algorithms.joint_classes import JointSystem
from leafgate.algorithms.joint_proofs import Proof, people_at_most
from leafgate.algorithms.leaf_statements import NO_LIMIT
from leafgate.api import Ids

CASES = 300

MOST = 3
"""People of a class."""


def system_of(rng: np.random.Generator) -> JointSystem:
    """Two classes of three cells, and constraints of all kinds that one assignment keeps."""
    truth = rng.integers(0, 2, 6)
    cell_class = np.repeat([0, 1], 3)
    size = np.bincount(cell_class, weights=truth).astype(np.int64)
    rows, low, high = [cell_class == 0, cell_class == 1], [*size], [*size]
    for _ in range(rng.integers(0, 4)):
        row = rng.integers(-1, 3, 6)
        total, kind = int(row @ truth), rng.integers(3)
        rows.append(row)
        low.append(-NO_LIMIT if kind == 1 else total - (kind == 2))
        high.append(NO_LIMIT if kind == 2 else total + (kind == 1))
    return JointSystem(
        class_of=np.zeros(0, dtype=np.int64),
        size=size,
        present=np.ones((2, 1), dtype=bool),
        cell_class=cell_class,
        cell_value=np.zeros(6, dtype=np.int64),
        values=(None,),
        matrix=csr_array(np.array(rows).astype(np.int64)),
        low=np.array(low),
        high=np.array(high),
        tree=np.full(len(low), -1),
        leaf=np.full(len(low), -1),
    )


def assignments(system: JointSystem) -> Ids:
    """All that agree with the constraints: shape (n_assignments, n_cells)."""
    every = np.array([*itertools.product(range(MOST + 1), repeat=6)])
    sums = every @ system.matrix.toarray().T
    return np.asarray(every[((sums >= system.low) & (sums <= system.high)).all(axis=1)])


@pytest.mark.thorough
def test_the_most_people_are_those_of_all_assignments() -> None:
    proofs = 0
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        system = system_of(rng)
        cells = rng.random(6) < 0.5
        truth = int(assignments(system)[:, cells].sum(axis=1).max())
        most = most_people(system, cells)
        assert (most.people, most.found, most.is_exact) == (truth, truth, True)
        relaxed = most_people(system, cells, whole=False)
        assert relaxed.people >= truth
        for each in (most, relaxed):
            if each.proof is not None:
                assert people_at_most(system, each.proof) == each.people
                proofs += 1
    assert proofs > CASES


def test_without_time_the_limit_holds() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        system = system_of(rng)
        cells = rng.random(6) < 0.5
        most = most_people(system, cells, time_limit=0.0)
        assert most.people >= int(assignments(system)[:, cells].sum(axis=1).max())


def test_multipliers_without_an_end_prove_nothing() -> None:
    system = system_of(np.random.default_rng(0))
    low = np.append(system.low, 0)
    high = np.append(system.high, NO_LIMIT)
    rows = np.concatenate([system.matrix.toarray(), np.ones((1, 6), dtype=np.int64)])
    open_above = JointSystem(**{**vars(system), "matrix": csr_array(rows), "low": low, "high": high})
    proof = Proof(cells=np.arange(6), multipliers={len(low) - 1: Fraction(1)})
    assert people_at_most(open_above, proof) is None


def test_what_no_people_can_have_is_refused() -> None:
    system = system_of(np.random.default_rng(0))
    rows = np.concatenate([system.matrix.toarray(), np.ones((1, 6), dtype=np.int64)])
    wrong = int(system.size.sum()) + 1
    low, high = np.append(system.low, wrong), np.append(system.high, wrong)
    impossible = JointSystem(**{**vars(system), "matrix": csr_array(rows), "low": low, "high": high})
    with pytest.raises(InconclusiveError, match="no whole numbers of people agree"):
        most_people(impossible, np.ones(6, dtype=bool), time_limit=math.inf)
