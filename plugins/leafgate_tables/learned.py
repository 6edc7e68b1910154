"""What the builders that generalise first have in common: their release, and when there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leafgate.errors import NoReleaseError
from leafgate.induction.coding import Coded
from leafgate.release import Records, Release
from leafgate.table import Table
from leafgate.tree import Node

if TYPE_CHECKING:
    from leafgate_tables import Mondrian, Tds


def refuse_small(coded: Coded, groups: NDArray[np.int64], k: int) -> None:
    """NoReleaseError when a group of people is too small before anything is refined."""
    sizes = np.bincount(groups, weights=coded.weight)
    smallest = int(sizes[sizes > 0].min())
    if smallest < k:
        raise NoReleaseError(
            f"no generalisation keeps the promise: a group that nothing can hide has fewer than {k} people",
            people=smallest,
            remedy="ask for a smaller k, or gather more people",
        )


def release_of(
    options: Mondrian | Tds, table: Table, tree: Node, records: Records | None, guarantee: Mapping[str, Any]
) -> Release:
    """The release of a generalised table: `release` says whether tree, table or both."""
    alone = options.release == "table"
    return Release(
        builder=options.described(),
        schema=table.schema,
        trees=() if alone else (tree,),
        model="none" if alone else "trees",
        selection=None if alone else {"measure": options.measure, "k": options.k, "pruned": options.prune},
        guarantee=guarantee,
        records=records,
    )
