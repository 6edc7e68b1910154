"""Which further cells of a record to withhold: as few as will do, searched a cell at a time for many records at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from leafgate_downgrading.grid import HIDDEN, Codes, Mask, Rows, Shares
from leafgate_downgrading.jury import Jury


@dataclass(frozen=True)
class Question:
    """What is to be planned: the table as it is, what limit each cell has once hidden, and each cell's price.

    A limit of 1 is none. `allowed` says which columns' cells may be withheld; `price` has a number for each column.
    """

    codes: Codes
    limits: Shares
    allowed: Mask
    price: Shares
    width: int = 8


def planned(jury: Jury, rows: Rows, question: Question) -> dict[int, tuple[int, ...]]:
    """For each row a small set of columns whose withholding brings all its hidden cells within their limits.

    A beam search, smaller sets first: the `width` sets with the least excess belief are carried on, ties by
    price and then by the order of columns. Of the sets of one size that will do the cheapest is taken. Rows for which
    nothing was found are left out. The adversaries are taken as they are: what withholding does to what
    they learn elsewhere shows in the next round.
    """
    plans: dict[int, tuple[int, ...]] = {}
    front = {int(row): [frozenset[int]()] for row in rows}
    while front:
        sets = [(row, grown) for row, some in front.items() for grown in _grown(some, row, question)]
        front = {}
        for row, mine in _judged(jury, sets, question):
            done = [(cost, columns) for beyond, _, cost, columns in mine if not beyond]
            if done:
                plans[row] = min(done)[1]
            else:
                best = sorted((much, cost, columns) for _, much, cost, columns in mine)[: question.width]
                front[row] = [frozenset(columns) for _, _, columns in best]
    return plans


def _grown(some: list[frozenset[int]], row: int, question: Question) -> Iterator[tuple[int, ...]]:
    """Every set that has one more visible cell of the row, once."""
    free = np.flatnonzero(question.allowed & (question.codes[row] != HIDDEN)).tolist()
    yield from sorted({tuple(sorted(one | {column})) for one in some for column in free if column not in one})


Judged = tuple[bool, float, float, tuple[int, ...]]


def _judged(
    jury: Jury, sets: list[tuple[int, tuple[int, ...]]], question: Question
) -> Iterator[tuple[int, list[Judged]]]:
    """For each row its sets: is a belief beyond its limit, the excess, the price, the columns."""
    if not sets:
        return
    own = np.array([row for row, _ in sets])
    records, limits = question.codes[own], question.limits[own]
    which = np.repeat(np.arange(len(sets)), [len(columns) for _, columns in sets])
    records[which, np.concatenate([columns for _, columns in sets]).astype(np.int64)] = HIDDEN
    beyond, much = jury.excess(records, own, limits)
    found: dict[int, list[Judged]] = {}
    for i, (row, columns) in enumerate(sets):
        cost = float(question.price[list(columns)].sum())
        found.setdefault(row, []).append((bool(beyond[i]), round(float(much[i]), 9), round(cost, 9), columns))
    yield from found.items()
