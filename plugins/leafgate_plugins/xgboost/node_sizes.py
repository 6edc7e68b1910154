"""The number of people at every node, from the sums of second derivatives that XGBoost writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leafgate.api import FileDisclosure, Floats, Ids
from leafgate.readers import LEAF, TreeIR, read_shape

SHAPE = read_shape("leafgate_plugins.xgboost")

CLOSE = 1e-5
"""Sums in single precision are off by this part."""

ROUNDING = 0.02
"""A number of people may be off by so much."""


def sizes(
    trees: tuple[TreeIR, ...],
    base: Sequence[float],
    objective: str,
    rounds: Ids | None,
    *,
    weighted: bool,
    max_step: float,
) -> tuple[tuple[TreeIR, ...], list[FileDisclosure]]:
    """The trees with the people on every node where the file has them, and what the sums disclose.

    In the first round everybody has the same second derivative: of the logistic loss p (1 - p), of softmax
    2 p (1 - p), p being the chance that the base gives (where a leaf has a number for each class, the sum over all of
    them), of squared errors 1, of Poisson's loss exp(base + max_step).
    Divided by it, the sums are numbers of people, if nobody weighed more than others; where the classes have weights
    (`weighted`), they are sums of these. Of gamma and Tweedie the people follow from the sum and the leaf's value.

    Source: XGBoost 3.2, src/objective/regression_loss.h, src/objective/multiclass_obj.cu.
    """
    if not any(tree.numbers for tree in trees):
        return trees, []
    first = int(rounds[1]) if rounds is not None and len(rounds) > 1 else 0
    result, whole = list(trees), objective in {"count:poisson", "reg:gamma", "reg:tweedie"}
    for i, tree in enumerate(trees):
        sums = tree.numbers[0].values if tree.numbers else None
        each = _second_derivative(base, objective, tree.output, max_step)
        everywhere = each == 1.0
        if sums is not None and each is not None and (i < first or everywhere) and len(sums) == tree.nodes:
            people = _people(tree, sums / each)
            whole |= people is not None
            result[i] = tree if people is None or weighted else replace(tree, size=people)
    return tuple(result), SHAPE.disclosed({"sizes": whole, "sum_hessian": True})


def _second_derivative(base: Sequence[float], objective: str, output: int | None, max_step: float) -> float | None:
    """That of anybody in the first round; None where it is not the same for everybody."""
    if objective in {"reg:squarederror", "reg:linear"}:
        return 1.0
    if objective in {"binary:logistic", "binary:logitraw"}:
        chance = 1 / (1 + np.exp(np.clip(-base[0], -25, 25)))
        return float(chance * (1 - chance))
    if objective == "count:poisson":
        return float(np.exp(np.clip(base[0] + max_step, -80, 80)))
    if objective.startswith("multi:") and (output is None or output < len(base)):
        parts = np.exp(np.array(base) - max(base))
        chances = parts / parts.sum()
        each = np.maximum(2 * chances * (1 - chances), 1e-12)
        return float(each.sum() if output is None else each[output])
    return None


def _people(tree: TreeIR, values: Floats) -> Floats | None:
    """The numbers as whole ones, if that is what they are and a node's children together have its own."""
    people = np.rint(values)
    inner = np.flatnonzero(tree.feature != LEAF)
    if (people < 0).any() or (abs(values - people) > np.maximum(ROUNDING, CLOSE * people)).any() or people[0] < 1:
        return None
    below = np.concatenate([tree.low[inner], tree.high[inner]])
    if len(below) and (below.min() < 0 or below.max() >= tree.nodes):
        return None
    return people if (people[tree.low[inner]] + people[tree.high[inner]] == people[inner]).all() else None
