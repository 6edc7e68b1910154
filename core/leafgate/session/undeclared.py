"""Data files that no policy describes yet, as `leafgate init` reads them."""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from leafgate.api.registry import Plugins, use_of
from leafgate.errors import DataError, PolicyError, Problem
from leafgate.kernel.components import DataSource
from leafgate.kernel.policy import CsvOptions
from leafgate.session.run import source_for

if TYPE_CHECKING:
    import pandas as pd

SPREADSHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
"""How files of Excel and LibreOffice begin, and ZIP archives."""
MAX_SNIFFED_BYTES = 2**16
"""The beginning of a CSV file that is searched for its delimiter."""


def read_undeclared_table(
    path: Path, header: bool | None = None, plugins: Plugins | None = None, encoding: str | None = None
) -> tuple[pd.DataFrame, CsvOptions, DataSource | None]:
    """Every cell of a data file that no policy describes yet, as text, and how a policy has it read.

    Args:
        path: a CSV or Parquet file, or one that a data source of the plugins reads.
        header: whether the first line of a CSV file is names; decided by its cells when left out.
        plugins: whose data sources are asked; none when left out.
        encoding: of a CSV file, by its Python name; UTF-8 when left out.

    Returns:
        The cells, each column a categorical of texts with the column's name; a file without names gets `column_1` and
        so on. Then how its CSV is written, and the data source that reads it, if one does.

    Raises:
        DataError: the file cannot be read or is no table; no remedy speaks of a policy, because there is none yet.
        PolicyError: the data source needs options, or nobody knows the encoding.
    """
    from leafgate.io.tables.cells import is_code, read_bytes
    from leafgate.io.tables.csv import below_header, read_cells
    from leafgate.io.tables.reader import is_parquet, read_parquet, read_source

    content = read_bytes(path, "DATA")
    source = _source_without_options(path.name, plugins or Plugins())
    if source is not None:
        cells = read_source(source, content, path.name)
        names = [name if isinstance(name, str) else f"column_{name + 1}" for name in cells.columns]
        return cells.set_axis(names, axis=1), CsvOptions(), source
    if is_parquet(path):
        return read_parquet(content, None, path.name), CsvOptions(), None
    _refuse_no_text(content, path.name, encoding)
    try:
        options = _sniffed_options(content, path.name, _known_encoding(encoding))
        cells = read_cells(content, options, path.name)
    except DataError as error:
        raise DataError.listing([_before_a_policy(problem) for problem in error.problems]) from None
    first = [str(cell) for cell in cells.iloc[0]]
    named = header
    if named is None:
        named = all(is_code(cell) for cell in first)
        if named and len(set(first)) < len(first):
            named = _are_above_numbers(cells)
            if named:
                remedy = "rename one; or say `--no-header`, if it is no header"
                raise DataError("a column name stands twice in the header", place=path.name, remedy=remedy)
    cells = below_header(cells) if named else cells.set_axis([f"column_{i + 1}" for i in range(len(first))], axis=1)
    return cells, options.model_copy(update={"header": named}), None


def _refuse_no_text(content: bytes, place: str, encoding: str | None) -> None:
    """DataError for a spreadsheet, and for UTF-16 where no encoding is named."""
    if content.startswith(SPREADSHEETS):
        remedy = "save the sheet as CSV UTF-8 in the program that wrote it"
        raise DataError("is a spreadsheet or an archive, and no text", place=place, remedy=remedy)
    beginning = content[:MAX_SNIFFED_BYTES]
    marked = beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if encoding is None and (marked or 4 * beginning.count(0) > len(beginning)):
        first = beginning[:1] == b"\0"
        name = "utf-16" if marked else "utf-16-be" if first else "utf-16-le"
        raise DataError("is UTF-16 text", place=place, remedy=f"say `--encoding {name}`, or save it as UTF-8")


def _are_above_numbers(cells: pd.DataFrame) -> bool:
    """Does some column hold numbers alone below its first cell?"""
    from leafgate.io.tables.cells import is_code

    below = cells.iloc[1:]
    return any(len(below) and not any(map(is_code, below[name].unique())) for name in below)


def _source_without_options(name: str, plugins: Plugins) -> DataSource | None:
    """The first data source that reads files of this name; PolicyError where it needs options."""
    kind = source_for(name, plugins)
    if kind is None:
        return None
    needed = [option for option, field in kind.model_fields.items() if field.is_required()]
    if needed:
        message = f"the data source {use_of(kind)!r} that reads it needs the option {needed[0]!r}"
        raise PolicyError(message, place=name, remedy="write the policy by hand, with `data.source`")
    return kind.model_validate({"use": use_of(kind)})


def _before_a_policy(problem: Problem) -> Problem:
    """The same problem with a remedy for somebody who has no policy yet."""
    from leafgate.io.tables.csv import CHECK_CSV, CHECK_DELIMITER, SET_ENCODING

    remedies = {
        SET_ENCODING: "name its encoding, such as `--encoding latin-1`, or save it as UTF-8",
        CHECK_CSV: "correct the file",
        CHECK_DELIMITER: "correct the file; is its end whole, and does one sign divide all its cells?",
    }
    return replace(problem, hint=remedies.get(problem.hint, problem.hint))


def _known_encoding(name: str | None) -> str:
    """The encoding, UTF-8 if None; PolicyError where Python has none of this name."""
    default: str = CsvOptions.model_fields["encoding"].default
    try:
        return CsvOptions(encoding=name or default).encoding
    except ValueError:
        remedy = "try utf-8 or latin-1"
        raise PolicyError("is not an encoding that Python knows", place="--encoding", remedy=remedy) from None


def _sniffed_options(content: bytes, place: str, encoding: str) -> CsvOptions:
    """The delimiter that divides the first rows into most columns, all rows alike.

    Commas that stand only within numbers (1,5) divide none where another sign does.
    """
    from leafgate.io.tables.csv import width

    beginning = codecs.getincrementaldecoder(encoding)(errors="replace").decode(content[:MAX_SNIFFED_BYTES])
    end = max(map(beginning.rfind, "\r\n"))  # what follows may be cut off
    start = (beginning[:end] if end > 0 else beginning).encode()
    possible = []
    for sign in ",;\t| ":
        spaced = sign != " " and f"{sign} ".encode() in start
        options = CsvOptions(delimiter=sign, skip_initial_space=spaced)
        try:
            possible.append((width(start, options, place), options))
        except DataError:
            continue
    if not re.search(rb"(?<!\d),|,(?!\d)", start):
        decimal = [pair for pair in possible if pair[1].delimiter != "," and pair[0] > 1]
        possible = decimal or possible
    best = max(possible, key=lambda pair: pair[0])[1] if possible else CsvOptions()
    if not any(pair[0] > 1 for pair in possible):
        best = _ragged_options(start.decode(), place) or best
    return best.model_copy(update={"encoding": encoding})


def _ragged_options(text: str, place: str) -> CsvOptions | None:
    """How most rows are divided where no sign divides all alike; None where nothing divides them.

    Raises DataError where the first row is another than the rest: a title or a comment.
    """
    for sign in ",;\t|":
        rows = csv.reader(text.splitlines(), delimiter=sign, skipinitialspace=True)
        widths = [len(row) for row in rows if row]
        usual = max(set(widths), key=widths.count, default=0)
        if usual > 1 and widths.count(usual) > len(widths) / 2:
            if widths[0] != usual:
                remedy = "remove it from the file; or write the policy by hand, with `csv: {comment: ...}`"
                what = f"its first line has {widths[0]} cell(s), and most others {usual}: a title or a comment"
                raise DataError(what, place=place, remedy=remedy)
            return CsvOptions(delimiter=sign, skip_initial_space=f"{sign} " in text)
    return None
