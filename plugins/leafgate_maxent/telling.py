"""What a belief says of itself: evidence, and words for a group of people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from leafgate.report import Private
from leafgate_maxent.conflict import kinds
from leafgate_maxent.modelling import Model
from leafgate_maxent.outcome import Outcome
from leafgate_maxent.problem import Problem
from leafgate_maxent.walk import Ids
from leafgate_maxent.words import choice_words, leaf_words

SHOWN = 10
"""How many of the choices that say most are told."""
LEAVES = 4
"""How many of the leaves that a group can reach are told."""


def explained(model: Model, groups: Ids) -> Callable[[int], str]:
    """What the release says of a group: the leaves its people can reach, of the first tree."""

    def explain(group: int) -> str:
        problem = model.problem
        row = model.people.one_of(int(np.flatnonzero(groups == group)[0]))
        leaves = np.unique(problem.strata.leaf[problem.strata.row == row, :1]).tolist()
        more = f" or {len(leaves) - LEAVES} more" if len(leaves) > LEAVES else ""
        return " or ".join(leaf_words(problem.trees[0], leaf) for leaf in leaves[:LEAVES]) + more

    return explain


def evidence_of(model: Model, outcome: Outcome) -> dict[str, Any]:
    """How the belief came about, and how sure it is; what depends on single people's cells is for auditors."""
    problem = model.problem
    constraints = kinds(problem.linear) | {"internal": sum(map(len, problem.choices))}
    told: dict[str, Any] = {
        "solver": outcome.engine,
        "convex": outcome.convex,
        "gap": outcome.gap,
        "constraints": Private({kind: count for kind, count in constraints.items() if count}),
        "imposed": Private(dict(outcome.active)),
        "missed": Private(dict(outcome.missed)),
        "entropy": Private(outcome.entropy),
        "entropy_at_most": Private(outcome.bound),
    }
    told |= {f"without_{kind}": reason for kind, reason in problem.left_out.items()}
    if outcome.checked is not None:
        told["engines_apart"] = outcome.checked
    if not outcome.convex:
        told["starts"] = Private(list(outcome.found))
    if outcome.binding:
        told["because"] = Private(_because(problem, outcome))
    return told


def _because(problem: Problem, outcome: Outcome) -> list[Mapping[str, Any]]:
    """The choices of the tree that say most: the dearest internal constraints."""
    told: list[Mapping[str, Any]] = []
    for each in outcome.binding[:SHOWN]:
        choices = problem.choices[each.tree]
        words = choice_words(choices, each.constraint, problem.trees[choices.tree])
        told.append({"choice": words, "price": each.price})
    return told
