"""The equivalence classes of people that are furthest past a limit, as evidence of a finding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.api.context import ScoringContext
from leafgate.types.belief import Belief
from leafgate.types.evidence import AuditorOnly, PeopleCount

MAX_WITNESSES = 3
"""A finding lists this many equivalence classes at most."""


def witnesses(case: ScoringContext, scores: pd.Series, past: NDArray[np.bool_], direction: str) -> list[dict[str, Any]]:
    """The groups furthest past the limit; among equals the smallest, and those with the fewest possible values, first.

    Each says how many people share it and how many values their secret can still have; for auditors
    also the path that exposes them, the posterior and the truth.
    """
    case = case.with_own_record("derived")  # the groups show what is derived, whatever was scored
    sign = 1 if direction == "at_least" else -1
    rows = pd.DataFrame({"group": _groups(case), "score": sign * scores, "people": case.table.persons, "past": past})
    rows["possible"] = _possible_values(case)
    sizes = rows.groupby("group")["people"].sum()
    past_limit = rows[rows["past"]].sort_values(["score", "possible"], kind="stable").reset_index().groupby("group")
    worst = past_limit[["score", "possible"]].first()
    worst["people"] = sizes
    chosen = worst.sort_values(["score", "people", "possible"], kind="stable").head(MAX_WITNESSES)
    first = past_limit["index"].first()
    return [
        _described(case, int(group), int(people), int(first[group]))
        for group, people in zip(chosen.index.to_numpy(), chosen["people"], strict=True)
    ]


def _groups(case: ScoringContext) -> pd.Series:
    """Each row's equivalence class; a hidden cell is one by itself where the attack gives no classes."""
    alone = case.belief is not None and case.belief.equivalence_class is None
    return pd.Series(np.arange(len(case.table))) if alone else case.equivalence_class


def _possible_values(case: ScoringContext) -> NDArray[np.int64] | int:
    """For each record the number of values of the secret with a positive posterior; 0 where there is no posterior."""
    if case.belief is None or case.belief.posterior is None:
        return 0
    return np.asarray((case.posterior.to_numpy() > 0).sum(axis=1), dtype=np.int64)


def _path(belief: Belief | None, group: int) -> str:
    """The attack's explanation of the class; empty where it gives none or raises."""
    try:
        words = belief.explain(group) if belief is not None and belief.explain is not None else ""
    except Exception:
        return ""
    return words if isinstance(words, str) else ""


def _described(case: ScoringContext, group: int, people: int, worst: int) -> dict[str, Any]:
    """A class as JSON, with the posterior of the worst-off record in it."""
    rows = _groups(case).to_numpy() == group
    document: dict[str, Any] = {"people": PeopleCount(people)}
    belief = case.belief
    path = _path(belief, group)
    if path:
        document["path"] = AuditorOnly(path)
    if not case.release.trees or (belief is not None and belief.record_positions is not None):
        document["shares"] = "records"
    if belief is not None and belief.record_positions is not None:
        document["record"] = AuditorOnly(int(belief.record_positions[worst]))
    if belief is None or belief.posterior is None:
        return document
    posterior = case.posterior.iloc[worst]
    document["possible_values"] = int((posterior > 0).sum())
    document["believed"] = AuditorOnly({str(posterior.idxmax()): round(float(posterior.max()), 6)})
    truth = pd.Series(case.table.persons)[rows].groupby(case.truth[rows], observed=True).sum()
    document["true"] = AuditorOnly({str(value): PeopleCount(int(count)) for value, count in truth.items()})
    return document
