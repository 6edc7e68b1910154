"""Which tests an adversary can prove were candidates at a node, from what is published of the algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from leafgate.induction.measures import Measure
from leafgate.release import Release
from leafgate.schema import Schema
from leafgate.tree import Fan, Node, children, columns_asked

ORDINARY = frozenset({"measure", "average_gain", "min_leaf", "pruned"})
KADET = frozenset({"measure", "average_gain", "k", "pruned"})
HARMLESS = frozenset({"min_split"})
"""Facts that bear on which nodes are split, and not on what a node is split by."""


@dataclass(frozen=True)
class Rules:
    """How tests competed: by `measure`, if two sons (a cut: both) had `min_leaf` people and all had k or nobody.

    `fans` says whether categorical columns competed value by value, `sizes` whether the number of
    people in each branch is known.
    """

    measure: Measure
    min_leaf: int = 1
    k: int = 1
    fans: bool = True
    sizes: bool = True


Verdict = tuple[Rules | None, str]


def rules_of(release: Release, schema: Schema, *, members: bool = True) -> Verdict:
    """What can be proved of the candidates; None, and why, when nothing can."""
    told = release.selection
    if told is None:
        return None, "the selection measure is not public"
    facts = set(told) - HARMLESS
    if facts not in (ORDINARY, KADET) or told["measure"] not in ("gain", "gini", "gain_ratio"):
        return None, "what is told of the algorithm does not say which tests competed"
    if told["average_gain"] and told["measure"] == "gain_ratio":
        return None, "a filter by average gain decided which tests competed, and who passed it is not known"
    sizes = members and all(schema[name].public for tree in release.trees for name in columns_asked(tree))
    if not sizes and (release.publish.leaves != "counts" or told["measure"] == "gain_ratio"):
        return None, "tests on unknown columns leave the number of people at the nodes open"
    rules = Rules(told["measure"], int(told.get("min_leaf", 1)), int(told.get("k", 1)), _by_values(release), sizes)
    unprovable = _unprovable(rules, release, schema)
    return (None, unprovable) if unprovable else (rules, "")


def _unprovable(rules: Rules, release: Release, schema: Schema) -> str:
    if not rules.sizes and rules.min_leaf > 1:
        return "whether the sons had enough people is not known"
    if "k" in (release.selection or {}) and set(release.guarantee) != {"k"}:
        return "which tests were admissible depends on the secrets"
    if rules.k > 1 and (not rules.sizes or schema.target.public):
        return "which tests were admissible depends on unknown cells"
    return ""


def _by_values(release: Release) -> bool:
    """Has every branch of every categorical test one value?"""
    waiting: list[Node] = list(release.trees)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Fan) and (node.other is not None or any(len(b.values) > 1 for b in node.branches)):
            return False
        waiting.extend(children(node))
    return True
