"""Published records from columns of told cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.induction.coding import Coded
from leafgate.release import Records
from leafgate.schema import Column, Schema

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Told:
    """One published column: the cells it can show, and for each row which of them it does."""

    column: Column
    cells: Sequence[Any]
    which: Codes


def records_of(told: Sequence[Told], weight: NDArray[Any]) -> Records:
    """One record for each combination of cells that occurs, with its people as weight; sorted by the cells' order."""
    key = np.zeros(len(weight), dtype=np.int64)
    for each in told:
        _, key = np.unique(key * len(each.cells) + each.which, return_inverse=True)
    first, inverse = np.unique(key, return_index=True, return_inverse=True)[1:]
    people = np.bincount(inverse.reshape(-1), weights=weight).astype(np.int64)
    columns = [[each.cells[cell] for cell in each.which[first].tolist()] for each in told]
    names = tuple(each.column.name for each in told)
    return Records(names, tuple(zip(*columns, strict=True)), tuple(people.tolist()))


def as_they_are(coded: Coded, feature: int) -> Told:
    """A feature's cells, each told as it is."""
    chosen = coded.features[feature]
    if chosen.numbers is None:
        return Told(chosen.column, chosen.values, coded.codes[:, feature])
    cells = [None if np.isneginf(number) else float(number) for number in chosen.numbers]
    return Told(chosen.column, cells, coded.codes[:, feature])


def classes_told(coded: Coded, schema: Schema) -> Told:
    """The class of everyone."""
    return Told(schema.target, schema.classes, coded.classes)
