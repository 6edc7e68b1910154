"""From options and a table to an unprotected tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.algorithms.induction.encoding import encode as code_table
from leafgate.algorithms.induction.greedy import grow
from leafgate.algorithms.induction.growth import finished
from leafgate.algorithms.induction.pruning import prune
from leafgate.algorithms.induction.splits import Measure
from leafgate.types.release import Release
from leafgate.types.table import Table

if TYPE_CHECKING:
    from leafgate_baselines import C45, Id3


def build(
    options: Id3 | C45,
    table: Table,
    measure: Measure,
    *,
    average_gain: bool,
    confidence: float | None,
    min_split: int = 2,
) -> Release:
    """The tree with exact counts and no claim; pruned unless `confidence` is None.

    Departure: none of Quinlan's; generalisation hierarchies, which his algorithms do not know, are ignored.
    """
    coded = code_table(table, hierarchies=False)
    root = grow(coded, measure, average_gain=average_gain, min_leaf=options.min_leaf, min_split=min_split)
    if confidence is not None:
        prune(root, confidence)
    return Release(
        builder=options.described(),
        schema=table.schema,
        trees=(finished(coded, root, table.schema),),
        selection={
            "measure": measure,
            "average_gain": average_gain,
            "min_leaf": options.min_leaf,
            "min_split": min_split,
            "pruned": confidence is not None,
        },
    )
