"""The fewest people in a leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leafgate import Case
from leafgate.report import People, Private
from leafgate_structure.divisions import divisions
from leafgate_structure.telling import worst_groups


def smallest(case: Case, groups: str, by_public: bool) -> float:
    """People in the smallest group that holds anybody."""
    return float(min(division.sizes.min() for division in divisions(case, groups, by_public)))


def evidence(case: Case, groups: str, by_public: bool, holds: Callable[[float], bool]) -> dict[str, Any]:
    """How many groups there are; for auditors how many people are in smaller ones than the limit, and the smallest."""
    found = divisions(case, groups, by_public)
    small = [np.array([not holds(float(size)) for size in division.sizes]) for division in found]
    beyond = np.zeros(len(case.table), dtype=bool)
    for division, marked in zip(found, small, strict=True):
        beyond |= marked[division.group]
    told: dict[str, Any] = {"groups": sum(len(division.sizes) for division in found)}
    told["people_beyond"] = Private(People(int(case.table.persons[beyond].sum())))
    marks = list(zip(found, small, strict=True))
    return told | ({"worst": worst_groups(case, marks, by_public)} if beyond.any() else {})
