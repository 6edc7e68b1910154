"""Numbers of people that must be whole, and what is said when something cannot be."""

from __future__ import annotations

import numpy as np

from leafgate.errors import InconclusiveError
from leafgate_maxent.walk import Floats

WHOLE = 1e-6
"""Numbers of people this close to a whole number, relative to it, are meant to be whole."""
TIE = 1e-9
"""People, or people x measure for each person: differences below are none."""


def whole(people: Floats) -> Floats:
    """The whole numbers that are meant; NaN stays. Raises InconclusiveError where people would be divided."""
    near = np.round(people)
    if (np.abs(people - near) > WHOLE * np.maximum(np.abs(near), 1)).any():
        raise InconclusiveError(
            "the leaves do not tell whole numbers of people, and counting takes them at their word",
            remedy="publish shares and error rates unrounded, or use the estimator `maxent`",
        )
    return np.asarray(near)


def impossible() -> InconclusiveError:
    return InconclusiveError(
        "no data set agrees with the release: release and table do not belong together",
        remedy="attack the release with the public columns of the people it was learned from",
    )


def out_of_time() -> InconclusiveError:
    return InconclusiveError(
        "the data sets were not counted in the time allowed", remedy="allow more time, or use the estimator `maxent`"
    )
