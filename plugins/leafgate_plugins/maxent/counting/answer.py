"""The expected counts of one component, and the errors of the counting estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leafgate.api import Floats, InconclusiveError
from leafgate_plugins.maxent.problem.problem import Problem


@dataclass(frozen=True)
class Answer:
    """`people[g, x]` expected of each group; the logarithm of the number of data sets, None if sampled."""

    people: Floats
    log_data_sets: float | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


WHOLE_NUMBER_TOLERANCE = 1e-6
"""Numbers of people this close to a whole number, relative to it, are meant to be whole."""
TIE_TOLERANCE = 1e-9
"""People, or people x measure for each person: differences below are none."""


def to_integers(people: Floats) -> Floats:
    """The whole numbers that are meant; NaN stays. Raises InconclusiveError where people would be divided."""
    near = np.round(people)
    if (np.abs(people - near) > WHOLE_NUMBER_TOLERANCE * np.maximum(np.abs(near), 1)).any():
        raise InconclusiveError(
            "the leaves do not publish whole numbers of people, and counting needs exact counts",
            remedy="publish shares and error rates unrounded, or use the attack `maxent`",
        )
    return np.asarray(near)


def refuse_parts_of_people(problem: Problem) -> None:
    """InconclusiveError for a fact whose share of its people no whole number of them is."""
    for linear in problem.linear:
        for row in range(0, len(linear) if linear.kind == "background" else 0, 2):
            least, others = np.ceil(
                linear.bound[row : row + 2] - TIE_TOLERANCE * max(linear.bound[row : row + 2].sum(), 1)
            )
            cells = linear.matrix[[row, row + 1]].sum(axis=0).astype(bool)
            strata = np.unique(np.flatnonzero(np.asarray(cells).ravel()) // problem.classes)
            people = problem.weight[np.unique(problem.strata.row[strata])].sum()
            if least + others > people:
                raise InconclusiveError(
                    "no whole number of people is this share of those it is about",
                    place=f"knows.facts[{int(linear.about[row, 0])}].share",
                    remedy="give a share from one to another, or use the attack `maxent`",
                )


def no_consistent_data_set() -> InconclusiveError:
    """The error where no data set satisfies what the release publishes."""
    return InconclusiveError(
        "no data set agrees with the release: release and table do not belong together",
        remedy="attack the release with the public columns of the people it was learned from",
    )


def out_of_time() -> InconclusiveError:
    """The error where the deadline passed before all data sets were counted."""
    return InconclusiveError(
        "the data sets were not counted in the time allowed", remedy="allow more time, or use the attack `maxent`"
    )
