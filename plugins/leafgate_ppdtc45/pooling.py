"""One table of shared rows from what several parties share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from leafgate.errors import DataError
from leafgate.noise import Noise
from leafgate.schema import Column, Schema
from leafgate.text_cells import parse_number
from leafgate_ppdtc45.shared import Shared, in_order
from leafgate_ppdtc45.shared_file import SharedFile

FARTHEST = 40.0
"""So many standard deviations no gaussian noise of 64 bits goes."""

SAME_POLICY = "all parties use one policy"


def pooled(files: Sequence[SharedFile], schema: Schema, noise: Mapping[str, Noise], *, common: bool = False) -> Shared:
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
        cells = _under(files, needed, keys)
    elif sum(map(len, held)) == len(set().union(*held)) and set().union(*held) == needed:
        cells = _beside(files, needed, keys, common)
    else:
        raise DataError(
            f"together the files need {', '.join(sorted(needed))}: each file all of them, or each column in one file",
            place=", ".join(file.name for file in files),
            remedy="see --columns of leafgate perturb",
        )
    features = [_numbers(cells[column.name], column, noise[column.name]) for column in schema.features]
    classes = _classes(cells[schema.target.name], schema)
    shared = Shared(schema, np.stack(features, axis=1), classes, noise)
    if len(set(classes.tolist())) < 2:
        raise DataError("everybody has the same class", place=f"column {schema.target.name!r}")
    return in_order(shared)[0]


def _check_noise(file: SharedFile, noise: Mapping[str, Noise]) -> None:
    for name in file.columns:
        if noise.get(name) != file.noise.get(name):
            remedy = f"{SAME_POLICY}; its noise is agreed before anybody draws it"
            raise DataError(f"the noise on {name!r} is not what the policy says", place=file.name, remedy=remedy)


def _under(files: Sequence[SharedFile], needed: set[str], keys: Sequence[str]) -> dict[str, list[str]]:
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


def _beside(files: Sequence[SharedFile], needed: set[str], keys: Sequence[str], common: bool) -> dict[str, list[str]]:
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


def _numbers(cells: Sequence[str], column: Column, noise: Noise) -> NDArray[np.float64]:
    """Numbers that noise of this law can have made of originals in the column's bounds; DataError for any other."""
    numbers = np.array([parse_number(cell) for cell in cells])
    assert column.bounds is not None  # no noise is agreed for a column without
    low, high = column.bounds
    reach = noise.scale + noise.grid if noise.law == "uniform" else FARTHEST * noise.scale
    there = (numbers >= low - reach) & (numbers <= high + reach)
    steps = np.where(there, numbers, 0) / noise.grid
    strange = ~there | (steps != np.round(steps))
    if strange.any():
        problem = f"{int(strange.sum())} cell(s) are no numbers that this noise can have made"
        raise DataError(problem, place=f"column {column.name!r}", remedy="let every party use leafgate perturb")
    return numbers


def _classes(cells: Sequence[str], schema: Schema) -> NDArray[np.int64]:
    code = {label: i for i, label in enumerate(schema.classes)}
    strange = sum(cell not in code for cell in cells)
    if strange:
        place = f"column {schema.target.name!r}"
        raise DataError(f"{strange} cell(s) outside the `values` the policy declares", place=place, remedy=SAME_POLICY)
    return np.array([code[cell] for cell in cells], dtype=np.int64)
