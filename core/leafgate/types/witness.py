"""Witness: rows with a model's own answers, which what was read of its file must answer, too."""

from __future__ import annotations

from dataclasses import dataclass, field

from leafgate.types.arrays import Floats, Ids
from leafgate.types.table import Table


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model answers for some rows, or what a witness says that it does.

    Attributes:
        scores: by class, shape (n_rows, n_classes); NaN where there is none. None without any.
        labels: the position of the predicted class of each row; -1 where there is none. None without any.
        numbers: the predicted number of each row; NaN where there is none. None without any.
    """

    scores: Floats | None = field(default=None, repr=False)
    labels: Ids | None = field(default=None, repr=False)
    numbers: Floats | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Witness:
    """Rows of the policy's columns in a file's order, the number of each in the file, from 1, and the answers."""

    rows: Table
    numbers: Ids
    answers: Answers
