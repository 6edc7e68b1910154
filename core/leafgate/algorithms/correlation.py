"""The Matthews correlation of guesses with the truth, and what one guess gains over another by it.

Its interval is approximate, other than those in `intervals`: simulations check how often it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.algorithms.intervals import Estimate
from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np
    from scipy import special

    from leafgate.kernel.arrays import Codes, Floats
else:
    np, special = lazy("numpy"), lazy("scipy.special")

SMALLEST_SPREAD = 1e-14
"""Where the product of two variances is not above this, one of them is 0 but for floating point."""
BOOTSTRAP_DRAWS = 1000
"""How many laws of the cells the interval of a Matthews correlation draws."""
CELL_PRIOR = 0.5
"""What is added to the count of each cell: Jeffreys's prior of a share."""
MAX_PRIOR = 4.0
"""What is added to the counts of all cells together, at most: as much as eight cells of a column of two values get."""
MAX_EMPTY_CELLS = 200
"""So many empty cells, drawn at random, stand for all of them."""
MAX_UNSEEN_VALUES = 20
"""Of a column with more values people are added only with those that somebody has."""
MAX_ADDED = 8.0
"""So many people are added, with all values together, at most."""
MAX_LISTED_CELLS = 1_000_000
"""Up to so many cells are listed. Of more, which might not fit into memory, empty ones are drawn."""


def matthews_correlation(right: Floats, truth: Floats, guess: Floats) -> Floats:
    """The Matthews correlation of guesses with the truth, for any number of values; 0 where one of both is constant.

    Args:
        right: shape (n,), for each of n groups of people the share of right guesses.
        truth: shape (n, n_values), the share of each value.
        guess: shape (n, n_values), the share of each guess.

    Returns:
        Shape (n,), from -1 to 1.

    Source: Gorodkin, Computational Biology and Chemistry 28, 2004, doi:10.1016/j.compbiolchem.2004.09.006 (R_K)

    >>> matthews_correlation(np.array([0.75]), np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]])).round(6).tolist()
    [0.57735]
    """
    covariance = right - (truth * guess).sum(axis=1)
    spread = (1 - (truth**2).sum(axis=1)) * (1 - (guess**2).sum(axis=1))
    defined = spread > SMALLEST_SPREAD
    return np.asarray(np.where(defined, covariance / np.sqrt(np.where(defined, spread, 1.0)), 0.0))


def correlation_gain(
    truth: Codes, attack: Codes, baseline: Codes, values: int, error: float, rng: np.random.Generator
) -> Estimate:
    """The Matthews correlation of an attack less that of a baseline, with an approximate interval.

    The counts of the cells of truth, attack's guess and baseline's guess, with a little added to each, are the
    parameters of a Dirichlet distribution of the cells' probabilities. As Clopper and Pearson's bounds add a success or
    a failure, the upper end adds a person of each value about whom the attack is right and the baseline wrong, and the
    lower end one about whom the baseline is right and the attack wrong: the sample may have no people of a rare value
    who show how often a guess is right. The interval has quantiles of the difference, or the normal approximation's
    where that is wider.

    Args:
        truth: shape (n_people,), positions of values, from one person.
        attack: shape (n_people,), guesses.
        baseline: shape (n_people,), guesses.
        values: how many there are, from 1.
        error: in (0, 1), half of it for each end.
        rng: of the draws.

    Source: Rubin, Annals of Statistics 9, 1981, doi:10.1214/aos/1176345338 (the Bayesian bootstrap)
    Departure: of cells with a prior, so that a cell without people has a probability; people are added for each end.
    """
    cells, counts = np.unique((truth * values + attack) * values + baseline, return_counts=True)
    n_cells = values**3
    drawn, empty = _empty_cells(cells, n_cells, rng), n_cells - len(cells)
    added = min(CELL_PRIOR, MAX_PRIOR / n_cells)
    parameters = np.concatenate([counts + added, np.full(len(drawn), added * empty / max(1, len(drawn)))])
    weights = rng.standard_gamma(parameters, (BOOTSTRAP_DRAWS, len(parameters)))
    value = float(_gains(counts[None] / len(truth), cells, values)[0])
    rare = np.arange(values) if values <= MAX_UNSEEN_VALUES else np.unique(truth)
    attack_wrong, baseline_wrong = (_commonest_wrong_guess(guess, rare, values) for guess in (attack, baseline))
    ends = []
    for side, attacked, guessed in ((-1, attack_wrong, rare), (1, rare, baseline_wrong)):
        more = rng.standard_gamma(min(1.0, MAX_ADDED / len(rare)), (BOOTSTRAP_DRAWS, len(rare)))
        every = np.concatenate([weights, more], axis=1)
        every /= every.sum(axis=1, keepdims=True)
        more_cells = (rare * values + attacked) * values + guessed
        gains = side * _gains(every, np.concatenate([cells, drawn, more_cells]), values)
        normal = float(gains.mean() + special.ndtri(1 - error / 2) * gains.std())
        ends.append(side * max(float(np.quantile(gains, 1 - error / 2)), normal, side * value))
    return Estimate(value, *ends)


def _commonest_wrong_guess(guess: Codes, truth: Codes, values: int) -> Codes:
    """For each value in `truth` the most frequent guess that is another one: the shape of `truth`."""
    frequency = np.bincount(guess, minlength=values)
    first = int(frequency.argmax())
    frequency[first] = -1
    return np.where(truth == first, int(frequency.argmax()), first).astype(np.int64)


def _empty_cells(cells: Codes, n_cells: int, rng: np.random.Generator) -> Codes:
    """Some cells without people, each equally likely: all of them, or MAX_EMPTY_CELLS where there are more."""
    if n_cells <= MAX_LISTED_CELLS:
        return np.asarray(rng.permutation(np.setdiff1d(np.arange(n_cells), cells))[:MAX_EMPTY_CELLS])
    drawn = np.setdiff1d(rng.integers(n_cells, size=2 * MAX_EMPTY_CELLS), cells)
    return np.asarray(rng.permutation(drawn)[:MAX_EMPTY_CELLS])


def _gains(weights: Floats, cells: Codes, values: int) -> Floats:
    """The difference of correlations for each row of the cells' probabilities: shape (n_rows,)."""
    codes = (cells // values**2, cells // values % values, cells % values)
    truth, attack, baseline = (weights @ (code[:, None] == np.arange(values)) for code in codes)
    right = [weights @ (codes[0] == guess) for guess in codes[1:]]
    return matthews_correlation(right[0], truth, attack) - matthews_correlation(right[1], truth, baseline)
