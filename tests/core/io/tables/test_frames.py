"""Tables in memory become CSV files that hold the same cells."""

from __future__ import annotations

import csv
import hashlib
import io
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import DataError
from leafgate.io.tables.csv import read_csv
from leafgate.io.tables.frames import FrameColumn, FrameTable, single_column, table_columns, word_for_missing
from leafgate.kernel.policy import CsvOptions

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
numbers = st.one_of(st.integers(-(2**53) + 1, 2**53 - 1), st.floats(allow_nan=False, allow_infinity=False))


def cells(column: FrameColumn, missing: str = "") -> list[str]:
    return [(*column.texts, missing)[code] for code in column.codes]


def cells_of(values: list[Any]) -> list[str]:
    return cells(single_column(values, "v", "y"))


def written(table: FrameTable) -> bytes:
    return b"".join(table.csv_blocks())


@given(st.lists(st.one_of(st.none(), texts), min_size=1, max_size=20), st.lists(numbers, min_size=1, max_size=20))
def test_a_written_table_is_read_with_the_same_cells(words: list[str | None], values: list[float]) -> None:
    rows = max(len(words), len(values))
    words, values = words * (rows // len(words) + 1), values * (rows // len(values) + 1)
    table = pd.DataFrame({"word": pd.Series(words[:rows], dtype=object), "number": values[:rows]})
    columns = table_columns(table, "X")
    missing = word_for_missing(columns)
    in_memory = FrameTable("X", columns, missing, CsvOptions())
    content = written(in_memory)
    read = read_csv(content, CsvOptions(), ["word", "number"], "people.csv")
    records = in_memory.records(["word", "number"])
    for name in ("word", "number"):
        assert [records.texts[name][code] for code in records.loaded.codes(name)] == read[name].tolist()
    assert records.sha256 == hashlib.sha256(content).hexdigest()
    assert [None if text == missing else text for text in read["word"]] == words[:rows]
    assert [float(text) for text in read["number"]] == [float(value) for value in values[:rows]]


def test_a_text_that_means_a_missing_cell_is_read_as_of_the_file() -> None:
    table = FrameTable(
        "X", table_columns(pd.DataFrame({"a": ["?", None, "x"], "b": [1, 2, 3]}), "X"), "?", CsvOptions()
    )
    records, read = table.records(["a", "b"]), read_csv(written(table), CsvOptions(), ["a", "b"], "people.csv")
    assert [records.texts["a"][code] for code in records.loaded.codes("a")] == read["a"].tolist() == ["?", "?", "x"]


@given(st.sampled_from([";", "\t", "|"]), st.sampled_from(["'", '"']), st.lists(texts, min_size=2, max_size=9))
def test_other_signs_between_cells_change_no_cell(delimiter: str, quote: str, words: list[str]) -> None:
    columns = (single_column(words, "a", "X"), single_column(words[::-1], "b", "X"))
    options = CsvOptions(delimiter=delimiter, quote=quote, header=False, comment="#", skip_initial_space=True)
    read = read_csv(written(FrameTable("X", columns, "", options, quote_all=True)), options, ["a", "b"], "people.csv")
    assert read["a"].tolist() == words
    assert read["b"].tolist() == words[::-1]


def test_numbers_are_written_so_that_their_type_makes_no_difference() -> None:
    assert cells_of([1, 2]) == cells_of([1.0, 2.0]) == ["1", "2"]
    assert cells_of([np.float32(0.1)]) == [repr(float(np.float32(0.1)))]
    assert cells_of([-0.0, 1e300, Decimal("1.5"), 2**60]) == ["0", "1e+300", "1.5", str(2**60)]


def test_days_have_times_only_where_some_is_not_midnight() -> None:
    assert cells_of([date(2020, 1, 2), date(2021, 1, 2)]) == ["2020-01-02", "2021-01-02"]
    assert cells_of([datetime(2020, 1, 2)]) == ["2020-01-02"]
    assert cells_of([datetime(2020, 1, 2), datetime(2020, 1, 2, 3)]) == ["2020-01-02T00:00:00", "2020-01-02T03:00:00"]
    whole = pd.Series([pd.Timestamp("2020-01-02"), pd.NaT])
    assert cells(single_column(whole, "v", "y"), "gone") == ["2020-01-02", "gone"]


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([True, False, None], dtype="boolean"),
        pd.Series([True, False, None], dtype=object),
        pl.Series([True, False, None]),
        pd.Series([True, False, None], dtype="boolean[pyarrow]"),
    ],
    ids=["nullable", "object", "polars", "arrow"],
)
def test_truth_values_of_every_library_are_the_same_texts(values: Any) -> None:
    column = single_column(values, "v", "y")
    assert (column.kind, cells(column)) == ("truth", ["True", "False", ""])


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series([1, 2, None], dtype=float),
        pd.Series([1, 2, None], dtype="int64[pyarrow]"),
        pl.Series([1, 2, None]),
        [1, 2, None],
    ],
    ids=["nullable", "float", "arrow", "polars", "list"],
)
def test_whole_numbers_with_gaps_are_the_same_texts(values: Any) -> None:
    column = single_column(values, "v", "y")
    assert (column.kind, cells(column)) == ("number", ["1", "2", ""])


def test_categories_keep_their_order_and_those_that_nobody_has() -> None:
    column = single_column(pd.Series(pd.Categorical(["b", None], ["c", "b", "a"])), "v", "y")
    assert (column.texts, cells(column)) == (("c", "b", "a"), ["b", ""])
    assert column.occurring == ("b",)
    [own] = table_columns(pd.DataFrame({"v": pd.Categorical(["b"], ["c", "b"])}), "X")
    [other] = table_columns(pl.DataFrame({"v": pl.Series(["b"], dtype=pl.Enum(["c", "b"]))}), "X")
    assert (own.is_numbered, other.is_numbered) == (True, False)
    assert own.texts == other.texts


def test_a_word_for_missing_cells_is_no_cell() -> None:
    columns = [single_column(["", "NA", "missing"], "v", "y")]
    assert word_for_missing(columns) == "missing 0"
    assert word_for_missing([], {""}) == "NA"


def test_columns_without_names_are_called_by_their_positions() -> None:
    array = np.zeros((2, 2))
    assert [column.name for column in table_columns(array, "X")] == ["x0", "x1"]
    assert [column.name for column in table_columns(pd.DataFrame(array), "X", ["a", "b"])] == ["a", "b"]
    with pytest.raises(DataError, match="has 2 columns without names, and 1 are needed"):
        table_columns(array, "X", ["a"])


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (b"bytes", "cells of the type bytes"),
        (1j, "cells of the type complex"),
        ([1], "no plain values"),
        ("\ud800", "not Unicode"),
        ("x" * 200_000, "too long"),
        (float("inf"), "infinite"),
        (10**400, "no double can hold"),
        pytest.param(-(10**5000), "no double can hold", id="5000 digits"),
    ],
)
def test_other_cells_are_refused_without_being_printed(cell: Any, text: str) -> None:
    with pytest.raises(DataError, match=text) as error:
        single_column([cell], "v", "y")
    assert "bytes'" not in str(error.value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x00"])
def test_names_that_cannot_be_printed_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="a name of a column"):
        table_columns(pd.DataFrame({name: [1]}), "X")


def test_a_header_of_signs_is_read_as_it_was_written() -> None:
    names = ['a,"b"', "c;d", " e", "ß"]
    columns = table_columns(pd.DataFrame([[1, 2, 3, 4]], columns=names), "X")
    header = next(csv.reader(io.StringIO(written(FrameTable("X", columns, "", CsvOptions())).decode(), newline="")))
    assert header == names
