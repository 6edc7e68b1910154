"""From a case to one number for each record, and what auditors are told of the public records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate import ScoringContext
from leafgate.errors import UnreadableError
from leafgate.types.evidence import AuditorOnly, PeopleCount

# --- Divergence and gain: one number for each row of chances ---

Floats = NDArray[np.float64]


def divergences(true: Floats, believed: Floats, floor: float) -> Floats:
    """The Kullback-Leibler divergence of each row of `true` from what is believed, in nats.

    From 0 to -ln(floor). Rows sum to 1.

    Source: Zhu, Du, "Understanding Privacy Risk of Publishing Decision Trees", DBSec 2010, section 5,
    D_individual. doi:10.1007/978-3-642-13739-6_3
    Departure: the paper does not say what counts where something true is believed impossible. Here no
    chance counts as less than `floor`. That and rounding may take a sum below 0; it is then 0.

    The paper's Example 1, from its q1 to q4:

    >>> true = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> believed = np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]])
    >>> divergences(true, believed, 1e-9).round(3).tolist()
    [0.0, 0.693, 0.693, 0.0]
    """
    log_true = np.log(true, where=true > 0, out=np.zeros_like(true))
    terms = true * (log_true - np.log(np.maximum(believed, floor)))
    return np.asarray(np.maximum(terms.sum(axis=1), 0.0))


def floored(true: Floats, believed: Floats, floor: float) -> int:
    """How many cells have a part in a divergence only by their floor."""
    return int(((true > 0) & (believed < floor)).sum())


def gains(believed: Floats, baseline: Floats) -> Floats:
    """How many times as likely as by the baseline; 1 where both are 0, infinite where only the baseline is.

    >>> gains(np.array([0.8, 0.0, 0.5]), np.array([0.4, 0.0, 0.0])).tolist()
    [2.0, 1.0, inf]
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where((believed == 0) & (baseline == 0), 1.0, believed / baseline)


def divergence(case: ScoringContext, floor: float) -> pd.Series:
    """Its public record's divergence, for each record; UnreadableError where single cells are believed of.

    Of people with the same public cells an attack on published records may believe different things.
    """
    if case.belief is not None and case.belief.record_positions is not None:
        raise UnreadableError("the attack speaks of single cells, not of what people with the same public cells have")
    _, number = case.table.public
    return pd.Series(divergences(true_shares(case), _of_public(case, case.posterior), floor)[number])


def gain(case: ScoringContext) -> pd.Series:
    """How many times as likely as by the baseline each record's true secret is."""
    rows, truth = np.arange(len(case.table)), case.table.codes(case.secret.name)
    believed, baseline = (chances.to_numpy(dtype=float)[rows, truth] for chances in (case.posterior, case.prior))
    return pd.Series(gains(believed, baseline))


def divergence_evidence(case: ScoringContext, floor: float, top: int) -> dict[str, Any]:
    """How many cells needed the floor and, where there is a baseline, which divergences fell most; for auditors."""
    true, believed = true_shares(case), _of_public(case, case.posterior)
    document: dict[str, Any] = {"floored": AuditorOnly(floored(true, believed, floor))}
    if case.belief is not None and case.belief.prior is not None:
        before = divergences(true, _of_public(case, case.prior), floor)
        document["top"] = AuditorOnly(
            _fallen_most(divergences(true, believed, floor), before, case.table.public[0].weight, top)
        )
    return document


def _fallen_most(now: Floats, before: Floats, people: NDArray[np.int64], top: int) -> list[dict[str, Any]]:
    """The public records with the largest differences, in descending order: the paper's Figure 7."""
    chosen = np.argsort(now - before, kind="stable")[:top]
    return [
        {
            "divergence": float(now[i]),
            "baseline": float(before[i]),
            "difference": float(before[i] - now[i]),
            "people": PeopleCount(int(people[i])),
        }
        for i in chosen
    ]


def true_shares(case: ScoringContext) -> Floats:
    """P(x|q): the secret's shares among the people of each public record."""
    public, number = case.table.public
    size = len(case.secret.domain)
    cell = number * size + case.table.codes(case.secret.name)
    people = np.bincount(cell, weights=case.table.weight, minlength=len(public) * size).reshape(-1, size)
    return np.asarray(people / people.sum(axis=1, keepdims=True))


def _of_public(case: ScoringContext, chances: pd.DataFrame) -> Floats:
    """A row for each public record; all people of one are believed the same of."""
    first = np.unique(case.table.public[1], return_index=True)[1]
    return chances.to_numpy(dtype=float)[first]
