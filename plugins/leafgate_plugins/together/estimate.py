"""What is believed of people of whom nothing is proved: the distribution of maximum entropy."""

from __future__ import annotations

import numpy as np

from leafgate.algorithms.joint_classes import JointSystem
from leafgate.algorithms.joint_proofs import IMPOSSIBLE
from leafgate.algorithms.leaf_statements import NO_LIMIT
from leafgate.api import Floats, Ids, Mask

MAX_STEPS = 500
"""Steps of the search for the maximum; two trees of 200 leaves need about 100."""

MAX_GAP = 0.5
"""An estimate that misses a published number by more people than this is not near enough to be used."""

LARGEST_EXPONENT = 700.0
"""Exponents are cut off here, below the overflow of a double."""


CHANCE_OF_ALIKE = 0.05
"""The chance that is left, in a batch that is large enough, of a leaf whose newcomers all have the same value."""

MAX_BATCH = 10_000
"""No batch of more people a leaf is proposed."""


def batch_per_leaf(shares: Floats, leaves: int) -> int | None:
    """How many people should come in each leaf, so that hardly ever all of them have the same value there.

    With counts, what changes in a leaf is what those who came and left add up to. Where n people come, drawn from
    people with shares p_v of the values, they are alike with the chance s = sum over v of p_v^n; in none of L leaves
    with (1 - s)^L. That is no proof that nobody is proved: audit the next release with this one.

    Args:
        shares: of the values among all people; they sum to 1.
        leaves: of the tree, from 1.

    Returns:
        The least number for which some leaf has the same value for all with a chance of 5 % at most; None where it is
        larger than 10,000.

    >>> batch_per_leaf(np.array([0.7, 0.3]), 8), batch_per_leaf(np.array([0.7, 0.3]), 52)
    (15, 20)
    """
    for people in range(2, MAX_BATCH + 1):
        alike = float((shares**people).sum())
        if 1 - (1 - min(alike, 1.0)) ** leaves <= CHANCE_OF_ALIKE:
            return people
    return None


def stated_people(system: JointSystem) -> tuple[Floats, Mask]:
    """The people of each class by their value where releases state these numbers, as for a leaf of one class.

    Returns:
        Shape (n_classes, n_values), people; and shape (n_classes,), for which classes this is what is stated: each
        cell of these but one at most is alone in an equality.
    """
    is_alone = (np.diff(system.matrix.indptr) == 1) & (system.low == system.high)
    rows = np.flatnonzero(is_alone)
    place = system.matrix.indptr[rows]
    cells, coefficients = system.matrix.indices[place], system.matrix.data[place]
    people = np.full(len(system.cell_class), -1, dtype=np.int64)
    people[cells] = system.low[rows] // coefficients
    unstated = np.bincount(system.cell_class, weights=people < 0, minlength=system.n_classes)
    known = np.bincount(system.cell_class, weights=np.maximum(people, 0), minlength=system.n_classes)
    people = np.where(people < 0, (system.size - known)[system.cell_class], people)
    by_value = np.bincount(system.pair_of_cell, weights=people, minlength=system.n_classes * len(system.values))
    return by_value.astype(np.float64).reshape(system.n_classes, -1), np.asarray(unstated <= 1)


def maximum_entropy(system: JointSystem, state: Ids) -> tuple[Floats, float]:
    """The distribution of the secret of each class that is nearest to uniform and agrees with what is published.

    Of the real numbers x of people in cells that satisfy all constraints, with nobody where a value is impossible,
    those that maximise the sum over classes of n H(x / n), with n people in the class and H the entropy. It is an
    estimate: the mean over all whole assignments differs.

    Args:
        system: what the releases state.
        state: shape (n_classes, n_values), as `JointProofs.state` has it.

    Returns:
        The posterior of each class, shape (n_classes, n_values), whose rows sum to 1; and by how many people the sums
        differ from what is published, at most.

    Source: duality of maximum entropy, Berger, Della Pietra, Della Pietra, Computational Linguistics 22(1), 1996,
    section 2.4.
    Departure: constraints with limits on one or both sides, whose multipliers then have one sign.
    """
    from scipy.optimize import minimize

    size = system.size.astype(np.float64)
    first = np.searchsorted(system.cell_class, np.arange(system.n_classes))
    allowed = state[system.cell_class, system.cell_value] != IMPOSSIBLE
    matrix = system.matrix[system.n_classes :].astype(np.float64)
    low, high = system.low[system.n_classes :].astype(float), system.high[system.n_classes :].astype(float)
    has_low, has_high = low > -NO_LIMIT, high < NO_LIMIT
    # a multiplier from 0 for each lower limit, and one up to 0 for each upper limit; equalities have both
    rows = np.concatenate([np.flatnonzero(has_low), np.flatnonzero(has_high)])
    ends = np.concatenate([low[has_low], high[has_high]])
    sides = np.concatenate([np.ones(int(has_low.sum())), -np.ones(int(has_high.sum()))])
    signed = matrix[rows].T.tocsr() * sides

    def shares(multipliers: Floats) -> tuple[Floats, Floats]:
        exponent = np.where(allowed, signed @ multipliers, -LARGEST_EXPONENT)
        largest = np.maximum.reduceat(exponent, first)
        raised = np.where(allowed, np.exp(np.maximum(exponent - largest[system.cell_class], -LARGEST_EXPONENT)), 0.0)
        total = np.add.reduceat(raised, first)
        return raised / total[system.cell_class], largest + np.log(total)

    def dual(multipliers: Floats) -> tuple[float, Floats]:
        share, logarithm = shares(multipliers)
        people = share * size[system.cell_class]
        gradient = signed.T @ people - sides * ends
        return float(size @ logarithm - multipliers @ (sides * ends)), gradient

    multipliers = np.zeros(len(rows))
    if len(rows):
        bounds = [(0.0, None)] * len(rows)
        options = {"maxiter": MAX_STEPS, "maxfun": 2 * MAX_STEPS}
        multipliers = minimize(dual, multipliers, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    share, _ = shares(multipliers)
    sums = matrix @ (share * size[system.cell_class])
    gap = np.maximum(np.where(has_low, low - sums, 0.0), np.where(has_high, sums - high, 0.0)).max(initial=0.0)
    n_values = len(system.values)
    posterior: Floats = np.bincount(system.pair_of_cell, weights=share, minlength=system.n_classes * n_values).astype(
        float
    )
    return posterior.reshape(-1, n_values), float(gap)
