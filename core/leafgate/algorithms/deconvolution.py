"""Deconvolution: the law of a column's original numbers, from noisy ones and the law of the noise.

The original is taken to be spread evenly within each of many narrow cells; `edges` are where they begin and end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from leafgate.kernel.arrays import Floats
from leafgate.kernel.noise import Noise

CELLS = 1024
"""At most so many cells of originals."""
FINE = 32
"""Cells of originals are so many times finer than the noise, unless they would be too many; so are counted ones."""
TOLERANCE = 0.01
"""By less than so much the log-likelihood of everybody together is not worth raising: it would follow the noise."""
ROUNDS = 2000
LEAST = 1e-12
"""So much of the chance is spread evenly over all cells when one number is judged: nothing is ruled out by rounding."""
FAR = 40
"""So many standard deviations away from all originals, or half-widths, noise has no density that a number can hold."""
BLOCK = 2**21
"""Chances held at once."""


def even_cells(low: float, high: float, noise: Noise, most: int = CELLS) -> Floats:
    """Edges of even cells from `low` to `high`, narrow beside the noise but at most `most`; in the column's unit.

    One cell, as wide as the finest the noise could tell, where `low` is `high`.
    """
    if not high > low:
        return np.array([low - noise.grid / 2, low + noise.grid / 2])
    number = int(np.clip(np.ceil(FINE * (high - low) / noise.scale), 1, most))
    return np.linspace(low, high, number + 1)


def cells_between(shared: Floats, noise: Noise, bounds: tuple[float, float] | None, most: int = CELLS) -> Floats:
    """Even cells over the declared bounds; where none are, over the range of what is shared."""
    low, high = bounds if bounds is not None else (float(shared.min()), float(shared.max()))
    return even_cells(low, high, noise, most)


def even_chances(edges: Floats) -> Floats:
    """The chance of each cell where every number is as likely as any other."""
    return np.asarray(np.diff(edges) / (edges[-1] - edges[0]))


def likelihood(shared: Floats, noise: Noise, edges: Floats, half: Floats | None = None) -> Floats:
    """f_W(w | X in the cell) for each shared number (rows) and each cell (columns), per unit of the column.

    Originals lie within `half` of their cell's middle, by default anywhere in the cell. What uniform noise cannot
    reach has 0; what rounding to the noise's grid adds to its reach is within it.
    """
    reach = replace(noise, scale=noise.scale + noise.grid / 2) if noise.law == "uniform" else noise
    middle = (edges[:-1] + edges[1:]) / 2
    ends = (edges[:-1], edges[1:]) if half is None else (middle - half, middle + half)
    low, high = (end[None, :] - shared[:, None] for end in ends)
    below, above = (
        reach.below(-np.abs(away)) for away in (low, high)
    )  # of two tails the one where differences are exact
    inside = np.where((low < 0) & (high > 0), 1 - below - above, np.abs(above - below))
    return np.asarray(inside / (ends[1] - ends[0]))


def counted(shared: Floats, weight: Floats, noise: Noise, edges: Floats) -> tuple[Floats, Floats]:
    """The shared numbers on a grid fine beside noise and cells: the mean number in each of its steps, and its people.

    There are no more of them than the range is wide, however many people there are. Who weighs nothing is left out, and
    so is what no original within the edges can have been.
    """
    near = (shared > edges[0] - FAR * noise.scale) & (shared < edges[-1] + FAR * noise.scale) & (weight > 0)
    shared, weight = shared[near], weight[near]
    step = max(noise.scale / FINE, (edges[-1] - edges[0]) / (2 * CELLS))
    _, place = np.unique(np.floor(shared / step), return_inverse=True)
    people = np.bincount(place, weights=weight).astype(np.float64)
    return np.bincount(place, weights=weight * shared) / people, people


def rounds(
    shared: Floats, weight: Floats, noise: Noise, edges: Floats, start: Floats | None = None
) -> Iterator[tuple[Floats, float]]:
    """EM, round by round: the chance of each cell, and the mean log-likelihood per person it has, which never falls.

    Begins with `start`, by default an even law: where the shared numbers cannot tell cells apart they keep its
    proportions. Numbers that the noise cannot have made of any original say nothing; where none are left the law stays
    as it begins, with 0.

    Source: D. Agrawal, C. C. Aggarwal, "On the Design and Quantification of Privacy Preserving Data Mining
    Algorithms", PODS 2001 (EM), after R. Agrawal, R. Srikant, SIGMOD 2000, section 3.
    """
    table = likelihood(shared, noise, edges)
    largest = table.max(axis=1)
    said = largest > 0
    table, share = table[said] / largest[said, None], weight[said] / (weight[said].sum() or 1)
    chances, unit = even_chances(edges) if start is None else start, float(share @ np.log(largest[said]))
    while True:
        seen = table @ chances
        yield chances, float(share @ np.log(seen)) + unit
        chances = chances * (table.T @ (share / seen)) if len(table) else chances
        chances /= chances.sum()


def reconstructed(
    shared: Floats,
    weight: Floats,
    noise: Noise,
    edges: Floats,
    *,
    start: Floats | None = None,
    tolerance: float = TOLERANCE,
    most: int = ROUNDS,
) -> Floats:
    """The chance that an original lies in each cell, of largest likelihood given the shared numbers; they sum to 1.

    `shared` and `weight`: a number each, and the people it stands for; `start`: where EM begins. It stops when a round
    raises the log-likelihood of all by no more than `tolerance`, or after `most` rounds; its cost does not grow with
    people.

    Source: as `rounds`.
    Departure: the paper goes on to the largest likelihood, which is at laws of few spikes; a tolerance of 0 does too.
    """
    numbers, people = counted(shared, weight, noise, edges)
    result = rounds(numbers, people, noise, edges, start)
    chances, before = next(result)
    for chances, now in islice(result, most):  # noqa: B007  the last one is wanted
        if (now - before) * people.sum() <= tolerance:
            break
        before = now
    return chances


def posterior(
    shared: Floats, noise: Noise, edges: Floats, prior: Floats, half: Floats | None = None
) -> Iterator[tuple[slice, Floats]]:
    """The chance of each cell (columns) given each shared number (rows), a block of rows at a time.

    A number that the noise cannot have made of any original has the prior.

    Source: Agrawal, Srikant 2000, section 3 (the sum is over people; here it is one person's term).
    """
    mixed = (1 - LEAST) * prior + LEAST * even_chances(edges)
    size = max(1, BLOCK // len(prior))
    for start in range(0, len(shared), size):
        rows = slice(start, min(start + size, len(shared)))
        joint = likelihood(shared[rows], noise, edges, half) * mixed
        total = joint.sum(axis=1, keepdims=True)
        yield rows, np.where(total > 0, joint / np.where(total > 0, total, 1), prior)
