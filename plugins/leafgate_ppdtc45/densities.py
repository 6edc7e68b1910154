"""Each column's distribution within each class, reconstructed from shared numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate_ppdtc45.axes import Axis, axis_of, raised
from leafgate_ppdtc45.shared import Shared

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

WITHIN = 20
"""Rounds of EM for each class.

Going on to the largest likelihood would make spikes of every class's chance bumps; a few rounds take from a class's
own people what they surely differ by.
"""


@dataclass(frozen=True)
class Densities:
    """Groups of people of one class each, within which columns are independent.

    `people` and `owner` (the class, by code) for each group; for each column the chance of each cell (columns) within
    each group (rows).
    """

    people: Floats
    owner: Codes
    chances: Sequence[Floats]


def axes_of(shared: Shared) -> list[Axis]:
    """Every column that a tree may ask about."""
    columns = enumerate(shared.schema.features)
    return [axis_of(shared.numbers[:, i], shared.laws[i], column.bounds) for i, column in columns]


def by_class(axes: Sequence[Axis], classes: Codes, n_classes: int) -> Densities:
    """Each class as one group.

    Source: Agrawal, Srikant, SIGMOD 2000, section 4 ("ByClass"), with Agrawal and Aggarwal's EM (PODS 2001).
    Departure: each class begins with everyone's distribution, and its rounds are few.
    """
    share = np.eye(n_classes)[classes]
    chances = []
    for axis in axes:
        everyone = np.tile(axis.everyone, (n_classes, 1))
        chances.append(raised(everyone, axis.seen(share), axis.table, WITHIN))
    return Densities(share.sum(axis=0), np.arange(n_classes), chances)
