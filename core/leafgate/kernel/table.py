"""Table: distinct records, and how many people share each."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from leafgate.errors import DataError
from leafgate.kernel.persons import PersonRows, person_rows
from leafgate.kernel.schema import Column, Schema, bin_of
from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.kernel.tree import TreeArrays
else:
    np, pd = lazy("numpy"), lazy("pandas")

DENSE = 4
"""Up to this many possible records for each row, counting in a table of all of them is faster than sorting the rows."""


MAX_REACHED_BYTES = 2**29
"""Memory that one table spends on which leaves its records reach; what does not fit in is computed again."""


class ReachedLeaves(WeakKeyDictionary["TreeArrays", "NDArray[np.integer[Any]]"]):
    """For trees, as long as they are held, the leaf that each record of one table reaches, in small integers.

    Many questions about a forest begin with it, and to answer it costs more than all that follows. Trees with the same
    tests have one array: a release and what is read back from its bytes, or its leaves with labels alone.
    """

    def __init__(self, kept: ReachedLeaves | None = None) -> None:
        super().__init__(kept or {})
        self._by_tests = WeakValueDictionary[bytes, "NDArray[np.integer[Any]]"]()
        if kept is not None:
            self._by_tests.update(kept._by_tests)

    def of(self, tree: TreeArrays) -> NDArray[np.integer[Any]] | None:
        """What is kept of the tree, or of another with the same tests; None where nothing is."""
        leaf = self.get(tree)
        if leaf is None and len(self._by_tests):
            leaf = self._by_tests.get(tree.tests_digest)
            if leaf is not None:
                self[tree] = leaf
        return leaf

    def keep(self, tree: TreeArrays, leaf: NDArray[np.integer[Any]]) -> None:
        """Keep what a tree does with the records, where there is room."""
        leaf.setflags(write=False)
        if leaf.nbytes * (len(self._by_tests) + 1) <= MAX_REACHED_BYTES:
            self[tree] = self._by_tests[tree.tests_digest] = leaf

    def __reduce__(self) -> tuple[type[ReachedLeaves], tuple[()]]:
        """Copies of a table in other processes begin without."""
        return ReachedLeaves, ()


CellCounts = Mapping[str, "pd.Series | None"]
"""By the name of a column how many people have each text of it, indexed by the text; None where it was not counted."""


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """What a table knows of its people besides their records, wherever these are.

    Attributes:
        dropped: people who were left out for missing cells, or of whom rows were.
        without_class: people who were left out because they have no class, as `no_answer` says, or of whom rows were.
        left_out_rows: where a column numbers the people, by the names of these two fields how many rows were left out,
            and how many people of theirs have no row that stays.
        commented: lines of the file that were read as comments and may have been people.
        repeated_identifiers: identifier columns (dropped on reading) in which some rows are alike: several rows may be
            one person's.
        sha256: the digest of the bytes that were read; empty for a table made in memory.
        rows: shape (n_records,), the rows of the file that each record comes from, where a column says how many people
            a row stands for; None where every row is one person.
        person_rows: whose rows the records are, where a column numbers the people, who may have several; None where
            every row is a person. `people_by` and `people_among` count the people then, and no sum of `persons` does.
        suspected: for each column that may number the people, although the policy does not say so, whose its rows then
            are, or None where an engine read the table without it or in blocks; for the engine alone.
        without_id: rows whose cells do not say whose they are; no person is behind them.
        left_out: people who were left out of a table of others because they are in the audited table.
        cell_counts: for the auditor alone, by the name of a column the people with each of its texts, dropped columns
            and people among them; None where a column has too many texts. Empty where nobody counted.
        suspected_cells: the same by the persons of each column of `suspected`, where its rows and all columns are
            there; for the engine alone.
        incomplete: the people who were left out for missing cells and whose class and secrets are known; their columns
            may have missing cells. It is for the engine alone, which may audit a second time with them.
    """

    dropped: int = 0
    without_class: int = 0
    left_out_rows: Mapping[str, tuple[int, int]] = field(default_factory=dict, compare=False)
    commented: int = 0
    repeated_identifiers: tuple[str, ...] = ()
    sha256: str = ""
    rows: NDArray[np.int64] | None = field(default=None, compare=False)
    person_rows: PersonRows | None = field(default=None, repr=False, compare=False)
    suspected: Mapping[str, PersonRows | None] = field(default_factory=dict, repr=False, compare=False)
    without_id: int = field(default=0, compare=False)
    left_out: int = field(default=0, compare=False)
    cell_counts: CellCounts = field(default_factory=dict, repr=False, compare=False)
    suspected_cells: Mapping[str, CellCounts] = field(default_factory=dict, repr=False, compare=False)
    incomplete: Table | None = field(default=None, repr=False, compare=False)

    def counts_beside_people(self) -> dict[str, int]:
        """Where rows are not people: the `rows` of all people, or the `weight` that does not count people."""
        return {}


@dataclass(frozen=True)
class Table(TableFacts):
    """A multiset of people: distinct records, and for each the number of people who share it.

    Attributes:
        schema: the columns.
        frame: one row for each distinct record, sorted: categorical columns as pandas categoricals over the declared
            domain, numbers (those of a binned class among them) as floats, missing cells as NaN.
        weight: shape (n_records,), whole numbers from 1: the people who share each record, by the column with the role
            `weight` where there is one. All algorithms count by it. Where a column numbers the people: the rows.
        protected: for single columns which rows' cells are secret; for the owner alone, no attack reads it.
        counts_people: whether `weight` counts people who are all in the table. Where it does not (survey weights),
            limits count `persons`, which are the rows then.
    """

    schema: Schema
    frame: pd.DataFrame
    weight: NDArray[np.int64]
    protected: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict, compare=False, kw_only=True)
    counts_people: bool = field(default=True, compare=False, kw_only=True)
    _codes: dict[str, NDArray[np.int64]] = field(default_factory=dict, repr=False, compare=False, kw_only=True)
    _numbers: dict[str, NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _singles: dict[str, NDArray[np.float32]] = field(default_factory=dict, init=False, repr=False, compare=False)
    reached: ReachedLeaves = field(default_factory=lambda: ReachedLeaves(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.weight.setflags(write=False)
        if self.rows is not None:
            self.rows.setflags(write=False)
        for marks in self.protected.values():
            marks.setflags(write=False)

    def defensive_copy(self) -> Table:
        """The same table for a plugin: what that writes into it reaches nobody else."""
        twin = copy.copy(self)
        object.__setattr__(twin, "frame", self.frame.copy(deep=False))
        object.__setattr__(twin, "cell_counts", {})
        object.__setattr__(twin, "incomplete", None)
        object.__setattr__(twin, "suspected", {})
        object.__setattr__(twin, "suspected_cells", {})
        if self.person_rows is not None:
            object.__setattr__(twin, "person_rows", self.person_rows.without_ids)
        for name in ("_numbers", "_singles", "reached"):
            kept = self.__dict__[name]
            object.__setattr__(twin, name, type(kept)(kept))
        return twin

    @cached_property
    def total_weight(self) -> int:
        """The sum of the weights: people, or rows where a column numbers the people (`people_among` counts these)."""
        return int(self.weight.sum())

    @property
    def people(self) -> int:
        """The name of `total_weight` before leafgate 1.1."""
        warnings.warn("`Table.people` is `total_weight`; see also `people_among`", DeprecationWarning, stacklevel=2)
        return self.total_weight

    @property
    def persons(self) -> NDArray[np.int64]:
        """How many people share each record, as limits count them: rows, where weights do not count people.

        Where a column numbers the people, one may have several records, and is counted on each of them.
        """
        if self.person_rows is not None:
            return self._persons_of_records
        return self.weight if self.rows is None or self.counts_people else self.rows

    @cached_property
    def _persons_of_records(self) -> NDArray[np.int64]:
        return self.people_by(np.arange(len(self)), len(self))

    def people_by(self, group: NDArray[np.integer[Any]], size: int) -> NDArray[np.int64]:
        """How many different people are in each group of records, as limits count them.

        Args:
            group: shape (n_records,), the group of each record, from 0 up; negative where it is in none.
            size: how many groups there are.
        """
        if self.person_rows is not None:
            return self.person_rows.counted_by(np.asarray(group, dtype=np.int64), size)
        there = group >= 0
        persons = self.persons
        if not there.all():
            group, persons = group[there], persons[there]
        return np.bincount(group, weights=persons, minlength=size).astype(np.int64)

    def people_among(self, records: NDArray[np.bool_] | NDArray[np.int64] | None = None) -> int:
        """How many different people have one of these records, as limits count them; of all records if None.

        Args:
            records: marks of records, or their positions, each once.
        """
        if self.person_rows is None:
            return int(self.persons.sum() if records is None else self.persons[records].sum())
        group = np.full(len(self), 0 if records is None else -1, dtype=np.int64)
        if records is not None:
            group[records] = 0
        return int(self.people_by(group, 1)[0])

    @cached_property
    def unequal_weight(self) -> NDArray[np.int64] | None:
        """The weights where some are not 1; None where each record is one person, for which NumPy counts faster."""
        return None if bool((self.weight == 1).all()) else self.weight

    @property
    def weighted(self) -> bool:
        """Does `weight` differ from `persons`, the people that limits count, or may one have several records?"""
        if self.person_rows is not None:
            return True
        return self.persons is not self.weight and not np.array_equal(self.persons, self.weight)

    def __len__(self) -> int:
        """How many distinct records there are."""
        return len(self.frame)

    def counts_beside_people(self) -> dict[str, int]:
        if self.person_rows is not None:
            return {"rows": self.total_weight}
        if self.rows is None:
            return {}
        return {"rows": int(self.rows.sum())} if self.counts_people else {"weight": self.total_weight}

    @property
    def distinct(self) -> int | None:
        """How many distinct records there are; None where that is not known, of a table outside of main memory."""
        return len(self)

    def tables(self) -> Iterator[Table]:
        """The table in parts that are in main memory: one."""
        yield self

    def class_counts(self) -> NDArray[np.int64]:
        """People by class, in the order of the schema's classes."""
        codes = self.codes(self.schema.target.name)
        return np.bincount(codes, weights=self.weight, minlength=len(self.schema.classes)).astype(np.int64)

    def extremes(self, name: str) -> tuple[float, float]:
        """The lowest and the highest number in a column."""
        return float(np.nanmin(self.numbers(name))), float(np.nanmax(self.numbers(name)))

    def codes(self, name: str) -> NDArray[np.int64]:
        """A column as positions in its domain: values, a missing cell being the last, or a number's bins."""
        if name not in self._codes:
            column = self.schema[name]
            if column.bins is not None:
                codes = bin_of(self.numbers(name), column.bins)
            elif column.edges is not None:
                numbers = self.numbers(name)
                codes = np.where(np.isnan(numbers), -1, bin_of(numbers, column.edges))
            else:
                codes = self.frame[name].cat.codes.to_numpy().astype(np.int64)
            if column.values is not None:
                codes = np.where(codes < 0, len(column.values), codes)
            codes.setflags(write=False)
            self._codes[name] = codes
        return self._codes[name]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of numbers as floats, NaN where missing; of a binned class its numbers."""
        if name not in self._numbers:
            self._numbers[name] = self.frame[name].to_numpy(dtype=np.float64)
        return self._numbers[name]

    def single_precision(self, name: str) -> NDArray[np.float32]:
        """A numeric column rounded to single precision; numbers beyond it are infinite."""
        if name not in self._singles:
            with np.errstate(over="ignore"):
                rounded = self.numbers(name).astype(np.float32)
            rounded.setflags(write=False)
            self._singles[name] = rounded
        return self._singles[name]

    @cached_property
    def public(self) -> tuple[Table, NDArray[np.int64]]:
        """What outsiders know of everyone: the table of the quasi-identifiers, and each row's row in it."""
        return self.project([column.name for column in self.schema.public])

    @property
    def kept_public(self) -> tuple[Table, NDArray[np.int64]] | None:
        """The same if it was computed before."""
        return self.__dict__.get("public")

    @cached_property
    def without_rows(self) -> Table:
        """The table of nobody, with the same columns."""
        frame = self.frame.iloc[:0].reset_index(drop=True)
        nobodys = None if self.person_rows is None else self.person_rows.of_records(np.full(len(self), -1))
        nobody = np.zeros(0, dtype=np.int64)
        return Table(self.schema, frame, nobody, counts_people=self.counts_people, person_rows=nobodys)

    def others_than(self, table: Table) -> Table:
        """The table without the rows of those who are in another table, by their ids; all of it where there are none.

        `left_out` of the result says how many people these are.
        """
        own, theirs = self.person_rows, table.person_rows
        if own is None or theirs is None or own.ids is None or theirs.ids is None:
            return self
        shared = np.asarray(own.ids.isin(theirs.ids))[: own.size]
        left_out = own.chosen(shared)
        others = self.with_rows(self.weight - left_out.rows_of_records(len(self)), own.chosen(~shared))
        return replace(others, left_out=left_out.people)

    @cached_property
    def without_key(self) -> Table:
        """The table as builders and attacks may see it."""
        names = [column.name for column in self.schema.columns if "key" not in column.roles]
        return self if len(names) == len(self.schema.columns) else self._projected(names, self.protected)[0]

    def has_missing(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Which records have a missing cell in some of these columns: shape (n_records,)."""
        gaps = (self.frame[name].isna().to_numpy() for name in names)
        return np.asarray(np.logical_or.reduce([np.zeros(len(self), dtype=np.bool_), *gaps]))

    def records_where(self, kept: NDArray[np.bool_]) -> Table:
        """Some of the records, each with its people."""
        return self.with_rows(np.where(kept, self.weight, 0), self.person_rows)

    def with_rows(self, weight: NDArray[np.int64], persons: PersonRows | None) -> Table:
        """The table with some of its rows.

        Args:
            weight: shape (n_records,), what is left of the weight of each record, which leaves the table at 0.
            persons: whose these rows are, by the records of this table, where a column numbers the people.
        """
        kept = weight > 0
        return replace(
            self,
            frame=self.frame[kept].reset_index(drop=True),
            weight=weight[kept],
            protected={name: marks[kept] for name, marks in self.protected.items()},
            rows=None if self.rows is None else self.rows[kept],
            person_rows=None if persons is None else persons.of_records(np.where(kept, np.cumsum(kept) - 1, -1)),
            incomplete=None,
            _codes={},
        )

    def people_at(self, rows: NDArray[np.int64]) -> Table:
        """The table of the people at these positions, each one person; a position may stand there several times.

        Equal records become one, in sorted order, whose weight is the people who share it.
        """
        frame = self.frame.iloc[rows].reset_index(drop=True)
        names = [column.name for column in self.schema.columns]
        return Table(self.schema, frame, np.ones(len(frame), dtype=np.int64)).project(names)[0]

    def at(self, rows: NDArray[np.int64]) -> Table:
        """The table of the records at these positions, in this order; some may be left out."""
        return replace(
            self,
            frame=self.frame.iloc[rows].reset_index(drop=True),
            weight=self.weight[rows],
            rows=None if self.rows is None else self.rows[rows],
            protected={name: marks[rows] for name, marks in self.protected.items()},
            person_rows=None if self.person_rows is None else self.person_rows.taken(rows),
            suspected={},
            _codes={},
        )

    def with_values(self, column: Column) -> Table:
        """The table with other values of one column of these, all of which its cells have."""
        columns = tuple(column if each.name == column.name else each for each in self.schema.columns)
        cells = self.frame[column.name].cat.set_categories(list(column.values or ()))
        schema = Schema(columns, dropped=self.schema.dropped)
        return replace(self, schema=schema, frame=self.frame.assign(**{column.name: cells}), _codes={})

    def project(self, names: Sequence[str]) -> tuple[Table, NDArray[np.int64]]:
        """The table of `names` alone, and for every row of this table its row in that one; no cell is marked."""
        return self._projected(names, {})

    def with_merged_values(self, merged: Mapping[str, Mapping[str, str]]) -> tuple[Table, NDArray[np.int64]]:
        """The table with one value in place of several in some columns, and for every row its row in that one.

        Args:
            merged: by the names of categorical columns the value that each of several leads to, itself among them.
        """
        frame, schema = self.frame.copy(deep=False), self.schema.with_merged_values(merged)
        for name in merged.keys() & set(frame.columns):
            texts = frame[name].cat.categories
            position = {value: i for i, value in enumerate(schema[name].values or ())}
            code_of = np.array([*(position[merged[name].get(text, text)] for text in texts), -1], dtype=np.int64)
            codes = code_of[frame[name].cat.codes.to_numpy()]
            frame[name] = pd.Categorical.from_codes(codes, categories=pd.Index(schema[name].values or ()))
        recoded = replace(self, schema=schema, frame=frame, incomplete=None, cell_counts={}, _codes={})
        table, row = recoded._projected([column.name for column in schema.columns], self.protected)
        kept = {name: getattr(self, name) for name in ("dropped", "commented", "repeated_identifiers", "sha256")}
        return replace(table, **kept, _codes={}), row

    def _projected(
        self, names: Sequence[str], protected: Mapping[str, NDArray[np.bool_]]
    ) -> tuple[Table, NDArray[np.int64]]:
        """People with equal cells of `names` are one record where equal cells of theirs are `protected`."""
        schema = Schema(tuple(self.schema[name] for name in names), dropped=self.schema.dropped)
        frame = self.frame.loc[:, list(names)]
        first, inverse = distinct_rows(frame, schema, list(protected.values()))
        weight = _summed(self.weight, inverse, len(first))
        rows = None if self.rows is None else _summed(self.rows, inverse, len(first))
        marks = {name: cells[first] for name, cells in protected.items()}
        frame = frame.iloc[first].reset_index(drop=True)
        persons = None if self.person_rows is None else self.person_rows.of_records(inverse)
        table = Table(
            schema, frame, weight, protected=marks, rows=rows, counts_people=self.counts_people, person_rows=persons
        )
        return table, inverse


def _summed(weight: NDArray[np.int64], inverse: NDArray[np.int64], records: int) -> NDArray[np.int64]:
    """The weights of the rows of each record."""
    return np.bincount(inverse, weights=weight, minlength=records).astype(np.int64)


def make_table(
    schema: Schema,
    frame: pd.DataFrame,
    weight: NDArray[np.int64] | None = None,
    *,
    counts_people: bool | None = None,
    rows: NDArray[np.int64] | None = None,
    person: NDArray[np.int64] | None = None,
    ids: pd.Index | None = None,
) -> Table:
    """A Table from typed rows: equal records become one, with the sum of their weights.

    Records stay apart when the schema has a key. Row order and column order do not matter. `counts_people` says, where
    weights come from a column, whether they count people of the table; None where every row of weight n is n people.
    `rows` says of how many rows of the data each is; None where each is one. `person` says by its number whose each row
    is, -1 where that is not known, and `ids` how the data name these persons; None where every row is a person.
    """
    frame = frame.loc[:, [column.name for column in schema.columns]]
    weight = np.ones(len(frame), dtype=np.int64) if weight is None else weight
    first, inverse = distinct_rows(frame, schema)
    nobodys = 0 if person is None else int(weight[person < 0].sum())
    return Table(
        schema,
        frame.iloc[first].reset_index(drop=True),
        _summed(weight, inverse, len(first)),
        rows=None
        if counts_people is None
        else _summed(np.ones_like(weight) if rows is None else rows, inverse, len(first)),
        counts_people=counts_people is not False,
        person_rows=None if person is None else person_rows(inverse.astype(np.int64), person, weight, ids),
        without_id=nobodys,
    )


def cells_of(column: Column, cells: NDArray[Any]) -> pd.Series:
    """A column as a Table holds it, of numbers, positions in the domain (-1 where missing), or texts of a key."""
    if column.values is None or column.holds_numbers:
        return pd.Series(cells, dtype=cells.dtype)
    return pd.Series(pd.Categorical.from_codes(cells, categories=pd.Index(column.values)))


def typed_column(column: Column, cells: Sequence[Any]) -> pd.Series:
    """Cells (None where missing) as a Table holds them; DataError outside the declared domain."""
    if column.holds_numbers:
        return pd.Series([np.nan if cell is None else cell for cell in cells], dtype=float)
    typed = pd.Series(pd.Categorical(cells, categories=list(column.values or ())))
    if typed.isna().sum() != sum(cell is None for cell in cells):
        raise DataError(f"column {column.name!r}: a value outside the declared domain")
    return typed


def distinct_rows(
    frame: pd.DataFrame, schema: Schema, marks: Sequence[NDArray[np.bool_]] = ()
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the first of each distinct record, sorted by record, and each row's record.

    Rows whose `marks` differ are different records.

    Records are compared as one mixed-radix number as long as that fits into 64 bits, then ranked
    and compared on; so the cost is a few sorts of integers however many columns there are. Numbers
    that are few are not sorted at all, but ticked off.
    """
    rank = np.zeros(len(frame), dtype=np.int64)
    span = 1
    coded = [_ordered_codes(frame[column.name]) for column in schema.columns]
    for codes, size in (*coded, *((mark.astype(np.int64), 2) for mark in marks)):
        if span * size > 2**62:
            rank = np.unique(rank, return_inverse=True)[1].astype(np.int64)
            span = len(frame)
        rank *= size
        rank += codes
        span *= size
    if span <= DENSE * len(rank):
        return _ticked_off(rank, span)
    _, first, inverse = np.unique(rank, return_index=True, return_inverse=True)
    return first, inverse


def _ticked_off(rank: NDArray[np.int64], span: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What np.unique returns, for ranks below `span`."""
    place = np.full(span, -1, dtype=np.int64)
    place[rank[::-1]] = np.arange(len(rank) - 1, -1, -1)
    present = np.flatnonzero(place >= 0)
    first = place[present]
    place[present] = np.arange(len(present))
    return first, place[rank]


def _ordered_codes(series: pd.Series) -> tuple[NDArray[np.int64], int]:
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.codes.to_numpy().astype(np.int64) + 1, len(series.cat.categories) + 1
    cells = series.to_numpy(dtype=object if series.dtype == object else None)
    codes, values = pd.factorize(cells, sort=True, use_na_sentinel=False)
    return codes.astype(np.int64), max(len(values), 1)
