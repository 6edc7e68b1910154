"""Counting exactly: the numbers of people are written down cell by cell, and states that have the same future merge.

A state is what the sums and blocks that are still open have come to. Each step gives one cell (group, class) all
numbers of people that its equalities leave; a sum or a constraint is checked when its last cell is filled,
and forgotten. A pass backward over the steps then gives every cell's expected people.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln, logsumexp

from leafgate_maxent.counting.answer import Answer
from leafgate_maxent.counting.island import Island
from leafgate_maxent.counting.tally import Tally, tally_of
from leafgate_maxent.counting.whole import impossible, out_of_time
from leafgate_maxent.walk import Floats, Ids


@dataclass(frozen=True)
class Step:
    """All ways to fill one cell: from a state, with so many people, to a state of the next step."""

    before: Ids
    people: Ids
    after: Ids


@dataclass
class States:
    """What the open columns have come to, one row a state; `log_ways` to get there."""

    columns: Ids
    come: Ids
    log_ways: Floats
    steps: list[Step] = field(default_factory=list)
    listed: int = 0


def listed(island: Island, most: int, deadline: float) -> Answer | None:
    """The exact answer; None when more than `most` fillings of a cell would have to be listed."""
    tally = tally_of(island)
    states = States(np.zeros(0, dtype=np.int64), np.zeros((1, 0), dtype=np.int64), np.zeros(1))
    forward = [states.log_ways]
    for cell in range(len(tally.cells)):
        if time.monotonic() > deadline:
            raise out_of_time()
        if not _fill(states, tally, cell, most):
            return None
        forward.append(states.log_ways)
    log_ways = float(logsumexp(states.log_ways))
    people = np.zeros(island.free.shape)
    people.ravel()[tally.cells] = _expected(states, forward, log_ways)
    evidence = {"listed": states.listed}
    return Answer(people, log_ways + island.log_ways, evidence)


def _fill(states: States, tally: Tally, cell: int, most: int) -> bool:
    """Fill one cell in every way; False when that makes too many. Raises InconclusiveError when there is none."""
    _open(states, tally, cell)
    least, up_to = _limits(states, tally, cell)
    many = np.maximum(up_to - least + 1, 0)
    states.listed += int(many.sum())
    if states.listed > most:
        return False
    before = np.repeat(np.arange(len(many)), many)
    people = np.arange(len(before)) - np.repeat(many.cumsum() - many, many) + least[before]
    come = states.come[before]
    place = np.searchsorted(states.columns, tally.touched[cell])
    come[:, place] += people[:, None] * tally.numbers[cell]
    good = np.flatnonzero(tally.good(cell, states.columns, come))
    if not len(good):
        raise impossible()
    before, people, come = before[good], people[good], come[good]
    staying = tally.last[states.columns] > cell
    come, after = _merged(come[:, staying])
    states.steps.append(Step(before, people, after))
    states.columns, states.come = states.columns[staying], come
    states.log_ways = _log_sums(states.log_ways[before] - gammaln(people + 1), after, len(come))
    return True


def _open(states: States, tally: Tally, cell: int) -> None:
    """Take in the columns that begin with this cell."""
    new = np.setdiff1d(tally.touched[cell], states.columns)
    if len(new):
        columns = np.concatenate([states.columns, new])
        come = np.concatenate([states.come, np.broadcast_to(tally.base[new], (len(states.come), len(new)))], axis=1)
        order = np.argsort(columns)
        states.columns, states.come = columns[order], come[:, order]


def _limits(states: States, tally: Tally, cell: int) -> tuple[Ids, Ids]:
    """At least and at most how many people can be in a cell, by its equalities."""
    touched = tally.touched[cell]
    equal = touched[tally.equal[touched]]
    left = tally.bound[equal] - states.come[:, np.searchsorted(states.columns, equal)]
    ending = tally.last[equal] == cell
    return np.maximum(np.where(ending, left, 0).max(axis=1), 0), left.min(axis=1)


def _merged(come: Ids) -> tuple[Ids, Ids]:
    """The distinct rows, and each row's number among them."""
    if not come.shape[1]:
        return come[:1], np.zeros(len(come), dtype=np.int64)
    marks = np.random.default_rng(0).integers(1, 2**63, size=come.shape[1], dtype=np.uint64) | np.uint64(1)
    mark = (come.astype(np.uint64) * marks).sum(axis=1, dtype=np.uint64)
    _, first, after = np.unique(mark, return_index=True, return_inverse=True)
    if (come[first][after] != come).any():
        distinct, after = np.unique(come, axis=0, return_inverse=True)
        return distinct, after.ravel()
    return come[first], after


def _log_sums(logs: Floats, to: Ids, size: int) -> Floats:
    """For each of `size` places the logarithm of the sum of what goes there."""
    top = np.full(size, -np.inf)
    np.maximum.at(top, to, logs)
    held = np.where(np.isfinite(top), top, 0)
    total = np.bincount(to, weights=np.exp(logs - held[to]), minlength=size)
    return np.asarray(np.log(total, where=total > 0, out=np.full(size, -np.inf)) + held)


def _expected(states: States, forward: list[Floats], log_ways: float) -> Floats:
    """Each cell's expected people."""
    people = np.zeros(len(states.steps))
    backward = np.zeros(len(states.come))
    for i in range(len(states.steps) - 1, -1, -1):
        step = states.steps[i]
        onward = backward[step.after] - gammaln(step.people + 1)
        people[i] = np.exp(forward[i][step.before] + onward - log_ways) @ step.people
        backward = _log_sums(onward, step.before, len(forward[i]))
    return people
