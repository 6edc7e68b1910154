"""What the records that match say of one secret."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.release import Records
from leafgate.schema import Column
from leafgate_linking.cells import fits_domain, numbered
from leafgate_linking.records import Matches

Shares = NDArray[np.float64]


def told_of(records: Records, column: Column, found: Matches, prior: Shares) -> tuple[Shares, Shares] | None:
    """The shares of a secret among each set of records, over its domain, and the people in each set.

    None if the records do not show it. Withheld and generalised cells are spread over what they can
    be, in the prior's proportions; an empty set says nothing, so there the prior stays.
    """
    if column.name not in records.columns:
        return None
    cell, cells = numbered(records, records.columns.index(column.name))
    spread = np.stack([_spread(told, column, prior) for told in cells])
    weight = np.array(records.weight, dtype=np.float64)
    sets = np.repeat(np.arange(len(found.start) - 1), np.diff(found.start))
    size, kinds = len(found.start) - 1, len(cells)
    pair = sets * kinds + cell[found.records]
    people = np.bincount(pair, weights=weight[found.records], minlength=size * kinds).reshape(size, kinds)
    total = people.sum(axis=1)
    shares = np.divide(people @ spread, total[:, None], where=total[:, None] > 0, out=np.tile(prior, (size, 1)))
    return shares / shares.sum(axis=1, keepdims=True), total


def _spread(cell: Any, column: Column, prior: Shares) -> Shares:
    """One person whose cell says this, over the secret's domain."""
    possible = fits_domain(cell, column) * prior
    total = possible.sum()
    return np.asarray(possible / total if total > 0 else prior)
