"""The adversaries of withheld cells again, word for word and slowly, for tables of a few records."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from leafgate.api import Floats
from leafgate_plugins.downgrading.c45_missing import Node
from leafgate_plugins.downgrading.grid import HIDDEN, Grid

Record = Sequence[int]


def bits_told(grid: Grid, column: int, other: int) -> float:
    """Mutual information among records that show both, less (r - 1)(c - 1) / (2 n ln 2), at least 0."""
    people: dict[tuple[int, int], float] = {}
    for row, weight in zip(grid.codes.tolist(), grid.weight.tolist(), strict=True):
        if HIDDEN not in (row[column], row[other]):
            pair = (row[column], row[other])
            people[pair] = people.get(pair, 0.0) + weight
    n = sum(people.values())
    if not n:
        return 0.0
    first = {a: sum(w for (x, _), w in people.items() if x == a) for a in {a for a, _ in people}}
    second = {b: sum(w for (_, y), w in people.items() if y == b) for b in {b for _, b in people}}
    bits = sum(w / n * math.log2(w * n / (first[a] * second[b])) for (a, b), w in people.items())
    return max(bits - (len(first) - 1) * (len(second) - 1) / (2 * n * math.log(2)), 0.0)


def conditioned(grid: Grid, own: int, record: Record, column: int, least: float) -> Floats:
    """Frequencies among other records that agree on all visible cells, else without the least telling ones."""
    others = [other for other in range(len(grid.sizes)) if other != column]
    others.sort(key=lambda other: (-round(bits_told(grid, column, other), 9), other))
    for compared in range(len(others), -1, -1):
        counts = np.zeros(grid.sizes[column])
        for row, witness in enumerate(grid.codes.tolist()):
            agrees = all(record[c] in (HIDDEN, witness[c]) for c in others[:compared])
            if row != own and witness[column] != HIDDEN and agrees:
                counts[witness[column]] += grid.weight[row]
        if counts.sum() >= least or (compared == 0 and counts.sum() > 0):
            return np.asarray(counts / counts.sum())
    return np.full(grid.sizes[column], 1 / grid.sizes[column])


def naively(grid: Grid, record: Record, column: int) -> Floats:
    """Naive Bayes: (n_v + 1) times (n_vc + 1) / (n_v + values) for each visible cell."""
    rows = list(zip(grid.codes.tolist(), grid.weight.tolist(), strict=True))
    chances = []
    for value in range(grid.sizes[column]):
        chance = 1 + sum(w for row, w in rows if row[column] == value)
        for other, size in enumerate(grid.sizes):
            if other != column and record[other] != HIDDEN:
                both = sum(w for row, w in rows if row[column] == value and row[other] == record[other])
                shows = sum(w for row, w in rows if row[column] == value and row[other] != HIDDEN)
                chance *= (both + 1) / (shows + size)
        chances.append(chance)
    return np.asarray(np.array(chances) / sum(chances))


def asked(node: Node, chances: Sequence[Sequence[float] | None]) -> Floats:
    """A tree asked about a record of which each column's chances are known, or (None) nothing is."""
    if not node.children:
        return np.asarray(node.counts / node.counts.sum())
    known = chances[node.column]
    if known is None:
        parts = node.share.tolist()
    else:
        parts = [sum(known[v] for v in range(len(known)) if node.child_of[v, s]) for s in range(len(node.children))]
    return np.asarray(sum(part * asked(son, chances) for part, son in zip(parts, node.children, strict=True)))


def completed(node: Node, record: Record, shares: Sequence[Sequence[float]]) -> Floats:
    """The same as a mean over every way to complete the record, each hidden column drawn on its own."""
    hidden = [column for column, code in enumerate(record) if code == HIDDEN]
    total = np.zeros(len(node.counts))
    for filled in itertools.product(*(range(len(shares[column])) for column in hidden)):
        chance, whole = 1.0, [int(code) for code in record]
        for column, code in zip(hidden, filled, strict=True):
            chance *= shares[column][code]
            whole[column] = code
        sure = [[float(v == code) for v in range(len(shares[column]))] for column, code in enumerate(whole)]
        total += chance * asked(node, sure)
    return total
