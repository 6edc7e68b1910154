"""The public benchmark files, read exactly as their sources serve them; counts are those of the data's README."""

from __future__ import annotations

from collections import Counter

import pytest

from data_files import DATA
from leafgate import Table
from public_tables import FILES, File
from table_files import CLASS, PUBLIC, Columns, data_of, table_in

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the benchmark data is not here")


def read(file: File) -> Table:
    columns: Columns = {name: {"role": "ignored"} if name in file.ignored else PUBLIC for name in file.names}
    data = data_of(columns | {file.target: CLASS}, {"csv": file.csv, **file.options})
    return table_in(data, DATA / file.path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FILES)
def test_a_public_table_is_read_as_it_is(name: str) -> None:
    file = FILES[name]
    table = read(file)
    classes: Counter[str] = Counter()
    for label, weight in zip(table.frame[file.target], table.weight.tolist(), strict=True):
        classes[label] += weight
    assert classes == file.classes
    assert (table.total_weight, len(table), table.dropped) == (sum(file.classes.values()), file.distinct, file.dropped)


def test_the_numeric_columns_of_german_credit_are_those_its_description_names() -> None:
    schema = read(FILES["german"]).schema
    assert [column.name for column in schema.columns if column.numeric] == [f"c{i}" for i in (2, 5, 8, 11, 13, 16, 18)]


def test_the_codes_of_mushroom_are_texts() -> None:
    assert not any(column.numeric for column in read(FILES["mushroom"]).schema.columns)
