"""People in parts: who candidates are chosen by, who the winner is reported on, and folds of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leafgate.algorithms.sampling import has_same_records, record_hashes
from leafgate.api import Ids, Mask, Table
from leafgate.session.run import Session

LEAST_OF_CLASS = 10
"""So many people of each class has each half at least of the people that a model is chosen by and reported on."""


@dataclass(frozen=True)
class Parts:
    """Who a model is chosen by, and who it is reported on.

    Attributes:
        choosing: The people of `data.test` by whom it is chosen; None where there are too few.
        reporting: Others, whom nothing is chosen by; None where there are none.
        whose: The section of the policy that names the second.
        advice: What to do where one of them is missing.
    """

    choosing: Table | None
    reporting: Table | None
    whose: str = ""
    advice: str = "name people in `data.test`"


def parts_of(session: Session) -> Parts:
    """The two halves of `data.test`, each with as many people of each class; of `data.control` nobody is chosen by.

    A model that was chosen by somebody predicts that person better, who then looks like a member to an attack. So
    records that stand in the control, too, are only reported on. Where the people to choose by, or the others, have
    fewer than ten of a class, nothing is chosen by the test, and it is reported on as a whole. A test that is the table
    itself counts as none: these people flatter what was learned from them.
    """
    test, control = session.tables.test, session.tables.control
    own = test is not None and has_same_records(session.table, test)
    if test is None or own:
        advice = "`data.test` is the table itself, so name other people there" if own else Parts.advice
        return Parts(None, control, "" if control is None else "data.control", advice)
    choosing = folds_of(test, 2) == 0
    if control is not None:
        choosing &= ~np.isin(record_hashes(test), record_hashes(control))
    halves = rows_at(test, choosing), rows_at(test, ~choosing)
    if min(map(_fewest_of_a_class, halves)) < LEAST_OF_CLASS:
        return Parts(None, test, "data.test")
    return Parts(*halves, "data.test")


def folds_of(table: Table, number: int) -> Ids:
    """In which of so many parts each record is, by its cells alone; each part has as many records of each class.

    Returns:
        Shape (n_records,), from 0 to `number` - 1.
    """
    order = np.lexsort((record_hashes(table), table.codes(table.schema.target.name)))
    fold = np.empty(len(table), dtype=np.int64)
    fold[order] = np.arange(len(table)) % number
    return fold


def _fewest_of_a_class(people: Table) -> int:
    """How many people the rarest class has, of more than two classes the rarest that somebody has."""
    target = people.schema.target
    codes = people.codes(target.name)
    if target.edges is not None:
        return people.people
    counts = np.bincount(codes, weights=people.weight, minlength=len(target.domain))[: len(target.domain)]
    there = counts if len(target.domain) == 2 else counts[counts > 0]
    return int(there.min()) if len(there) > 1 else 0


def rows_at(table: Table, chosen: Mask) -> Table:
    """The table of the records that are chosen, with the people who share them."""
    return Table(
        table.schema,
        table.frame[chosen].reset_index(drop=True),
        table.weight[chosen].copy(),
        rows=None if table.rows is None else table.rows[chosen].copy(),
        counts_people=table.counts_people,
    )
