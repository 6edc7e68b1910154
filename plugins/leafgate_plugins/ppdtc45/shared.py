"""Perturbed records: numbers with noise and the exact class, and the file in which parties share them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.api import Codes, DataError, Floats, Noise, PolicyError, Records, Schema, Table, make_table
from leafgate.errors import Problem
from leafgate.io.json import canonical, parse_json
from leafgate.io.release_codec import read_noise
from leafgate.kernel.noise import Coins, noise_with
from leafgate.readers import object_at
from leafgate_plugins.ppdtc45.options import NoiseOptions


@dataclass(frozen=True)
class SharedRecords:
    """Rows of people: `numbers` has a row a person and a column for each of `schema.features`; classes by code."""

    schema: Schema
    numbers: Floats
    classes: Codes
    noise: Mapping[str, Noise]

    @property
    def laws(self) -> list[Noise]:
        """The noise of each column of `numbers`."""
        return [self.noise[column.name] for column in self.schema.features]

    def select(self, rows: Codes) -> SharedRecords:
        """Some of the people."""
        return replace(self, numbers=self.numbers[rows], classes=self.classes[rows])

    @property
    def table(self) -> Table:
        """The shared numbers as a table that learners can read; the bounds of the originals do not hold for it."""
        features = [replace(column, bounds=None, bins=None) for column in self.schema.features]
        target = self.schema.target
        columns = {column.name: self.numbers[:, i] for i, column in enumerate(features)}
        classes = pd.Categorical.from_codes(self.classes, categories=pd.Index(self.schema.classes))
        frame = pd.DataFrame({**columns, target.name: classes})
        return make_table(Schema((*features, target)), frame)

    @property
    def records(self) -> Records:
        """The rows as a release holds them, weight 1 each, in their order."""
        names = tuple(column.name for column in self.schema.features)
        classes = [self.schema.classes[code] for code in self.classes]
        rows = tuple((*row, label) for row, label in zip(self.numbers.tolist(), classes, strict=True))
        return Records((*names, self.schema.target.name), rows, (1,) * len(rows))


def share_table(table: Table, noise: Mapping[str, Noise], rng: Coins) -> tuple[SharedRecords, Codes]:
    """Everyone's shared row, and for each the row of the table it was made from.

    Rows are sorted by what is shared, so that their order discloses nothing else.
    """
    origins = np.repeat(np.arange(len(table)), table.weight)
    features = table.schema.features
    numbers = [noise[column.name].added(table.numbers(column.name)[origins], rng) for column in features]
    classes = table.codes(table.schema.target.name)[origins]
    shared, order = sort_records(SharedRecords(table.schema, np.stack(numbers, axis=1), classes, noise))
    return shared, origins[order]


def sort_records(shared: SharedRecords) -> tuple[SharedRecords, Codes]:
    """The records sorted by their shared numbers, then class, and the position each had before, shape (n_records,)."""
    order = np.lexsort((shared.classes, *reversed(shared.numbers.T)))
    return shared.select(order), order


NOISE_LOCATION = "build.noise"


def noise_laws(options: NoiseOptions, table: Table) -> dict[str, Noise]:
    """The noise on each column a tree may ask about, scales in the column's unit.

    Raises PolicyError, every mistake at once: columns that are no numbers, or have missing cells, or are not
    named where others are; a constant column under an SNR.
    """
    problems = list(_schema_problems(options, table.schema))
    found: dict[str, Noise] = {}
    for column in table.schema.features:
        amount = options.amount(column.name)
        if not column.numeric or amount is None:
            continue
        numbers = table.numbers(column.name)
        if np.isnan(numbers).any():
            problems.append(Problem(NOISE_LOCATION, f"cells of {column.name!r} are missing", "say `on_missing: drop`"))
        elif options.kind == "snr" and np.ptp(numbers) == 0:
            remedy = "give the column the role `ignored`, or the noise by its `deviation`"
            problems.append(Problem(f"{NOISE_LOCATION}.snr", f"{column.name!r} is constant and has no SNR", remedy))
        else:
            found[column.name] = _noise_law(options, amount, numbers, table.weight)
    if problems:
        raise PolicyError.listing(problems)
    return found


def agreed_noise(options: NoiseOptions, schema: Schema) -> dict[str, Noise]:
    """The noise on each column where no table may be read, because several parties must use the same noise.

    PolicyError for a signal-to-noise ratio: the scale would follow from each party's own rows.
    """
    problems = list(_schema_problems(options, schema))
    if options.kind == "snr":
        remedy = "agree on each column's `deviation` (or `half_width`, or `privacy`) beforehand"
        problems.append(Problem(f"{NOISE_LOCATION}.snr", "each party's rows would give another scale", remedy))
    if problems:
        raise PolicyError.listing(problems)
    amounts = {column.name: options.amount(column.name) for column in schema.features}
    nobody = np.zeros(0)
    return {name: _noise_law(options, amount, nobody, nobody) for name, amount in amounts.items() if amount is not None}


def _schema_problems(options: NoiseOptions, schema: Schema) -> list[Problem]:
    found = []
    features = {column.name: column for column in schema.features}
    for name, column in features.items():
        if not column.numeric:
            remedy = "give it the role `ignored`; its values would be shared as they are"
            found.append(Problem(NOISE_LOCATION, f"{name!r} has values, and noise is for numbers", remedy))
        elif not column.declared:
            remedy = "declare its `bounds`; which numbers occur is itself a secret"
            found.append(Problem(f"data.columns.{name}", "its domain would be taken from the data", remedy))
        elif options.amount(name) is None:
            remedy = "name it, or give it the role `ignored`; its numbers would be shared as they are"
            found.append(Problem(f"{NOISE_LOCATION}.{options.kind}", f"no noise is said for {name!r}", remedy))
    strangers = sorted(options.named - set(features))
    found += [
        Problem(f"{NOISE_LOCATION}.{options.kind}.{name}", "is no column that a tree may ask about")
        for name in strangers
    ]
    if not features:
        found.append(Problem("data.columns", "there is no column to share", "a tree asks about numbers"))
    if any(not column.declared for column in schema.having("class")):
        found.append(Problem("data.columns", "the class's domain would be taken from the data", "declare its `values`"))
    if any("sensitive" in column.roles for column in schema.having("class")):
        remedy = "make it [class, quasi_identifier], or [class]"
        found.append(Problem("data.columns", "the class is shared as it is, so it is no secret", remedy))
    return found


def _noise_law(options: NoiseOptions, amount: float, numbers: Floats, weight: NDArray[Any]) -> Noise:
    match options.kind:
        case "snr":
            mean = np.average(numbers, weights=weight)
            exact = noise_with(options.law, float(np.average((numbers - mean) ** 2, weights=weight)) / amount)
            return Noise(options.law, float(f"{exact.scale:.2g}"))  # it is published: no more digits than it needs
        case "deviation":
            return noise_with(options.law, amount**2)
        case "half_width":
            return Noise(options.law, amount)
        case _:
            return Noise(
                options.law, amount / 2 if options.law == "uniform" else amount / math.sqrt(2 * math.pi * math.e)
            )


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


def encode_shared(file: SharedFile) -> bytes:
    """The bytes of a file, the same for equal content."""
    text = io.StringIO()
    fields = {"noise": {name: noise.described() for name, noise in file.noise.items()}}
    text.write(MARK + canonical(fields).decode() + "\n")
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
        raise _not_a_shared_file(place) from None
    first, _, rest = text.partition("\n")
    if not first.startswith(MARK):
        raise _not_a_shared_file(place)
    document = object_at(parse_json(first.removeprefix(MARK).encode(), DataError, place), place)
    noise = read_noise(document.get("noise"), schema, f"{place}.noise")
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


def _not_a_shared_file(place: str) -> DataError:
    return DataError(f"is not a shared file: its first line is not {FORMAT}", place=place, remedy="leafgate perturb")
