"""Perturb the rows of one party once, and pool the files of several parties."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtri

from leafgate.api import Column, DataError, Floats, Noise, PolicyError, Schema, Table
from leafgate.app import readable
from leafgate.io.files import EVERYONE, OWNER_ONLY, write_files
from leafgate.io.locks import turn_in_folder
from leafgate.io.tables.reader import read_columns
from leafgate.kernel.policy import Data
from leafgate.readers import parse_number
from leafgate_plugins.ppdtc45.shared import SharedFile, SharedRecords, encode_shared, sort_records

LEDGER = "leafgate/shared-ledger/1"


def read_party_table(data: Data, path: Path, wanted: Sequence[str]) -> Table:
    """A party's rows of some columns, with the key; PolicyError where those are none of the policy's.

    `wanted` empty: all columns. Without all of them a key is needed, by which the miner joins.
    """
    schema = data.meaning()
    shown = [column.name for column in (*schema.features, schema.target)]
    strange = sorted(set(wanted) - set(shown))
    if len(set(wanted)) < len(wanted):
        raise PolicyError("names a column twice", place="--columns", remedy="name each once")
    if strange:
        remedy = f"choose from {', '.join(shown)}"
        raise PolicyError(f"{strange[0]!r} is not shared under this policy", place="--columns", remedy=remedy)
    keys = schema.having("key")
    if wanted and set(wanted) != set(shown) and not keys:
        raise PolicyError("a part of the columns needs a key to be joined on", place="--columns", remedy="role `key`")
    mine = [*keys, *(schema[name] for name in shown if not wanted or name in wanted)]
    table = read_columns(data, Schema(tuple(mine)), path, "DATA")
    if keys and (table.weight > 1).any():
        remedy = "leave out the key, or the role `weight`"
        raise DataError(
            "a key stands for several people, whose noise would average away", place=path.name, remedy=remedy
        )
    if any(np.isnan(table.numbers(column.name)).any() for column in table.schema.features if column.numeric):
        raise DataError("cells are missing, and noise is for numbers", place=path.name, remedy="say `on_missing: drop`")
    return table


def make_shared_file(table: Table, noise: Mapping[str, Noise], rng: Generator | SystemCoins, name: str) -> SharedFile:
    """Everybody's row with noise on its numbers; by the key's order, or in no order where there is none."""
    rows = np.repeat(np.arange(len(table)), table.weight)
    keyed = bool(table.schema.having("key"))
    rows = rows if keyed else rng.permutation(rows)
    frame = table.frame.iloc[rows]
    laws = {column.name: noise[column.name] for column in table.schema.columns if column.name in noise}
    cells = [
        [repr(n) for n in laws[c.name].added(frame[c.name].to_numpy(dtype=np.float64), rng).tolist()]
        if c.name in laws
        else [str(cell) for cell in frame[c.name]]
        for c in table.schema.columns
    ]
    columns = tuple(column.name for column in table.schema.columns)
    return SharedFile(name, columns, list(zip(*cells, strict=True)), laws)


def share_once(file: SharedFile, data: Path, digest: str, out: Path) -> None:
    """Write the shared file, and beside the data a note that these columns are out; refuse what is there already.

    Raises DataError where a column of this file was shared before, whatever rows it held then, or `out` exists.
    """
    ledger = data.with_name(data.name + ".shared.json")
    with turn_in_folder(ledger.parent):
        _share_noted(file, data, digest, out, ledger)


def _share_noted(file: SharedFile, data: Path, digest: str, out: Path, ledger: Path) -> None:
    """Share the file while nobody else changes the note."""
    if out.exists():
        raise DataError(
            "is there already", place=str(out), remedy="name a new file; a shared file is never overwritten"
        )
    before = _ledger(ledger)
    for entry in before:
        again = sorted(set(entry["columns"]) & set(file.noise))
        if again:
            rows = "of these rows" if entry["data"] == digest else "of rows of this file"
            raise DataError(
                f"noise was drawn for {', '.join(map(repr, again))} {rows} before, for {entry['shared']!r}",
                place=data.name,
                remedy="share that file, and new people from a file of their own: the mean of two draws has less noise",
            )
    mine = {"data": digest, "columns": sorted(file.noise), "shared": out.name}
    result = readable({"format": LEDGER, "shared": [*before, mine]})
    try:
        write_files(ledger.parent, {ledger.name: result}, OWNER_ONLY)
        write_files(out.parent, {out.name: encode_shared(file)}, EVERYONE)
    except BaseException:  # interruptions, too
        if not out.exists():  # nothing was shared
            write_files(ledger.parent, {ledger.name: readable({"format": LEDGER, "shared": before})}, OWNER_ONLY)
        raise


def _ledger(path: Path) -> Sequence[Mapping[str, str]]:
    try:
        document = json.loads(path.read_bytes())
        if document["format"] == LEDGER and all(
            {"data", "columns", "shared"} <= set(each) for each in document["shared"]
        ):
            return list(document["shared"])
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise DataError("cannot be read: it says what was shared of the data beside it", place=path.name)


class SystemCoins:
    """Draws as numpy's generators name them, each from bits of the operating system's own.

    A generator that is only seeded by it could be run on by whoever works out its state, as from noise on numbers they
    know.
    """

    def random(self, size: int) -> Floats:
        """Even numbers above 0 and below 1."""
        bits = np.frombuffer(os.urandom(8 * size), dtype=np.uint64) >> np.uint64(11)
        return np.asarray((bits.astype(np.float64) + 0.5) / 2.0**53)

    def normal(self, mean: float, deviation: float, size: int) -> Floats:
        return np.asarray(mean + deviation * ndtri(self.random(size)))

    def uniform(self, low: float, high: float, size: int) -> Floats:
        return np.asarray(low + (high - low) * self.random(size))

    def permutation(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows in another order, each order as likely."""
        return rows[np.argsort(self.random(len(rows)), kind="stable")]


MAX_DEVIATIONS = 40.0
"""Standard deviations that Gaussian noise from 64 random bits never exceeds."""

SAME_POLICY = "all parties use one policy"


def pool_files(
    files: Sequence[SharedFile], schema: Schema, noise: Mapping[str, Noise], *, common: bool = False
) -> SharedRecords:
    """Everyone's shared row: the files' rows one after another, or their columns side by side, joined on the key.

    Where columns are split, everybody must be in every file, or with `common` whoever is not is left out. Raises
    DataError for files that do not fit the policy or each other.
    """
    for file in files:
        _check_noise(file, noise)
    needed = {column.name for column in schema.features} | {schema.target.name}
    keys = [column.name for column in schema.having("key")]
    held = [set(file.columns) - set(keys) for file in files]
    if all(columns == needed for columns in held):
        cells = _concatenate_rows(files, needed, keys)
    elif sum(map(len, held)) == len(set().union(*held)) and set().union(*held) == needed:
        cells = _join_columns(files, needed, keys, common)
    else:
        raise DataError(
            f"together the files need {', '.join(sorted(needed))}: each file all of them, or each column in one file",
            place=", ".join(file.name for file in files),
            remedy="see --columns of leafgate perturb",
        )
    features = [_numbers(cells[column.name], column, noise[column.name]) for column in schema.features]
    classes = _classes(cells[schema.target.name], schema)
    shared = SharedRecords(schema, np.stack(features, axis=1), classes, noise)
    if len(set(classes.tolist())) < 2:
        raise DataError("everybody has the same class", place=f"column {schema.target.name!r}")
    return sort_records(shared)[0]


def _check_noise(file: SharedFile, noise: Mapping[str, Noise]) -> None:
    for name in file.columns:
        if noise.get(name) != file.noise.get(name):
            remedy = f"{SAME_POLICY}; its noise is agreed before anybody draws it"
            raise DataError(f"the noise on {name!r} is not what the policy says", place=file.name, remedy=remedy)


def _concatenate_rows(files: Sequence[SharedFile], needed: set[str], keys: Sequence[str]) -> dict[str, list[str]]:
    """The files' rows one after another; nobody may be in two of them."""
    keyed = [key for key in keys if all(key in file.columns for file in files)]
    for key in keyed:
        everybody = [each for file in files for each in file.cells(key)]
        if len(set(everybody)) < len(everybody):
            twice = len(everybody) - len(set(everybody))
            remedy = "noise drawn twice averages away: let each person be shared once"
            raise DataError(f"{twice} key(s) occur twice", place=", ".join(f.name for f in files), remedy=remedy)
    for one, other in combinations(files, 2):
        if 2 * len(set(map(tuple, one.rows)) & set(map(tuple, other.rows))) > min(len(one.rows), len(other.rows)):
            remedy = "name each file once; noise does not make rows alike"
            raise DataError("hold the same rows", place=f"{one.name}, {other.name}", remedy=remedy)
    return {name: [cell for file in files for cell in file.cells(name)] for name in needed}


def _join_columns(
    files: Sequence[SharedFile], needed: set[str], keys: Sequence[str], common: bool
) -> dict[str, list[str]]:
    """The files' columns side by side, joined on the key."""
    key = keys[0] if keys else None
    people = []
    for file in files:
        if key is None or key not in file.columns:
            raise DataError("has no key to join on", place=file.name, remedy="give a column the role `key`")
        rows = {cell: row for row, cell in enumerate(file.cells(key))}
        if len(rows) < len(file.rows):
            raise DataError(f"{len(file.rows) - len(rows)} key(s) occur twice", place=file.name)
        people.append(rows)
    shared = set(people[0]).intersection(*people[1:])
    if not shared or (not common and any(len(rows) != len(shared) for rows in people)):
        missing = len(set().union(*people)) - len(shared)
        remedy = "say --common to leave them out" if shared else SAME_POLICY
        raise DataError(
            f"{missing} people are not in every file", place=", ".join(f.name for f in files), remedy=remedy
        )
    order = sorted(shared)
    found = {}
    for file, rows in zip(files, people, strict=True):
        for name in needed & set(file.columns):
            cells = file.cells(name)
            found[name] = [cells[rows[each]] for each in order]
    return found


def _numbers(cells: Sequence[str], column: Column, noise: Noise) -> Floats:
    """Numbers that noise of this law can have made of originals in the column's bounds; DataError for any other."""
    numbers = np.array([parse_number(cell) for cell in cells])
    assert column.bounds is not None  # no noise is agreed for a column without
    low, high = column.bounds
    reach = noise.scale + noise.grid if noise.law == "uniform" else MAX_DEVIATIONS * noise.scale
    there = (numbers >= low - reach) & (numbers <= high + reach)
    steps = np.where(there, numbers, 0) / noise.grid
    strange = ~there | (steps != np.round(steps))
    if strange.any():
        problem = "some cells are no numbers that this noise can have made"
        raise DataError(problem, place=f"column {column.name!r}", remedy="let every party use leafgate perturb")
    return numbers


def _classes(cells: Sequence[str], schema: Schema) -> NDArray[np.int64]:
    code = {label: i for i, label in enumerate(schema.classes)}
    if any(cell not in code for cell in cells):
        place = f"column {schema.target.name!r}"
        raise DataError("some cells are outside the `values` the policy declares", place=place, remedy=SAME_POLICY)
    return np.array([code[cell] for cell in cells], dtype=np.int64)
