"""Downgrading: withholding cells, a few at a time, until no adversary is too sure of a protected one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from leafgate_downgrading.coding import Cells, coded
from leafgate_downgrading.grid import HIDDEN, Mask, Rows
from leafgate_downgrading.jury import CLOSE
from leafgate_downgrading.pairs import information, most_telling
from leafgate_downgrading.planning import Plans, Question, planned
from leafgate_downgrading.searching import Aim, Search
from leafgate_downgrading.trees import Kept
from leafgate_downgrading.usefulness import Usefulness
from leafgate_downgrading.viewing import View, viewed


def downgraded(cells: Cells, protected: Mask, aim: Aim, kept: Kept | None = None) -> Search:
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
    whole, _ = coded(cells, np.zeros_like(protected))
    use = Usefulness(whole, aim.weights, search.kept)
    while (view := viewed(cells, protected, aim, search)).worrying.any():
        _round(view, protected, use, aim, search)
    search.loss = use.loss(search.hidden)
    return search


def _round(view: View, protected: Mask, use: Usefulness, aim: Aim, search: Search) -> None:
    search.rounds += 1
    column = _most_threatened(view, protected, aim)
    direct = bool((view.worrying & protected[view.rows]).any())
    todo = view.rows[view.worrying[:, column] if direct else view.worrying.any(axis=1)]
    question = _question(view, column, protected, aim, direct=direct)
    found = planned(view.jury, todo, question)
    plans = {row: _root(row, question) for row in search.desperate} | found.whole | found.steps
    search.desperate = set()
    search.stuck |= set(todo.tolist()) - set(plans)
    _tolerate(todo, found, protected, aim, search)
    ready = sorted((row for row in plans if row not in search.given_up), key=lambda row: (len(plans[row]), row))
    _carry_out(ready, plans, column, view, use, aim, search)
    search.moved |= bool(ready)


def _question(view: View, column: int, protected: Mask, aim: Aim, *, direct: bool) -> Question:
    """What is to be planned: for protected cells alone as long as one of them worries."""
    limits = np.where(protected, view.limits, 1.0) if direct else view.limits
    prices = np.array([_price(view, aim, each) for each in range(len(aim.allowed))])
    order = np.append(most_telling(view.counts, view.grid, column), column)
    return Question(view.grid.codes, protected, limits, aim.allowed, prices, order, aim.width)


def _most_threatened(view: View, protected: Mask, aim: Aim) -> int:
    """The column with the largest sum of belief in cells that must not be inferred, by the owner's weights.

    Columns where protected cells worry come before those where only withheld ones do.

    Source: Chang 2003, section 5: (1 - Cr_j) TE_j / S, the mean belief times the number of cells.
    """
    counted = protected[view.rows] | view.worrying
    threat = aim.weights * (view.sure * counted * view.grid.weight[view.rows, None]).sum(axis=0)
    direct = (view.worrying & protected[view.rows]).any(axis=0)
    return int(np.where(direct if direct.any() else view.worrying.any(axis=0), threat, -np.inf).argmax())


def _root(row: int, question: Question) -> tuple[int, ...]:
    """The first cell of a row that a tree would ask, of those that can be withheld."""
    free = question.allowed & (question.codes[row] != HIDDEN)
    return (next(int(column) for column in question.order if free[column]),)


def _price(view: View, aim: Aim, column: int) -> float:
    """What withholding a cell of a column loses: the bits it tells of the others as classes, by the owner's weights."""
    told = information(view.counts, view.grid, column)
    told[column] = 0.0
    return float(aim.weights @ told)


def _tolerate(todo: Rows, found: Plans, protected: Mask, aim: Aim, search: Search) -> None:
    """Give up the rows that cost the most, those without a plan first, as many as may stay unprotected."""
    at_stake = protected.sum(axis=1)
    budget = aim.allow * at_stake.sum() - sum(at_stake[row] for row in search.given_up)
    for row in sorted(todo.tolist(), key=lambda row: -len(found.whole.get(row, range(len(aim.allowed) + 1)))):
        if at_stake[row] and at_stake[row] <= budget + CLOSE:
            search.given_up[row] = "tolerated"
            budget -= at_stake[row]


def _carry_out(
    rows: Sequence[int],
    plans: Mapping[int, tuple[int, ...]],
    column: int,
    view: View,
    use: Usefulness,
    aim: Aim,
    search: Search,
) -> None:
    """Withhold what is planned for these rows if models stay good enough, else of as many of them as they do."""
    if not rows:
        return
    hidden = search.hidden.copy()
    for row in rows:
        hidden[row, list(plans[row])] = True
    loss = use.loss(hidden)
    if loss <= aim.v + CLOSE:
        search.hidden = hidden
        before = dict(zip(view.rows.tolist(), view.sure[:, column].tolist(), strict=True))
        for row in rows:
            why = {"round": search.rounds, "row": row, "for": column, "believed": before[row], "loss": loss}
            search.steps += [why | {"withheld": cell} for cell in plans[row]]
    elif len(rows) == 1:
        search.given_up[rows[0]] = "models would become too bad"
    else:
        half = len(rows) // 2
        _carry_out(rows[:half], plans, column, view, use, aim, search)
        _carry_out(rows[half:], plans, column, view, use, aim, search)
