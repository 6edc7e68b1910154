"""A lifted part in batches that nothing joins: two solutions of half the size are cheaper than one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from leafgate_maxent.lifting import Lifted
from leafgate_maxent.walk import Ids

ENOUGH = 500
"""Variables; smaller components are solved together, for starting the solver costs as much as so many."""


@dataclass(frozen=True)
class Batch:
    """Some variables, and the equations and curved constraints that are about them."""

    variables: Ids
    rows: Ids
    curved: Ids


def batches(problem: Lifted) -> Iterator[Batch]:
    """All variables, the largest components by themselves, small ones together."""
    curved = _about(problem)
    joined = sp.vstack([problem.matrix, curved], format="csr")
    graph = sp.block_array([[None, joined], [joined.T, None]], format="csr")
    number = sp.csgraph.connected_components(graph, directed=False)[1]
    rows, variables = number[: joined.shape[0]], number[joined.shape[0] :]
    size = np.bincount(variables, minlength=int(number.max(initial=-1)) + 1)
    batch = _together(size)
    for each in np.unique(batch[variables]):
        mine = batch[rows] == each
        cut = problem.matrix.shape[0]
        yield Batch(np.flatnonzero(batch[variables] == each), np.flatnonzero(mine[:cut]), np.flatnonzero(mine[cut:]))


def _about(problem: Lifted) -> sp.csr_array:
    """Which variables each curved constraint is about, as far as equations do not say it."""
    curved, n = problem.part.curved, len(problem.start)
    varies = np.flatnonzero(problem.sizes >= 0)
    size = sp.csr_array((np.ones(len(varies)), (varies, problem.sizes[varies])), (len(problem.sizes), n))
    about = sp.csr_array(abs(curved.coefficients) @ size)
    if curved.plus is None:
        return about
    more = sp.csr_array((len(curved), n - len(problem.part)))
    return sp.csr_array(about + sp.hstack([abs(curved.plus), more], format="csr"))


def _together(size: Ids) -> Ids:
    """For each component the number of its batch."""
    order = np.argsort(-size, kind="stable")
    batch = np.zeros(len(size), dtype=np.int64)
    number, held = 0, 0
    for each in order.tolist():
        if held and held + size[each] > ENOUGH:
            number, held = number + 1, 0
        batch[each] = number
        held += int(size[each])
    return batch
