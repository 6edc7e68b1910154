"""The candidate tests that provably competed at every node of a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse as sp

from leafgate.algorithms.induction.splits import Measure
from leafgate.algorithms.routing import NOWHERE
from leafgate.api import (
    CategoricalSplit,
    Floats,
    Ids,
    NumericSplit,
    Release,
    Schema,
    Table,
    columns_asked,
)
from leafgate.kernel.tree import iterate_nodes
from leafgate_plugins.maxent.problem.split_constraints import (
    NodeCells,
    SplitConstraints,
    same_split,
    split_information_ratios,
)
from leafgate_plugins.maxent.problem.strata import Strata
from leafgate_plugins.maxent.problem.tree_index import NodeMembership, Tests, TreeIndex, node_membership, sum_strata

SKLEARN_FEATURE_THRESHOLD = 1e-7
"""Numbers closer than this are one to scikit-learn."""


def split_constraints(
    walked: TreeIndex, strata: Strata, tree: int, public: Table, schema: Schema, weight: Floats, rules: CandidateRules
) -> SplitConstraints | None:
    """Every internal constraint of a tree; None when it lets somebody fall through, as no learner would.

    `weight` are the people of each stratum, which is known where `rules.sizes`.
    """
    leaf = strata.leaf[:, tree]
    inside = leaf != NOWHERE
    if not inside[strata.member].all() if strata.member is not None else not inside.all():
        return None
    places = node_membership(walked, leaf)
    coarse = any(isinstance(inner.node, NumericSplit) and inner.node.float32 for inner in walked.inner)
    cells = _cells(places, public, strata.row, schema, rules, coarse=coarse)
    child_sums = sum_strata(places, places.branch, len(strata))
    whole = sp.csr_array((np.ones(len(places.node)), (places.node, places.stratum)), (len(walked.inner), len(strata)))
    tests = _tests(cells, cells.matrix @ weight, rules)
    ratio = np.ones(len(tests.node))
    if rules.measure == "gain_ratio":
        ratio = split_information_ratios(walked, cells, tests, child_sums, weight)
    other = ~same_split(cells, child_sums, tests) & ~np.isnan(ratio)
    tests, ratio, gini = tests.select(other), ratio[other], rules.measure == "gini"
    return SplitConstraints(
        cells,
        tests.node,
        tests.segment,
        tests.cut_after,
        child_sums.matrix,
        child_sums.node,
        whole,
        ratio,
        gini=gini,
        tree=tree,
    )


def _codes(public: Table, name: str, *, coarse: bool) -> Ids:
    """A public column as codes in the order of its values; missing numbers lie below all.

    `coarse` are the numbers of scikit-learn, to which those closer than 1e-7 in 32 bits are one.
    """
    if not public.schema[name].numeric:
        return public.codes(name)
    numbers = np.nan_to_num(public.numbers(name), nan=-np.inf)
    distinct, code = np.unique(numbers.astype(np.float32) if coarse else numbers, return_inverse=True)
    if not coarse:
        return code.astype(np.int64)
    apart = np.append(0, np.cumsum(np.diff(distinct) > SKLEARN_FEATURE_THRESHOLD))
    return np.asarray(apart[code], dtype=np.int64)


def _cells(
    places: NodeMembership, public: Table, row: Ids, schema: Schema, rules: CandidateRules, *, coarse: bool
) -> NodeCells:
    columns = [one for one in schema.features if one.public]
    empty = np.zeros(0, dtype=np.int64)
    matrices, segments, nodes, numbers = [sp.csr_array((0, len(row)))], [empty], [empty], [empty]
    for number, one in enumerate(columns):
        if one.numeric or rules.fans:
            added = sum_strata(places, _codes(public, one.name, coarse=coarse)[row[places.stratum]], len(row))
            node, segment = np.unique(added.node, return_inverse=True)
            matrices.append(added.matrix)
            segments.append(segment + sum(map(len, nodes)))
            nodes.append(node)
            numbers.append(np.full(len(node), number))
    names = tuple(one.name for one in columns)
    cuts = np.array([one.numeric for one in columns], dtype=bool)
    column = np.concatenate(numbers)
    stacked = sp.csr_array(sp.vstack(matrices, format="csr"))
    return NodeCells(stacked, np.concatenate(segments), np.concatenate(nodes), column, cuts[column], names)


def _tests(cells: NodeCells, people: Floats, rules: CandidateRules) -> Tests:
    """Every test that competed: its children have enough people, as far as that can be known."""
    start, length = cells.start[:-1], np.diff(cells.start)
    position = np.arange(len(cells.segment))
    last = position == (cells.start[1:] - 1)[cells.segment]
    if not rules.sizes:
        people = np.ones(len(people))
    total = np.bincount(cells.segment, weights=people, minlength=len(start))
    low = people.cumsum() - (people.cumsum() - people)[start][cells.segment]
    high = total[cells.segment] - low
    enough = max(rules.min_leaf, rules.k)
    cut = cells.cuts[cells.segment] & ~last & (low >= enough) & (high >= enough)
    big = np.bincount(cells.segment, weights=people >= rules.min_leaf, minlength=len(start)) >= 2
    small = np.bincount(cells.segment, weights=people < rules.k, minlength=len(start)) > 0
    fan = np.flatnonzero(~cells.cuts & big & ~small & (length > 1))
    segment = np.concatenate([fan, cells.segment[cut]])
    return Tests(cells.node[segment], segment, np.concatenate([np.full(len(fan), -1), position[cut]]))


ORDINARY = frozenset({"measure", "average_gain", "min_leaf", "pruned"})
KADET = frozenset({"measure", "average_gain", "k", "pruned"})
HARMLESS = frozenset({"min_split"})
"""Facts that bear on which nodes are split, and not on what a node is split by."""


@dataclass(frozen=True)
class CandidateRules:
    """How tests competed: by `measure`, if two children (a cut: both) had `min_leaf` people and all had k or nobody.

    `fans` says whether categorical columns competed value by value, `sizes` whether the number of
    people in each branch is known.
    """

    measure: Measure
    min_leaf: int = 1
    k: int = 1
    fans: bool = True
    sizes: bool = True


Verdict = tuple[CandidateRules | None, str]


def candidate_rules(release: Release, schema: Schema, *, members: bool = True) -> Verdict:
    """What can be proved of the candidates; None, and why, when nothing can."""
    selection = release.selection
    if selection is None:
        return None, "the selection measure is not public"
    facts = set(selection) - HARMLESS
    if facts not in (ORDINARY, KADET) or selection["measure"] not in ("gain", "gini", "gain_ratio"):
        return None, "what is told of the algorithm does not say which tests competed"
    if selection["average_gain"] and selection["measure"] == "gain_ratio":
        return None, "a filter by average gain decided which tests competed, and who passed it is not known"
    sizes = members and all(schema[name].public for tree in release.trees for name in columns_asked(tree))
    if not sizes and (release.publish.leaves != "counts" or selection["measure"] == "gain_ratio"):
        return None, "tests on unknown columns leave the number of people at the nodes open"
    rules = CandidateRules(
        selection["measure"], int(selection.get("min_leaf", 1)), int(selection.get("k", 1)), _by_values(release), sizes
    )
    unprovable = _unprovable(rules, release, schema)
    return (None, unprovable) if unprovable else (rules, "")


def _unprovable(rules: CandidateRules, release: Release, schema: Schema) -> str:
    if not rules.sizes and rules.min_leaf > 1:
        return "whether the children had enough people is not known"
    if "k" in (release.selection or {}) and set(release.guarantee) != {"k"}:
        return "which tests were admissible depends on the secrets"
    if rules.k > 1 and (not rules.sizes or schema.target.public):
        return "which tests were admissible depends on unknown cells"
    return ""


def _by_values(release: Release) -> bool:
    """Has every branch of every categorical test one value?"""
    tests = (node for node in iterate_nodes(*release.trees) if isinstance(node, CategoricalSplit))
    return all(test.default is None and all(len(each.values) == 1 for each in test.branches) for test in tests)
