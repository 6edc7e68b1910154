from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import DataError
from table_files import AB, CLASS, PUBLIC, Columns, data_of, people, read, table_in

ROWS = st.lists(
    st.tuples(st.sampled_from("xyz"), st.sampled_from(["1", "2.5", "-3"]), st.sampled_from("nu")), min_size=2
)
ABC: Columns = {"a": PUBLIC, "n": PUBLIC, "b": CLASS}


def lines(rows: list[tuple[str, ...]], header: str = "a,n,b") -> str:
    return "\n".join([header, *(",".join(row) for row in rows)]) + "\n"


def refusal(folder: Path, content: str, columns: Columns, **options: Any) -> str:
    with pytest.raises(DataError) as refused:
        read(folder, content, columns, **options)
    return str(refused.value)


@pytest.mark.parametrize(
    "texts", [("001", "1"), ("NA", "nan"), ("1.0", "1"), ("1e3", "1000"), ("no", "false"), ("", " ")]
)
@pytest.mark.parametrize("header", [True, False])
def test_cells_stay_the_texts_they_are(tmp_path: Path, texts: tuple[str, str], header: bool) -> None:
    first, second = texts
    content = ("a,b\n" if header else "") + f"{first},u\n{second},v\n"
    columns: Columns = {"a": {**PUBLIC, "values": list(texts)}, "b": CLASS}
    table = read(tmp_path, content, columns, csv={"header": header}, missing=["?"])
    assert people(table) == {(first, "u"): 1, (second, "v"): 1}


def test_a_domain_left_open_is_the_one_that_occurs(tmp_path: Path) -> None:
    table = read(tmp_path, "a,n,b\ny,2,no\nx,-1.5,yes\n", ABC)
    assert (table.schema["a"].values, table.schema["n"].bounds) == (("x", "y"), (-1.5, 2.0))
    assert not table.schema["a"].declared


@pytest.mark.parametrize("code", ["007", "00", "-01", "1_000", "٣", "nan", "inf", "0x1F", "1,5;"])
@pytest.mark.parametrize("header", [True, False])
def test_a_column_with_a_code_in_it_is_no_column_of_numbers(tmp_path: Path, code: str, header: bool) -> None:
    content = ("a,b\n" if header else "") + f'"{code}",u\n1,v\n'
    assert read(tmp_path, content, csv={"header": header}).schema["a"].values == tuple(sorted([code, "1"]))


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("0.5", 0.5), ("-0.5", -0.5), (".5", 0.5), ("1e-3", 0.001), ("+7", 7)]
)
def test_numbers_may_be_written_in_the_usual_ways(tmp_path: Path, text: str, number: float) -> None:
    assert read(tmp_path, f"a,b\n{text},u\n9,v\n").numbers("a").tolist() == sorted([number, 9])


def test_a_class_of_numbers_is_a_class_of_texts(tmp_path: Path) -> None:
    assert read(tmp_path, "a,b\nx,1\ny,0\n").schema["b"].values == ("0", "1")


def test_an_alias_is_read_as_the_value_it_means(tmp_path: Path) -> None:
    columns: Columns = {"a": PUBLIC, "b": {**CLASS, "values": ["no", "yes"], "aliases": {"yes.": "yes", "?": "no"}}}
    assert people(read(tmp_path, "a,b\nx,yes.\nx,yes\ny,?\n", columns)) == {("x", "yes"): 2, ("y", "no"): 1}


def test_incomplete_rows_are_dropped_and_counted_where_the_policy_says_so(tmp_path: Path) -> None:
    table = read(tmp_path, "a,n,b\n?,1,no\nx,,yes\nx,1,no\n", ABC, missing=["?", ""], on_missing="drop")
    assert (people(table), table.dropped) == ({("x", 1.0, "no"): 1}, 2)


STRANGE = "a,n,m,b\n?,99,2.5,maybe\nz,?,0.5,no\n?,one,nan,no\nx,1,1.5,no\n"
DECLARED: Columns = {
    "a": {**PUBLIC, "values": ["x"]},
    "n": {**PUBLIC, "bounds": [0, 1]},
    "m": {"role": "private", "bins": [0, 1, 2]},
    "b": {**CLASS, "values": ["no", "yes"]},
}


def test_cells_outside_the_domain_are_accepted_in_rows_that_are_dropped_and_only_there(tmp_path: Path) -> None:
    table = read(tmp_path, STRANGE, DECLARED, missing=["?"], on_missing="drop")
    assert (people(table), table.dropped) == ({("x", 1.0, 1.5, "no"): 1}, 3)
    result = refusal(tmp_path, STRANGE, DECLARED, missing=["?"], on_missing="keep").splitlines()
    assert [line.partition("column ")[2][:3] for line in result] == ["'a'", "'n'", "'m'", "'b'"]
    kept = refusal(tmp_path, STRANGE + "y,1,1,no\n", DECLARED, missing=["?"], on_missing="drop")
    assert "column 'a': some cells are outside the `values` the policy declares, the first in record 5" in kept


def test_people_whose_rows_are_dropped_are_kept_apart_with_their_cells(tmp_path: Path) -> None:
    content = "a,n,b\n?,1,no\n?,1,no\nx,,yes\nx,1,no\n"
    table = read(tmp_path, content, ABC, missing=["?", ""], on_missing="drop")
    assert table.incomplete is not None
    kept = read(tmp_path, content, ABC, missing=["?", ""], on_missing="keep")
    assert table.incomplete.schema == kept.schema
    assert people(table.incomplete) == {(None, 1.0, "no"): 2, ("x", None, "yes"): 1}
    assert people(kept) == people(table) | people(table.incomplete)
    assert read(tmp_path, "a,n,b\nx,1,no\nx,2,yes\n", ABC, on_missing="drop").incomplete is None
    strange = read(tmp_path, STRANGE, DECLARED, missing=["?"], on_missing="drop").incomplete
    assert strange is not None
    assert people(strange) == {(None, None, 0.5, "no"): 1, (None, None, None, "no"): 1}  # "maybe" is no class


def test_of_a_class_of_numbers_too_a_dropped_row_may_hold_anything(tmp_path: Path) -> None:
    columns: Columns = {"a": PUBLIC, "b": {**CLASS, "bins": [0, 1, 2]}}
    table = read(tmp_path, "a,b\n?,7\n?,one\nx,1.5\n", columns, missing=["?"], on_missing="drop")
    assert (people(table), table.dropped) == ({("x", 1.5): 1}, 2)


def test_missing_is_a_value_of_its_own_where_the_policy_says_so(tmp_path: Path) -> None:
    table = read(tmp_path, "a,n,b\n?,1,no\nx,?,yes\n", ABC, missing=["?"], on_missing="keep")
    assert people(table) == {(None, 1.0, "no"): 1, ("x", None, "yes"): 1}
    assert table.schema["a"].domain == ("x", None)
    assert sorted(table.codes("a").tolist()) == [0, 1]


def test_missing_cells_without_a_word_on_them_are_refused(tmp_path: Path) -> None:
    result = refusal(tmp_path, "a,n,b\n?,1,no\nx,?,yes\n", ABC, missing=["?"])
    assert "some rows have missing cells" in result
    assert "column(s) 'a', 'n'" in result
    assert "on_missing" in result


@pytest.mark.parametrize("on_missing", ["drop", "keep", None])
@pytest.mark.parametrize("column", ["b", "s"])
def test_a_missing_class_or_secret_is_always_refused(tmp_path: Path, on_missing: str | None, column: str) -> None:
    columns: Columns = {"a": PUBLIC, "b": CLASS, "s": {"role": "sensitive"}}
    content = {"b": "a,b,s\nx,,u\ny,no,u\n", "s": "a,b,s\nx,no,\ny,no,u\n"}[column]
    result = refusal(tmp_path, content, columns, on_missing=on_missing)
    assert f"column {column!r}: some cells of the class or of a secret are missing" in result


def test_a_column_without_a_cell_is_refused(tmp_path: Path) -> None:
    assert "column 'n': every cell is missing" in refusal(tmp_path, "a,n,b\nx,,no\n", ABC, on_missing="keep")


def test_a_table_without_a_complete_row_is_refused(tmp_path: Path) -> None:
    assert "none is left" in refusal(tmp_path, "a,n,b\nx,,no\n,1,no\n", ABC, on_missing="drop")


def test_every_column_that_does_not_fit_is_told_at_once(tmp_path: Path) -> None:
    columns: Columns = {
        "a": {**PUBLIC, "values": ["x"]},
        "n": {**PUBLIC, "bounds": [0, 1]},
        "m": {**PUBLIC, "bounds": [0, 1]},
        "b": CLASS,
    }
    result = refusal(tmp_path, "a,n,m,b\nx,1,1,no\ny,2,one,no\ny,0,1,no\n", columns).splitlines()
    assert "column 'a': some cells are outside the `values` the policy declares, the first in record 2" in result[0]
    assert "column 'n': some cells are outside the `bounds` the policy declares, the first in record 2" in result[1]
    assert "column 'm': some cells are not a finite number, the first in record 2" in result[2]


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], rng: Any
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    one, other = read(folder, lines(rows), ABC), read(folder, lines(rng.sample(rows, len(rows))), ABC)
    pd.testing.assert_frame_equal(one.frame, other.frame)
    assert one.weight.tolist() == other.weight.tolist()


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("nu"), st.integers(1, 5)), min_size=2))
def test_a_weight_column_says_what_repeated_rows_say(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    weighted = lines([(a, b, str(n)) for a, b, n in rows], "a,b,w")
    one = read(folder, weighted, AB | {"w": {"role": "weight"}})
    other = read(folder, lines([(a, b) for a, b, n in rows for _ in range(n)], "a,b"))
    pd.testing.assert_frame_equal(one.frame, other.frame)
    np.testing.assert_array_equal(one.weight, other.weight)


@pytest.mark.parametrize("counted", [{}, {"counts": "people", "reason": "alike"}])
@pytest.mark.parametrize("rows", [2, 2**11])
def test_weights_add_up_to_less_than_2_to_the_53(tmp_path: Path, counted: dict[str, str], rows: int) -> None:
    largest = 2**53 // rows
    columns = AB | {"w": {"role": "weight", **counted}}
    head = "a,b,w\n" + f"x,no,{largest}\n" * (rows - 1)
    assert read(tmp_path, f"{head}x,no,{largest - 1}\n", columns).total_weight == 2**53 - 1
    over = f"{head}x,no,{largest}\n"
    assert "column 'w': the weights add up to 2^53 or more" in refusal(tmp_path, over, columns)


@pytest.mark.parametrize("weight", ["0", "-1", "1.5", "", "x", "nan", "inf", "1_0"])
def test_a_weight_is_a_whole_number_of_people(tmp_path: Path, weight: str) -> None:
    result = refusal(tmp_path, f"a,b,w\nx,no,1\nx,no,{weight}\n", AB | {"w": {"role": "weight"}})
    assert "column 'w': some cells are not a whole number of people, 1 or more, the first in record 2" in result


def test_a_key_keeps_equal_records_apart(tmp_path: Path) -> None:
    table = read(tmp_path, "k,a,b\n007,x,no\n7,x,no\n", {"k": {"role": "key"}} | AB)
    assert people(table) == {("007", "x", "no"): 1, ("7", "x", "no"): 1}


@pytest.mark.parametrize("role", ["ignored", "identifier"])
def test_a_column_that_does_not_matter_may_hold_anything(tmp_path: Path, role: str) -> None:
    table = read(tmp_path, "x,a,b\n?,x,no\n,x,no\n", {"x": {"role": role}} | AB, missing=["?", ""])
    assert (list(table.frame.columns), people(table)) == (["a", "b"], {("x", "no"): 2})


def test_the_domain_of_the_training_table_reads_the_test_table(tmp_path: Path) -> None:

    train = read(tmp_path, "a,b\n1,no\n9,yes\n")
    (tmp_path / "test.csv").write_text("a,b\n12,no\n")
    test = table_in(data_of(AB, {}), tmp_path / "test.csv", train.schema)
    assert people(test) == {(12.0, "no"): 1}


@pytest.mark.parametrize("name", ["none.csv", ".", "x" * 300])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:

    data = data_of(AB, {})
    with pytest.raises(DataError):
        table_in(data, tmp_path / name)


def test_identifiers_that_stand_in_several_rows_are_named(tmp_path: Path) -> None:
    columns: Columns = {"id": {"role": "identifier"}, "ssn": {"role": "identifier"}, "a": PUBLIC, "b": CLASS}
    table = read(tmp_path, "id,ssn,a,b\n1,?,x,no\n1,?,x,yes\n2,7,x,no\n", columns, missing=["?"], on_missing="drop")
    assert table.repeated_identifiers == ("id",)


def test_rows_that_were_dropped_repeat_no_identifier(tmp_path: Path) -> None:
    columns: Columns = {"id": {"role": "identifier"}, "a": PUBLIC, "b": CLASS}
    table = read(tmp_path, "id,a,b\n1,?,no\n1,x,yes\n2,x,no\n", columns, missing=["?"], on_missing="drop")
    assert table.repeated_identifiers == ()
