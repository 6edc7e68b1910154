"""The posterior of one noisy column's originals: over its bins, and as a number."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from leafgate.algorithms.deconvolution import CELLS, even_cells, even_chances, posterior, reconstructed
from leafgate.api import Floats, Ids, Mask, Noise, bin_of

Estimate = Literal["mean", "mode"]

OTHERS = 100
"""Within a class, the distribution of all people counts as much as this many people of the class."""


def within_bins(bins: Sequence[float], noise: Noise) -> Floats:
    """Edges of cells narrow beside the noise, none of which lies in two bins."""
    span = bins[-1] - bins[0]
    parts = [even_cells(low, high, noise, int(np.ceil(CELLS * (high - low) / span))) for low, high in pairwise(bins)]
    return np.unique(np.concatenate(parts))


def around_whole(bins: Sequence[float]) -> tuple[float, ...]:
    """Bins of whole numbers, their edges put half way between those that they part: a cell is then around a number.

    >>> around_whole((0, 10, 20))
    (-0.5, 9.5, 20.5)
    """
    return (*(edge - 0.5 for edge in bins[:-1]), bins[-1] + 0.5)


def prior_of_cells(bins: Sequence[float], edges: Floats) -> Floats:
    """The prior probability of each cell: half of it even over the numbers, half over the bins.

    It matters where the noise hides the difference: a narrow bin is declared because it may hold many (a lone 0).
    """
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    mine = bin_of(middle, bins)
    return np.asarray(even_chances(edges) / 2 + width / np.diff(bins)[mine] / (len(bins) - 1) / 2)


def class_laws(
    shared: Floats, weight: Floats, classes: Ids, noise: Noise, edges: Floats, start: Floats
) -> list[Floats]:
    """The chance of each cell within each class: reconstructed from its own people and, by OTHERS, from all.

    Source: R. Agrawal, R. Srikant, "Privacy-Preserving Data Mining", SIGMOD 2000, section 4 (ByClass).
    Departure: the paper takes the class alone, whose law of few people would follow their noise.
    """

    def law(rows: Mask) -> Floats:
        return reconstructed(shared[rows], weight[rows], noise, edges, start=start) if rows.any() else start

    result = ~np.isnan(shared)
    everyone, mine = law(result), [result & (classes == each) for each in range(int(classes.max()) + 1)]
    if len(mine) == 1:
        return [everyone]
    people = [weight[rows].sum() for rows in mine]
    return [(n * law(rows) + OTHERS * everyone) / (n + OTHERS) for n, rows in zip(people, mine, strict=True)]


def bin_posterior(
    shared: Floats,
    weight: Floats,
    classes: Ids,
    noise: Noise,
    bins: Sequence[float],
    estimate: Estimate,
    *,
    integers: bool = False,
) -> tuple[Floats, Floats]:
    """The chance of each bin for each record, and the number each original is taken for.

    `classes` are numbered from 0; `integers` are originals known to be whole, as the bins' edges are then. Missing
    shared numbers have their class' prior, and so have those that the noise cannot have made of any number within the
    bins.
    `mean` is of least mean-square error, `mode` the middle of the densest cell.

    Source: R. Agrawal, R. Srikant, SIGMOD 2000, section 3: Bayes' rule for one person's term of the sum.
    """
    bins = around_whole(bins) if integers else bins
    one_each = integers and bins[-1] - bins[0] <= CELLS
    edges = np.arange(bins[0], bins[-1] + 0.5) if one_each else within_bins(bins, noise)
    half = np.full(len(edges) - 1, noise.grid / 2) if one_each else None  # a cell's one number is its middle
    chances, estimates = np.zeros((len(shared), len(bins) - 1)), np.zeros(len(shared))
    for each, prior in enumerate(class_laws(shared, weight, classes, noise, edges, prior_of_cells(bins, edges))):
        mine = np.flatnonzero((classes == each) & ~np.isnan(shared))
        numbers, which = np.unique(shared[mine], return_inverse=True)
        result, taken = bin_posterior_of_numbers(numbers, noise, edges, prior, bins, estimate, half)
        chances[mine], estimates[mine] = result[which], taken[which]
        missing = np.flatnonzero((classes == each) & np.isnan(shared))
        chances[missing], estimates[missing] = _by_bin(prior[None, :], _middles(edges), edges, bins, estimate)
    return chances, estimates


def bin_posterior_of_numbers(
    numbers: Floats,
    noise: Noise,
    edges: Floats,
    prior: Floats,
    bins: Sequence[float],
    estimate: Estimate,
    half: Floats | None = None,
) -> tuple[Floats, Floats]:
    """The chance of each bin, and the estimate, for different shared numbers with one prior.

    Many records share one number, because noise lies on a grid; each number is therefore computed once.
    """
    chances, estimates = np.zeros((len(numbers), len(bins) - 1)), np.zeros(len(numbers))
    for rows, cells in posterior(numbers, noise, edges, prior, half):
        chances[rows], estimates[rows] = _by_bin(
            cells, estimates_in_cells(numbers[rows], noise, edges), edges, bins, estimate
        )
    return chances, estimates


def estimates_in_cells(shared: Floats, noise: Noise, edges: Floats) -> Floats:
    """The number that estimates an original in a cell (columns): the middle of the cell.

    In cells wider than the noise the number next to the shared one (rows; one row where these do not matter).
    """
    wide = np.diff(edges) > noise.scale
    if not wide.any():
        return _middles(edges)
    return np.where(wide, np.clip(shared[:, None], edges[:-1], edges[1:]), _middles(edges))


def _middles(edges: Floats) -> Floats:
    return np.asarray((edges[1:] + edges[:-1])[None, :] / 2)


def _by_bin(
    cells: Floats, taken: Floats, edges: Floats, bins: Sequence[float], estimate: Estimate
) -> tuple[Floats, Floats]:
    """For each row of probabilities of the cells: the probability of each bin, and the mean or the mode."""
    first = np.searchsorted(bin_of(_middles(edges)[0], bins), np.arange(len(bins) - 1))
    chances = np.add.reduceat(cells, first, axis=1)
    chances /= chances.sum(axis=1, keepdims=True)
    if estimate == "mean":
        return chances, (cells * taken).sum(axis=1)
    densest = np.argmax(cells / np.diff(edges), axis=1)
    return chances, np.broadcast_to(taken, cells.shape)[np.arange(len(cells)), densest]
