"""Plain CSV is read alike by pandas and by the reader of the standard library; all other CSV by the latter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import DataError
from leafgate.io.tables import csv as csv_reading
from leafgate.io.tables.csv import read_csv
from leafgate.io.tables.plain_csv import is_plain
from leafgate.kernel.policy import CsvOptions

CELLS = st.one_of(
    st.text("ab1é. ", max_size=3),
    st.text('a,\n\r" ', max_size=3).map(lambda text: '"' + text.replace('"', '""') + '"'),
    st.text('a" \t\x00\x0b#\ufeff', max_size=3),
)
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def files(draw: st.DrawFn) -> tuple[list[str], bytes]:
    """The names of columns, and a file that mostly has them."""
    names = list("xyz"[: draw(st.integers(1, 3))])
    widths = st.one_of(st.just(len(names)), st.just(len(names)), st.just(len(names)), st.integers(0, 4))
    rows = draw(st.lists(widths.flatmap(lambda width: st.lists(CELLS, min_size=width, max_size=width)), max_size=6))
    end = draw(LINE_ENDS)
    text = end.join(",".join(row) for row in [names, *rows]) + draw(st.sampled_from(["", end, end + end]))
    mark, last = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])), draw(st.sampled_from([b"", b"", b"", b"\xff"]))
    return names, mark + text.encode() + last


def outcome(content: bytes, names: list[str], plain_bytes: int) -> list[list[str]] | str:
    """The cells, or the error; files of `plain_bytes` and more may be read by pandas."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_reading, "PLAIN_BYTES", plain_bytes)
        try:
            return [list(map(str, row)) for row in read_csv(content, CsvOptions(), names, "people.csv").to_numpy()]
        except DataError as error:
            return str(error)


@given(files())
def test_both_readers_return_the_same_cells_or_the_same_error(file: tuple[list[str], bytes]) -> None:
    names, content = file
    assert outcome(content, names, 0) == outcome(content, names, 10**9)


def test_a_column_whose_name_is_a_number_keeps_it_in_a_large_file() -> None:
    """pandas makes 0.0 of the name of a column of numbers that is called 0, as the score of a class may be."""
    content = b"age,0,1\n" + b"".join(b"%d,0.25,0.75\n" % age for age in range(40))
    assert outcome(content, ["age", "0", "1"], 0) == outcome(content, ["age", "0", "1"], 10**9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_reading, "PLAIN_BYTES", 0)
        cells = csv_reading.read_cells(content, CsvOptions(), "answers.csv")
    assert list(cells.iloc[0]) == ["age", "0", "1"]


@pytest.mark.parametrize(
    ("content", "plain"),
    [
        (b"x,y\n1,2\n", True),
        (b"x,y\r\n1,2", True),
        (b'"x","y"\n"a","b"\n', True),
        (b"\xef\xbb\xbfx,y\n1,2\n", True),
        (b"x,y\n1,2,\n", False),
        (b"x,y\n1\n", False),
        (b"x,y\n\n1,2\n", False),
        (b'x,y\n"a,b",c\n', False),
        (b'x,y\n"a""b",c\n', False),
        (b'x,y\na"b",c\n', False),
        (b'x,y\n"a"b,c\n', False),
        (b'x,y\n"a\nb",c\n', False),
        (b"x,y\r1,2\r", False),
        (b"x,y\n1,\x00\n", False),
        (b"x\n1\n", False),
        (b"", False),
        (b"x,y\n1," + b"2" * 140_000, False),
    ],
)
@pytest.mark.parametrize("block", [3, 4, 10**6])
def test_what_is_plain_does_not_depend_on_the_blocks(content: bytes, plain: bool, block: int) -> None:
    blocks = [content[start : start + block] for start in range(0, len(content), block)]
    assert is_plain(blocks, CsvOptions()) == plain


@pytest.mark.parametrize(
    ("options", "content"),
    [
        ({"comment": "#"}, b"#x,y\n1,2\n"),
        ({"comment": "#"}, b"x,y\n#,2\n"),
        ({"skip_initial_space": True}, b"x,y\n1, 2\n"),
        ({"skip_initial_space": True}, b"x,y\n 1,2\n"),
        ({"encoding": "latin-1"}, b"x,y\n1,2\n"),
        ({"encoding": "utf-8"}, b"\xef\xbb\xbfx,y\n1,2\n"),
    ],
)
def test_comments_skipped_spaces_and_other_encodings_are_not_plain(options: dict[str, object], content: bytes) -> None:
    assert not is_plain([content], CsvOptions.model_validate(options))
    assert is_plain([content.removeprefix(b"\xef\xbb\xbf")], CsvOptions())
