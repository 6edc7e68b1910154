"""Error-based pruning: a subtree goes when a leaf is expected to err no more."""

from __future__ import annotations

from statistics import NormalDist

from leafgate.algorithms.induction.growth import GrowingNode

SLACK = 0.1
"""Errors a leaf may be worse by and still replace its subtree (C4.5 and J48 have the same)."""


def pessimistic_errors(people: float, errors: float, confidence: float) -> float:
    """The errors to expect of a leaf that made `errors` among `people`: an upper confidence bound.

    `confidence` in (0, 0.5]: the smaller, the more pessimistic. Zero errors: n (1 - CF^(1/n));
    below one error interpolated; else the normal approximation with continuity correction.

    Source: Quinlan, "C4.5: Programs for Machine Learning", 1993, chapter 4, in the closed form that
    Weka's J48 uses.
    Departure: the paper's table of normal deviates is replaced by the exact inverse.
    """
    if people <= 0:
        return 0.0
    if errors < 1:
        none: float = people * (1 - confidence ** (1 / people))
        if errors == 0:
            return none
        return none + errors * (pessimistic_errors(people, 1, confidence) - none)
    if errors + 0.5 >= people:
        return people
    z: float = NormalDist().inv_cdf(1 - confidence)
    f = (errors + 0.5) / people
    spread: float = z * (f / people - f * f / people + z * z / (4 * people * people)) ** 0.5
    bound = (f + z * z / (2 * people) + spread) / (1 + z * z / people)
    return max(bound * people, errors)


def prune(root: GrowingNode, confidence: float) -> None:
    """Replace subtrees by leaves, bottom up, wherever a leaf's expected errors are no more.

    Only ever merges leaves. Subtree raising is left out: it
    may split groups of people that the grown tree keeps together.
    """
    expected: dict[GrowingNode, float] = {}
    for node in reversed(list(root.below())):
        as_leaf = pessimistic_errors(node.people, node.people - float(node.counts[node.label]), confidence)
        as_tree = sum(expected[son] for son in node.children)
        if node.children and as_leaf <= as_tree + SLACK:
            node.children, node.choice = [], None
        expected[node] = as_tree if node.children else as_leaf
