"""The linear constraints: what leaves, labels, distributions and background knowledge say.

The unknown is `people[s, x]`: how many people of stratum s have class x (any number, not only whole
ones). A constraint is a row of a sparse matrix over the cells (s, x), numbered s * classes + x, that
must equal, or be at least, a number of people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from leafgate_maxent.walk import Floats, Ids

Kind = Literal["row", "leaf count", "leaf rate", "label", "label accuracy", "distribution", "background"]


@dataclass(frozen=True)
class Linear:
    """Rows of one kind: `matrix @ people >= bound`, or `==` where `equal`.

    `about` says, for each row, what it is about: the leaf's or the public row's or the fact's
    number, and the class where one is meant (else -1); `tree` which tree a leaf belongs to.
    """

    kind: Kind
    matrix: sp.csr_array
    bound: Floats
    equal: bool
    about: Ids
    tree: int = 0

    def __len__(self) -> int:
        return len(self.bound)

    def violation(self, people: Floats) -> Floats:
        """By how many people each row is missed."""
        short = self.bound - self.matrix @ people.ravel()
        return np.asarray(np.abs(short) if self.equal else np.maximum(short, 0))


def rows_of(entries: Sequence[tuple[Ids, Ids, Floats]], shape: tuple[int, int]) -> sp.csr_array:
    """A matrix from (row, cell, coefficient) triples."""
    row, cell, number = (np.concatenate(part) for part in zip(*entries, strict=True))
    matrix = sp.csr_array((number, (row, cell)), shape=shape)
    matrix.eliminate_zeros()
    return matrix


def everyone_is_somewhere(row: Ids, weight: Floats, classes: int) -> Linear:
    """All the people of each public row: row constraints."""
    cells = np.arange(len(row) * classes)
    ones = np.ones(len(cells))
    matrix = rows_of([(np.repeat(row, classes), cells, ones)], (len(weight), len(cells)))
    about = np.stack([np.arange(len(weight)), np.full(len(weight), -1)], axis=1)
    return Linear("row", matrix, weight.astype(np.float64), True, about)


def shares_of_classes(kind: Kind, group: Ids, told: Floats, size: Floats | None, tree: int = 0) -> Linear:
    """In each group the people of each class are a known part of the group's people.

    `group[s]` is a stratum's group or -1; `told` has a row a group and a column a class (NaN: not
    told). With `size`, the people in each group, `told` are people; else shares.
    """
    classes = told.shape[1]
    known = np.argwhere(~np.isnan(told))
    number = np.full(told.shape, -1)
    number[known[:, 0], known[:, 1]] = np.arange(len(known))
    inside = np.flatnonzero(group >= 0)
    which = number[group[inside]]
    at, x = np.nonzero(which >= 0)
    entries = [(which[at, x], inside[at] * classes + x, np.ones(len(at)))]
    if size is None:
        part = np.repeat(told[group[inside][at], x], classes)
        cells = (inside[at][:, None] * classes + np.arange(classes)).ravel()
        entries.append((np.repeat(which[at, x], classes), cells, -part))
    bound = np.zeros(len(known)) if size is None else told[known[:, 0], known[:, 1]]
    return Linear(kind, rows_of(entries, (len(known), len(group) * classes)), bound, True, known, tree)


def no_class_more_than(label: Ids, group: Ids, classes: int, tree: int = 0) -> Linear:
    """In each group at least as many people have its label as any other class: label constraints."""
    labelled = np.flatnonzero(label >= 0)
    others = np.array([(g, x) for g in labelled.tolist() for x in range(classes) if x != label[g]], dtype=np.int64)
    about = others.reshape(-1, 2)
    number = np.full((len(label), classes), -1)
    number[about[:, 0], about[:, 1]] = np.arange(len(about))
    inside = np.flatnonzero((group >= 0) & (label[group] >= 0))
    which = number[group[inside]]
    at, x = np.nonzero(which >= 0)
    mine = which[at, x]
    entries = [
        (mine, inside[at] * classes + label[group[inside][at]], np.ones(len(at))),
        (mine, inside[at] * classes + x, -np.ones(len(at))),
    ]
    matrix = rows_of(entries, (len(about), len(group) * classes))
    return Linear("label", matrix, np.zeros(len(about)), False, about, tree)


def at_least(
    kind: Kind,
    masks: Sequence[NDArray[np.bool_]],
    bounds: Sequence[float],
    *,
    about: Sequence[int] | None = None,
    equal: bool = False,
) -> Linear:
    """For each mask of cells: at least (or just) so many people are in it."""
    shape = (len(masks), masks[0].size if masks else 0)
    entries = [
        (np.full(int(mask.sum()), i), np.flatnonzero(mask.ravel()), np.ones(int(mask.sum())))
        for i, mask in enumerate(masks)
    ]
    matrix = rows_of(entries, shape) if entries else sp.csr_array(shape)
    numbers = np.arange(len(masks)) if about is None else np.array(about)
    named = np.stack([numbers, np.full(len(masks), -1)], axis=1)
    return Linear(kind, matrix, np.array(bounds, dtype=np.float64), equal, named)
