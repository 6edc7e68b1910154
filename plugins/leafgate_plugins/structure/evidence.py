"""Evidence about the smallest groups: the path to their leaves and, for auditors, who is in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leafgate.algorithms.derivable import asks_public, leaf_classes_derivable, leaf_counts_derivable
from leafgate.algorithms.feasible import Possible, branch_domains, conditions, intersect_paths
from leafgate.algorithms.routing import split_rows
from leafgate.api import AuditorOnly, Leaf, Mask, Node, PeopleCount, ScoringContext
from leafgate_plugins.structure.partitions import Division

MAX_GROUPS = 3
"""Groups that a finding lists."""

Marked = tuple[Division, Mask]
"""A partition, and which of its groups are to be listed."""


def worst_groups(case: ScoringContext, groups: Sequence[Marked], by_public: bool) -> list[dict[str, Any]]:
    """The smallest of the marked groups: their people, the path to them, and their true classes."""
    ranked = [
        (int(division.sizes[group]), place, int(group))
        for place, (division, marked) in enumerate(groups)
        for group in np.flatnonzero(marked)
    ]
    return [
        _describe_group(case, groups[place][0], group, by_public) for _, place, group in sorted(ranked)[:MAX_GROUPS]
    ]


def _describe_group(case: ScoringContext, division: Division, group: int, by_public: bool) -> dict[str, Any]:
    row = int(division.first[group])
    schema = case.table.schema
    document: dict[str, Any] = {"people": PeopleCount(int(division.sizes[group]))}
    trees = case.release.fitted_trees
    asked = trees if division.tree is None else trees[division.tree : division.tree + 1]
    words = " and ".join(conditions(_common_domains(case, asked, row, by_public), schema)) or "everyone"
    document["path"] = AuditorOnly(
        words if len(trees) == 1 or division.tree is None else f"tree {division.tree}: {words}"
    )
    if case.release.target in schema:
        classes = schema[case.release.target].domain
        counts = division.counts(case.table.codes(case.release.target), len(classes))[group]
        document["true"] = AuditorOnly({str(c): PeopleCount(int(n)) for c, n in zip(classes, counts, strict=True) if n})
    return document


def _common_domains(case: ScoringContext, trees: Sequence[Node], row: int, by_public: bool) -> Possible:
    """The values that lead to one row's leaf, or to all its possible leaves, of the columns that define groups."""
    paths = (path for tree in trees for path in _possible_paths(case, tree, row, by_public))
    return intersect_paths(paths, lambda name: case.table.schema[name].public or not by_public)


def _possible_paths(case: ScoringContext, tree: Node, row: int, by_public: bool) -> list[Possible]:
    """For each leaf the row can reach, what the tests above it leave of each column."""
    schema, ends = case.table.schema, list[Possible]()
    waiting: list[tuple[Node, Possible]] = [(tree, {})]
    while waiting:
        node, possible = waiting.pop()
        if isinstance(node, Leaf):
            ends.append(possible)
            continue
        open_ = by_public and not schema[node.column].public
        branches = split_rows(node, case.table, np.array([row]))
        taken = [open_ or len(rows) > 0 for _, rows in branches]
        ways = zip(branch_domains(node, possible, schema), taken, strict=True)
        waiting.extend(
            (child, {**possible, node.column: rest}) for (child, rest), here in ways if here and (rest or not open_)
        )
    return ends


def sizes_known(case: ScoringContext, groups: str, by_public: bool) -> bool:
    """Do the sizes of groups follow from public columns, or from exact counts of whole leaves?

    The release and the schema alone decide that, never anyone's secret.
    """
    if _by_public(case, by_public) or asks_public(case.release, case.table):
        return True
    if case.table.weighted:
        return False  # leaves count weights, from which the number of rows does not follow
    return _of_whole_leaves(case, groups) and leaf_counts_derivable(case)


def classes_known(case: ScoringContext, groups: str, by_public: bool) -> bool:
    """Does each group's number of people by class follow from the release?"""
    spans = _by_public(case, by_public) and not asks_public(case.release, case.table)
    return not spans and not case.table.weighted and _of_whole_leaves(case, groups) and leaf_classes_derivable(case)


def _by_public(case: ScoringContext, by_public: bool) -> bool:
    """Are groups defined by public columns? Where there are none, all columns define them."""
    return by_public and bool(case.table.schema.public)


def _of_whole_leaves(case: ScoringContext, groups: str) -> bool:
    """Is each group the people of a leaf, or of several?"""
    return groups == "each_tree" or len(case.release.fitted_trees) == 1
