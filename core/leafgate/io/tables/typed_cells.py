"""What the texts of columns stand for, and which are missing; whatever does not fit the policy is refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.errors import DataError, Problem
from leafgate.io.json import parse_number
from leafgate.io.tables.cells import DECIMAL_POINTS, are_decimal_commas, is_code
from leafgate.io.tables.records import Marks, Records, Rows
from leafgate.kernel.policy import Data
from leafgate.kernel.schema import MISSING_WORDS, Column, Schema
from leafgate.kernel.spelling import same_form, similar_form
from leafgate.kernel.table import cells_of


def missing(records: Records, name: str, data: Data) -> NDArray[np.bool_]:
    """Which texts of a column mean a missing cell, and do not say that there is no answer."""
    return _meaning(records, name, data, {*data.missing} - {*data.columns[name].no_answer})


def without_class(records: Records, name: str, data: Data) -> NDArray[np.bool_]:
    """Which texts of the class say that somebody has none."""
    spec = data.columns[name]
    return _meaning(records, name, data, {*spec.no_answer} - {*(spec.values or ())})


def _meaning(records: Records, name: str, data: Data, marks: set[str]) -> NDArray[np.bool_]:
    aliases = data.columns[name].aliases
    return np.array([aliases.get(text, text) in marks for text in records.texts[name]], dtype=np.bool_)


def missing_cells(records: Records, schema: Schema, data: Data) -> Marks:
    """The texts of each column that mean a missing cell; of a key none does."""
    return {column.name: missing(records, column.name, data) & ("key" not in column.roles) for column in schema.columns}


def typed_columns(
    records: Records, schema: Schema, data: Data, among: Rows | None, place: str
) -> tuple[Schema, dict[str, NDArray[Any]]]:
    """The columns with their domains, and what each text of them stands for, as `typed_values` says.

    Whatever stands in other records than those `among` which it is asked is accepted.
    """
    values: dict[str, NDArray[Any]] = {}
    columns: list[Column] = []
    problems: list[Problem] = []
    for column in schema.columns:
        try:
            known, values[column.name] = typed_values(records, column, data, among, f"{place}, column {column.name!r}")
        except DataError as error:
            problems.extend(error.problems)
        else:
            columns.append(known)
    if problems:
        raise DataError.listing(problems)
    return Schema(tuple(columns), dropped=schema.dropped), values


def typed_frame(records: Records, schema: Schema, values: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """The cells of records in main memory, as a Table holds them."""
    codes = records.loaded.codes
    cells = {each.name: cells_of(each, values[each.name][codes(each.name)]) for each in schema.columns}
    return pd.DataFrame(cells, range(len(records)))


def typed_values(
    records: Records, column: Column, data: Data, among: Rows | None, place: str
) -> tuple[Column, NDArray[Any]]:
    """The column, its domain filled in where the policy left it open, and what each text of it stands for.

    That is a number, NaN for a missing cell; a position in the domain, -1 for a missing cell; or the form of a key, in
    which keys are compared.
    Texts that are no value of the column raise DataError, unless only other records than those `among` have them.
    """
    listed = records.texts[column.name]
    if "key" in column.roles:
        forms = np.array([same_form(text) or text for text in listed], dtype=object)
        _refuse_repeated(records, forms[records.loaded.codes(column.name)], place)
        return column, forms
    spec = data.columns[column.name]
    texts = [spec.aliases.get(text, text) for text in listed]
    if ("data", "columns", column.name, "aliases") in data.file_checks:
        _refuse_merged(listed, texts, place)
    gone = missing(records, column.name, data)
    if "class" in column.roles:
        gone |= without_class(records, column.name, data)
    if gone.all():
        raise DataError("every cell is missing", place=place, remedy="give it the role `ignored`")
    if column.values is None and column.bounds is None:
        there = [text for text in itertools.compress(texts, ~gone) if text not in spec.no_answer]
        column = _domain_that_occurs(column, there, place).with_no_answer(spec.no_answer)

    def refuse(wrong: NDArray[np.bool_], why: str, remedy: str = CORRECT) -> None:
        refuse_texts(records, column.name, wrong, why, place, remedy, among)

    if not column.holds_numbers:
        position = dict.fromkeys(() if "class" in column.roles else spec.no_answer, len(column.values or ()) - 1)
        position |= {value: code for code, value in enumerate(column.values or ())}
        codes = np.array([-1 if lost else position.get(text, -2) for text, lost in zip(texts, gone, strict=True)])
        refuse(codes == -2, "outside the `values` the policy declares")
        return column, np.maximum(codes, -1)
    numbers = np.array([np.nan if lost else parse_number(text) for text, lost in zip(texts, gone, strict=True)])
    strange = ~gone & ~np.isfinite(numbers)
    with_commas = are_decimal_commas(itertools.compress(texts, strange))
    refuse(strange, "not a finite number", DECIMAL_POINTS if with_commas else CORRECT)
    bounds = column.bounds if column.edges is None else (column.edges[0], column.edges[-1])
    if column.declared and bounds is not None:
        what = "bins" if column.bins or column.edges else "bounds"
        refuse((numbers < bounds[0]) | (numbers > bounds[1]), f"outside the `{what}` the policy declares")
    return column, np.where(strange, np.nan, numbers)


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


def _domain_that_occurs(column: Column, texts: Sequence[str], place: str) -> Column:
    """Numbers when every text is one and none has a leading zero, else the sorted values."""
    if not texts:
        raise DataError("nobody's value is recorded", place=place, remedy="give it the role `ignored`")
    if "class" not in column.roles and are_decimal_commas(texts):
        remedy = f"{DECIMAL_POINTS}; or declare `values`, if they are none"
        raise DataError("numbers with decimal commas would be categories", place=place, remedy=remedy)
    if "class" not in column.roles and not any(map(is_code, texts)):
        if "sensitive" in column.roles and column.bins is None:
            remedy = "declare its `bins`, the edges of the intervals it is believed to lie in"
            raise DataError("a secret of numbers", place=place, remedy=remedy)
        numbers = [float(text) for text in texts]
        return replace(column, bounds=(min(numbers), max(numbers)))
    return replace(column, values=tuple(sorted(set(texts))))


CORRECT = "correct the policy or the data"


def refuse_texts(
    records: Records,
    name: str,
    wrong: NDArray[np.bool_],
    why: str,
    place: str,
    remedy: str = CORRECT,
    among: Rows | None = None,
) -> None:
    """DataError where a record, or one of these records, has a wrong text."""
    if wrong.any() and records.rows_of_texts(name, among)[wrong].any():
        first = records.first_row(name, wrong, among)
        where = "" if first is None else f", the first in record {first}"
        raise DataError(f"some cells are {why}{where}", place=place, remedy=remedy)


def _refuse_repeated(records: Records, keys: NDArray[Any], place: str) -> None:
    again = pd.Series(keys).duplicated().to_numpy()
    if again.any():
        first = "" if records.loaded.first is None else f", the first in record {records.loaded.first[again].min()}"
        raise DataError(f"some cells are the same as an earlier key{first}", place=place, remedy=CORRECT)
