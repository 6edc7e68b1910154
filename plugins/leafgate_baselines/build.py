"""From options and a table to an unprotected tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.induction.coding import coded as code_table
from leafgate.induction.growing import finished
from leafgate.induction.measures import Measure
from leafgate.induction.pruning import prune
from leafgate.induction.selecting import grow
from leafgate.release import Release
from leafgate.table import Table

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
