"""Reduce the problem: substitute fixed cells, aggregate symmetric strata, keep the active constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from leafgate.api import Floats, Ids, Mask
from leafgate_plugins.maxent.presolve.fixed_cells import PEOPLE_TOLERANCE, component_numbers
from leafgate_plugins.maxent.problem.problem import Problem
from leafgate_plugins.maxent.problem.split_constraints import SplitConstraints, splitmix64
from leafgate_plugins.maxent.solve.subproblem import NonlinearConstraints, Subproblem

Marks = NDArray[np.uint64]


LEAF_EQUATIONS = frozenset({"leaf count", "leaf rate"})
"""Constraints of leaves that are imposed from the start where they are equations."""
OTHER_EQUATIONS = frozenset({"background", "label accuracy"})
"""Constraints of other groups of people that are imposed from the start where they are equations."""


def symmetry_classes(problem: Problem, blocks: sp.csr_array, least: sp.csr_array, fixed: Floats) -> tuple[Ids, Ids]:
    """For each stratum, and each public row, the number of its symmetry class.

    Strata are alike when every active constraint asks the same of them and the same cells are
    settled; rows when their strata are. So leaves of which nothing is imposed do not keep their people apart. Classes
    are found by sums of random 64-bit marks.
    """
    strata, classes = problem.strata, problem.classes
    rng = np.random.default_rng(1)
    mark = splitmix64(np.ascontiguousarray(strata.share).view(np.uint64).copy())
    trees = sorted({linear.tree for linear in problem.linear if linear.equal and linear.kind in LEAF_EQUATIONS})
    for column in (*strata.leaf.T[trees], *strata.value.values()):
        mark = splitmix64(mark + (column + 2).astype(np.uint64))
    if strata.member is not None:
        mark = splitmix64(mark + strata.member.astype(np.uint64))
    mark += _mark_sums(sp.csr_array(blocks.T), rng)
    equations = [linear.matrix for linear in problem.linear if linear.equal and linear.kind in OTHER_EQUATIONS]
    about = sp.csr_array(sp.vstack([*equations, least], format="csr").T)
    bits = _mark_sums(about, rng, about.data).reshape(-1, classes) + np.isnan(fixed).reshape(-1, classes)
    for x in range(classes):
        mark = splitmix64(mark * np.uint64(3) + bits[:, x])
    row = np.zeros(len(problem.weight), dtype=np.uint64)
    np.add.at(row, strata.row, splitmix64(mark))
    rows = np.unique(row, return_inverse=True)[1]
    together = splitmix64(mark) + splitmix64(rows[strata.row].astype(np.uint64))
    return np.unique(together, return_inverse=True)[1].astype(np.int64), rows.astype(np.int64)


def _mark_sums(matrix: sp.csr_array, rng: np.random.Generator, numbers: Floats | None = None) -> Marks:
    """For each row the sum of the marks of its columns, each times its number."""
    marks = rng.integers(1, 2**63, size=matrix.shape[1], dtype=np.uint64)
    parts = marks[matrix.indices]
    if numbers is not None:
        parts = splitmix64(parts + np.ascontiguousarray(numbers).view(np.uint64))
    total = np.zeros(matrix.shape[0], dtype=np.uint64)
    np.add.at(total, np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), parts)
    return total


@dataclass(frozen=True)
class ActiveSet:
    """The constraints that are imposed: of each tree's internal ones, and of the linear inequalities, some."""

    splits: Sequence[Ids]
    linear: Sequence[Ids]

    def __len__(self) -> int:
        return sum(map(len, self.splits)) + sum(map(len, self.linear))


@dataclass(frozen=True)
class ReducedProblem:
    """What is left of a problem: `people = fixed + expand @ x`, cells numbered as in Linear.

    `part` is what an engine solves, all components together; `component` numbers each variable's.
    """

    part: Subproblem
    fixed: Floats
    expand: sp.csr_array
    gather: sp.csr_array
    shape: tuple[int, int]
    component: Ids
    chosen: ActiveSet

    def people(self, x: Floats) -> Floats:
        """The whole solution."""
        return np.asarray(self.fixed + self.expand @ x).reshape(self.shape)

    def variables(self, people: Floats) -> Floats:
        """The other way round."""
        return np.asarray(self.gather @ people.ravel())


def reduce_problem(problem: Problem, active: ActiveSet, start: Floats, fixed: Floats) -> ReducedProblem:
    """The problem with only the active inequalities, with symmetric strata merged.

    `start` are people[s, x] to start from, `fixed` the cells that are settled (else NaN).
    """
    blocks, coefficients = _blocks(problem, active)
    least = _stacked([linear.matrix[rows] for linear, rows in zip(problem.linear, active.linear, strict=True)], problem)
    kinds, rows = symmetry_classes(problem, blocks, least, fixed)
    free = np.isnan(fixed)
    expand, reference, limit = _variables(problem, kinds, free)
    base = np.where(free, 0, fixed)
    equal, equal_bound = _equalities(problem, rows, expand, base)
    spread = sp.csr_array(sp.kron(blocks, sp.eye_array(problem.classes), format="csr"))
    gini = any(choices.gini for choices in problem.split_constraints)
    node, curvature = _nested_nodes(problem, active)
    curved = NonlinearConstraints(
        sp.csr_array(spread @ expand),
        spread @ base,
        coefficients,
        problem.classes,
        gini,
        _largest_shares(problem, blocks),
        node=node,
        curvature=curvature,
    )
    bounds = [linear.bound[rows] for linear, rows in zip(problem.linear, active.linear, strict=True)]
    least_bound = np.concatenate([np.zeros(0), *bounds]) - least @ base
    gather = sp.csr_array((expand != 0).astype(np.float64).T)
    part = Subproblem(
        reference,
        limit,
        np.asarray(gather @ start.ravel()),
        equal,
        equal_bound,
        sp.csr_array(least @ expand),
        least_bound,
        curved,
        convex=problem.settled,
    )
    return ReducedProblem(part, base, expand, gather, (len(problem.strata), problem.classes), _components(part), active)


def _largest_shares(problem: Problem, blocks: sp.csr_array) -> Floats:
    """In each block of strata the largest share a class can have, by the rates of the leaves."""
    people = blocks @ (problem.reference[:, None] * _shares_by_rates(problem))
    size = np.maximum(blocks @ problem.reference, PEOPLE_TOLERANCE)
    return np.asarray(np.minimum(people.max(axis=1, initial=0) / size, 1.0))


def _shares_by_rates(problem: Problem, *, varying: bool = False) -> Floats:
    """For each stratum's leaf the largest share of each class, by the rates of the leaves.

    With `varying` it is 0 for classes whose rate is published, and no class has more than the leaf's label.
    """
    share = np.ones((len(problem.strata), problem.classes))
    for linear in problem.linear:
        if linear.kind == "leaf rate" and linear.equal and (linear.matrix.data > 0).all():
            rate = np.full((len(problem.trees[linear.tree].leaves) + 1, problem.classes), np.nan)
            size = linear.matrix @ np.repeat(problem.reference, problem.classes)
            rate[linear.about[:, 0], linear.about[:, 1]] = linear.bound / np.maximum(size, PEOPLE_TOLERANCE)
            result = rate[problem.strata.leaf[:, linear.tree]]
            known = np.nansum(result, axis=1, keepdims=True)
            rest = 1 - known
            if varying and any(each.kind == "label" and each.tree == linear.tree for each in problem.linear):
                of_label = (~np.isnan(result)).sum(axis=1, keepdims=True) == 1
                rest = np.where(of_label, np.minimum(rest, known + LABEL_TOLERANCE), rest)
            share = np.minimum(share, np.where(np.isnan(result), rest, 0 if varying else result))
    return share


def _unpublished_shares(problem: Problem) -> Floats:
    """For each stratum the share of its leaf's people whose class is none of those with a published rate."""
    varying = np.ones(len(problem.strata))
    for linear in problem.linear:
        if linear.kind == "leaf rate" and linear.equal and (linear.matrix.data > 0).all():
            known = np.zeros(len(problem.trees[linear.tree].leaves) + 1)
            size = linear.matrix @ np.repeat(problem.reference, problem.classes)
            np.add.at(known, linear.about[:, 0], linear.bound / np.maximum(size, PEOPLE_TOLERANCE))
            varying = np.minimum(varying, np.maximum(1 - known[problem.strata.leaf[:, linear.tree]], 0))
    return varying


LABEL_TOLERANCE = 1e-6
"""Share by which a class may be above the label of its leaf where a bound is computed."""


def _nested_nodes(problem: Problem, active: ActiveSet) -> tuple[Ids, Floats]:
    """The node of each active split constraint, and the curvature of its branches for `certificate.dual_caps`.

    Both are empty where the constraints are of several trees, or where the number of people at a node, or of those with
    one value there, is not known.
    """
    trees = [tree for tree, chosen in enumerate(active.splits) if len(chosen)]
    if len(trees) != 1 or (problem.strata.share != 1).any() or problem.strata.member is not None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    choices = problem.split_constraints[trees[0]]
    node = choices.node[active.splits[trees[0]]]
    if not choices.gini:
        return node, np.ones(len(node))
    nodes, number = np.unique(node, return_inverse=True)
    free = _free_branches(problem, choices, nodes)
    people = problem.reference[:, None] * _shares_by_rates(problem, varying=True)
    error = np.minimum(people.sum(axis=1), problem.reference * _unpublished_shares(problem))
    size = np.maximum(choices.children @ problem.reference, PEOPLE_TOLERANCE)
    largest = (choices.children @ people).max(axis=1, initial=0)
    curvature = np.minimum(2 * largest, choices.children @ error) / size
    return node, np.array([curvature[free[choices.parents[[each]].indices]].max() for each in nodes])[number]


def _free_branches(problem: Problem, choices: SplitConstraints, nodes: Ids) -> Ids:
    """For each stratum the largest branch around it, as a row of `children`, in which none of some nodes lies."""
    columns = sp.csc_array(choices.children)
    holds = np.zeros(columns.shape[0], dtype=bool)
    for node in nodes.tolist():
        stratum = int(choices.parents[[node]].indices[0])
        above = [number for number, _ in problem.trees[choices.tree].inner[node].path]
        rows = columns.indices[columns.indptr[stratum] : columns.indptr[stratum + 1]]
        holds[rows[np.isin(choices.child_node[rows], above)]] = True
    size = np.where(holds, -1.0, choices.children @ np.ones(columns.shape[1]))
    entries = sp.coo_array(choices.children)
    order = np.lexsort((-entries.row, size[entries.row]))
    largest = np.zeros(columns.shape[1], dtype=np.int64)
    largest[entries.col[order]] = entries.row[order]
    return largest


def _blocks(problem: Problem, active: ActiveSet) -> tuple[sp.csr_array, sp.csr_array]:
    found = [choices.blocks(chosen) for choices, chosen in zip(problem.split_constraints, active.splits, strict=True)]
    n_strata = len(problem.strata)
    blocks = sp.vstack([sp.csr_array((0, n_strata)), *(blocks for blocks, _ in found)], format="csr")
    coefficients = sp.block_diag([sp.csr_array((0, 0)), *(c for _, c in found)], format="csr")
    return sp.csr_array(blocks), sp.csr_array(coefficients)


def _stacked(matrices: Sequence[sp.csr_array], problem: Problem) -> sp.csr_array:
    width = len(problem.strata) * problem.classes
    return sp.csr_array(sp.vstack([sp.csr_array((0, width)), *matrices], format="csr"))


def _variables(problem: Problem, kinds: Ids, free: Mask) -> tuple[sp.csr_array, Floats, Floats]:
    """A variable for each free class of each kind of stratum; alike strata have parts by their reference.

    With each variable's reference, and the people it could hold at most.
    """
    classes = problem.classes
    cells = np.flatnonzero(free)
    stratum, x = cells // classes, cells % classes
    keys, variable = np.unique(kinds[stratum] * classes + x, return_inverse=True)
    total = np.bincount(kinds, weights=problem.reference)
    part = problem.reference[stratum] / total[kinds[stratum]]
    expand = sp.csr_array((part, (cells, variable)), shape=(len(free), len(keys)))
    people = np.bincount(kinds, weights=problem.weight[problem.strata.row])
    return expand, np.asarray(total[keys // classes]), np.asarray(people[keys // classes])


def _equalities(problem: Problem, rows: Ids, expand: sp.csr_array, base: Floats) -> tuple[sp.csr_array, Floats]:
    matrices, bounds = [sp.csr_array((0, expand.shape[1]))], [np.zeros(0)]
    for linear in problem.linear:
        if not linear.equal:
            continue
        matrix, bound = linear.matrix, linear.bound
        if linear.kind == "row":
            adding = sp.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))))
            matrix, bound = sp.csr_array(adding @ matrix), adding @ bound
        left = sp.csr_array(matrix @ expand)
        open_rows = np.flatnonzero(np.diff(left.indptr))
        matrices.append(left[open_rows])
        bounds.append((bound - matrix @ base)[open_rows])
    return sp.csr_array(sp.vstack(matrices, format="csr")), np.concatenate(bounds)


def _components(part: Subproblem) -> Ids:
    """For each variable the number of the part of the problem it is in: no constraint joins two parts."""
    curved = part.curved
    blocks = sp.csr_array(abs(curved.coefficients) @ _by_block(curved))
    joined = sp.csr_array(sp.vstack([part.equality, part.inequality, blocks], format="csr"))
    return component_numbers(joined)[1]


def _by_block(curved: NonlinearConstraints) -> sp.csr_array:
    n = curved.matrix.shape[0] // max(curved.classes, 1)
    adding = sp.kron(sp.eye_array(n), np.ones((1, curved.classes)), format="csr")
    return sp.csr_array(adding @ abs(curved.matrix))


def restrict(part: Subproblem, chosen: Mask) -> Subproblem:
    """The part of some variables, with the constraints that are about them; no constraint is about both."""
    curved = part.curved
    mine = sp.csr_array(curved.matrix[:, chosen])
    rows = curved.involving(chosen)
    used = np.asarray((abs(curved.coefficients[rows]) > 0).sum(axis=0)).ravel() > 0
    cells = np.repeat(used, curved.classes)
    equal, equal_bound = _rows_involving(part.equality, part.equality_bound, chosen)
    least, least_bound = _rows_involving(part.inequality, part.inequality_bound, chosen)
    plus = curved.plus if curved.plus is None else sp.csr_array(curved.plus[rows][:, chosen])
    return replace(
        part,
        cost=part.costs[chosen],
        duals=part.duals[rows] if len(part.duals) else part.duals,
        reference=part.reference[chosen],
        limit=part.limit[chosen],
        start=part.start[chosen],
        equality=equal,
        equality_bound=equal_bound,
        inequality=least,
        inequality_bound=least_bound,
        curved=replace(
            curved,
            matrix=sp.csr_array(mine[cells]),
            offset=curved.offset[cells],
            coefficients=sp.csr_array(curved.coefficients[rows][:, used]),
            top=curved.top[used],
            node=curved.node[rows] if len(curved.node) else curved.node,
            curvature=curved.curvature[rows] if len(curved.node) else curved.curvature,
            plus=plus,
        ),
    )


def hold(part: Subproblem, x: Floats, chosen: Mask) -> Subproblem:
    """The part of some variables, started at x, with every other variable held at its value in x."""
    others = np.where(chosen, 0.0, x)
    held = replace(
        part,
        start=x,
        equality_bound=part.equality_bound - part.equality @ others,
        inequality_bound=part.inequality_bound - part.inequality @ others,
        curved=replace(part.curved, offset=part.curved.offset + part.curved.matrix @ others),
    )
    return restrict(held, chosen)


def _rows_involving(matrix: sp.csr_array, bound: Floats, chosen: Mask) -> tuple[sp.csr_array, Floats]:
    mine = sp.csr_array(matrix[:, chosen])
    rows = np.flatnonzero(np.diff(mine.indptr))
    return sp.csr_array(mine[rows]), bound[rows]
