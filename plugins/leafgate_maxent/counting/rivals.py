"""The internal constraints that some data set breaks, as blocks of people that they compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from leafgate_maxent.choices import Choices
from leafgate_maxent.counting.census import Census
from leafgate_maxent.counting.extremes import least_impure, most_impure
from leafgate_maxent.counting.whole import TIE, impossible
from leafgate_maxent.problem import Problem
from leafgate_maxent.walk import Floats, Ids

AT_ONCE = 2_000
"""Constraints bounded together, so that the blocks of all of them never have to be held."""


@dataclass(frozen=True)
class Rivals:
    """Constraint i is `coefficients[i] @ impurity(blocks @ people) >= -tolerance[i]`.

    `blocks` adds up rows; block b varies with the units `units[b]` (a row of a sparse matrix).
    """

    blocks: sp.csr_array
    units: sp.csr_array
    coefficients: sp.csr_array
    tolerance: Floats
    gini: bool

    def __len__(self) -> int:
        return len(self.tolerance)


def rivals_of(problem: Problem, census: Census) -> Rivals:
    """The constraints that the leaves alone do not already imply. Raises InconclusiveError if one is always broken."""
    n_rows, n_units = census.unit.size, len(census.told)
    parts = [(sp.csr_array((0, n_rows)), sp.csr_array((0, n_units)), sp.csr_array((0, 0)), np.zeros(0))]
    for choices in problem.choices:
        parts += [
            _breakable(problem, census, choices, np.arange(start, min(start + AT_ONCE, len(choices))))
            for start in range(0, len(choices), AT_ONCE)
        ]
    blocks, units, coefficients, tolerance = zip(*parts, strict=True)
    found = Rivals(
        sp.csr_array(sp.vstack(blocks, format="csr")),
        sp.csr_array(sp.vstack(units, format="csr")),
        sp.csr_array(sp.block_diag(coefficients, format="csr")),
        np.concatenate(tolerance),
        any(choices.gini for choices in problem.choices),
    )
    if (np.diff((abs(found.coefficients) @ found.units).indptr) == 0).any():
        raise impossible()
    return found


def _breakable(
    problem: Problem, census: Census, choices: Choices, chosen: Ids
) -> tuple[sp.csr_array, sp.csr_array, sp.csr_array, Floats]:
    blocks, coefficients = choices.blocks(chosen)
    low, high, units = _ranges(census, blocks)
    people = blocks @ problem.weight
    least = least_impure(low, high, people, gini=choices.gini)
    most = most_impure(low, high, people, gini=choices.gini)
    slack = coefficients.maximum(0) @ least + coefficients.minimum(0) @ most
    tolerance = TIE * (choices.whole @ problem.weight)[choices.node[chosen]]
    kept = np.flatnonzero(slack < -tolerance)
    needed = np.unique(coefficients[kept].indices)
    narrowed = sp.csr_array(sp.csc_array(coefficients[kept])[:, needed])
    return sp.csr_array(blocks[needed]), sp.csr_array(units[needed]), narrowed, tolerance[kept]


def _ranges(census: Census, blocks: sp.csr_array) -> tuple[Floats, Floats, sp.csr_array]:
    """At least and at most how many people of each class are in each block, and the units it varies with."""
    pairs = sp.coo_array(blocks)
    n_units = len(census.told)
    keys, which = np.unique(pairs.row * n_units + census.unit[pairs.col], return_inverse=True)
    block, unit = keys // n_units, keys % n_units
    adding = sp.csr_array((np.ones(len(which)), (which, pairs.col)), shape=(len(keys), len(census.unit)))
    open_ = census.open[:, None] * census.free
    inside = adding @ open_.astype(np.float64)
    size = np.zeros(census.told.shape)
    np.add.at(size, census.unit, open_)
    told = census.told[unit]
    least = np.where(told >= 0, np.maximum(told - (size[unit] - inside), 0), 0)
    most = np.where(told >= 0, np.minimum(told, inside), inside)
    varies = ((inside > 0) & ~((told >= 0) & (inside == size[unit]))).any(axis=1)
    summing = sp.csr_array((np.ones(len(keys)), (block, np.arange(len(keys)))), shape=(blocks.shape[0], len(keys)))
    certain = blocks @ census.certain.astype(np.float64)
    units = sp.csr_array((np.ones(int(varies.sum())), (block[varies], unit[varies])), shape=(blocks.shape[0], n_units))
    return certain + summing @ least, certain + summing @ most, units
