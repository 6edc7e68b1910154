"""Cells of text as values of columns, and which rows stay; whatever does not fit the policy is refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.errors import DataError, Problem
from leafgate.io.json import parse_number
from leafgate.io.tables.cells import DECIMAL_POINTS, Cells, are_decimal_commas, is_code
from leafgate.io.tables.csv import CsvOptions
from leafgate.io.tables.raw_records import RawRecords
from leafgate.kernel.components import DataSource
from leafgate.kernel.paths import DocumentPath
from leafgate.kernel.schema import MISSING_WORDS, Column, Role, Schema
from leafgate.kernel.spelling import same_form, similar_form


class SourceColumn(Protocol):
    """What reading a file needs to know of one column."""

    @property
    def role(self) -> tuple[Role, ...]: ...
    @property
    def values(self) -> Sequence[str] | None: ...
    @property
    def aliases(self) -> Mapping[str, str]: ...
    @property
    def no_answer(self) -> Sequence[str]: ...
    @property
    def counts(self) -> str | None: ...


class TableSource(Protocol):
    """The columns of a file and how they are read, as the section `data` of a policy states it."""

    @property
    def columns(self) -> Mapping[str, SourceColumn]: ...
    @property
    def csv(self) -> CsvOptions: ...
    @property
    def missing(self) -> Sequence[str]: ...
    @property
    def on_missing(self) -> str | None: ...
    @property
    def weight(self) -> tuple[str, SourceColumn] | None: ...
    @property
    def persons(self) -> Sequence[str]: ...
    @property
    def rows_at_most(self) -> int | None: ...

    @property
    def rows(self) -> str | None: ...
    @property
    def source(self) -> DataSource | None: ...
    @property
    def file_checks(self) -> frozenset[DocumentPath]: ...


def missing_among(texts: Iterable[str], name: str, data: TableSource) -> list[str]:
    """Those of the texts of a column that mean a missing cell, and do not say that there is no answer."""
    spec = data.columns[name]
    marks = {*data.missing} - {*spec.no_answer}
    return [text for text in texts if spec.aliases.get(text, text) in marks]


def without_class(texts: Iterable[str], name: str, data: TableSource) -> list[str]:
    """Those of the texts of the class that say that somebody has none; none of the texts of another column."""
    spec = data.columns[name]
    marks = {*spec.no_answer} - {*(spec.values or ())} if "class" in spec.role else set[str]()
    return [text for text in texts if spec.aliases.get(text, text) in marks]


def cells_among(cells: Cells, texts: Iterable[str]) -> NDArray[np.bool_]:
    """Which cells of a column have one of these texts."""
    chosen = {*texts}
    return np.array([text in chosen for text in cells.cat.categories], dtype=np.bool_)[cells.cat.codes.to_numpy()]


def missing_texts(cells: Cells, name: str, data: TableSource) -> list[str]:
    """The texts of a column's cells that mean a missing one."""
    return missing_among(cells.cat.categories, name, data)


def missing_cells(cells: Cells, column: Column, data: TableSource) -> NDArray[np.bool_]:
    """Which cells of a column are missing; keys never are."""
    if "key" in column.roles:
        return np.zeros(len(cells), dtype=np.bool_)
    return cells_among(cells, missing_texts(cells, column.name, data))


def typed_cells(
    records: RawRecords, schema: Schema, data: TableSource, dropped: NDArray[np.bool_], place: str
) -> tuple[pd.DataFrame, Schema]:
    """The cells as typed values, and the columns with their domains; whatever stands in `dropped` rows is accepted."""
    typed: dict[str, pd.Series] = {}
    columns: list[Column] = []
    problems: list[Problem] = []
    for column in schema.columns:
        try:
            known, series = typed_column(records, column, data, dropped, place)
        except DataError as error:
            problems.extend(error.problems)
        else:
            columns.append(known)
            typed[column.name] = series
    if problems:
        raise DataError.listing(problems)
    return pd.DataFrame(typed), Schema(tuple(columns), dropped=schema.dropped)


def typed_column(
    records: RawRecords, column: Column, data: TableSource, dropped: NDArray[np.bool_], place: str
) -> tuple[Column, pd.Series]:
    """The column, its domain filled in where the policy left it open, and its cells as typed values.

    Cells that are no value of the column raise DataError, except in `dropped` rows, where they are missing ones.
    """
    place = f"{place}, column {column.name!r}"
    cells: Cells = records.cells[column.name].cat.remove_unused_categories()
    if "key" in column.roles:
        _refuse_rows(records, cells.duplicated().to_numpy(), "the same as an earlier key", place)
        return column, cells.astype(object)
    spec = data.columns[column.name]
    texts = [spec.aliases.get(text, text) for text in cells.cat.categories]
    if ("data", "columns", column.name, "aliases") in data.file_checks:
        _refuse_merged(cells.cat.categories, texts, place)
    gone = {*missing_texts(cells, column.name, data), *without_class(cells.cat.categories, column.name, data)}
    missing = np.array([text in gone for text in cells.cat.categories])
    if missing.all():
        raise DataError("every cell is missing", place=place, remedy="give it the role `ignored`")
    if column.values is None and column.bounds is None:
        there = [text for text, gone in zip(texts, missing, strict=True) if not gone and text not in spec.no_answer]
        if not there:
            raise DataError("nobody's value is recorded", place=place, remedy="give it the role `ignored`")
        if "class" not in column.roles and are_decimal_commas(there):
            remedy = f"{DECIMAL_POINTS}; or declare `values`, if they are none"
            raise DataError("numbers with decimal commas would be categories", place=place, remedy=remedy)
        column = _domain_that_occurs(column, there).with_no_answer(spec.no_answer)
        if column.numeric and "sensitive" in column.roles and column.bins is None:
            remedy = "declare its `bins`, the edges of the intervals it is believed to lie in"
            raise DataError("a secret of numbers", place=place, remedy=remedy)
    if column.edges is not None:
        return column, _class_numbers(records, cells, texts, missing, column, dropped, place)
    if column.values is None:
        return column, _numbers(records, cells, texts, missing, column, dropped, place)
    position = dict.fromkeys(() if "class" in column.roles else spec.no_answer, len(column.values) - 1)
    position |= {value: code for code, value in enumerate(column.values)}
    codes = np.array([-1 if gone else position.get(t, -2) for t, gone in zip(texts, missing, strict=True)])
    row_codes = codes[cells.cat.codes.to_numpy()]
    _refuse_rows(records, (row_codes == -2) & ~dropped, "outside the `values` the policy declares", place)
    row_codes = np.maximum(row_codes, -1)
    return column, pd.Series(pd.Categorical.from_codes(row_codes, categories=pd.Index(column.values)))


def _refuse_merged(spellings: Iterable[str], texts: Iterable[str], place: str) -> None:
    """DataError where aliases make one value of cells that are more than spellings of it, or than missing ones."""
    found: dict[str, set[str]] = {}
    for spelling, text in zip(spellings, texts, strict=True):
        form = "" if spelling.strip() in MISSING_WORDS else similar_form(spelling) or spelling
        found.setdefault(text, set()).add(form)
    merged = sum(len(different) > 1 for different in found.values())
    if merged:
        raise DataError(
            f"the `aliases` make {merged} value(s) of several that occur, which what the policy extends does not allow",
            place=place,
            remedy="declare each as a value; or list the column with its `aliases` in the policy that is extended",
        )


def _numbers(
    records: RawRecords,
    cells: Cells,
    texts: Sequence[str],
    missing: NDArray[np.bool_],
    column: Column,
    dropped: NDArray[np.bool_],
    place: str,
) -> pd.Series:
    numbers = np.array([np.nan if gone else parse_number(t) for t, gone in zip(texts, missing, strict=True)])
    codes = cells.cat.codes.to_numpy()
    strange = ~missing & ~np.isfinite(numbers)
    with_commas = are_decimal_commas(itertools.compress(texts, strange))
    _refuse_rows(
        records, strange[codes] & ~dropped, "not a finite number", place, DECIMAL_POINTS if with_commas else CORRECT
    )
    if column.declared and column.bounds is not None:
        outside = (numbers < column.bounds[0]) | (numbers > column.bounds[1])
        what = "bins" if column.bins or column.edges else "bounds"
        _refuse_rows(records, outside[codes] & ~dropped, f"outside the `{what}` the policy declares", place)
    return pd.Series(np.where(strange, np.nan, numbers)[codes])


def _class_numbers(
    records: RawRecords,
    cells: Cells,
    texts: Sequence[str],
    missing: NDArray[np.bool_],
    column: Column,
    dropped: NDArray[np.bool_],
    place: str,
) -> pd.Series:
    """A class of numbers, each within the edges of its intervals."""
    edges = column.edges or ()
    return _numbers(records, cells, texts, missing, replace(column, bounds=(edges[0], edges[-1])), dropped, place)


def _domain_that_occurs(column: Column, texts: Sequence[str]) -> Column:
    """Numbers when every text is one and none has a leading zero, else the sorted values."""
    numeric = not any(map(is_code, texts))
    if numeric and "class" not in column.roles:
        numbers = [float(text) for text in texts]
        return replace(column, bounds=(min(numbers), max(numbers)))
    return replace(column, values=tuple(sorted(set(texts))))


CORRECT = "correct the policy or the data"


def _refuse_rows(records: RawRecords, wrong: NDArray[np.bool_], why: str, place: str, remedy: str = CORRECT) -> None:
    if wrong.any():
        first = records.first_row(wrong)
        where = "" if first is None else f", the first in record {first}"
        raise DataError(f"{int(records.rows[wrong].sum())} cell(s) {why}{where}", place=place, remedy=remedy)


def people_of_rows(records: RawRecords, data: TableSource, place: str) -> tuple[NDArray[np.int64], bool | None]:
    """How many people each record stands for, and whether they count as people of the table; None: every row is one."""
    raw = records.cells
    if data.weight is None or data.weight[0] not in raw:
        return records.rows, None
    name, spec = data.weight
    numbers = np.array([parse_number(text) for text in raw[name].cat.categories])
    strange = ~(np.isfinite(numbers) & (numbers >= 1) & (numbers == np.floor(numbers)) & (numbers < 2**53))
    codes = raw[name].cat.codes.to_numpy()
    _refuse_rows(records, strange[codes], "not a whole number of people, 1 or more", f"{place}, column {name!r}")
    return np.where(strange, 1, numbers).astype(np.int64)[codes] * records.rows, spec.counts == "people"


def persons_of_rows(
    records: RawRecords, data: TableSource, place: str
) -> tuple[NDArray[np.int64] | None, pd.Index | None]:
    """The number of the person of each record, -1 where an id is missing, and the ids; None: every row is a person.

    Every row is one, too, in a file without these columns.

    Raises DataError where somebody has more rows than the policy says.
    """
    if not data.persons or not set(data.persons) <= set(records.cells):
        return None, None
    person = np.zeros(len(records.cells), dtype=np.int64)
    ids: list[tuple[str, ...]] = [()]
    for name in data.persons:
        cells = records.cells[name].cat
        aliases, missing = data.columns[name].aliases, missing_texts(records.cells[name], name, data)
        texts = [None if each in missing else same_form(aliases.get(each, each)) or None for each in cells.categories]
        of_category, keys = pd.factorize(np.array(texts, dtype=object))
        own = of_category[cells.codes.to_numpy()]
        pair = np.where((person < 0) | (own < 0), -1, person * len(keys) + own)
        person, pairs = pd.factorize(np.where(pair < 0, np.nan, pair))
        ids = [(*ids[int(each) // len(keys)], keys[int(each) % len(keys)]) for each in pairs]
    known = person >= 0
    if not known.any():
        remedy = "give it the role `ignored`, or name the column that numbers the people"
        raise DataError("no row says whose it is", place=_columns_place(data, place), remedy=remedy)
    most = data.rows_at_most
    more = 0 if most is None else int((np.bincount(person[known], weights=records.rows[known]) > most).sum())
    if more:
        raise DataError(
            f"{more} of them have more rows than `data.rows_at_most` says",
            place=_columns_place(data, place),
            remedy="leave out rows of theirs by a rule that does not depend on cells; or state a larger number",
        )
    return person, pd.Index(ids, tupleize_cols=False)


def _columns_place(data: TableSource, place: str) -> str:
    """Where the columns are that number the people, for errors."""
    return f"{place}, column(s) {', '.join(map(repr, data.persons))}"


def complete_rows(
    gaps: Mapping[str, NDArray[np.bool_]], schema: Schema, data: TableSource, records: RawRecords, place: str
) -> NDArray[np.bool_]:
    """Which rows stay: all of them, or those without a missing cell, as `on_missing` says.

    `gaps` are the missing cells of each column.
    """
    for column in schema.columns:
        if column.roles & {"class", "sensitive"} and gaps[column.name].any():
            raise DataError(
                f"{int(records.rows[gaps[column.name]].sum())} cell(s) of the class or of a secret are missing",
                place=f"{place}, column {column.name!r}",
                remedy="list its mark as `no_answer` of the column: limits then judge who has a recorded value",
            )
    incomplete = np.logical_or.reduce(list(gaps.values()))
    if incomplete.any() and data.on_missing is None:
        raise DataError(
            f"{int(records.rows[incomplete].sum())} row(s) have missing cells",
            place=f"{place}, column(s) {', '.join(repr(n) for n, gap in gaps.items() if gap.any())}",
            remedy="say `on_missing: drop` or `on_missing: keep` under `data`",
        )
    return ~incomplete if data.on_missing == "drop" else np.ones(len(incomplete), dtype=np.bool_)
