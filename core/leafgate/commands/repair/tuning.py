"""The plain tuned tree: scikit-learn's tree whose depth and smallest leaf are chosen by cross-validation on the table.

A tree that is cut at a depth equals the tree that is grown to that depth. So one tree for each size of leaves and each
fold is enough to measure all depths on the people of that fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from leafgate.algorithms.usefulness import explained_variance, mean_area
from leafgate.api import Floats, Ids, Mask, Table
from leafgate.commands.convert.prediction import leaves_of
from leafgate.commands.repair.refit import Rows, Settings, fitted, tree_settings
from leafgate.ir.model import topological_order
from leafgate.readers import LEAF, ModelIR, ModelReader, TreeIR
from leafgate.search.people import rows_at, weight_at

DEPTHS = (2, 3, 4, 6, 8)
"""Trees are cut at these depths; others are as deep as their leaves allow."""


def tuned_settings(
    least: int, model: ModelIR, rows: Rows, table: Table, fold: Ids, readers: Sequence[ModelReader]
) -> list[Settings]:
    """Settings of single trees, those first whose trees are the most useful to people whom they were not fitted on.

    Args:
        least: People that each leaf must have by the limits.
        model: The given model, over whose features the trees are.
        rows: The people as these features.
        table: The people.
        fold: In which part of the table each record is, or each person: `folds_of`.
        readers: The readers in use.

    Returns:
        Settings that cannot be fitted are left out. Among equally useful trees the one with larger leaves comes first.
    """
    found = []
    for size in tree_settings(least, of_numbers=not model.classes):
        known = [dict(_uses(size, model, rows, table, fold == number, readers)) for number in np.unique(fold)]
        for depth in (*DEPTHS, None):
            uses = [of_fold[depth] for of_fold in known if depth in of_fold]
            if len(uses) == len(known):
                settings = size if depth is None else size.with_parameters(max_depth=depth)
                found.append((float(np.mean(uses)), settings))
    return [settings for _, settings in sorted(found, key=lambda each: (-round(each[0], 4), *each[1].fineness))]


def _uses(
    settings: Settings, model: ModelIR, rows: Rows, table: Table, asked: Mask, readers: Sequence[ModelReader]
) -> Iterator[tuple[int | None, float]]:
    """For each depth how useful a tree fitted on everybody else is to those who are asked; none where none is fitted.

    The use is the area under the ROC curve, of several classes their mean, or of numbers the explained variance.
    """
    weight, own = weight_at(table, asked), weight_at(table, ~asked)
    fit = fitted(settings, model, rows.at(own > 0, rows_at(table, ~asked)), readers)
    truth, known = rows.target, rows.known
    seen = known & (weight > 0)
    if fit is None or len(np.unique(truth[seen])) < 2:
        return
    [tree] = fit.trees
    leaf = leaves_of(tree, rows.over_all(len(model.features)))
    for depth in (*DEPTHS, None):
        at = leaf if depth is None else _above(tree, leaf, depth)
        if not model.classes:
            yield depth, explained_variance(truth[seen], _means(at, truth, own * known)[seen], weight[seen]).value
            continue
        shares = [_means(at, truth == one, own * known) for one in np.unique(truth[seen])]
        rankings = dict(zip(np.unique(truth[seen]).tolist(), shares, strict=True))
        if len(rankings) == 2:
            del rankings[min(rankings)]
        yield depth, mean_area(rankings, truth, weight * known).value


def _above(tree: TreeIR, nodes: Ids, depth: int) -> Ids:
    """The nodes of a depth at or above these; those that are not so deep stay."""
    parent, at_depth = np.full(tree.nodes, LEAF, dtype=np.int64), np.zeros(tree.nodes, dtype=np.int64)
    for node in topological_order(tree).tolist():
        if tree.feature[node] != LEAF:
            for child in (int(tree.low[node]), int(tree.high[node])):
                parent[child], at_depth[child] = node, at_depth[node] + 1
    while (at_depth[nodes] > depth).any():
        nodes = np.where(at_depth[nodes] > depth, parent[nodes], nodes)
    return nodes


def _means(at: Ids, numbers: Floats, weight: Ids) -> Floats:
    """For each record the mean of a number over the people at the same node."""
    filled = np.nan_to_num(np.asarray(numbers, dtype=np.float64))
    people, total = (np.bincount(at, weights=each) for each in (weight, weight * filled))
    return np.asarray((total / np.maximum(people, 1))[at])
