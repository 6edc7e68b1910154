"""Each column's distribution within each class, reconstructed from shared numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from leafgate.deconvolution import cells_between, counted, reconstructed, rounds
from leafgate_ppdtc45.shared import Shared

Floats = NDArray[np.float64]

CELLS = 128
"""A column's originals are taken to lie in so many even cells."""

POOLED, WITHIN = 200, 20
"""Rounds of EM for everyone together, and from there for each class.

Going on to the largest likelihood would make spikes of every class's chance bumps; twenty rounds take from a class's
own people what they surely differ by.
"""


@dataclass(frozen=True)
class Densities:
    """For each column the edges of its cells, and for each class (rows) the chance of lying below each edge."""

    people: Floats
    edges: Sequence[Floats]
    below: Sequence[Floats]


def densities(shared: Shared) -> Densities:
    """People per class, and each column's distribution within each class.

    Source: Agrawal, Srikant, SIGMOD 2000, section 4 ("ByClass"), with Agrawal and Aggarwal's EM (PODS 2001).
    Departure: each class begins with everyone's distribution, and its rounds are few.
    """
    n_classes = len(shared.schema.classes)
    people = np.bincount(shared.classes, minlength=n_classes).astype(np.float64)
    edges, below = [], []
    for i, column in enumerate(shared.schema.features):
        numbers, noise = shared.numbers[:, i], shared.laws[i]
        ends = cells_between(numbers, noise, column.bounds, CELLS)
        everyone = reconstructed(numbers, np.ones(len(numbers)), noise, ends, most=POOLED)
        chances = np.tile(everyone, (n_classes, 1))
        for code in np.flatnonzero(people):
            cells = counted(numbers, (shared.classes == code).astype(np.float64), noise, ends)
            told = rounds(*cells, noise, ends, start=everyone)
            chances[code] = next(islice(told, WITHIN, None))[0]
        edges.append(ends)
        below.append(np.concatenate([np.zeros((n_classes, 1)), chances.cumsum(axis=1)], axis=1))
    return Densities(people, edges, below)
