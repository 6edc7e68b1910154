"""Partitions of the people of a table: by the leaves of each tree, of all trees, or by predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from leafgate import api
from leafgate.algorithms.feasible import Possible, branch_domains, unrouted_values
from leafgate.algorithms.prediction import class_scores
from leafgate.algorithms.routing import route, split_rows


def class_probabilities(release: api.Release, table: api.Table) -> api.Floats:
    """Predicted class probabilities, shape (n_rows, n_classes), rows summing to 1; NaN where a row reaches no leaf.

    A single tree predicts the shares of its leaf. Raises InconclusiveError where only labels are published.
    """
    if release.publish.leaves in {"labels", "error_rates"} and release.combine != "boost":
        raise api.InconclusiveError("only labels are published, so the release gives no class a share")
    return class_scores(release, table)


@dataclass
class Partition:
    """A partition of rows, made finer one set of rows at a time."""

    group: api.Ids
    _next: int = 1

    def split(self, rows: api.Ids) -> None:
        """Split every group into its rows that are among `rows`, and the rest."""
        held = self.group[rows]
        if len(rows) and (held == held[0]).all():
            self.group[rows] = self._next
            self._next += 1
            return
        distinct, place = np.unique(held, return_inverse=True)
        self.group[rows] = self._next + place
        self._next += len(distinct)


def spans(tree: api.Node, public: api.Table, schema: api.Schema) -> api.Ids:
    """For each public record the number of its span: the set of leaves its people can reach.

    Columns that the adversary does not know can have every value that the tests above leave; to end in no leaf counts
    as one more end.

    Source: A. Friedman, A. Schuster, R. Wolff, PKDD 2006, Definition 4, without the class. This shares no code with
    the attack `linking`, which compares residual trees instead.
    """
    partition = Partition(np.zeros(len(public), dtype=np.int64))
    nowhere = np.zeros(len(public), dtype=bool)
    waiting: list[tuple[api.Node, api.Ids, Possible]] = [(tree, np.arange(len(public)), {})]
    while waiting:
        node, rows, possible = waiting.pop()
        if not len(rows):
            continue
        if isinstance(node, api.Leaf):
            partition.split(rows)
        elif schema[node.column].public:
            branches = list(split_rows(node, public, rows))
            waiting.extend((child, taken, possible) for child, taken in branches)
            if sum(len(taken) for _, taken in branches) < len(rows):
                nowhere[np.setdiff1d(rows, np.concatenate([taken for _, taken in branches]))] = True
        else:
            waiting.extend(
                (child, rows, {**possible, node.column: rest})
                for child, rest in branch_domains(node, possible, schema)
                if rest
            )
            nowhere[rows] |= bool(unrouted_values(node, possible, schema))
    partition.split(np.flatnonzero(nowhere))
    return np.unique(partition.group, return_inverse=True)[1].astype(np.int64)


DECIMALS = 12
"""Decimals to which predictions are compared."""


@dataclass(frozen=True)
class Division:
    """A partition of a table's people: each row's group, from 0; `tree` is the tree that makes it, None for several."""

    tree: int | None
    group: api.Ids
    table: api.Table

    @cached_property
    def sizes(self) -> api.Ids:
        """People in each group."""
        return self.table.people_by(self.group, int(self.group.max(initial=-1)) + 1)

    @cached_property
    def first(self) -> api.Ids:
        """The first row of each group."""
        return np.unique(self.group, return_index=True)[1].astype(np.int64)

    def counts(self, codes: api.Ids, values: int) -> api.Floats:
        """People in each group by value, shape (n_groups, values); `codes` has the value of each row."""
        cells = self.table.people_by(self.group * values + codes, len(self.sizes) * values)
        return np.asarray(cells, dtype=np.float64).reshape(-1, values)


def divisions(case: api.ScoringContext, groups: str, by_public: bool) -> list[Division]:
    """The partitions that the released trees make of the table; one for each tree with `each_tree`, else one.

    People who reach no leaf are a group of their own. Raises InconclusiveError for a release without trees.
    """
    if not case.release.trees:
        raise api.InconclusiveError("the release has no trees", remedy="it judges releases of trees")
    table = case.table
    if groups == "outputs":
        return [Division(None, _group_equal_rows(class_probabilities(case.release, table)), table)]
    parts = list(_leaf_partitions(case, by_public))
    if groups == "each_tree":
        return [Division(i, part, table) for i, part in enumerate(parts)]
    return [Division(0 if len(parts) == 1 else None, _common_refinement(parts), table)]


def _leaf_partitions(case: api.ScoringContext, by_public: bool) -> Iterator[api.Ids]:
    public, mine = case.table.public
    known = by_public and bool(public.schema.columns)
    for tree in case.release.fitted_trees:
        if known:
            yield spans(tree, public, case.table.schema)[mine]
        else:
            yield _numbered(route(tree, case.table).leaf)


def _common_refinement(parts: list[api.Ids]) -> api.Ids:
    """Groups of rows that no partition separates."""
    group = parts[0]
    for part in parts[1:]:
        group = _numbered(group * (part.max(initial=0) + 1) + part)
    return _numbered(group)


def _numbered(ids: api.Ids) -> api.Ids:
    return pd.factorize(ids)[0].astype(np.int64)


def _group_equal_rows(values: api.Floats) -> api.Ids:
    """Groups of rows with equal predictions; no prediction counts as one, too."""
    rounded = np.round(np.nan_to_num(values, nan=-1.0), DECIMALS) + 0.0
    return np.asarray(np.unique(rounded, axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)
