"""How trees divide the people of a table: by each tree, by all of them, by what they predict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate import Case, InconclusiveError
from leafgate.routing import route
from leafgate_structure.predictions import chances
from leafgate_structure.spans import Ids, spans

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


def divisions(case: Case, groups: str, by_public: bool) -> list[Division]:
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


def _parts(case: Case, by_public: bool) -> Iterator[Ids]:
    public, mine = case.table.public
    known = by_public and bool(public.schema.columns)
    for tree in case.release.learned:
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


def _alike(told: NDArray[np.float64]) -> Ids:
    """Groups of rows that are told the same, nothing being one answer more."""
    rounded = np.round(np.nan_to_num(told, nan=-1.0), DIGITS) + 0.0
    return np.asarray(np.unique(rounded, axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)
