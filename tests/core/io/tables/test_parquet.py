from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import DataError
from table_files import AB, CLASS, PUBLIC, people, read

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TEXTS = st.sampled_from(["x", "001", "1", "é", 'a,"b"', "a\nb"])
ROWS = st.lists(st.tuples(TEXTS, st.integers(-3, 300), st.sampled_from("nu")), min_size=2, max_size=8)


def parquet(columns: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def read_parquet(folder: Path, columns: dict[str, Any], **options: Any) -> Any:
    return read(folder, parquet(columns), name="table.parquet", **options)


@given(ROWS)
def test_parquet_reads_like_csv(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, str]]) -> None:
    folder = tmp_path_factory.mktemp("both")
    columns = {"a": PUBLIC, "n": PUBLIC, "b": CLASS}
    cells = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    one = read(folder, pd.DataFrame(cells).to_csv(index=False), columns)
    other = read(folder, parquet(cells), columns, name="table.parquet")
    pd.testing.assert_frame_equal(one.frame, other.frame)
    assert one.weight.tolist() == other.weight.tolist()
    assert one.schema == other.schema


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([True, False], ("false", "true")),
        ([1.0, 2.0], (1.0, 2.0)),
        ([2**60 + 1, 2**60 + 3], (float(2**60), float(2**60))),
        (["1", "01"], ("01", "1")),
    ],
)
def test_typed_cells_read_as_the_texts_people_write(
    tmp_path: Path, cells: list[Any], expected: tuple[Any, ...]
) -> None:
    table = read_parquet(tmp_path, {"a": cells, "b": ["u", "v"]})
    assert tuple(sorted(row[0] for row in people(table).elements())) == expected


def test_a_null_is_an_empty_cell(tmp_path: Path) -> None:
    table = read_parquet(tmp_path, {"a": ["x", None, ""], "b": ["u", "v", "v"]}, on_missing="keep")
    assert people(table) == {("x", "u"): 1, (None, "v"): 2}


def test_a_null_does_not_blur_the_whole_numbers_beside_it(tmp_path: Path) -> None:
    columns = {"k": {"role": "key"}, **AB}
    cells = {"k": [2**60 + 1, None], "a": ["x", "x"], "b": ["u", "v"]}
    table = read(tmp_path, parquet(cells), columns, name="table.parquet")
    assert str(2**60 + 1) in set(table.frame["k"])


def test_a_dictionary_column_reads_as_its_texts(tmp_path: Path) -> None:
    cells = pa.array(["x", None, "z"]).dictionary_encode()
    table = read_parquet(tmp_path, {"a": cells, "b": ["u", "v", "v"]}, on_missing="drop")
    assert (people(table), table.dropped) == ({("x", "u"): 1, ("z", "v"): 1}, 1)


def test_a_column_of_many_different_texts_is_read_in_a_moment(tmp_path: Path) -> None:
    many = 20_000
    cells = {"k": [f"person {i}" for i in range(many)], "a": ["x"] * many, "b": ["u", "v"] * (many // 2)}
    table = read(tmp_path, parquet(cells), {"k": {"role": "key"}, **AB}, name="table.parquet")
    assert len(table) == many


@pytest.mark.parametrize("content", [b"PAR1", b"a,b\nx,u\n", b"PAR1" + b"x" * 50 + b"PAR1"])
def test_what_is_no_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match="is not a Parquet file"):
        read(tmp_path, content, name="table.parquet")


@pytest.mark.parametrize("cells", [[[1], [2]], [{"x": 1}, {"x": 2}]])
def test_a_column_of_lists_or_structures_is_refused(tmp_path: Path, cells: list[Any]) -> None:
    with pytest.raises(DataError):
        read_parquet(tmp_path, {"a": cells, "b": ["u", "v"]})


def test_a_parquet_file_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no rows"):
        read_parquet(tmp_path, {"a": pa.array([], pa.string()), "b": pa.array([], pa.string())})


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    pq.write_table(pa.table([pa.array(["x"]), pa.array(["u"])], names=["a", "a"]), file)
    with pytest.raises(DataError, match="stand twice"):
        read(tmp_path, file.getvalue(), name="table.parquet")


def test_a_parquet_file_wider_than_any_policy_is_refused_before_its_cells_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *given: pytest.fail("cells were read"))
    with pytest.raises(DataError, match="has more than 10,000 columns"):
        read_parquet(tmp_path, {f"c{i}": [1] for i in range(10_001)})
    with pytest.raises(DataError, match="the header has no column 'a'"):
        read_parquet(tmp_path, {"x": [1], "y": [1]})
