"""The file a party shares, `leafgate/shared/1`: a line with the noise laws, then CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from leafgate.errors import DataError
from leafgate.json_parts import object_at
from leafgate.noise import Noise
from leafgate.records_file import read_noise
from leafgate.schema import Schema
from leafgate.strict_json import canonical, parse_json

FORMAT = "leafgate/shared/1"
MARK = f"# {FORMAT} "


@dataclass(frozen=True)
class SharedFile:
    """One party's rows, cells as texts: `columns` are the key if any, noisy ones, and the class if it has it."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    noise: Mapping[str, Noise]

    def cells(self, column: str) -> list[str]:
        """One column, from the first row to the last."""
        place = self.columns.index(column)
        return [row[place] for row in self.rows]


def written(file: SharedFile) -> bytes:
    """The bytes of a file, the same for equal content."""
    text = io.StringIO()
    told = {"noise": {name: noise.described() for name, noise in file.noise.items()}}
    text.write(MARK + canonical(told).decode() + "\n")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(file.columns)
    lines.writerows(file.rows)
    return text.getvalue().encode()


def read_shared(path: Path, schema: Schema) -> SharedFile:
    """The file as it stands; DataError where it is none, or speaks of columns the policy does not have."""
    place = path.name
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", place=place) from None
    except UnicodeDecodeError:
        raise _none(place) from None
    first, _, rest = text.partition("\n")
    if not first.startswith(MARK):
        raise _none(place)
    told = object_at(parse_json(first.removeprefix(MARK).encode(), DataError, place), place)
    noise = read_noise(told.get("noise"), schema, f"{place}.noise")
    try:
        lines = [line for line in csv.reader(io.StringIO(rest), strict=True) if line]
    except csv.Error:
        raise DataError("is no CSV: a quote is not closed, or a cell is too long", place=place) from None
    columns = tuple(lines[0]) if lines else ()
    if len(lines) < 2 or len(set(columns)) != len(columns) or any(len(line) != len(columns) for line in lines):
        raise DataError("needs a header with each column once, and rows as long as it", place=place)
    strange = [name for name in columns if name not in schema]
    if strange:
        raise DataError(f"has the column {strange[0]!r}, which the policy does not have", place=place)
    return SharedFile(place, columns, lines[1:], noise)


def _none(place: str) -> DataError:
    return DataError(f"is not a shared file: its first line is not {FORMAT}", place=place, remedy="leafgate perturb")
