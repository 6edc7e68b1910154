from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from leafgate import DataError
from leafgate.app import document, open_session, summary
from patience import ends_soon
from survey import PEOPLE, survey
from table_files import AB, csv_cells, people, read

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=5)
ROWS = st.integers(2, 4).flatmap(lambda width: st.lists(st.tuples(*[TEXTS] * width), min_size=1, max_size=6))


def written(cell: str, delimiter: str, always: bool) -> str:
    """A cell as RFC 4180 has it, in quotes where it must be."""
    return '"' + cell.replace('"', '""') + '"' if always or set(cell) & {delimiter, '"', "\r", "\n"} else cell


@given(ROWS, st.sampled_from(",;\t| "), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_what_is_written_as_csv_is_read_back(
    rows: list[tuple[str, ...]], delimiter: str, end: str, always: bool
) -> None:
    content = end.join(delimiter.join(written(cell, delimiter, always) for cell in row) for row in rows)
    names = [f"column_{i}" for i in range(len(rows[0]))]
    cells = csv_cells(content.encode(), names, "table.csv", header=False, delimiter=delimiter, encoding="utf-8")
    assert list(cells.astype(object).itertuples(index=False, name=None)) == rows


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_may_end_in_any_way(tmp_path: Path, end: str, last: bool) -> None:
    content = end.join(["a,b", "x,no", "y,yes"]) + (end if last else "")
    assert people(read(tmp_path, content)) == {("x", "no"): 1, ("y", "yes"): 1}


@pytest.mark.parametrize(
    ("content", "options", "sign"),
    [
        ("a;b\nx;no\n", {}, ";"),
        ("x\tno\n", {"header": False}, "\\t"),
        ("a,b\nx,no\n", {"delimiter": ";"}, ","),
        ('"a";"b"\n"x";"no"\n', {}, ";"),  # by commas it is no table
    ],
)
def test_a_wrong_delimiter_is_named_with_the_right_one(
    tmp_path: Path, content: str, options: dict[str, object], sign: str
) -> None:
    with pytest.raises(DataError) as refused:
        read(tmp_path, content, csv=options)
    assert f'(say under `data`: `csv: {{delimiter: "{sign}"}}`)' in str(refused.value)
    assert "the delimiter seems to be" in str(refused.value)


@pytest.mark.parametrize("spec", [{}, {"bounds": [0, 9]}])
def test_decimal_commas_are_refused_with_what_to_write(tmp_path: Path, spec: dict[str, object]) -> None:
    columns = {**AB, "a": {"role": "quasi_identifier", **spec}}
    with pytest.raises(DataError, match=r"write decimal points \(1\.5\) in the file, not commas"):
        read(tmp_path, "a;b\n2,5;no\n3;yes\n", columns, csv={"delimiter": ";"})


@pytest.mark.parametrize(
    ("content", "csv_options"),
    [
        ("a,b\nx,no\ny,yes\n", {}),
        ("x,no\ny,yes\n", {"header": False}),
        ("b,a\nno,x\nyes,y\n", {}),
        ("\n\na,b\n\nx,no\n  \ny,yes\n\n\n", {}),
        ("\ufeffa,b\nx,no\ny,yes\n", {}),
        ('"a","b"\n"x","no"\n"y","yes"\n', {}),
        ("'a';'b'\n'x';'no'\n'y';'yes'\n", {"delimiter": ";", "quote": "'"}),
        ("a\tb\nx\tno\ny\tyes\n", {"delimiter": "\t"}),
        ("a b\nx no\ny yes\n", {"delimiter": " "}),
        ("a, b\nx, no\ny,  yes\n", {"skip_initial_space": True}),
        ('a, "b"\nx, "no"\n"y", yes\n', {"skip_initial_space": True}),
        ("|one\na,b\n|two\nx,no\n|three,four,five\ny,yes\n|", {"comment": "|"}),
        ("\ufeff|one\na,b\nx,no\ny,yes\n", {"comment": "|"}),
        ("// one\na,b\nx,no\ny,yes\n", {"comment": "//"}),
    ],
)
def test_one_table_may_be_written_in_many_ways(tmp_path: Path, content: str, csv_options: dict[str, object]) -> None:
    assert people(read(tmp_path, content, csv=csv_options)) == {("x", "no"): 1, ("y", "yes"): 1}


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8"])
def test_the_text_may_have_another_encoding(tmp_path: Path, encoding: str) -> None:
    content = "|ä\na,b\né,no\nü,yes\n".encode(encoding)
    table = read(tmp_path, content, csv={"encoding": encoding, "comment": "|"})
    assert people(table) == {("é", "no"): 1, ("ü", "yes"): 1}


def test_a_comment_sign_inside_a_cell_or_a_quoted_line_is_no_comment(tmp_path: Path) -> None:
    content = 'a,b\n"x\n|y",no\n|z,w\nu|v,yes\n'
    assert people(read(tmp_path, content, csv={"comment": "|"})) == {("x\n|y", "no"): 1, ("u|v", "yes"): 1}


@pytest.mark.parametrize("sign", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_line_feeds_and_carriage_returns_end_a_line(tmp_path: Path, sign: str) -> None:
    assert people(read(tmp_path, f"a,b\nx{sign}y,no\nz,yes\n")) == {(f"x{sign}y", "no"): 1, ("z", "yes"): 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        (" \n\t\n", "the file is empty"),
        ("a,b\n", "the file holds no rows"),
        ("a,b\nx,no\ny\n", "1 row(s) have another number of cells than the first (2), the first is row 3"),
        ("a,b\nx,no,z\n", "1 row(s) have another number of cells than the first (2), the first is row 2"),
        ('a,b\nx,no\n"y,yes\n', "not a table: unexpected end of data, line 3"),
        ("a,a\nx,no\n", "1 column name(s) stand twice in the header (rename them, or set `csv: {header: false}`)"),
        ("a,c\nx,no\n", "the header has no column 'b'"),
        ("a,b,c\nx,no,z\n", "1 column(s) of the header are not in the policy"),
        (b"a,b\n\xff,no\n", "is not utf-8-sig text"),
        ('a,b\n"' + "x" * 200_000 + '",no\n', "not a table: field larger than field limit (131072), line 2"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError) as refused:
        read(tmp_path, content)
    assert message in str(refused.value)
    assert refused.value.problems[0].location == "table.csv"


def test_a_header_that_is_wrong_in_several_ways_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        read(tmp_path, "x,y,z\n1,2,3\n")
    assert len(refused.value.problems) == 3


def test_without_a_header_every_column_must_be_declared(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has 3 columns, the policy declares 2"):
        read(tmp_path, "x,y,z\n", csv={"header": False})


def test_only_comments_are_no_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no rows"):
        read(tmp_path, "|a\n|b\n", AB, csv={"comment": "|"})


def test_lines_left_out_as_comments_are_counted_where_they_may_be_people(tmp_path: Path) -> None:
    people = PEOPLE.replace("\n20,", "\n#20,")
    path = survey(tmp_path, {"data.csv": {"comment": "#"}}, "# a table of people that somebody made up\n" + people)
    report = open_session(path).audit().report
    auditor, public = (document(report, audience) for audience in ("auditor", "public"))
    assert (auditor["data"]["people"], auditor["data"]["commented"]) == (18, 6)
    assert "18 people (6 more left out as comments)" in summary(auditor)
    assert public["data"]["commented"] == {"fewer_than": 10}
    assert "commented" not in document(open_session(survey(tmp_path)).audit().report, "auditor")["data"]


@pytest.mark.parametrize("header", [True, False])
def test_a_table_wider_than_any_policy_is_refused_soon(tmp_path: Path, header: bool) -> None:
    names = ",".join(f"c{i}" for i in range(40_000))
    changes = {"data.csv": {"header": header}}
    path = survey(tmp_path, changes, "\n".join([names, *[",".join(["1"] * 40_000)] * 3]))
    for words in (["audit", path], ["init", tmp_path / "people.csv"]):
        with ends_soon():
            ended = leafgate(*words)
        assert ended.code == 2
        assert "people.csv: has more than 10,000 columns" in ended.err


@pytest.mark.parametrize(("header", "first"), [(True, "the header has no column 'a'"), (False, "has 3 columns")])
def test_columns_are_held_against_the_policy_before_their_cells_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: bool, first: str
) -> None:
    monkeypatch.setattr("leafgate.io.tables.csv.number_texts", lambda *given: pytest.fail("cells were read"))
    with pytest.raises(DataError, match=first):
        read(tmp_path, "x,y,z\n1,2,3\n", AB, csv={"header": header})
