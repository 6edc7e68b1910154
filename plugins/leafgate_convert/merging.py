"""Leaves that say the same, made one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leafgate.api import LEAF, TreeIR
from leafgate.app import topological_order


def collapse_equal_leaves(tree: TreeIR) -> TreeIR:
    """The same predictions with leaves that say the same made one where nothing else lies between them."""
    feature, says = tree.feature.copy(), tree.values.copy()
    for node in topological_order(tree)[::-1].tolist():
        low, high = int(tree.low[node]), int(tree.high[node])
        if feature[node] != LEAF and feature[low] == feature[high] == LEAF and (says[low] == says[high]).all():
            feature[node], says[node] = LEAF, says[low]
    return compact(replace(tree, feature=feature, values=says, counts=None, size=None, numbers=()))


def compact(tree: TreeIR) -> TreeIR:
    """The nodes that can be reached alone, numbered anew; nothing is left of what was asked where leaves are now."""
    kept = topological_order(tree)
    number = np.full(tree.nodes, LEAF, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    inner = tree.feature[kept] != LEAF
    subsets = {int(number[node]): chosen for node, chosen in tree.subsets.items() if tree.feature[node] != LEAF}
    return replace(
        tree,
        feature=tree.feature[kept],
        threshold=np.where(inner, tree.threshold[kept], np.nan),
        low=np.where(inner, number[tree.low[kept]], LEAF),
        high=np.where(inner, number[tree.high[kept]], LEAF),
        values=tree.values[kept],
        counts=None if tree.counts is None else tree.counts[kept],
        size=None if tree.size is None else tree.size[kept],
        numbers=(),
        strict=tree.flag("strict")[kept] & inner,
        float32=tree.flag("float32")[kept] & inner,
        missing_low=tree.flag("missing_low")[kept] & inner,
        subsets={node: chosen for node, chosen in subsets.items() if node != LEAF},
    )
