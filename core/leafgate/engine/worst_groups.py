"""The worst-off groups of people, told in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.api.context import ScoringContext
from leafgate.types.belief import Belief
from leafgate.types.evidence import AuditorOnly, PeopleCount

SHOWN = 3
"""How many groups a finding shows."""


def witnesses(case: ScoringContext, scores: pd.Series, past: NDArray[np.bool_], direction: str) -> list[dict[str, Any]]:
    """The groups furthest past the limit; among equals the smallest, and those with the fewest possible values, first.

    Each says how many people share it and how many values their secret can still have; for auditors
    also the path that exposes them, what is believed of them and what is true.
    """
    case = case.with_own_record("derived")  # the groups show what is derived, whatever was scored
    sign = 1 if direction == "at_least" else -1
    rows = pd.DataFrame({"group": _groups(case), "score": sign * scores, "people": case.table.persons, "past": past})
    rows["possible"] = _possible_values(case)
    sizes = rows.groupby("group")["people"].sum()
    past_limit = rows[rows["past"]].sort_values(["score", "possible"], kind="stable").reset_index().groupby("group")
    worst = past_limit[["score", "possible"]].first()
    worst["people"] = sizes
    chosen = worst.sort_values(["score", "people", "possible"], kind="stable").head(SHOWN)
    first = past_limit["index"].first()
    return [
        _told(case, int(group), int(people), int(first[group]))
        for group, people in zip(chosen.index.to_numpy(), chosen["people"], strict=True)
    ]


def _groups(case: ScoringContext) -> pd.Series:
    """Each row's group; a hidden cell whose attack speaks of no groups is one by itself."""
    alone = case.belief is not None and case.belief.equivalence_class is None
    return pd.Series(np.arange(len(case.table))) if alone else case.equivalence_class


def _possible_values(case: ScoringContext) -> NDArray[np.int64] | int:
    """How many values of the secret are believed possible, of each record; 0 where nothing is believed."""
    if case.belief is None or case.belief.posterior is None:
        return 0
    return np.asarray((case.posterior.to_numpy() > 0).sum(axis=1), dtype=np.int64)


def _path(belief: Belief | None, group: int) -> str:
    """What the attack says of the group; nothing when it cannot say it in a text."""
    try:
        words = belief.explain(group) if belief is not None and belief.explain is not None else ""
    except Exception:
        return ""
    return words if isinstance(words, str) else ""


def _told(case: ScoringContext, group: int, people: int, worst: int) -> dict[str, Any]:
    """A group, and what is believed of the worst-off record in it."""
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
    chances = case.posterior.iloc[worst]
    document["possible_values"] = int((chances > 0).sum())
    document["believed"] = AuditorOnly({str(chances.idxmax()): round(float(chances.max()), 6)})
    truth = pd.Series(case.table.persons)[rows].groupby(case.truth[rows], observed=True).sum()
    document["true"] = AuditorOnly({str(value): PeopleCount(int(count)) for value, count in truth.items()})
    return document
