"""Which further cells of a record to withhold: as few as will do, searched for many records at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from leafgate.types.arrays import Codes, Floats, Mask, Rows
from leafgate_downgrading.adversaries import AdversaryEnsemble
from leafgate_downgrading.grid import HIDDEN


@dataclass(frozen=True)
class Plans:
    """For each row the columns to withhold; `steps` are cells that help only so far, where no plan was found."""

    complete: dict[int, tuple[int, ...]]
    steps: dict[int, tuple[int, ...]]


@dataclass(frozen=True)
class PlanningProblem:
    """What is to be planned: the table as it is, what limit each cell has once hidden, and each cell's price.

    A limit of 1 is none. `allowed` says which columns' cells may be withheld; `price` has a number for each column;
    `order` names the columns the way a tree would ask them, the root first.
    """

    codes: Codes
    protected: Mask
    limits: Floats
    allowed: Mask
    price: Floats
    order: Codes
    width: int = 8


def plan_rows(ensemble: AdversaryEnsemble, rows: Rows, question: PlanningProblem) -> Plans:
    """For each row a small set of columns whose withholding brings all its hidden cells within their limits.

    A beam search, smaller sets first: the `width` sets with the least excess belief are carried on, ties by
    price and then the root first. Of the sets of one size that will do the cheapest is taken. Where none will do, one
    that at least brings the protected cells within their limit is, else the one cell that helps most, if any does: what
    is withheld in other records may help later. The adversaries are taken as they are: what withholding does to
    what they learn elsewhere shows in the next round.
    """
    plans: dict[int, tuple[int, ...]] = {}
    half: dict[int, tuple[int, ...]] = {}
    steps: dict[int, tuple[int, ...]] = {}
    front = {int(row): [frozenset[int]()] for row in rows}
    while front:
        sets = [(row, grown) for row, some in front.items() for grown in _extend_sets(some, row, question)]
        front = {}
        for row, mine in _evaluate(ensemble, sets, question):
            first = min(mine, key=lambda each: (each.much, each.cost))
            if len(first.columns) == 1 and first.gains:
                steps[row] = first.columns
            done = [each for each in mine if not each.beyond]
            helped = [each for each in mine if each.helps]
            if helped:
                half.setdefault(row, min(helped, key=lambda each: (each.much, each.cost)).columns)
            if done:
                plans[row] = min(done, key=lambda each: each.cost).columns
            else:
                best = sorted(mine, key=lambda each: (each.much, each.cost))[: question.width]
                front[row] = [frozenset(each.columns) for each in best]
    whole = half | plans
    return Plans(whole, {row: one for row, one in steps.items() if row not in whole})


def _extend_sets(some: list[frozenset[int]], row: int, question: PlanningProblem) -> Iterator[tuple[int, ...]]:
    """Every set that has one more visible cell of the row, once."""
    free = np.flatnonzero(question.allowed & (question.codes[row] != HIDDEN)).tolist()
    rank = np.argsort(question.order).tolist()
    every = {
        tuple(sorted(one | {column}, key=rank.__getitem__)) for one in some for column in free if column not in one
    }
    yield from sorted(every, key=lambda columns: [rank[column] for column in columns])


@dataclass(frozen=True)
class Candidate:
    """A set of columns: is a belief beyond its limit, by how much in all, and what does it cost?

    `helps` where the protected cells come within their limit, which one was beyond before; `gains` where there
    is less excess than before.
    """

    beyond: bool
    helps: bool
    gains: bool
    much: float
    cost: float
    columns: tuple[int, ...]


def _evaluate(
    ensemble: AdversaryEnsemble, sets: list[tuple[int, tuple[int, ...]]], question: PlanningProblem
) -> Iterator[tuple[int, list[Candidate]]]:
    """For each row its sets, root first."""
    if not sets:
        return
    own = np.array([row for row, _ in sets])
    records, limits = question.codes[own], question.limits[own]
    which = np.repeat(np.arange(len(sets)), [len(columns) for _, columns in sets])
    records[which, np.concatenate([columns for _, columns in sets]).astype(np.int64)] = HIDDEN
    beyond, much = ensemble.excess(records, own, limits)
    before, was = ensemble.excess(question.codes[own], own, limits)
    gains = was > much + 1e-9
    helps = (before & question.protected[own]).any(axis=1) & ~(beyond & question.protected[own]).any(axis=1)
    found: dict[int, list[Candidate]] = {}
    for i, (row, columns) in enumerate(sets):
        cost = float(question.price[list(columns)].sum())
        found.setdefault(row, []).append(
            Candidate(
                bool(beyond[i].any()), bool(helps[i]), bool(gains[i]), round(float(much[i]), 9), round(cost, 9), columns
            )
        )
    yield from found.items()
