"""What a model that was read answers for rows of its features, by the letter of `ModelIR`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.interpolate import interp1d
from scipy.special import expit, softmax

from leafgate.api import Floats, Ids
from leafgate.commands.convert.prediction import leaves_of
from leafgate.readers import CalibratedSum, ModelIR, TreeIR


def votes(model: ModelIR, rows: Floats) -> Floats:
    """What all trees say together: a column for each class, or one of predicted numbers.

    `vote` counts each tree's likeliest class, `sum` adds, `mean_per_tree` takes the mean of shares, `boost` adds
    scores to the base; a number is the sum, its exponential or the mean. A tie goes to the first class. Calibrated sums
    answer the mean of their shares.
    """
    if model.calibrated_sums:
        trees = iter(model.trees)
        sums = [(each, list(itertools.islice(trees, each.trees))) for each in model.calibrated_sums]
        plain = [votes(replace(model, trees=tuple(own), calibrated_sums=()), rows) for _, own in sums]
        shares = [shares_of(each, scores) for (each, _), scores in zip(sums, plain, strict=True)]
        return np.asarray(sum(shares) / len(shares))
    width = max(len(model.classes), 1)
    base = np.array(model.base or [0.0] * width)
    total = np.tile(_of_classes(base[:, None], None, width)[0] if len(base) < width else base, (len(rows), 1))
    for tree in model.trees:
        total += scores_of_nodes(model, tree)[leaves_of(tree, rows)]
    if model.combine == "exp_sum":
        return np.asarray(np.exp(total))
    return total / len(model.trees) if model.combine == "mean_per_tree" else total


def shares_of(calibrated: CalibratedSum, scores: Floats) -> Floats:
    """The shares of classes that the link of a calibrated sum makes of its scores."""
    scores = scores / calibrated.trees if calibrated.is_mean else scores
    if calibrated.link == "softmax":
        return np.asarray(softmax(scores, axis=1))
    if calibrated.link == "logistic":
        shares = expit(scores)
    else:
        shares = np.column_stack([_lines(points, own) for points, own in zip(calibrated.points, scores.T, strict=True)])
        if scores.shape[1] == 2:
            return np.asarray(np.where(np.isnan(shares), 1 - shares[:, ::-1], shares))
    total = shares.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total == 0, 1 / scores.shape[1], shares / np.where(total == 0, 1, total)))


def _lines(points: Sequence[tuple[float, float]], scores: Floats) -> Floats:
    """The number on the lines between points at each score, that of the nearest point beyond all; NaN without any."""
    if len(points) < 2:
        return np.full(len(scores), points[0][1] if points else np.nan)
    x, y = np.array(points).T
    return np.asarray(interp1d(x, y)(np.clip(scores, x[0], x[-1])))


def scores_of_nodes(model: ModelIR, tree: TreeIR) -> Floats:
    """What each node of a tree adds for each class where it is a leaf: shape (n_nodes, max(1, n_classes))."""
    width = max(len(model.classes), 1)
    outputs = tree.values if tree.values.shape[1] == width else _of_classes(tree.values, tree.output, width)
    if model.combine in {"one", "vote"} and model.classes:
        silent = (model.values == "labels") & ~outputs.any(axis=1, keepdims=True)
        return np.asarray((np.arange(width) == outputs.argmax(axis=1)[:, None]) & ~silent, dtype=np.float64)
    if model.combine == "mean_per_tree" and model.values == "counts":
        with np.errstate(invalid="ignore"):
            return np.asarray(outputs / outputs.sum(axis=1, keepdims=True))
    return outputs


def _of_classes(outputs: Floats, output: int | None, width: int) -> Floats:
    """One class's scores as a row for all classes: the others get none."""
    spread = np.zeros((len(outputs), width))
    spread[:, width - 1 if output is None else output] = outputs[:, 0]
    return spread


def predicted(model: ModelIR, rows: Floats) -> Ids:
    """Each row's class, by its position; -1 where no leaf says any."""
    result = votes(model, rows)
    silent = (model.values == "labels") & ~result.any(axis=1)
    return np.asarray(np.where(silent, -1, result.argmax(axis=1)))
