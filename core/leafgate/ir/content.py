"""What a model's file holds of a table's cells: texts and numbers, by the column that each comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.ir.features import ArithmeticStep


@dataclass(frozen=True, eq=False)
class ColumnNumbers:
    """Numbers that a file compares with a column's own after `steps`: thresholds, and what replaces missing cells."""

    column: str
    steps: tuple[ArithmeticStep, ...]
    numbers: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldVector:
    """A vector in a file that no prediction needs, such as a column of the table that the model was trained on.

    `location` are its names from the outermost object on, joined by `$`, `table` the location of the table it is a
    column of, `per_row` whether it has a value for each training row. `cells` are numbers, NaN where one is missing,
    or texts, None where one is.
    """

    location: str
    cells: NDArray[Any]
    table: str = ""
    per_row: bool = False


@dataclass(frozen=True)
class FileContent:
    """Texts and numbers of a model's file, by the column of the data that each comes from.

    Attributes:
        values: by the name of a column, kept or dropped, the values that the file lists of it; numbers as texts.
        unplaced: lists of values that name no column.
        numbers: the numbers that tests compare with those of a column.
        names: names of features that are no column, and short texts of steps, settings and functions; numbers of no
            column as texts.
        scales: by the name of a column, the numbers that scalers move and stretch its numbers by.
        held: vectors that no prediction needs.
        classes: the names of the classes, each with the value of the policy that it stands for; none of codes.
    """

    values: Mapping[str, frozenset[str]]
    unplaced: tuple[frozenset[str], ...] = ()
    numbers: tuple[ColumnNumbers, ...] = ()
    names: frozenset[str] = frozenset()
    scales: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    held: tuple[HeldVector, ...] = ()
    classes: Mapping[str, str] = field(default_factory=dict)
