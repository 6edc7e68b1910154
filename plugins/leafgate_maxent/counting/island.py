"""An island: a part of the problem that nothing joins to the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from leafgate_maxent.counting.census import Mask
from leafgate_maxent.counting.sums import Sums
from leafgate_maxent.walk import Floats, Ids


@dataclass(frozen=True)
class Island:
    """Groups of people whose class is open, sorted by unit, and all that is known of them.

    `row` and `group` place rows of the census. Of group g, `open[g]` people have one of its `free[g]`
    classes; of unit u, `told[u, x]` have class x (-1: not told). `equal` and `least` are sums over cells
    g * classes + x. Internal constraint i is `coefficients[i] @ impurity(t) >= -tolerance[i]`, where block b
    has t = base[b] + (blocks @ people)[b] people.
    """

    row: Ids
    group: Ids
    open: Ids
    free: Mask
    unit: Ids
    told: Ids
    equal: Sums
    least: Sums
    blocks: sp.csr_array
    base: Ids
    coefficients: sp.csr_array
    tolerance: Floats
    gini: bool

    @property
    def log_ways(self) -> float:
        """The logarithm of the number of orders of each group's people."""
        return float(gammaln(self.open + 1).sum())

    def rows(self, people: Floats, open_: Ids) -> Floats:
        """The open people of each row, from those of each group: everybody in a group has the same chances."""
        return np.asarray(people[self.group] * (open_[self.row] / self.open[self.group])[:, None])
