"""Withhold cells round by round until every posterior is within its limit; plan for many records at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leafgate.api import Codes, Floats, Mask
from leafgate.kernel.arrays import Rows
from leafgate_plugins.downgrading import naive_bayes
from leafgate_plugins.downgrading.adversaries import LIMIT_TOLERANCE, AdversaryEnsemble, AdversaryModel, TreeCache
from leafgate_plugins.downgrading.grid import HIDDEN, Cells, Grid, encode_cells
from leafgate_plugins.downgrading.metrics import UtilityLoss


@dataclass(frozen=True)
class Plans:
    """For each row the columns to withhold; `steps` are cells that help only so far, where no plan was found."""

    complete: dict[int, tuple[int, ...]]
    steps: dict[int, tuple[int, ...]]


@dataclass(frozen=True)
class PlanningProblem:
    """What is to be planned: the table as it is, what limit each cell has once hidden, and each cell's price.

    A limit of 1 is none. `allowed` states which columns' cells may be withheld; `price` has a number for each column;
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
    """A set of columns: is a belief outside its limit, by how much in all, and what does it cost?

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


@dataclass(frozen=True)
class Objective:
    """The limits to satisfy, and the cells that may be withheld for it.

    No protected cell may be believed with more than `tau`, no cell that is withheld for its sake with more than `rho`
    (1: no limit); models may err by `v` more, by the `weights` of the columns as classes; cells of the `allowed`
    columns may be withheld. A share `allow` of the protected cells may stay as they are. With `truth` only
    belief in the true value counts.
    """

    against: Sequence[AdversaryModel]
    tau: float
    rho: float
    v: float
    weights: Floats
    allowed: Mask
    allow: float = 0.0
    truth: bool = False
    width: int = 4


@dataclass
class Search:
    """The state of a search: hidden cells, rows given up (and why), the loss of utility, and every step so far.

    `stuck` are rows for which nothing more could be done, since `hidden` last changed or before.
    """

    hidden: Mask
    stuck: set[int] = field(default_factory=set)
    given_up: dict[int, str] = field(default_factory=dict)
    loss: float = 0.0
    rounds: int = 0
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    kept: TreeCache = field(default_factory=dict)
    moved: bool = False
    desperate: set[int] = field(default_factory=set)
    _seen: tuple[Grid, Floats] | None = None

    def counts(self, grid: Grid) -> Floats:
        """The grid's pair counts, made from the last round's where only some records have changed."""
        last = self._seen
        if last is not None and last[0].sizes == grid.sizes:
            counts = naive_bayes.update_pair_counts(last[1], last[0], grid)
        else:
            counts = naive_bayes.pair_counts(grid)
        self._seen = grid, counts
        return counts


FEW_VISIBLE_CELLS = 64
"""With no more visible cells than this in all threatened rows, other rows are drawn in before one is given up."""


@dataclass(frozen=True)
class RoundState:
    """One round: what is seen, by whom, each cell's limit, and how sure the surest is of each hidden cell of `rows`."""

    grid: Grid
    counts: Floats
    ensemble: AdversaryEnsemble
    limits: Floats
    rows: Rows
    sure: Floats
    worrying: Mask


def round_state(cells: Cells, protected: Mask, objective: Objective, search: Search) -> RoundState:
    """Fit the adversaries to what is visible now, and find the cells that they believe beyond their limits."""
    grid, truth = encode_cells(cells, search.hidden)
    counts = search.counts(grid)
    ensemble = AdversaryEnsemble(
        [each.fit(grid, search.kept, counts) for each in objective.against], truth if objective.truth else None
    )
    limits = np.where(protected, objective.tau, restoration_limits(counts, grid, objective.rho))
    rows = np.flatnonzero(search.hidden.any(axis=1))
    sure = ensemble.strongest(grid.codes[rows], rows)
    worrying = (sure > limits[rows] + LIMIT_TOLERANCE) & ~np.isin(rows, list(search.given_up)).reshape(-1, 1)
    worrying = _not_stuck(worrying, rows, objective, search)
    return RoundState(grid, counts, ensemble, limits, rows, sure, worrying)


def restoration_limits(counts: Floats, grid: Grid, rho: float) -> Floats:
    """For each column with how much a cell that was withheld for others may be believed.

    That is rho where no value has more than half of the visible cells. Where one has a share b > 1/2, a guess is
    right so often without any inference; there the same reduction of its error is allowed: 1 - 2 (1 - rho)(1 - b).

    Departure: Chang 2003 has one threshold; below b it could not be kept by withholding anything.
    """
    people = np.diag(counts)
    shown = [people[grid.values_of(column)] for column in range(len(grid.sizes))]
    most = np.array([one.max() / one.sum() if one.sum() else 0.0 for one in shown])
    return np.maximum(rho, 1 - 2 * (1 - rho) * (1 - most))


def _not_stuck(worrying: Mask, rows: Rows, objective: Objective, search: Search) -> Mask:
    """What worries in rows for which something may be done; where only stuck ones are left they are tried once more.

    If nothing has changed since, it takes a last resort.
    """
    free = worrying & ~np.isin(rows, list(search.stuck))[:, None]
    if free.any() or not worrying.any():
        return free
    if not search.moved:
        worrying = _last_resort(worrying, rows, objective, search)
    search.stuck, search.moved = set(), False
    return worrying


def _last_resort(worrying: Mask, rows: Rows, objective: Objective, search: Search) -> Mask:
    """What still worries once one more cell of each such row is to go, whether or not it seems to help.

    Rows that have none left are given up; but where there are few cells in all, another threatened row loses one first,
    for what it shows may teach the adversary.
    """
    free = ~search.hidden[rows] & objective.allowed
    worries, some = worrying.any(axis=1), np.asarray(free.any(axis=1))
    search.desperate = set(rows[worries & some].tolist())
    others = rows[~worries & some & ~np.isin(rows, list(search.given_up))]
    if (worries & ~some).any() and len(others) and free.sum() <= FEW_VISIBLE_CELLS:
        search.desperate.add(int(others[0]))
        return worrying
    search.given_up |= dict.fromkeys(rows[worries & ~some].tolist(), "nothing left to withhold")
    return worrying & some.reshape(-1, 1)


def search_cells_to_withhold(
    cells: Cells, protected: Mask, objective: Objective, kept: TreeCache | None = None
) -> Search:
    """A search that has ended: nothing worries any more, or every row that does was given up.

    Each round the adversaries study the table as it is; the column with the highest threat comes first; for its
    worrying rows few cells are planned that will do; the plans are carried out as far as the loss of function
    allows. When no protected cell worries any more, what was withheld for their sake and can be restored does
    (ramification), and rows are planned with all their hidden cells in view. Cells are never shown again, so the
    rounds come to an end. Trees are taken from `kept` where they were grown from the same records before.

    Source: Chang 2003, sections 4, 5 and 7.
    Departure: belief in any value counts, unless `truth`; the cells of a row are planned together.
    """
    search = Search(protected.copy(), kept={} if kept is None else kept)
    whole, _ = encode_cells(cells, np.zeros_like(protected))
    utility = UtilityLoss(whole, objective.weights, search.kept)
    while (state := round_state(cells, protected, objective, search)).worrying.any():
        _round(state, protected, utility, objective, search)
    search.loss = utility.loss(search.hidden)
    return search


def _round(state: RoundState, protected: Mask, utility: UtilityLoss, objective: Objective, search: Search) -> None:
    search.rounds += 1
    column = _most_threatened(state, protected, objective)
    direct = bool((state.worrying & protected[state.rows]).any())
    todo = state.rows[state.worrying[:, column] if direct else state.worrying.any(axis=1)]
    question = _planning_problem(state, column, protected, objective, direct=direct)
    found = plan_rows(state.ensemble, todo, question)
    plans = {row: _first_visible_cell(row, question) for row in search.desperate} | found.complete | found.steps
    search.desperate = set()
    search.stuck |= set(todo.tolist()) - set(plans)
    _tolerate(todo, found, protected, objective, search)
    ready = sorted((row for row in plans if row not in search.given_up), key=lambda row: (len(plans[row]), row))
    _carry_out(ready, plans, column, state, utility, objective, search)
    search.moved |= bool(ready)


def _planning_problem(
    state: RoundState, column: int, protected: Mask, objective: Objective, *, direct: bool
) -> PlanningProblem:
    """What is to be planned: for protected cells alone as long as one of them worries."""
    limits = np.where(protected, state.limits, 1.0) if direct else state.limits
    prices = np.array([_price(state, objective, each) for each in range(len(objective.allowed))])
    order = np.append(naive_bayes.columns_by_information(state.counts, state.grid, column), column)
    return PlanningProblem(state.grid.codes, protected, limits, objective.allowed, prices, order, objective.width)


def _most_threatened(state: RoundState, protected: Mask, objective: Objective) -> int:
    """The column with the largest sum of belief in cells that must not be inferred, by the owner's weights.

    Columns where protected cells worry come before those where only withheld ones do.

    Source: Chang 2003, section 5: (1 - Cr_j) TE_j / S, the mean belief times the number of cells.
    """
    counted = protected[state.rows] | state.worrying
    threat = objective.weights * (state.sure * counted * state.grid.weight[state.rows, None]).sum(axis=0)
    direct = (state.worrying & protected[state.rows]).any(axis=0)
    return int(np.where(direct if direct.any() else state.worrying.any(axis=0), threat, -np.inf).argmax())


def _first_visible_cell(row: int, question: PlanningProblem) -> tuple[int, ...]:
    """The first cell of a row that a tree would ask, of those that can be withheld."""
    free = question.allowed & (question.codes[row] != HIDDEN)
    return (next(int(column) for column in question.order if free[column]),)


def _price(state: RoundState, objective: Objective, column: int) -> float:
    """Cost of withholding a cell: the column's weighted mutual information with the other columns, in bits."""
    result = naive_bayes.mutual_information(state.counts, state.grid, column)
    result[column] = 0.0
    return float(objective.weights @ result)


def _tolerate(todo: Rows, found: Plans, protected: Mask, objective: Objective, search: Search) -> None:
    """Give up the rows that cost the most, those without a plan first, as many as may stay unprotected."""
    at_stake = protected.sum(axis=1)
    budget = objective.allow * at_stake.sum() - sum(at_stake[row] for row in search.given_up)
    for row in sorted(todo.tolist(), key=lambda row: -len(found.complete.get(row, range(len(objective.allowed) + 1)))):
        if at_stake[row] and at_stake[row] <= budget + LIMIT_TOLERANCE:
            search.given_up[row] = "tolerated"
            budget -= at_stake[row]


def _carry_out(
    rows: Sequence[int],
    plans: Mapping[int, tuple[int, ...]],
    column: int,
    state: RoundState,
    utility: UtilityLoss,
    objective: Objective,
    search: Search,
) -> None:
    """Withhold what is planned for these rows if models stay good enough, else of as many of them as they do."""
    if not rows:
        return
    hidden = search.hidden.copy()
    for row in rows:
        hidden[row, list(plans[row])] = True
    loss = utility.loss(hidden)
    if loss <= objective.v + LIMIT_TOLERANCE:
        search.hidden = hidden
        before = dict(zip(state.rows.tolist(), state.sure[:, column].tolist(), strict=True))
        for row in rows:
            why = {"round": search.rounds, "row": row, "for": column, "believed": before[row], "loss": loss}
            search.steps += [why | {"withheld": cell} for cell in plans[row]]
    elif len(rows) == 1:
        search.given_up[rows[0]] = "models would become too bad"
    else:
        half = len(rows) // 2
        _carry_out(rows[:half], plans, column, state, utility, objective, search)
        _carry_out(rows[half:], plans, column, state, utility, objective, search)
