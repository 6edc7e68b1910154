"""The rows on each leaf of a foreign model's trees, and the sums of what it predicts that follow from the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from leafgate.algorithms.certainty import LEARNING_RATES
from leafgate.algorithms.node_counts import TreeNumbers
from leafgate.ir.model import ModelIR, TreeIR
from leafgate.ir.node_numbers import NO_SAMPLING, NumberKind
from leafgate.kernel.arrays import Floats, Ids
from leafgate.kernel.training_rows import Bags, TrainingRows
from leafgate.kernel.tree import Node, tree_arrays
from leafgate.models.exposure.scores import PENALTIES, chance_of

RELATIVE = 2e-6
"""Sums in single precision are off by this part."""
ABSOLUTE = 1e-6
"""And sums of a few people by this number."""
BY_ACCIDENT = 1e-6
"""A law is believed if sums fit it by accident less often than this, all laws that were tried together."""
FEW_LEAVES = 4
"""Of fewer leaves a law that is searched for is not believed: rate and penalty fit two of them often."""
OF_MEDIANS = frozenset({"absolute_error", "mae"})
"""Criteria of trees whose leaves predict no mean."""
OF_SQUARES = frozenset({"squared_error", "ls", "regression", "regression_l2", "l2", "mse", "mean_squared_error"})
"""What libraries call the loss under which a tree's leaves are means of what is left to predict."""
PENALTY_NAMES = ("l2_regularization", "reg_lambda", "lambda_l2")
"""What libraries call the penalty on the square of scores."""
MAX_BAG_DRAWS = 50_000_000
"""Rows times trees, and draws times trees: where there are more, no bags are drawn again, which would take seconds."""


def training_rows(
    model: ModelIR, trees: Sequence[tuple[Node, TreeNumbers]], values: Sequence[str]
) -> TrainingRows | None:
    """What the file states of the rows of its trees; None where it states nothing of all of them.

    Args:
        model: as its file has it.
        trees: its trees over the policy's columns, and where their nodes are in them.
        values: the policy's values of its classes, in their order.

    Source: Friedman, "Greedy Function Approximation", 2001, section 4.5; Chen and Guestrin, "XGBoost", 2016, formula 5:
    the first leaf of n people, k of them of the class, has rate * (k - n p) / (n p (1 - p) s + penalty).
    """
    are_draws = model.sampling.draws is not None
    if not are_draws and replace(model.sampling, held_out=0.0) != NO_SAMPLING:
        return None  # rows that were set aside to know when to stop are in none of the trees
    rows: list[Floats | None] = []
    drawn: list[Floats | None] = []
    sums: list[Floats | None] = []
    outputs: list[str | None] = []
    seen = set[int | None]()
    for tree, (node, numbers) in zip(model.trees, trees, strict=True):
        leaf = _leaf_of_file(tree, node, numbers)
        once, own = (None, None) if leaf is None else _rows(tree, leaf, are_draws=are_draws)
        rows.append(once)
        drawn.append(own)
        is_first = tree.output not in seen
        seen.add(tree.output)
        output = (len(values) - 1 if tree.output is None else tree.output) if values else None
        outputs.append(None if output is None else values[output])
        if leaf is None or own is None or tree.values.shape[1] != 1:
            sums.append(None)
            continue
        scores = tree.values[leaf, 0]
        if model.values == "values":
            sums.append(_of_numbers(model, scores, own, is_first=is_first))
        elif model.values == "scores" and is_first and not are_draws:
            sums.append(_of_class(model, tree.output, scores, own))
        else:
            sums.append(None)
    if all(each is None for each in drawn):
        return None
    bags = None if model.base else _bags(model)
    start: tuple[None, ...] = (None,) * (1 if model.base else 0)
    return TrainingRows(
        people=_people(model, drawn) if bags is None else bags.n_rows,
        on_leaves=(*start, *rows),
        drawn=(*start, *drawn) if are_draws else (),
        sums=(*start, *sums),
        outputs=(*start, *outputs),
        bags=bags,
    )


def _people(model: ModelIR, drawn: Sequence[Floats | None]) -> int | None:
    """How many rows there were: as many as each tree has, or as it drew of all of them."""
    totals = {round(float(each.sum())) for each in drawn if each is not None}
    return totals.pop() if len(totals) == 1 and model.sampling.draws in {None, 1.0} else None


def _bags(model: ModelIR) -> Bags | None:
    """The rows that the seeds in the file draw; None unless each root has as many draws, of as many different rows."""
    seeds, roots = model.sampling.bag_seeds, [_root(tree) for tree in model.trees]
    draws = {each[0] for each in roots}
    n_draws = int(draws.pop() or 0) if len(draws) == 1 else 0
    n_rows = model.sampling.bag_rows or (n_draws if model.sampling.draws == 1.0 else 0)
    n_trees = len(seeds)
    if n_trees != len(roots) or min(n_draws, n_rows, n_trees) < 1 or max(n_draws, n_rows) * n_trees > MAX_BAG_DRAWS:
        return None
    bags = Bags(seeds=seeds, n_rows=n_rows, n_draws=n_draws)
    agree = all(np.count_nonzero(bags.of_tree(number)) == rows for number, (_, rows) in enumerate(roots))
    return bags if agree else None


def _root(tree: TreeIR) -> tuple[float | None, float | None]:
    """The draws at the root of a tree, and how many different rows these are; None for what the file does not have."""
    draws, rows = _numbers(tree, "draws"), _numbers(tree, "rows")
    return None if draws is None else float(draws[0]), None if rows is None else float(rows[0])


def _leaf_of_file(tree: TreeIR, node: Node, numbers: TreeNumbers) -> Ids | None:
    """The node of the file that each leaf of the release is: shape (n_leaves,).

    None where nobody knows; the release may have left out leaves that no value of the columns leads to.
    """
    n_leaves = tree_arrays(node).n_leaves
    found = np.full(n_leaves, -1)
    if len(numbers.first) != tree.nodes:
        return None
    there = tree.leaves[numbers.last[tree.leaves] > numbers.first[tree.leaves]]
    found[numbers.first[there]] = there
    return found if len(there) == n_leaves and (found >= 0).all() else None


def _rows(tree: TreeIR, leaf: Ids, *, are_draws: bool) -> tuple[Floats | None, Floats | None]:
    """The rows on each leaf, each once and as often as it was drawn; None where the file has no whole numbers."""
    rows, draws = _numbers(tree, "rows"), _numbers(tree, "draws")
    if are_draws:
        return None if rows is None else rows[leaf], None if draws is None else draws[leaf]
    if rows is None:  # else `size` may be what they weigh
        rows = tree.counts.sum(axis=1) if tree.size is None and tree.counts is not None else tree.size
    whole = rows is not None and np.isfinite(rows).all() and bool((rows == np.rint(rows)).all())
    return (rows[leaf], rows[leaf]) if rows is not None and whole and rows.any() else (None, None)


def _numbers(tree: TreeIR, kind: NumberKind) -> Floats | None:
    numbers = [each for each in tree.numbers if each.kind == kind and each.values.ndim == 1]
    found = [each.values for each in numbers if each.members is None and len(each.values) == tree.nodes]
    return found[0] if found else None


def _setting(model: ModelIR, names: Sequence[str]) -> float | None:
    parameters = {} if model.learner is None else model.learner.parameters
    found = [parameters[name] for name in names if isinstance(parameters.get(name), int | float)]
    return float(found[0]) if found else None


def _of_numbers(model: ModelIR, scores: Floats, rows: Floats, *, is_first: bool) -> Floats | None:
    """The sum of the numbers of each leaf's rows, where the leaf's number is their mean or a step towards it."""
    parameters = {} if model.learner is None else model.learner.parameters
    if model.combine in {"one", "mean_per_tree"}:
        return None if parameters.get("criterion") in OF_MEDIANS else scores * rows
    rate, penalty = _setting(model, ("learning_rate",)), _setting(model, PENALTY_NAMES) or 0.0
    loss = parameters.get("loss", parameters.get("objective"))
    if not is_first or not rate or (loss is not None and loss not in OF_SQUARES):
        return None
    weight = rows + penalty
    if model.base:
        return np.asarray(scores / rate * weight + model.base[0] * rows)
    base = float((scores * weight).sum() / weight.sum())  # the first scores hold it
    return np.asarray((scores - base) / rate * weight + base * rows)


def _of_class(model: ModelIR, output: int | None, scores: Floats, rows: Floats) -> Floats | None:
    """How many of each leaf's rows have the class of a first tree's scores, by a law that makes them whole numbers.

    None where no law does, or several do which make them different ones.
    """
    rate, penalty = _setting(model, ("learning_rate",)), _setting(model, PENALTY_NAMES)
    k = len(model.classes)
    rates = LEARNING_RATES if rate is None else (rate,)
    penalties = PENALTIES if penalty is None else (penalty,)
    laws = [*product(rates, penalties, (1.0,) if k == 2 else (2.0, 1.0, k / (k - 1)))]
    if len(laws) > 1 and len(scores) < FEW_LEAVES:
        return None
    fitting: Floats | None = None
    for each_rate, each_penalty, bend in laws:
        base, p = _start(model, output, scores, rows, each_penalty, bend)
        steps = (scores - base) / each_rate * (rows * bend * p * (1 - p) + each_penalty)
        found = steps + rows * p
        near, off = np.rint(found), RELATIVE * (abs(steps) + rows * p) + ABSOLUTE
        fits = (abs(found - near) <= off) & (near >= 0) & (near <= rows)
        if fits.all() and np.log(np.minimum(2 * off, 1)).sum() < np.log(BY_ACCIDENT / len(laws)):
            if fitting is not None and (fitting != near).any():
                return None
            fitting = near
    return fitting


def _start(
    model: ModelIR, output: int | None, scores: Floats, rows: Floats, penalty: float, bend: float
) -> tuple[float, float]:
    """What is in the first tree's scores that everybody has, and the chance of the class that it starts from.

    Where the file has no base the scores hold it, the link of the classes' shares: a first tree's steps sum to 0, each
    by its weight.
    """

    def chance(base: float) -> float:
        odds = float(np.exp(np.clip(base, -50, 50)))
        return odds / (1 + odds) if len(model.classes) == 2 else min(odds, 1 - ABSOLUTE)

    if model.base or model.hessians is None or model.hessians.start is not None:
        return 0.0, chance_of(model, output)
    base = float((scores * rows).sum() / rows.sum())
    for _ in range(20):
        p = chance(base)
        weight = rows * bend * p * (1 - p) + penalty
        if not weight.any():
            break
        base = float((scores * weight).sum() / weight.sum())
    return base, chance(base)
