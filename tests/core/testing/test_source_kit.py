"""The kit passes honest data sources, and finds each mistake by the check that is made for it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from broken_plugins.sources import BROKEN_SOURCES, Lines, write_lines
from cases import more
from leafgate.api import DataSource, SourceFile
from leafgate.io.tables.csv import read_cells
from leafgate.io.tables.reader import read_parquet
from leafgate.kernel.policy import CsvOptions
from leafgate.testing import Check, DoesNotApply, KnownException, NonConformance, check_source, source_conformance

pytestmark = pytest.mark.thorough

Rows = Sequence[Sequence[str | None]]


class Csv(DataSource):
    """The core's reading of CSV, as a plugin would offer it."""

    use: Literal["comma_separated"] = "comma_separated"

    suffixes = frozenset({".comma"})

    def read(self, file: SourceFile) -> pd.DataFrame:
        cells = read_cells(file.content, CsvOptions(), file.name)
        return cells.iloc[1:].set_axis([str(name) for name in cells.iloc[0]], axis=1)


class Parquet(DataSource):
    """The core's reading of Parquet, as a plugin would offer it."""

    use: Literal["columns"] = "columns"

    suffixes = frozenset({".columns"})

    def read(self, file: SourceFile) -> pd.DataFrame:
        return read_parquet(file.content, None, file.name)


def write_csv(columns: Sequence[str], rows: Rows) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([columns, *rows])
    return text.getvalue().encode()


def write_parquet(columns: Sequence[str], rows: Rows) -> bytes:
    content = io.BytesIO()
    cells = {name: pa.array(column, pa.string()) for name, column in zip(columns, zip(*rows, strict=True), strict=True)}
    pq.write_table(pa.table(cells), content)
    return content.getvalue()


def check_named(source: DataSource, name: str, **options: Any) -> Check[Any]:
    (found,) = (check for check in source_conformance(source, write_lines, **options) if check.name == name)
    return found


def test_an_honest_source_passes_every_check() -> None:
    assert check_source(Lines(), write_lines) == {}


@pytest.mark.parametrize(("source", "write"), [(Csv(), write_csv), (Parquet(), write_parquet)], ids=["csv", "parquet"])
def test_the_core_reads_files_as_sources_must(source: DataSource, write: Any) -> None:
    heavy = {"light_face": "the test module imports pyarrow"}
    assert set(check_source(source, write, expected=heavy)) == {"light_face"}


@pytest.mark.parametrize(("broken", "name"), BROKEN_SOURCES.values(), ids=BROKEN_SOURCES)
def test_a_mistake_is_found_by_the_check_made_for_it(broken: DataSource, name: str) -> None:
    with pytest.raises(NonConformance) as found:
        check_named(broken, name)()
    assert found.value.what
    assert found.value.remedy


@pytest.mark.parametrize("elsewhere", [False, *more(True)])
@pytest.mark.parametrize(("broken", "name"), BROKEN_SOURCES.values(), ids=BROKEN_SOURCES)
def test_a_mistake_is_found_by_no_check_that_is_about_something_else(
    broken: DataSource, name: str, elsewhere: bool
) -> None:
    """But for those that follow from it: what loses rows or cells cannot read them as they are.

    The check that starts another process is made by default where it is to find the mistake, as always that of large
    files, which takes seconds.
    """
    related = {
        "reads_every_row": {"keeps_texts", "keeps_missing_cells"},
        "tells_no_cell": {"refuses_damaged_files"},
        "finds_a_changed_cell": {"keeps_texts"},
        "repeats": {"repeats_elsewhere"},
        "is_declared": {"repeats_elsewhere"},
        "pickles": {"repeats_elsewhere"},
    }
    failed = set()
    for check in source_conformance(broken, write_lines):
        slow = {"reads_large_files"} if elsewhere else {"reads_large_files", "repeats_elsewhere"}
        if check.name in slow - {name}:
            continue
        try:
            with suppress(DoesNotApply):
                check()
        except NonConformance:
            failed.add(check.name)
    assert name in failed
    assert failed <= {name} | related.get(name, set())


def test_a_module_that_loads_what_is_heavy_is_found() -> None:
    from broken_plugins.heavy import HeavySource

    with pytest.raises(NonConformance, match=r"importing broken_plugins.heavy loads .*pandas"):
        check_named(HeavySource(), "light_face")()


def test_every_check_has_a_source_that_it_rejects() -> None:
    rejected = {name for _, name in BROKEN_SOURCES.values()} | {"light_face"}
    assert rejected == {check.name for check in source_conformance(Lines(), write_lines)}


def test_a_known_exception_is_skipped_with_its_reason() -> None:
    broken, name = BROKEN_SOURCES["drops equal rows"]
    with pytest.raises(KnownException, match="known exception: the table has a key"):
        check_named(broken, name, expected={name: "the table has a key"})()


def test_an_unknown_check_is_an_error() -> None:
    with pytest.raises(ValueError, match="there is no check 'reads_rows'"):
        source_conformance(Lines(), write_lines, expected={"reads_rows": "?"})
