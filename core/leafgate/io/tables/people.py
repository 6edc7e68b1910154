"""The people of records: which stay, whose their rows are, and the Table of them, in main memory or in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.errors import DataError
from leafgate.io.json import parse_number
from leafgate.io.tables.records import Marks, Records, Rows
from leafgate.io.tables.typed_cells import (
    missing,
    missing_cells,
    refuse_texts,
    typed_columns,
    typed_frame,
    without_class,
)
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.person_columns import is_personal, may_number_people, suspected_persons
from leafgate.kernel.persons import PersonRows, person_rows
from leafgate.kernel.policy import Data
from leafgate.kernel.schema import UNUSED_ROLES, Schema
from leafgate.kernel.spelling import same_form, similar_ids
from leafgate.kernel.table import Table, cells_of, make_table

MOST_INCOMPLETE = 5_000_000
"""Of a table in blocks so many people who are left out for missing cells are loaded; of more of them, nobody."""

MAX_WEIGHT = 2**53
"""From here on doubles do not hold every whole number."""


@dataclass(frozen=True, eq=False)
class Counting:
    """How many people records are, and whose their rows are.

    Attributes:
        records: the records; in main memory where a column weighs them or numbers the people.
        weight: shape (n,), what each record weighs; None where its rows do.
        counts_people: do weights count people of the table? None without weights.
        person: shape (n,), the number of the person of each record, -1 where an id is missing; None where every row is
            a person.
        ids: how the data name the persons.
    """

    records: Records
    weight: NDArray[np.int64] | None = None
    counts_people: bool | None = None
    person: NDArray[np.int64] | None = None
    ids: pd.Index | None = None

    @classmethod
    def of(cls, records: Records, data: Data, place: str) -> Counting:
        """By the columns that the file has; DataError for wrong weights, and for somebody with too many rows."""
        return cls(records, *_weights(records, data, place), *_persons(records, data, place))

    @property
    def people(self) -> NDArray[np.int64]:
        """How many people each record in main memory is, as limits count them, but for rows of one person."""
        return self.records.loaded.counts if self.weight is None or self.counts_people is False else self.weight

    def among(self, rows: Rows) -> int:
        """How many people have one of these records; a row that does not state whose it is counts by itself."""
        if self.weight is None and self.person is None:
            return self.records.rows_among(rows)
        return _different(self.people, rows[0], self.person)

    def of_texts(self, name: str, gone: NDArray[np.bool_]) -> pd.Series:
        """How many people have each text of a column but those that are `gone`, where somebody has it."""
        records, texts = self.records, self.records.texts[name]
        if self.person is not None:
            codes = records.loaded.codes(name).astype(np.int64)
            counts = person_rows(codes, self.person, self.people).counted_by(np.arange(len(texts)), len(texts))
        elif self.weight is not None:
            counts = np.bincount(records.loaded.codes(name), weights=self.people, minlength=len(texts))
        else:
            counts = records.rows_of_texts(name)
        return _by_text(counts, texts)[(counts > 0) & ~gone]


def _by_text(counts: NDArray[Any], texts: Sequence[str]) -> pd.Series:
    index: Any = np.array(texts, dtype=object)
    return pd.Series(counts, index=pd.Index(index, dtype=object))


def _weights(records: Records, data: Data, place: str) -> tuple[NDArray[np.int64] | None, bool | None]:
    if data.weight is None or data.weight[0] not in records.texts:
        return None, None
    name, spec = data.weight
    numbers = np.array([parse_number(text) for text in records.texts[name]])
    strange = ~(np.isfinite(numbers) & (numbers >= 1) & (numbers == np.floor(numbers)) & (numbers < MAX_WEIGHT))
    refuse_texts(records, name, strange, "not a whole number of people, 1 or more", f"{place}, column {name!r}")
    block = records.loaded
    if (numbers[block.codes(name)] * block.counts).sum() >= MAX_WEIGHT:
        remedy = "divide all weights by one number, and round them"
        raise DataError("the weights add up to 2^53 or more", place=f"{place}, column {name!r}", remedy=remedy)
    return numbers.astype(np.int64)[block.codes(name)] * block.counts, spec.counts == "people"


def _persons(records: Records, data: Data, place: str) -> tuple[NDArray[np.int64] | None, pd.Index | None]:
    if not data.persons or not set(data.persons) <= set(records.texts):
        return None, None
    place = f"{place}, column(s) {', '.join(map(repr, data.persons))}"
    person, ids = _numbered(records, data, data.persons)
    if not (person >= 0).any():
        remedy = "give it the role `ignored`, or name the column that numbers the people"
        raise DataError("no row says whose it is", place=place, remedy=remedy)
    _refuse_more_rows(records, person, data.rows_at_most, place, FEWER_ROWS)
    if data.rows_at_most is not None:
        merged, _ = _numbered(records, data, data.persons, similar=True)
        _refuse_more_rows(records, merged, data.rows_at_most, f"{place}, with ids that are spelled alike", ONE_SPELLING)
    return person, pd.Index(ids, tupleize_cols=False)


def _numbered(
    records: Records, data: Data, names: Sequence[str], *, similar: bool = False
) -> tuple[NDArray[np.int64], list[tuple[str, ...]]]:
    """Whose each record is by these columns, -1 where an id is missing, and the ids.

    Args:
        records: in main memory.
        data: how the policy has them read.
        names: of the columns.
        similar: are ids with one `similar_form` one, and not only those with one `same_form`?
    """
    person = np.zeros(len(records), dtype=np.int64)
    ids: list[tuple[str, ...]] = [()]
    for name in names:
        listed, gone, spec = records.texts[name], missing(records, name, data), data.columns[name]
        texts = [None if lost else spec.aliases.get(each, each) for each, lost in zip(listed, gone, strict=True)]
        form = similar_ids(spec.distinct) if similar else same_form
        forms = [None if text is None else form(text) or None for text in texts]
        of_text, keys = pd.factorize(np.array(forms, dtype=object))
        own = of_text[records.loaded.codes(name)]
        pair = np.where((person < 0) | (own < 0), -1, person * len(keys) + own)
        person, pairs = pd.factorize(np.where(pair < 0, np.nan, pair))
        ids = [(*ids[int(each) // len(keys)], keys[int(each) % len(keys)]) for each in pairs]
    return person, ids


FEWER_ROWS = "leave out rows of theirs by a rule that does not depend on cells; or state a larger number"
ONE_SPELLING = "write each id in one way, or list ids of different people under `distinct` of the column"


def _refuse_more_rows(records: Records, person: NDArray[np.int64], most: int | None, place: str, remedy: str) -> None:
    """DataError where somebody has more rows than a policy states."""
    known = person >= 0
    rows = np.bincount(person[known], weights=records.loaded.counts[known])
    if most is not None and (rows > most).any():
        raise DataError("some of them have more rows than `data.rows_at_most` says", place=place, remedy=remedy)


def _different(people: NDArray[np.int64], rows: NDArray[np.bool_], person: NDArray[np.int64] | None) -> int:
    """How many people have one of these rows; rows that do not state whose they are count by themselves."""
    if person is None:
        return int(people[rows].sum())
    return len(np.unique(person[rows & (person >= 0)])) + int(people[rows & (person < 0)].sum())


@dataclass(frozen=True, eq=False)
class TypedRecords:
    """Records of people, whose cells have a meaning.

    Attributes:
        records: their cells as text.
        data: how the policy has them read.
        schema: the columns, each with its domain.
        values: for each column what its texts stand for, as `typed_values` says.
        counting: how many people they are.
        kept: the records that stay.
        incomplete: those that are left out for missing cells.
        unlabelled: those that are left out because they have no class.
        marks: the texts for which records are left out.
    """

    records: Records
    data: Data
    schema: Schema
    values: Mapping[str, NDArray[Any]]
    counting: Counting
    kept: Rows
    incomplete: Rows
    unlabelled: Rows
    marks: Marks

    @classmethod
    def of(cls, records: Records, schema: Schema, data: Data, place: str) -> TypedRecords:
        """The people of these records; DataError for whatever does not fit the policy."""
        if not len(records):
            raise DataError("the file holds no rows", place=place)
        gaps = missing_cells(records, schema, data)
        no_class = {column.name: without_class(records, column.name, data) for column in schema.having("class")}
        unlabelled, dropping = records.marked(no_class), data.on_missing == "drop"
        labelled = [~gone for gone in unlabelled]
        incomplete = [gap & rows for gap, rows in zip(records.marked(gaps), labelled, strict=True)]
        kept = [rows & ~(gap & dropping) for gap, rows in zip(incomplete, labelled, strict=True)]
        schema, values = typed_columns(records, schema, data, kept, place)
        counting = Counting.of(records, data, place)
        with_gaps = _columns_with_gaps(records, schema, gaps, labelled, place)
        if with_gaps and data.on_missing is None:
            raise DataError(
                "some rows have missing cells",
                place=f"{place}, column(s) {', '.join(map(repr, with_gaps))}",
                remedy="say `on_missing: drop` or `on_missing: keep` under `data`",
            )
        if not any(rows.any() for rows in kept):
            raise DataError("every row has a missing cell or no class, none is left", place=place)
        marks = {name: gaps[name] for name in with_gaps if dropping}
        marks |= {name: texts for name, texts in no_class.items() if texts.any()}
        left_out = incomplete if dropping else records.marked({})
        return cls(records, data, schema, values, counting, kept, left_out, unlabelled, marks)

    def table(self, **facts: Any) -> Table | LargeTable:
        """The Table of those who stay, or a LargeTable where the records are on disk; `facts` are fields of it."""
        counting = self.counting
        facts |= {
            "dropped": counting.among(self.incomplete),
            "without_class": counting.among(self.unlabelled),
            "commented": self.records.commented,
            "sha256": self.records.sha256,
            "incomplete": self._incomplete_people(),
        }
        if self.records.folder is not None:
            return self._stored(facts)
        table = replace(self._table(self.kept, self.schema, counting.person, counting.ids), **facts)
        if counting.person is None or table.person_rows is None:
            return table
        persons = replace(table.person_rows, rows_at_most=self.data.rows_at_most)
        return replace(table, person_rows=persons, left_out_rows=self._left_out_rows(counting.person))

    def _table(
        self, rows: Rows, schema: Schema, person: NDArray[np.int64] | None, ids: pd.Index | None = None
    ) -> Table:
        """The Table of some of the records."""
        part, weight = self.records.in_memory(rows), self.counting.weight
        counts = part.loaded.counts
        return make_table(
            schema,
            typed_frame(part, self.schema, self.values),
            counts if weight is None else weight[rows[0]],
            counts_people=self.counting.counts_people,
            rows=counts,
            person=None if person is None else person[rows[0]],
            ids=ids,
        )

    def _stored(self, facts: Mapping[str, Any]) -> LargeTable:
        records, values = self.records, self.values
        people = records.rows_among(self.kept)
        if not all(rows.all() for rows in self.kept):
            records, used = records.kept(self.kept)
            values = {name: each[used[name]] for name, each in values.items()}
        alike = any(len(np.unique(each)) < len(each) for each in values.values())
        distinct = None if alike else len(records)
        return LargeTable(self.schema, records.stored, values, people, distinct, folder=records.folder, **facts)

    def _incomplete_people(self) -> Table | None:
        """The people who are left out for missing cells, but for those whose class or secrets are no known values."""
        if not any(rows.any() for rows in self.incomplete):
            return None
        own = [column for column in self.schema.columns if column.roles & {"class", "sensitive"}]
        typed = {column.name: cells_of(column, self.values[column.name]) for column in own}
        unknown = self.records.marked({name: cells.isna().to_numpy() for name, cells in typed.items()})
        rows: Rows = [gap & ~other for gap, other in zip(self.incomplete, unknown, strict=True)]
        if self.records.folder is not None and self.records.rows_among(self.incomplete) > MOST_INCOMPLETE:
            rows = self.records.marked({})
        return self._table(rows, self.schema.with_missing_cells, self.counting.person)

    def _left_out_rows(self, person: NDArray[np.int64]) -> dict[str, tuple[int, int]]:
        """`Table.left_out_rows`; who has rows that were left out for either reason counts for missing cells."""
        gone, found, rows = ~np.isin(person, person[self.kept[0]]), {}, self.counting.people
        for key, which in (("dropped", self.incomplete[0]), ("without_class", self.unlabelled[0])):
            found[key] = int(rows[which].sum()), _different(rows, which & (gone | (person < 0)), person)
            gone &= ~np.isin(person, person[which])
        return found

    def suspected(self, repeated: Iterable[str]) -> dict[str, PersonRows | None]:
        """For each column that may number the people, although the policy does not say so, whose its rows then are.

        Args:
            repeated: identifiers that are not unique.
        """
        if self.data.weight is not None or self.data.rows is not None:
            return {}
        if self.data.persons:
            return self._spelled_alike(self.data.persons)
        there, roles = self.records.texts, {name: {*spec.role} for name, spec in self.data.columns.items()}
        others = [name for name in there if not {"class", "sensitive", "key"} & roles[name]]
        unused = [name for name in others if UNUSED_ROLES & roles[name]]
        identifiers = frozenset(name for name in unused if "identifier" in roles[name] or is_personal(name))
        gone = {name: missing(self.records, name, self.data) for name in others}
        rows = {
            name: _by_text(np.where(gone[name], 0, self.records.rows_of_texts(name, self.kept)), there[name])
            for name in others
            if name in identifiers or may_number_people(name)
        }
        found = self._spelled_alike([name for name in there if "key" in roles[name]])
        found |= dict.fromkeys(name for name in repeated if may_number_people(name) and name not in there)
        for name in suspected_persons(rows, identifiers):
            found[name] = None
            if self.records.folder is None:
                found[name] = self._table(self.kept, self.schema, self.counting_by(name).person).person_rows
        return found

    def counting_by(self, name: str) -> Counting:
        """How many people records in main memory are if this column numbers them, and ids spelled alike are one's."""
        names = self.data.persons if name in self.data.persons else (name,)
        return replace(self.counting, person=_numbered(self.records, self.data, names, similar=True)[0])

    def _spelled_alike(self, names: Sequence[str]) -> dict[str, PersonRows | None]:
        """Whose the rows are if ids in these columns that are spelled alike are one; empty where none are."""
        if not names or not set(names) <= set(self.records.texts) or self.records.folder is not None:
            return {}
        merged = _numbered(self.records, self.data, names, similar=True)[0]
        known = self.kept[0] & (merged >= 0)
        own = np.flatnonzero(known) if self.counting.person is None else self.counting.person[known]  # keys are unique
        if len(np.unique(merged[known])) == len(np.unique(own)):
            return {}
        rows = self._table(self.kept, self.schema, merged).person_rows
        return {names[0]: None if rows is None else replace(rows, rows_at_most=self.data.rows_at_most)}


def _columns_with_gaps(records: Records, schema: Schema, gaps: Marks, labelled: Rows, place: str) -> list[str]:
    """The columns in which people who have a class have missing cells; DataError where that is a class or a secret."""
    found = []
    for column in schema.columns:
        texts = gaps[column.name]
        cells = int(records.rows_of_texts(column.name, labelled)[texts].sum()) if texts.any() else 0
        if cells and column.roles & {"class", "sensitive"}:
            raise DataError(
                "some cells of the class or of a secret are missing",
                place=f"{place}, column {column.name!r}",
                remedy="list its mark as `no_answer` of the column: limits then judge who has a recorded value",
            )
        found += [column.name] if cells else []
    return found
