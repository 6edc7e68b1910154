"""People in parts: who candidates are chosen by, who the winner is reported on, and folds of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from leafgate.algorithms.sampling import has_same_records, record_hashes
from leafgate.api import Ids, Mask, Table
from leafgate.kernel.persons import PersonRows
from leafgate.kernel.tables import Tables

FOLDS = 3
"""What is fitted anew is cross-validated on so many parts of the table."""

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


def parts_of(tables: Tables) -> Parts:
    """The two halves of `data.test`, each with as many people of each class; of `data.control` nobody is chosen by.

    A model that was chosen by somebody predicts that person better, who then looks like a member to an attack. So
    records that stand in the control, too, are only reported on; where a column numbers the people, its persons. Where
    the people to choose by, or the others, have fewer than ten of a class, nothing is chosen by the test, and it is
    reported on as a whole. A test that is the table itself counts as none: these people flatter what was learned from
    them.
    """
    test, control = tables.test, tables.control
    own = test is not None and (not len(test) or has_same_records(tables.in_memory, test))
    if test is None or own:
        advice = "`data.test` is the table itself, so name other people there" if own else Parts.advice
        return Parts(None, control, "" if control is None else "data.control", advice)
    choosing = folds_of(test, 2) == 0
    if control is not None:
        choosing &= ~_shared(test, control)
    halves = rows_at(test, choosing), rows_at(test, ~choosing)
    if min(map(_fewest_of_a_class, halves)) < LEAST_OF_CLASS:
        return Parts(None, test, "data.test")
    return Parts(*halves, "data.test")


def _shared(test: Table, control: Table) -> Mask:
    """Which records, or persons as in `folds_of`, of the first table are also in the second."""
    own, theirs, everybody = test.person_rows, control.person_rows, _persons(test)
    if own is None or theirs is None or everybody is None or own.ids is None or theirs.ids is None:
        return np.isin(record_hashes(test), record_hashes(control))
    shared = np.zeros(everybody.size, dtype=bool)
    shared[: own.size] = own.ids.isin(theirs.ids)[: own.size]
    return shared


def folds_of(table: Table, number: int) -> Ids:
    """In which of so many parts each record is, by its cells alone; each part has as many records of each class.

    Where a column numbers the people, whole persons are in a part, a record in as many parts as its persons. Each part
    has as many persons of each class, somebody with several classes counting for the rarest.

    Returns:
        Shape (n_records,), from 0 to `number` - 1; shape (n_persons,) where a column numbers the people, each row that
        does not say whose it is being one more person's.
    """
    target, hashes, persons = table.codes(table.schema.target.name), record_hashes(table), _persons(table)
    if persons is not None:
        _, number_of_class, records = np.unique(target, return_inverse=True, return_counts=True)
        rank = np.argsort(np.argsort(-records, kind="stable"), kind="stable")[number_of_class.reshape(-1)]
        rarest, of_cells = np.zeros(persons.size, dtype=np.int64), np.zeros(persons.size, dtype=np.uint64)
        np.maximum.at(rarest, persons.person, rank[persons.record])
        np.add.at(of_cells, persons.person, hashes[persons.record] * persons.rows.astype(np.uint64))
        target, hashes = rarest, of_cells
    order = np.lexsort((hashes, target))
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = np.arange(len(order)) % number
    return fold


def _persons(table: Table) -> PersonRows | None:
    """Whose the rows are, where a column numbers the people; rows that do not say it are another person's each."""
    return None if table.person_rows is None else table.person_rows.with_strangers(table.weight)


def _fewest_of_a_class(people: Table) -> int:
    """How many people the rarest class has, of more than two classes the rarest that somebody has."""
    target = people.schema.target
    codes = people.codes(target.name)
    if target.edges is not None:
        return people.people_among()
    counts = people.people_by(codes, len(target.domain))[: len(target.domain)]
    there = counts if len(target.domain) == 2 else counts[counts > 0]
    return int(there.min()) if len(there) > 1 else 0


def weight_at(table: Table, chosen: Mask) -> Ids:
    """The weight that each record has among those that are chosen, which are records, or persons as in `folds_of`."""
    persons = _persons(table)
    return np.where(chosen, table.weight, 0) if persons is None else persons.chosen(chosen).rows_of_records(len(table))


def rows_at(table: Table, chosen: Mask) -> Table:
    """The table of the records that are chosen, with the people who share them; of persons as in `folds_of`."""
    persons = table.person_rows
    theirs = None if persons is None else persons.chosen(chosen[: persons.size])
    return replace(table.with_rows(weight_at(table, chosen), theirs), sha256="", cell_counts={}, suspected={})
