"""Leaf blocks: the people of one leaf of a component, and what changes when some of them change class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse as sp

from leafgate.types.arrays import Floats, Ids
from leafgate_maxent.counting.components import Component


@dataclass(frozen=True)
class LeafBlock:
    """People `first` up to but not including `end`, sorted by group; `group` are their groups, from 0.

    Classes in `open_classes` they can change to by themselves. Of group g, `member[g]` says in which of `blocks`
    it is, `number[g, x]` what a person of class x adds to `sums`. The constraints `constraints` gain
    `effect.T` times what the blocks gain in sums of t ln t (or t squared).
    """

    first: int
    end: int
    group: Ids
    group_first: Ids
    group_size: Ids
    open_classes: Ids
    blocks: Ids
    member: Ids
    constraints: Ids
    effect: Floats
    sums: Ids
    number: Ids

    @property
    def people(self) -> int:
        return self.end - self.first


def leaf_blocks(component: Component) -> list[LeafBlock]:
    """One site for each leaf of which anybody's class can change."""
    size = (component.blocks @ component.open) + component.base.sum(axis=1)
    scale = 1 / size if component.gini else np.ones(len(size))
    effect = sp.csc_array(-component.coefficients.multiply(scale[None, :]))
    sums = sp.csc_array(sp.vstack([component.equal.matrix, component.least.matrix], format="csr"))
    by_group = sp.csc_array(component.blocks)
    ends = np.cumsum(component.open)
    starts = np.searchsorted(component.unit, np.arange(len(component.known_counts) + 1))
    return [
        _leaf_block(component, unit, np.arange(starts[unit], starts[unit + 1]), ends, by_group, effect, sums)
        for unit in range(len(component.known_counts))
    ]


def _leaf_block(
    component: Component,
    unit: int,
    groups: Ids,
    ends: Ids,
    by_group: sp.csc_array,
    effect: sp.csc_array,
    sums: sp.csc_array,
) -> LeafBlock:
    classes, sizes = component.free.shape[1], component.open[groups]
    first = int(ends[groups[0]] - sizes[0])
    member = by_group[:, groups].toarray().T.astype(np.int64)
    result = component.free[groups[0]] & (component.known_counts[unit] >= 0)
    untold = np.flatnonzero(component.free[groups[0]] & (component.known_counts[unit] < 0))
    exchanged = result.any() and not len(untold)
    blocks = np.flatnonzero(member.any(axis=0) & ~(member.all(axis=0) & exchanged))
    touched = sp.csr_array(effect[:, blocks])
    constraints = np.flatnonzero(np.diff(touched.indptr))
    cells = (groups[:, None] * classes + np.arange(classes)).ravel()
    numbers = sp.csr_array(sums[:, cells])
    which = np.flatnonzero(np.diff(numbers.indptr))
    number = numbers[which].toarray().T.reshape(len(groups), classes, len(which))
    group = np.repeat(np.arange(len(groups)), sizes)
    return LeafBlock(
        first,
        int(ends[groups[-1]]),
        group,
        sizes.cumsum() - sizes,
        sizes,
        untold,
        blocks,
        member[:, blocks],
        constraints,
        touched[constraints].toarray().T,
        which,
        number.astype(np.int64),
    )


def blocks_by_constraint(component: Component, sites: Sequence[LeafBlock]) -> list[Ids]:
    """For each constraint, and each sum, the sites it speaks of, where they are several."""
    by_constraint: dict[tuple[str, int], list[int]] = {}
    for number, block in enumerate(sites):
        for constraint in block.constraints.tolist():
            by_constraint.setdefault(("constraint", constraint), []).append(number)
        for row in block.sums.tolist():
            by_constraint.setdefault(("sum", row), []).append(number)
    return [np.array(found) for found in by_constraint.values()]
