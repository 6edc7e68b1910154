"""What a foreign model predicts of rows of numbers in its own features: the second way to the same predictions."""

from __future__ import annotations

import numpy as np

from leafgate.foreign.model import LEAF, Floats, Foreign, ForeignTree, Ids


def leaves_of(tree: ForeignTree, rows: Floats) -> Ids:
    """The node each row of features ends in; missing cells are NaN."""
    at = np.zeros(len(rows), dtype=np.int64)
    waiting = np.flatnonzero(tree.feature[at] != LEAF)
    strict, missing_low = tree.flag("strict"), tree.flag("missing_low")
    float32 = tree.flag("float32")
    chosen = np.zeros(tree.nodes, dtype=bool)
    chosen[list(tree.subsets)] = True
    while len(waiting):
        node = at[waiting]
        x = rows[waiting, tree.feature[node]]
        with np.errstate(over="ignore"):
            seen = np.where(float32[node], x.astype(np.float32).astype(np.float64), x)
        low = np.where(strict[node], seen < tree.threshold[node], seen <= tree.threshold[node])
        for i in np.flatnonzero(chosen[node]):
            low[i] = seen[i] in tree.subsets[int(node[i])]
        low = np.where(np.isnan(x), missing_low[node], low)
        at[waiting] = np.where(low, tree.low[node], tree.high[node])
        waiting = waiting[tree.feature[at[waiting]] != LEAF]
    return at


def votes(model: Foreign, rows: Floats) -> Floats:
    """What all trees say together: a column for each class, or one of predicted numbers.

    `vote` counts each tree's likeliest class, `sum` adds, `mean_per_tree` takes the mean of shares, `boost` adds
    scores to the base; a number is the sum or the mean likewise. A tie goes to the first class.
    """
    width = max(len(model.classes), 1)
    total = np.zeros((len(rows), width))
    if model.base:
        total += (
            np.asarray(model.base) if len(model.base) == width else _alone(np.array(model.base)[:, None], None, width)
        )
    for tree in model.trees:
        said = tree.says[leaves_of(tree, rows)]
        said = _alone(said, tree.output, width) if said.shape[1] != width else said
        if model.combine in {"one", "vote"} and model.classes:
            silent = (model.says == "labels") & ~said.any(axis=1, keepdims=True)
            said = ((np.arange(width) == said.argmax(axis=1)[:, None]) & ~silent).astype(np.float64)
        elif model.combine == "mean_per_tree" and model.says == "counts":
            said = said / said.sum(axis=1, keepdims=True)
        total += said
    return total / len(model.trees) if model.combine == "mean_per_tree" else total


def _alone(said: Floats, output: int | None, width: int) -> Floats:
    """One class's scores as a row for all classes: the others get none."""
    spread = np.zeros((len(said), width))
    spread[:, width - 1 if output is None else output] = said[:, 0]
    return spread


def predicted(model: Foreign, rows: Floats) -> Ids:
    """Each row's class, by its position; -1 where no leaf says any."""
    told = votes(model, rows)
    silent = (model.says == "labels") & ~told.any(axis=1)
    return np.asarray(np.where(silent, -1, told.argmax(axis=1)))
