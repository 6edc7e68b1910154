"""A part whose curved constraints may be missed, at a price."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from leafgate_maxent.part import Part
from leafgate_maxent.walk import Floats


def elastic(part: Part, relief: sp.csr_array, cost: Floats) -> Part:
    """The part with further variables that make its curved constraints easier, at a cost.

    `relief` has a row a constraint and a column a new variable: what one unit of it adds. The prices
    of the constraints are then capped: `relief.T @ prices <= cost`.
    """
    n, more = len(part), len(cost)
    wide = sp.csr_array((len(part.curved), n))
    short = np.maximum(-part.curved.values(part.start), 0)
    columns = sp.csc_array(relief)
    need = np.maximum.reduceat(np.append(short[columns.indices], 0), columns.indptr[:-1]) if more else np.zeros(0)

    def widened(matrix: sp.csr_array) -> sp.csr_array:
        return sp.csr_array(sp.hstack([matrix, sp.csr_array((matrix.shape[0], more))], format="csr"))

    return replace(
        part,
        reference=np.concatenate([part.reference, np.zeros(more)]),
        limit=np.concatenate([part.limit, np.full(more, np.inf)]),
        start=np.concatenate([part.start, 1.1 * need + 0.1]),
        equal=widened(part.equal),
        least=widened(part.least),
        curved=replace(
            part.curved,
            matrix=widened(part.curved.matrix),
            plus=sp.csr_array(sp.hstack([wide, relief], format="csr")),
        ),
        cost=np.concatenate([part.costs, cost]),
    )
