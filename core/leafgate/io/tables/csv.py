"""CSV to cells as text, by the standard library's reader; what is no table is refused."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import Any

import pandas as pd

from leafgate.api.text_frames import number_texts
from leafgate.errors import DataError
from leafgate.io.tables.cells import check_header, check_width, refuse_wide
from leafgate.io.tables.plain_csv import BLOCK_BYTES, is_plain
from leafgate.kernel.policy import CsvOptions

PLAIN_BYTES = 2**20
"""Plain files of so many bytes are read by Arrow; smaller ones are read fast enough by either reader."""

COMMENTED = "commented"
"""Where cells say how many lines, as wide as the table, were left out as comments."""


SET_ENCODING = "set `data.csv.encoding`, or save it as UTF-8"
CHECK_CSV = "check `data.csv`"
CHECK_DELIMITER = "check `data.csv.delimiter`, and the file's end"
"""What to do about a file, where there is a policy for it."""


def read_csv(content: bytes, options: CsvOptions, names: Sequence[str], place: str) -> pd.DataFrame:
    """Every declared column as text, in the policy's order; DataError where the file has other columns."""
    sign = _other_delimiter(content, options, names)
    if sign is not None:
        message = f"the delimiter seems to be {json.dumps(sign)}, and not {json.dumps(options.delimiter)}"
        raise DataError(message, place=place, remedy=f"say under `data`: `csv: {{delimiter: {json.dumps(sign)}}}`")

    def check(first: Sequence[str]) -> None:
        if options.header:
            check_header(first, names, place)
        else:
            check_width(len(first), names, place)

    raw = read_cells(content, options, place, check)
    if not options.header:
        return raw.set_axis(list(names), axis=1)
    return below_header(raw).loc[:, list(names)]


def below_header(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells below the first row, under the names that it has."""
    return cells.iloc[1:].reset_index(drop=True).set_axis([str(name) for name in cells.iloc[0]], axis=1)


def _other_delimiter(content: bytes, options: CsvOptions, names: Sequence[str]) -> str | None:
    """The sign that divides the first line into the declared columns, where the policy's delimiter does not.

    With a header that is the one that finds most of the declared names, else the one that gives as many cells as names.
    """
    try:
        lines = iter(_Lines(_text(content, options), options))
        line = next((line for line in lines if line.strip()), "")
    except UnicodeError:
        return None

    def fits(sign: str, skip: bool) -> int:
        try:
            row = next(csv.reader([line], delimiter=sign, quotechar=options.quote, skipinitialspace=skip), [])
        except csv.Error:
            return 0
        return len(set(row) & set(names)) if options.header else int(len(row) == len(names))

    here = fits(options.delimiter, options.skip_initial_space)
    if len(names) < 2 or here == (len(names) if options.header else 1):
        return None
    found = {sign: fits(sign, skip=True) for sign in ",;\t|" if sign not in {options.delimiter, options.quote}}
    best = max(found, key=found.__getitem__)
    return best if found[best] > here else None


def read_cells(
    content: bytes, options: CsvOptions, place: str, check: Callable[[Sequence[str]], None] | None = None
) -> pd.DataFrame:
    """Every cell of a CSV file as text, the header among them; columns are numbered.

    RFC 4180 unless `options` say otherwise; any line ending; empty lines are skipped, and lines
    that start with `comment`. `check` is handed the first row before any column is made. Raises DataError for more
    than MAX_COLUMNS columns, when rows differ in length or the text cannot be
    decoded. Each distinct text of a column is held once, so memory grows with rows x columns codes.
    """
    plain = _plain_cells(content, options, place, check)
    if plain is not None:
        return plain
    lines = _Lines(_text(content, options), options)
    rows = _rows(lines, options, place)
    first = next(rows, None)
    if first is None:
        raise DataError("the file holds no rows", place=place)
    refuse_wide(len(first), place)
    if check is not None:
        check(first)
    frame = pd.DataFrame(dict(enumerate(number_texts(chain([first], rows), len(first)))))
    frame.attrs[COMMENTED] = lines.left_out[len(first)]
    return frame


def _plain_cells(
    content: bytes, options: CsvOptions, place: str, check: Callable[[Sequence[str]], None] | None
) -> pd.DataFrame | None:
    """The cells of a large plain file, which Arrow reads faster than the standard library; None for any other file.

    None without Arrow, too, which is an optional extra.
    """
    blocks = (content[start : start + BLOCK_BYTES] for start in range(0, len(content), BLOCK_BYTES))
    if len(content) < PLAIN_BYTES or find_spec("pyarrow") is None or not is_plain(blocks, options):
        return None
    import pyarrow as pa
    from pyarrow import csv as arrow

    from leafgate.io.tables.records import text_cells

    try:
        first = first_record(content[:BLOCK_BYTES], options, place)
        refuse_wide(len(first), place)
        if check is not None:
            check(first)
        names = [str(i) for i in range(len(first))]
        table = arrow.read_csv(
            pa.py_buffer(content),
            arrow.ReadOptions(column_names=names),
            arrow.ParseOptions(delimiter=options.delimiter, quote_char=options.quote),
            arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string()))),
        )
    except (UnicodeError, pa.ArrowInvalid):  # a byte that is no text; the other reader says so
        return None
    return pd.DataFrame({i: text_cells(table.column(name), None, place) for i, name in enumerate(names)})


def first_record(content: bytes, options: CsvOptions, place: str) -> list[str]:
    """The cells of the first record of a CSV file, which `content` begins; DataError where it has none."""
    record = next((row for row in _records(_Lines(_text(content, options), options), options, place) if row), None)
    if record is None:
        raise DataError("the file holds no rows", place=place)
    return record


def width(content: bytes, options: CsvOptions, place: str) -> int:
    """How many columns a CSV file has, 0 for an empty one; DataError as read_cells raises it, but for no width."""
    return max((len(row) for row in _rows(_Lines(_text(content, options), options), options, place)), default=0)


class _Lines:
    """Lines for a CSV reader; one that starts a record and starts with `comment` is left out.

    `left_out` counts these by the number of cells they would have had: some may be people.
    """

    def __init__(self, lines: Iterable[str], options: CsvOptions) -> None:
        self._lines = lines
        self._options = options
        self.starts = True
        self.left_out = Counter[int]()

    def __iter__(self) -> Iterator[str]:
        comment = self._options.comment
        if comment is None:
            yield from self._lines
            return
        for line in self._lines:
            if self.starts and line.startswith(comment):
                self.left_out[len(next(_reader([line], self._options, strict=False), []))] += 1
            else:
                self.starts = False
                yield line


def _text(content: bytes, options: CsvOptions) -> Iterable[str]:
    return io.TextIOWrapper(io.BytesIO(content), encoding=options.encoding, newline="")


def _reader(lines: Iterable[str], options: CsvOptions, *, strict: bool) -> Iterator[list[str]]:
    return csv.reader(
        lines,
        delimiter=options.delimiter,
        quotechar=options.quote,
        skipinitialspace=options.skip_initial_space,
        strict=strict,
    )


def _records(lines: _Lines, options: CsvOptions, place: str) -> Iterator[list[str]]:
    """Every record of the file, decoded as it is read; DataError where it is no text, or no CSV."""
    reader: Any = _reader(lines, options, strict=True)
    try:
        for record in reader:
            lines.starts = True
            yield record
    except UnicodeError:
        raise DataError(f"is not {options.encoding} text", place=place, remedy=SET_ENCODING) from None
    except csv.Error as error:
        message = f"not a table: {error}, line {reader.line_num}"
        raise DataError(message, place=place, remedy=CHECK_CSV) from None


def _rows(lines: _Lines, options: CsvOptions, place: str) -> Iterator[list[str]]:
    """The records, all as long as the first; DataError names the first that is not, and how many there are."""
    width, number = 0, 0
    strange: list[int] = []
    for row in _records(lines, options, place):
        if not row or (len(row) == 1 < width and not row[0].strip()):
            continue
        number += 1
        width = width or len(row)
        if len(row) != width:
            strange.append(number)
        elif not strange:
            yield row
    if strange:
        raise DataError(
            f"{len(strange)} row(s) have another number of cells than the first ({width}), "
            f"the first is row {strange[0]}",
            place=place,
            remedy=CHECK_DELIMITER,
        )
