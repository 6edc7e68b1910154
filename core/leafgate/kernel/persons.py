"""PersonRows: whose rows the records of a table are, where a column numbers the people, who may have several."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
else:
    np, pd = lazy("numpy"), lazy("pandas")


@dataclass(frozen=True, eq=False)
class PersonRows:
    """The rows of each person on each record, an entry for each pair of a record and a person who has it.

    Rows without an id are nobody's: they have no entry.

    Attributes:
        record: shape (n,), the position of the record in the table, in ascending order.
        person: shape (n,), the number of the person, from 0.
        rows: shape (n,), how many rows of the record are the person's; from 1.
        ids: the id of each person, in the form in which ids are compared; for the core alone, plugins have None.
        rows_at_most: the most rows that the policy lets a person have, whoever is in the table; None where it says
            nothing.
    """

    record: NDArray[np.int64]
    person: NDArray[np.int64]
    rows: NDArray[np.int64]
    ids: pd.Index | None = field(default=None, repr=False)
    rows_at_most: int | None = None

    def __post_init__(self) -> None:
        for each in (self.record, self.person, self.rows):
            each.setflags(write=False)

    @property
    def size(self) -> int:
        """One more than the highest number of a person."""
        return int(self.person.max(initial=-1)) + 1

    @property
    def people(self) -> int:
        """How many different persons there are."""
        return len(np.unique(self.person))

    @property
    def without_ids(self) -> PersonRows:
        """The same for a plugin: persons have numbers, and no names."""
        return replace(self, ids=None)

    def of_records(self, position: NDArray[np.int64]) -> PersonRows:
        """The same persons on other records.

        Args:
            position: shape (n_records,), for each record of this table its position in the other; -1 where it is not
                in it. Records with one position become one.
        """
        where = position[self.record]
        kept = where >= 0
        size = max(self.size, 1)
        pair, entry = np.unique(where[kept] * size + self.person[kept], return_inverse=True)
        rows = np.bincount(entry.reshape(-1), weights=self.rows[kept], minlength=len(pair)).astype(np.int64)
        return replace(self, record=pair // size, person=pair % size, rows=rows)

    def counted_by(self, group: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """The number of different persons in each group.

        Args:
            group: shape (n_records,), the group of each record, from 0 up; negative where it is in none.
            size: how many groups there are.
        """
        return np.bincount(self.by_group(group).record, minlength=size)[:size].astype(np.int64)

    def rows_of_records(self, records: int) -> NDArray[np.int64]:
        """The rows that these persons have on each of so many records."""
        return np.bincount(self.record, weights=self.rows, minlength=records).astype(np.int64)

    def by_group(self, group: NDArray[np.int64]) -> PersonRows:
        """The rows of each person in each group, which stands in the place of the record."""
        return self.of_records(np.asarray(group, dtype=np.int64))

    def taken(self, records: NDArray[np.int64]) -> PersonRows:
        """The persons of the table of these records, in this order; a record may be there several times."""
        first = np.searchsorted(self.record, records, side="left")
        number = np.searchsorted(self.record, records, side="right") - first
        entry = np.arange(number.sum()) + np.repeat(first - np.cumsum(number) + number, number)
        place = np.repeat(np.arange(len(records)), number)
        return replace(self, record=place, person=self.person[entry], rows=self.rows[entry])

    def followed_by(self, others: PersonRows, records: int) -> PersonRows:
        """The persons of two tables of one numbering, the other's records after the `records` of this one."""
        return replace(
            self,
            record=np.concatenate([self.record, others.record + records]),
            person=np.concatenate([self.person, others.person]),
            rows=np.concatenate([self.rows, others.rows]),
        )

    def with_strangers(self, weight: NDArray[np.int64]) -> PersonRows:
        """The same where each row that does not say whose it is is another person's.

        Args:
            weight: shape (n_records,), the rows of each record.
        """
        rows_of_nobody = np.repeat(np.arange(len(weight)), weight - self.rows_of_records(len(weight)))
        record = np.append(self.record, rows_of_nobody)
        person = np.append(self.person, self.size + np.arange(len(rows_of_nobody)))
        rows = np.append(self.rows, np.ones_like(rows_of_nobody))
        order = np.lexsort((person, record))
        return PersonRows(record[order], person[order], rows[order])

    def chosen(self, persons: NDArray[np.bool_]) -> PersonRows:
        """The entries of these persons alone, who keep their numbers."""
        kept = persons[self.person]
        return replace(self, record=self.record[kept], person=self.person[kept], rows=self.rows[kept])


def person_rows(
    record: NDArray[np.int64], person: NDArray[np.int64], rows: NDArray[np.int64], ids: pd.Index | None = None
) -> PersonRows:
    """The rows of each person on each record.

    Args:
        record: shape (n,), the record of each row or of several alike.
        person: shape (n,), whose it is, from 0; -1 where the row has no id.
        rows: shape (n,), of how many rows each is one.
        ids: of the persons.
    """
    known = person >= 0
    each = PersonRows(record[known], person[known], rows[known], ids)
    return each.of_records(np.arange(int(record.max(initial=-1)) + 1))
