"""C4.5 straight on shared numbers, as if there were no noise."""

from __future__ import annotations

from dataclasses import dataclass

from leafgate.induction.coding import coded
from leafgate.induction.growing import finished
from leafgate.induction.pruning import prune
from leafgate.induction.selecting import grow
from leafgate.tree import Node
from leafgate_ppdtc45.shared import Shared


@dataclass(frozen=True)
class Learner:
    """C4.5's options; pruned unless `confidence` is None."""

    average_gain: bool = True
    min_leaf: int = 2
    confidence: float | None = 0.25
    penalty: bool = True


def plain_tree(shared: Shared, learner: Learner) -> Node:
    """The tree for shared numbers, the shared rows counted on its leaves."""
    table = shared.table
    cells = coded(table)
    root = grow(
        cells,
        "gain_ratio",
        average_gain=learner.average_gain,
        min_leaf=learner.min_leaf,
        penalty=learner.penalty,
    )
    if learner.confidence is not None:
        prune(root, learner.confidence)
    return finished(cells, root, table.schema)
