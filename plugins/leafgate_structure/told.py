"""Are the groups' sizes, or their classes, told by the release? It and the public columns decide, nobody's secrets."""

from __future__ import annotations

from leafgate import Case
from leafgate.told_by_release import asks_public, tells_classes, tells_people


def told_sizes(case: Case, groups: str, by_public: bool) -> bool:
    """Does anyone know how many people each group has: by public columns, or by exact counts of whole leaves?"""
    if _by_public(case, by_public) or asks_public(case.release, case.table):
        return True
    if case.table.weighted:
        return False  # leaves count weights, and tell nobody how many rows they are
    return _of_whole_leaves(case, groups) and tells_people(case)


def told_classes(case: Case, groups: str, by_public: bool) -> bool:
    """Does anyone know how many people of each class each group has?"""
    spans = _by_public(case, by_public) and not asks_public(case.release, case.table)
    return not spans and not case.table.weighted and _of_whole_leaves(case, groups) and tells_classes(case)


def _by_public(case: Case, by_public: bool) -> bool:
    """People whom no public column tells apart are told apart by all."""
    return by_public and bool(case.table.schema.public)


def _of_whole_leaves(case: Case, groups: str) -> bool:
    """Is each group the people of a leaf, or of several?"""
    return groups == "each_tree" or len(case.release.learned) == 1
