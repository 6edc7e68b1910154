"""From a case to one number for each record, and what auditors are told of the public records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate import Case
from leafgate.errors import UnreadableError
from leafgate.report import People, Private
from leafgate_divergence.formulas import Floats, divergences, floored, gains


def divergence(case: Case, floor: float) -> pd.Series:
    """Its public record's divergence, for each record; UnreadableError where single cells are believed of.

    Of people with the same public cells an attack on published records may believe different things.
    """
    if case.belief is not None and case.belief.cells is not None:
        raise UnreadableError("the attack speaks of single cells, not of what people with the same public cells have")
    _, number = case.table.public
    return pd.Series(divergences(true_shares(case), _of_public(case, case.chances), floor)[number])


def gain(case: Case) -> pd.Series:
    """How many times as likely as by the baseline each record's true secret is."""
    rows, truth = np.arange(len(case.table)), case.table.codes(case.secret.name)
    believed, baseline = (chances.to_numpy(dtype=float)[rows, truth] for chances in (case.chances, case.baseline))
    return pd.Series(gains(believed, baseline))


def divergence_evidence(case: Case, floor: float, top: int) -> dict[str, Any]:
    """How many cells needed the floor and, where there is a baseline, which divergences fell most; for auditors."""
    true, believed = true_shares(case), _of_public(case, case.chances)
    told: dict[str, Any] = {"floored": Private(floored(true, believed, floor))}
    if case.belief is not None and case.belief.baseline is not None:
        before = divergences(true, _of_public(case, case.baseline), floor)
        told["top"] = Private(
            _fallen_most(divergences(true, believed, floor), before, case.table.public[0].weight, top)
        )
    return told


def _fallen_most(now: Floats, before: Floats, people: NDArray[np.int64], top: int) -> list[dict[str, Any]]:
    """The public records with the largest differences, in descending order: the paper's Figure 7."""
    chosen = np.argsort(now - before, kind="stable")[:top]
    return [
        {
            "divergence": float(now[i]),
            "baseline": float(before[i]),
            "difference": float(before[i] - now[i]),
            "people": People(int(people[i])),
        }
        for i in chosen
    ]


def true_shares(case: Case) -> Floats:
    """P(x|q): the secret's shares among the people of each public record."""
    public, number = case.table.public
    size = len(case.secret.domain)
    cell = number * size + case.table.codes(case.secret.name)
    people = np.bincount(cell, weights=case.table.weight, minlength=len(public) * size).reshape(-1, size)
    return np.asarray(people / people.sum(axis=1, keepdims=True))


def _of_public(case: Case, chances: pd.DataFrame) -> Floats:
    """A row for each public record; all people of one are believed the same of."""
    first = np.unique(case.table.public[1], return_index=True)[1]
    return chances.to_numpy(dtype=float)[first]
