"""Connected components of the integer model; within each, interchangeable rows form one group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse as sp
from scipy.special import gammaln

from leafgate.api import Floats, Ids, Mask
from leafgate_plugins.maxent.counting.constraints import CellSums, IntegerModel, ViolatedSplits
from leafgate_plugins.maxent.presolve.fixed_cells import component_numbers


@dataclass(frozen=True)
class Component:
    """Groups of people whose class is open, sorted by unit, and all that is known of them.

    `row` and `group` place rows of the integer model. Of group g, `open[g]` people have one of its `free[g]`
    classes; of unit u, `known_counts[u, x]` have class x (-1: not published). `equal` and `least` are sums over cells
    g * classes + x. Internal constraint i is `coefficients[i] @ impurity(t) >= -tolerance[i]`, where block b
    has t = base[b] + (blocks @ people)[b] people.
    """

    row: Ids
    group: Ids
    open: Ids
    free: Mask
    unit: Ids
    known_counts: Ids
    equal: CellSums
    least: CellSums
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


def components_of(
    model: IntegerModel, equal: CellSums, least: CellSums, violated: ViolatedSplits
) -> Iterator[Component]:
    """Every component that has people with an open class."""
    component = _component_numbers(model, equal, least, violated)
    by_rows, by_sums = (
        np.flatnonzero(model.open > 0),
        [_component_of_sums(each, model, component) for each in (equal, least)],
    )
    by_rivals = _component_of_splits(violated, component)
    some = _feasible_people(model)
    order = by_rows[np.argsort(component[model.unit[by_rows]], kind="stable")]
    home = component[model.unit[order]]
    starts = np.flatnonzero(np.diff(home, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(order)]):
        number = home[start]
        sums = [_select(each, np.flatnonzero(at == number)) for each, at in zip((equal, least), by_sums, strict=True)]
        yield _make_component(model, order[start:end], sums, violated, np.flatnonzero(by_rivals == number), some)


def _component_numbers(model: IntegerModel, equal: CellSums, least: CellSums, violated: ViolatedSplits) -> Ids:
    """For each unit the number of its component."""
    by_unit = sp.csr_array((np.ones(model.unit.size), (np.arange(model.unit.size), model.unit)))
    cells = sp.csr_array(sp.kron(by_unit, np.ones((model.free.shape[1], 1)), format="csr"))
    joining = [abs(equal.matrix) @ cells, abs(least.matrix) @ cells, abs(violated.coefficients) @ violated.units]
    return component_numbers(sp.csr_array(sp.vstack(joining, format="csr")))[1]


def _component_of_sums(sums: CellSums, model: IntegerModel, component: Ids) -> Ids:
    first = sums.matrix.indices[sums.matrix.indptr[:-1]]
    return np.asarray(component[model.unit[first // model.free.shape[1]]])


def _component_of_splits(violated: ViolatedSplits, component: Ids) -> Ids:
    units = sp.csr_array(abs(violated.coefficients) @ violated.units)
    return np.asarray(component[units.indices[units.indptr[:-1]]])


def _select(sums: CellSums, rows: Ids) -> CellSums:
    return CellSums(sp.csr_array(sums.matrix[rows]), sums.bound[rows], sums.by_exchange[rows])


def _feasible_people(model: IntegerModel) -> Floats:
    """People that agree with the leaves' numbers, not with their rows': for sums over all of a unit."""
    inside = model.free * model.open[:, None]
    size = np.zeros(model.known_counts.shape)
    np.add.at(size, model.unit, inside)
    shares = np.divide(np.maximum(model.known_counts, 0), size, where=size > 0, out=np.zeros_like(size))
    return np.asarray(inside * shares[model.unit])


def _make_component(
    model: IntegerModel, row: Ids, sums: list[CellSums], violated: ViolatedSplits, chosen: Ids, some: Floats
) -> Component:
    row = row[np.argsort(model.unit[row], kind="stable")]
    classes = model.free.shape[1]
    coefficients = sp.csr_array(violated.coefficients[chosen])
    needed = np.unique(coefficients.indices)
    blocks = sp.csr_array(violated.blocks[needed])
    cells = (row[:, None] * classes + np.arange(classes)).ravel()
    mine = [sp.csr_array(sp.csc_array(each.matrix)[:, cells]) for each in sums]
    inside = sp.csr_array(sp.csc_array(blocks)[:, row])
    group, first = _interchangeable_rows(model, row, [*mine, inside], classes)
    outside = np.ones(model.unit.size, dtype=bool)
    outside[row] = False
    base = np.round(blocks @ (model.certain + some * outside[:, None]))
    units, unit = np.unique(model.unit[row[first]], return_inverse=True)
    kept = (first[:, None] * classes + np.arange(classes)).ravel()
    equal, least = (
        CellSums(sp.csr_array(sp.csc_array(matrix)[:, kept]), each.bound, each.by_exchange)
        for matrix, each in zip(mine, sums, strict=True)
    )
    return Component(
        row,
        group,
        np.bincount(group, weights=model.open[row]).astype(np.int64),
        model.free[row[first]],
        unit.astype(np.int64),
        model.known_counts[units],
        equal,
        least,
        sp.csr_array(sp.csc_array(inside)[:, first]),
        base.astype(np.int64),
        sp.csr_array(sp.csc_array(coefficients)[:, needed]),
        violated.tolerance[chosen],
        violated.gini,
    )


def _interchangeable_rows(model: IntegerModel, row: Ids, matrices: list[sp.csr_array], classes: int) -> tuple[Ids, Ids]:
    """For each row the number of its group, sorted by unit, and each group's first row (as places in `row`)."""
    numbers: dict[tuple[object, ...], int] = {}
    first: list[int] = []
    columns = [sp.csc_array(matrix) for matrix in matrices]
    group = np.zeros(len(row), dtype=np.int64)
    for i, s in enumerate(row.tolist()):
        key: list[object] = [int(model.unit[s]), model.free[s].tobytes()]
        for matrix, wide in zip(columns, (classes, classes, 1), strict=True):
            start, end = matrix.indptr[i * wide], matrix.indptr[(i + 1) * wide]
            steps = np.diff(matrix.indptr[i * wide : (i + 1) * wide + 1])
            key += [matrix.indices[start:end].tobytes(), matrix.data[start:end].tobytes(), steps.tobytes()]
        group[i] = numbers.setdefault(tuple(key), len(numbers))
        if group[i] == len(first):
            first.append(i)
    return group, np.array(first, dtype=np.int64)
