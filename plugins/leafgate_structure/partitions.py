"""How trees divide the people of a table: by each tree, by all of them, by what they predict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate import InconclusiveError, Release, ScoringContext
from leafgate.algorithms.feasible import Possible, branch_domains, unrouted_values
from leafgate.algorithms.prediction import class_votes
from leafgate.algorithms.routing import Cells, route, split_rows
from leafgate.types.schema import Schema
from leafgate.types.table import Table
from leafgate.types.tree import CategoricalSplit, Leaf, Node, NumericSplit

# --- What a release says of each row: a share of belief for each class ---


def chances(release: Release, table: Table) -> NDArray[np.float64]:
    """For each row what the release says of each class, summing to 1; NaN where no leaf speaks.

    One tree says the shares of its leaf. Raises InconclusiveError where only labels are published.
    """
    if release.publish.leaves in {"labels", "error_rates"} and release.combine != "boost":
        raise InconclusiveError("only labels are published, so the release gives no class a share")
    one = release.combine == "one"
    votes = class_votes(replace(release, combine="mean_per_tree") if one else release, table)
    if release.combine == "boost":
        votes = np.exp(votes - votes.max(axis=1, keepdims=True))
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


# --- Which people a tree cannot tell apart by their public cells: who can reach the same leaves ---

Ids = NDArray[np.int64]


@dataclass
class Parted:
    """A partition of rows, made finer one set of rows at a time."""

    group: Ids
    _next: int = 1

    def part(self, rows: Ids) -> None:
        """Part every group into its rows that are among `rows`, and the rest."""
        held = self.group[rows]
        if len(rows) and (held == held[0]).all():
            self.group[rows] = self._next
            self._next += 1
            return
        distinct, place = np.unique(held, return_inverse=True)
        self.group[rows] = self._next + place
        self._next += len(distinct)


def spans(tree: Node, public: Table, schema: Schema) -> Ids:
    """For each public record the number of its span: the set of leaves its people can reach.

    Columns that the adversary does not know can be whatever the tests above leave of them; to end in no leaf is one
    end more.

    Source: A. Friedman, A. Schuster, R. Wolff, PKDD 2006, Definition 4, without the class. This shares no code with
    the attack `linking`, which compares what remains of the tree instead.
    """
    found = Parted(np.zeros(len(public), dtype=np.int64))
    nowhere = np.zeros(len(public), dtype=bool)
    cells: Cells = {}
    waiting: list[tuple[Node, Ids, Possible]] = [(tree, np.arange(len(public)), {})]
    while waiting:
        node, rows, possible = waiting.pop()
        if not len(rows):
            continue
        if isinstance(node, Leaf):
            found.part(rows)
        elif schema[node.column].public:
            ways = list(split_rows(node, public, rows, cells))
            waiting.extend((child, mine, possible) for child, mine in ways)
            if sum(len(mine) for _, mine in ways) < len(rows):
                nowhere[np.setdiff1d(rows, np.concatenate([mine for _, mine in ways]))] = True
        else:
            waiting.extend(_ways(node, rows, possible, schema))
            nowhere[rows] |= bool(unrouted_values(node, possible, schema))
    found.part(np.flatnonzero(nowhere))
    return np.unique(found.group, return_inverse=True)[1].astype(np.int64)


def _ways(
    node: NumericSplit | CategoricalSplit, rows: Ids, possible: Possible, schema: Schema
) -> list[tuple[Node, Ids, Possible]]:
    """Each way out of a test of an unknown column that some value can still take; all rows may take it."""
    return [
        (child, rows, {**possible, node.column: rest}) for child, rest in branch_domains(node, possible, schema) if rest
    ]


DIGITS = 12
"""So many decimals of two predictions are compared."""


@dataclass(frozen=True)
class Division:
    """The people of a table in groups: each row's, from 0; `tree` says which tree divides them, None several."""

    tree: int | None
    group: Ids
    weight: NDArray[np.int64]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """People in each group; nobody's group is none."""
        return np.asarray(np.bincount(self.group, weights=self.weight), dtype=np.int64)

    @cached_property
    def first(self) -> Ids:
        """The first row of each group."""
        return np.unique(self.group, return_index=True)[1].astype(np.int64)

    def counts(self, codes: Ids, values: int) -> NDArray[np.float64]:
        """People in each group by value, `codes` being each row's."""
        cells = np.bincount(self.group * values + codes, weights=self.weight, minlength=len(self.sizes) * values)
        return np.asarray(cells, dtype=np.float64).reshape(-1, values)


def divisions(case: ScoringContext, groups: str, by_public: bool) -> list[Division]:
    """The people of the table as the released trees divide them; several divisions where each tree is asked.

    People whom no leaf takes are a group of their own. Raises InconclusiveError for a release without trees.
    """
    if not case.release.trees:
        raise InconclusiveError("the release has no trees", remedy="leave this metric out")
    weight = case.table.persons
    if groups == "outputs":
        return [Division(None, _alike(chances(case.release, case.table)), weight)]
    parts = list(_parts(case, by_public))
    if groups == "each_tree":
        return [Division(i, part, weight) for i, part in enumerate(parts)]
    return [Division(0 if len(parts) == 1 else None, _together(parts), weight)]


def _parts(case: ScoringContext, by_public: bool) -> Iterator[Ids]:
    public, mine = case.table.public
    known = by_public and bool(public.schema.columns)
    for tree in case.release.fitted_trees:
        if known:
            yield spans(tree, public, case.table.schema)[mine]
        else:
            yield _numbered(route(tree, case.table).leaf)


def _together(parts: list[Ids]) -> Ids:
    """Groups of rows that every part holds together."""
    group = parts[0]
    for part in parts[1:]:
        group = _numbered(group * (part.max(initial=0) + 1) + part)
    return _numbered(group)


def _numbered(ids: Ids) -> Ids:
    return pd.factorize(ids)[0].astype(np.int64)


def _alike(values: NDArray[np.float64]) -> Ids:
    """Groups of rows that are told the same, nothing being one answer more."""
    rounded = np.round(np.nan_to_num(values, nan=-1.0), DIGITS) + 0.0
    return np.asarray(np.unique(rounded, axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)
