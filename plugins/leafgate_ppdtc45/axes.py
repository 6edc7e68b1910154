"""One column of shared numbers, ready for many rounds of EM."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leafgate.deconvolution import cells_between, even_chances, likelihood
from leafgate.noise import Noise

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

CELLS = 128
"""A column's originals are taken to lie in so many even cells."""

BINS_PER_SCALE, BINS = 8, 1024
"""Shared numbers are told apart to this part of the noise, but by no more bins than that."""

POOLED = 200
"""Rounds of EM for everyone together."""

FLOOR = 1e-12


@dataclass(frozen=True)
class Axis:
    """A column: edges of its originals' cells, each person's bin, the chance of each bin (rows) by the original's cell.

    `everyone` is the chance of each cell for all people together.
    """

    edges: Floats
    place: Codes
    table: Floats
    everyone: Floats

    def taken(self, rows: Codes) -> Axis:
        """The same for some of the people; what is known of everyone stays."""
        return replace(self, place=self.place[rows])

    def seen(self, share: Floats) -> Floats:
        """For each group (columns of `share`, a chance for each person) how many of it share a number in each bin."""
        return np.stack([np.bincount(self.place, weights=of, minlength=len(self.table)) for of in share.T])


def axis_of(numbers: Floats, noise: Noise, bounds: tuple[float, float] | None) -> Axis:
    """The column of these shared numbers, over the declared bounds or the numbers' range."""
    edges = cells_between(numbers, noise, bounds, CELLS)
    step = max(noise.scale / BINS_PER_SCALE, float(np.ptp(numbers)) / BINS)
    bins, place = np.unique(np.floor(numbers / step), return_inverse=True)
    table = likelihood((bins + 0.5) * step, noise, edges)
    table = np.maximum(table / np.maximum(table.max(axis=1, keepdims=True), FLOOR), FLOOR)
    people = np.bincount(place.reshape(-1)).astype(np.float64)[None]
    everyone = raised(even_chances(edges)[None], people, table, POOLED)[0]
    return Axis(edges, place.reshape(-1), table, everyone)


def raised(chances: Floats, seen: Floats, table: Floats, rounds: int) -> Floats:
    """So many rounds of EM for each group (rows): chances of cells, towards the largest likelihood of what is seen.

    A group of nobody stays as it is. Source: Agrawal, Aggarwal, PODS 2001, Theorem 3.1.
    """
    somebody = seen.sum(axis=1, keepdims=True) > 0
    for _ in range(rounds):
        found = chances * ((seen / (chances @ table.T)) @ table)
        chances = np.where(somebody, found / np.maximum(found.sum(axis=1, keepdims=True), FLOOR), chances)
    return chances
