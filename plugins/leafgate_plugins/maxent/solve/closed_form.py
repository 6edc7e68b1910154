"""The closed form: the optimum when the leaves of one tree are all that is known."""

from __future__ import annotations

import numpy as np

from leafgate.api import Floats
from leafgate_plugins.maxent.problem.leaf_constraints import LinearConstraints
from leafgate_plugins.maxent.problem.problem import Problem


def closed_form(problem: Problem) -> tuple[Floats, bool]:
    """People by stratum and class: everyone in a leaf has the leaf's shares; and whether that is the optimum.

    What a leaf does not publish is divided evenly. It is the optimum of a problem without internal
    constraints when everyone's leaf is known and nothing but one tree, read by its leaves, is.
    """
    strata, weight = problem.strata, problem.reference
    people = np.where(problem.allowed, weight[:, None], 0)
    people *= (weight / np.maximum(people.sum(axis=1), 1e-300))[:, None]
    leaves = [linear for linear in problem.linear if linear.kind in ("leaf count", "leaf rate")]
    if leaves and len(strata):
        result = _leaf_shares(problem, leaves[0])
        for_sure = np.where(np.isnan(result), 0, result)
        others = np.where(np.isnan(result) & problem.allowed, 1.0, 0.0)
        left = np.maximum(1 - for_sure.sum(axis=1), 0)
        shares = (
            for_sure + others * np.divide(left, others.sum(axis=1), where=others.any(axis=1), out=0 * left)[:, None]
        )
        known = ~np.isnan(result).all(axis=1)
        people[known] = (weight[:, None] * shares)[known]
    return people, _is_exact(problem)


def _leaf_shares(problem: Problem, leaves: LinearConstraints) -> Floats:
    """For each stratum the shares that its leaf publishes; NaN where it publishes none."""
    group = problem.strata.leaf[:, leaves.tree]
    size = np.bincount(group[group >= 0], weights=problem.reference[group >= 0])
    values = np.full((len(size) + 1, problem.classes), np.nan)
    inside = leaves.about[:, 0] < len(size)
    leaf, x = leaves.about[inside, 0], leaves.about[inside, 1]
    values[leaf, x] = leaves.bound[inside] / np.maximum(size[leaf], 1e-300)
    return np.asarray(values[group])


def _is_exact(problem: Problem) -> bool:
    strata = problem.strata
    one_each = len(strata) == len(problem.weight) and strata.member is None and (strata.share == 1).all()
    kinds = {linear.kind for linear in problem.linear} - {"row", "leaf count", "leaf rate", "label"}
    exact = all(linear.equal for linear in problem.linear if linear.kind in ("leaf count", "leaf rate"))
    return bool(one_each and len(problem.trees) <= 1 and not kinds and exact and problem.allowed.all())
