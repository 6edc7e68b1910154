"""A cell and a class for each row of the training table, where a forest's file has the seeds of its bootstraps.

The seeds give back how often each tree drew each row. The draws that a leaf counts of a class then are a sum over rows
of known numbers, of those rows that have the class and are in the leaf: whole rows in cells are searched that have all
of these sums, by simulated annealing from the likeliest numbers of people; of few rows, by a solver where that fails.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Floats, Ids, Mask, Release
from leafgate_plugins.reconstruction.forest.assignment import Assignment
from leafgate_plugins.reconstruction.forest.draws import LEAST, likely_people, people_in_cells, whole_people
from leafgate_plugins.reconstruction.forest.regions import Forest

Singles = NDArray[np.float32]

COMPARISONS = 3_000_000_000
"""Rows times trees times cells, of the likeliest cells, that are compared to see which cells a row may be in."""
MAX_OPTIONS = 10_000_000
"""Rows times the cells that each may be in: where there are more, the bags are not used."""
ALL_OPTIONS = 2_000
"""Where cells times classes are no more than this, all are looked at."""
LEAST_LIKELY = 1e-5
"""Else those in which at least so many people are likely."""
BLOCK = 4_000_000
"""Rows times cells that are compared at once."""
MAX_SOLVED = 5_000
"""Rows times the cells that each may be in: where there are no more, a solver searches what annealing did not find."""
SWEEPS = (25, 100, 400, 1_600)
"""In each round of annealing every row is placed anew so many times."""
HOT = 6.0
"""The temperature at the beginning of a round: a row's draws beyond what leaves count, relative to what they count."""
COLD = 0.3
"""And at its end."""
LIKELY_SHARE = 0.3
"""The share of the time after which the iteration for the likeliest numbers ends, and annealing begins."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BaggedPeople:
    """A table of which the trees drew their rows, as often as the seeds say.

    Attributes:
        people: those of each class, None where nobody is.
        trees_together: how many trees were looked at together.
        wrong: how many draws, of all trees together, are in leaves beyond those that they count; None where the bags
            were not used, because rows and cells are too many.
    """

    people: list[Assignment | None]
    trees_together: int
    wrong: int | None


def usable_draws(forest: Forest, draws: Ids | None) -> Ids | None:
    """The draws by the trees of a forest, shape (n_rows, n_trees of the forest); None where its leaves count others.

    Args:
        forest: whose trees count bootstraps.
        draws: how often each tree of the release drew each row; None where nobody knows.
    """
    if draws is None or max(forest.numbers) >= draws.shape[1]:
        return None
    own = draws[:, list(forest.numbers)]
    counted = [int(tree.people.sum()) for tree in forest.trees]
    return own if own.sum(axis=0).tolist() == counted else None


def people_of_bags(
    forest: Forest, release: Release, draws: Ids, rng: np.random.Generator, deadline: float
) -> BaggedPeople:
    """A leaf of each tree for each row, so that each leaf has the draws of each class that it counts, if found.

    Args:
        forest: whose trees count bootstraps.
        release: the release of which it is.
        draws: shape (n_rows, n_trees), how often each tree of the forest drew each row.
        rng: places the rows.
        deadline: by `time.monotonic`.

    Raises:
        InconclusiveError: each tree alone has too many leaves.

    Source: J. Ferry, R. Fukasawa, T. Pascal, T. Vidal, "Trained Random Forests Completely Reveal your Dataset", ICML
    2024: the table that agrees with bootstraps, where how often each row was drawn is known or searched.
    Departure: their constraint solver ends with a table that agrees or with none. Here the table of which the fewest
    draws are in a wrong leaf is kept, beginning with one of the likeliest table.
    """
    start = time.monotonic()
    share = start + LIKELY_SHARE * (deadline - start) if np.isfinite(deadline) else deadline
    cells, numbers, likely = likely_people(forest, release, share)
    likely = np.maximum(likely, LEAST)
    likely *= len(draws) / likely.sum()
    label, cell = _likeliest_options(likely, len(draws), len(numbers))
    used = [forest.trees[number].people for number in numbers]
    rows = RowSearch.of(cells[cell], label, likely[label, cell], used, draws[:, list(numbers)])
    if rows is None:
        people, wrong = whole_people(likely), None
    else:
        choice, wrong = rows.anneal(rng, deadline)
        solved = rows.solve(deadline) if wrong else None
        choice, wrong = (choice, wrong) if solved is None else (solved, 0)
        people = np.zeros(likely.shape, dtype=np.int64)
        np.add.at(people, (label[choice], cell[choice]), 1)
    found = people_in_cells(forest, cells, numbers, people)
    return BaggedPeople(people=found, trees_together=len(numbers), wrong=wrong)


def _likeliest_options(likely: Floats, n_rows: int, n_trees: int) -> tuple[Ids, Ids]:
    """The classes and the cells that rows may be in, as positions in `likely`, shape (n_classes, n_cells)."""
    most = max(ALL_OPTIONS, COMPARISONS // (n_rows * n_trees))
    flat = likely.reshape(-1)
    chosen = np.sort(np.argsort(-flat, kind="stable")[:most])
    if likely.size > ALL_OPTIONS:
        chosen = chosen[flat[chosen] >= min(LEAST_LIKELY, float(flat.max()))]
    label, cell = np.divmod(chosen, likely.shape[1])
    return label, cell


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSearch:
    """Rows that are to be placed in cells of a class, so that leaves have the draws that they count.

    Attributes:
        number: shape (n_options, n_trees), the leaf of each option, counted through all trees and classes.
        counts: shape (n_numbers,), the draws that each leaf counts.
        draws: shape (n_rows, n_trees).
        likely: shape (n_options,), how many rows are likely in each.
        possible: for each row the options in which every leaf counts as many draws as the row has there.
    """

    number: Ids
    counts: Singles
    draws: Singles
    likely: Floats
    possible: Sequence[Ids]

    @classmethod
    def of(cls, leaf: Ids, label: Ids, likely: Floats, people: Sequence[Ids], draws: Ids) -> RowSearch | None:
        """The search for rows; None where rows and options are too many.

        Args:
            leaf: shape (n_options, n_trees), the leaf of each tree that an option is in.
            label: shape (n_options,), its class.
            likely: shape (n_options,), how many rows are likely there.
            people: for each tree shape (n_leaves, n_classes), the draws that its leaves count.
            draws: shape (n_rows, n_trees), how often each tree drew each row.
        """
        first = np.cumsum([0, *(each.size for each in people)])[:-1]
        classes = people[0].shape[1]
        number = np.ascontiguousarray(first + leaf * classes + label[:, None])
        counts = np.concatenate([each.reshape(-1) for each in people])
        possible, n = list[Ids](), 0
        rows = max(1, BLOCK // len(leaf))
        for start in range(0, len(draws), rows):
            fits = _fits(counts[number], draws[start : start + rows])
            n += int(fits.sum())
            if n > MAX_OPTIONS:
                return None
            possible += [np.flatnonzero(each) if each.any() else np.arange(len(leaf)) for each in fits]
        return cls(
            number=number,
            counts=counts.astype(np.float32),
            draws=draws.astype(np.float32),
            likely=likely,
            possible=possible,
        )

    def beyond(self, choice: Ids) -> Floats:
        """For each leaf the draws of the rows that are there less those that it counts."""
        inside = np.bincount(
            self.number[choice].reshape(-1), weights=self.draws.reshape(-1), minlength=len(self.counts)
        )
        return np.asarray(inside - self.counts, dtype=np.float64)

    def start(self, rng: np.random.Generator) -> Ids:
        """An option for each row: as many rows in each as are likely, in any order."""
        share = self.likely * (len(self.draws) / self.likely.sum())
        return rng.permutation(np.repeat(np.arange(len(share)), whole_people(share)))

    def anneal(self, rng: np.random.Generator, deadline: float) -> tuple[Ids, int]:
        """The option of each row with the fewest draws in a wrong leaf, and how many these are.

        A row is placed with a probability in proportion to how many rows are likely in an option, times
        exp(-energy / temperature); the energy is the sum over leaves of (draws - count)^2 / (2 count).

        Source: S. Geman, D. Geman, IEEE Transactions on Pattern Analysis and Machine Intelligence 6, 1984,
        doi:10.1109/TPAMI.1984.4767596.
        Departure: the temperature falls geometrically, in rounds of more and more sweeps.
        """
        choice = self.start(rng)
        left = self.beyond(choice)
        best, wrong = choice.copy(), _positive(left)
        place = _Placement.of(self)
        seconds = 0.0
        for planned in SWEEPS:
            begin = time.monotonic()
            affordable = int(min(max(deadline - begin, 0) / seconds, 1e9)) if seconds else planned
            sweeps = affordable if affordable < 5 * planned else planned  # the last round takes all the time
            for temperature in np.geomspace(HOT, COLD, sweeps).tolist():
                if not wrong or time.monotonic() > deadline:
                    return best, wrong
                place.sweep(choice, left, temperature, rng)
                left = self.beyond(choice)
                if _positive(left) < wrong:
                    best, wrong = choice.copy(), _positive(left)
            seconds = (time.monotonic() - begin) / max(sweeps, 1)
        return best, wrong

    def solve(self, deadline: float) -> Ids | None:
        """The option of each row, so that no draw is in a wrong leaf, by a solver; None where it finds none in time.

        Where rows and options are many, none is searched.
        """
        from scipy.optimize import LinearConstraint, milp
        from scipy.sparse import coo_array, vstack

        row = np.repeat(np.arange(len(self.draws)), [len(each) for each in self.possible])
        option, seconds = np.concatenate(self.possible), deadline - time.monotonic()
        if len(row) > MAX_SOLVED or seconds <= 0:
            return None
        every = np.arange(len(row))
        draws, leaf = self.draws[row].reshape(-1), self.number[option].reshape(-1)
        once = coo_array((np.ones(len(row)), (row, every)), shape=(len(self.draws), len(row)))
        drawn = coo_array((draws, (leaf, every.repeat(self.draws.shape[1]))), shape=(len(self.counts), len(row)))
        right = np.concatenate([np.ones(len(self.draws)), self.counts])
        limit = {"time_limit": seconds} if np.isfinite(seconds) else {}
        system = LinearConstraint(vstack([once, drawn], format="csr"), right, right)
        result = milp(
            np.zeros(len(row)), constraints=system, integrality=np.ones(len(row)), bounds=(0, 1), options=limit
        )
        if result.x is None:
            return None
        chosen = np.flatnonzero(result.x > 0.5)
        agrees = np.array_equal(row[chosen], np.arange(len(self.draws))) and not self.beyond(option[chosen]).any()
        return np.asarray(option[chosen]) if agrees else None


@dataclass(frozen=True, kw_only=True, eq=False)
class _Placement:
    """What placing a row needs.

    Attributes:
        rows: the search.
        weight: shape (n_numbers,), of the draws in each leaf.
        own: for each row and each option that is possible for it the energy of the row's draws alone.
        prior: shape (n_options,), the logarithm of how many rows are likely in each.
    """

    rows: RowSearch
    weight: Singles
    own: Sequence[Singles]
    prior: Singles

    @classmethod
    def of(cls, rows: RowSearch) -> _Placement:
        weight = (1 / np.maximum(rows.counts, 1)).astype(np.float32)
        each = zip(rows.possible, rows.draws, strict=True)
        own = [weight[rows.number[possible]] @ (row * row / 2) for possible, row in each]
        prior = np.log(np.maximum(rows.likely, LEAST_LIKELY)).astype(np.float32)
        return cls(rows=rows, weight=weight, own=own, prior=prior)

    def sweep(self, choice: Ids, left: Floats, temperature: float, rng: np.random.Generator) -> None:
        """Place every row anew, one after another; `choice` is changed."""
        rows, weight = self.rows, self.weight
        beyond = (left * weight).astype(np.float32)
        chance, cold = rng.random(len(choice)).tolist(), np.float32(-1 / temperature)
        for row in rng.permutation(len(choice)).tolist():
            draws, possible = rows.draws[row], rows.possible[row]
            here = rows.number[choice[row]]
            beyond[here] -= draws * weight[here]
            score = beyond.take(rows.number.take(possible, axis=0)) @ draws
            score += self.own[row]
            score *= cold
            score += self.prior[possible]
            score -= score.max()
            total = np.exp(score).cumsum()
            choice[row] = possible[min(int(total.searchsorted(chance[row] * total[-1])), len(possible) - 1)]
            here = rows.number[choice[row]]
            beyond[here] += draws * weight[here]


def _fits(counts: Ids, draws: Ids) -> Mask:
    """In which options every leaf counts as many draws as a row has there: shape (n_rows, n_options)."""
    fits = np.ones((len(draws), len(counts)), dtype=bool)
    for count, drawn in zip(counts.T, draws.T, strict=True):
        fits &= drawn[:, None] <= count
    return fits


def _positive(beyond: Floats) -> int:
    """How many draws are in leaves beyond those that they count."""
    return int(np.maximum(beyond, 0).sum())
