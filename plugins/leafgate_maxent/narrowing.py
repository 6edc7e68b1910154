"""A part of a part: some of its variables, with what is asked of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from leafgate_maxent.part import Part
from leafgate_maxent.walk import Floats


def only(part: Part, chosen: NDArray[np.bool_]) -> Part:
    """The part of some variables, with the constraints that are about them; no constraint is about both."""
    curved = part.curved
    mine = sp.csr_array(curved.matrix[:, chosen])
    rows = curved.about(chosen)
    used = np.asarray((abs(curved.coefficients[rows]) > 0).sum(axis=0)).ravel() > 0
    cells = np.repeat(used, curved.classes)
    equal, equal_bound = _about(part.equal, part.equal_bound, chosen)
    least, least_bound = _about(part.least, part.least_bound, chosen)
    plus = curved.plus if curved.plus is None else sp.csr_array(curved.plus[rows][:, chosen])
    return replace(
        part,
        cost=part.costs[chosen],
        prices=part.prices[rows] if len(part.prices) else part.prices,
        reference=part.reference[chosen],
        limit=part.limit[chosen],
        start=part.start[chosen],
        equal=equal,
        equal_bound=equal_bound,
        least=least,
        least_bound=least_bound,
        curved=replace(
            curved,
            matrix=sp.csr_array(mine[cells]),
            offset=curved.offset[cells],
            coefficients=sp.csr_array(curved.coefficients[rows][:, used]),
            top=curved.top[used],
            plus=plus,
        ),
    )


def _about(matrix: sp.csr_array, bound: Floats, chosen: NDArray[np.bool_]) -> tuple[sp.csr_array, Floats]:
    mine = sp.csr_array(matrix[:, chosen])
    rows = np.flatnonzero(np.diff(mine.indptr))
    return sp.csr_array(mine[rows]), bound[rows]
