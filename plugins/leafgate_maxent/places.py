"""Which strata are at which node, and sums of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from leafgate_maxent.choices import Mask
from leafgate_maxent.walk import Ids, Walked


@dataclass(frozen=True)
class Places:
    """Which strata are at which node: pairs, and for each the branch that is taken there."""

    node: Ids
    stratum: Ids
    branch: Ids


def places_of(walked: Walked, leaf: Ids) -> Places:
    """The strata at each inner node of a tree; `leaf` is each stratum's."""
    order = np.argsort(leaf, kind="stable")
    at = np.searchsorted(leaf[order], np.arange(len(walked.leaves) + 1))
    nodes, strata, branches = [], [], []
    for number, inner in enumerate(walked.inner):
        mine = order[at[inner.first] : at[inner.end]]
        nodes.append(np.full(len(mine), number))
        strata.append(mine)
        branches.append(np.searchsorted(inner.edges, leaf[mine], side="right") - 1)
    empty = np.zeros(0, dtype=np.int64)
    node, stratum, branch = (np.concatenate([empty, *part]) for part in (nodes, strata, branches))
    return Places(node, stratum, branch)


@dataclass(frozen=True)
class Sums:
    """A matrix that adds strata up: one row for each combination of `node` and `part` that holds any."""

    matrix: sp.csr_array
    node: Ids
    part: Ids


def adding(places: Places, part: Ids, n_strata: int) -> Sums:
    size = int(part.max(initial=0)) + 1
    keys, row = np.unique(places.node * size + part, return_inverse=True)
    matrix = sp.csr_array((np.ones(len(row)), (row, places.stratum)), shape=(len(keys), n_strata))
    return Sums(matrix, keys // size, keys % size)


@dataclass(frozen=True)
class Tests:
    """Tests that competed at their nodes: a segment's fan (`behind` is -1), or its cut behind a cell."""

    node: Ids
    segment: Ids
    behind: Ids

    def only(self, which: Mask) -> Tests:
        return Tests(self.node[which], self.segment[which], self.behind[which])
