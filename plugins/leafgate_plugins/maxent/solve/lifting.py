"""A part written so that every curved function is of one variable: what modelling languages solve best.

Variables are shares, not people. Besides the part's own there are the people of each block by class, the
size of each block and the slack of each linear inequality; linear equations tie them to the part's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse as sp

from leafgate.api import Floats, Ids, Mask
from leafgate_plugins.maxent.presolve.fixed_cells import component_numbers, independent_rows
from leafgate_plugins.maxent.solve.subproblem import Subproblem

INSIDE = 1e-3
"""The least share a start may have: an interior point starts inside."""


@dataclass(frozen=True)
class LiftedProblem:
    """`matrix @ y == right`, y >= 0, of which the first are the part's own variables, `scale` people each.

    `counts` and `sizes` number the variables of each block, -1 where its people are settled: `settled`
    of `people`, how many the block has at the start.
    """

    part: Subproblem
    scale: Floats
    people: Floats
    counts: Ids
    sizes: Ids
    settled: Floats
    matrix: sp.csr_array
    right: Floats
    start: Floats

    def objective(self, names: Sequence[str], chosen: Ids) -> list[str]:
        """Terms whose sum is minus the entropy of some variables, per person, less what does not vary."""
        part = self.part
        own = chosen[chosen < len(part)]
        reference, scale = part.reference[own], self.scale[own]
        whole = max(1.0, reference.sum())
        ratio = np.divide(scale, reference, where=reference > 0, out=np.ones(len(own)))
        curved = np.where(reference > 0, scale / whole, 0)
        linear = scale * (part.costs[own] + np.log(ratio)) / whole
        items = [names[j] for j in own.tolist()]
        logs = [_times(c, f"{name}*log({name})") for name, c in zip(items, curved.tolist(), strict=True) if c]
        return logs + [_times(c, name) for name, c in zip(items, linear.tolist(), strict=True) if c]

    def curved(self, names: Sequence[str], chosen: Ids) -> list[list[str]]:
        """For each chosen curved constraint that is not settled, terms whose sum is not to be negative."""
        found = [self._curved(i, names) for i in chosen.tolist()]
        return [terms for terms in found if terms]

    def _curved(self, i: int, names: Sequence[str]) -> list[str]:
        curved = self.part.curved
        blocks = curved.coefficients[[i]].tocoo()
        plus = None if curved.plus is None else curved.plus[[i]].tocoo()
        if (self.sizes[blocks.col] < 0).all() and (plus is None or not plus.nnz):
            return []
        weight = blocks.data * self.people[blocks.col]
        whole = np.abs(weight).max(initial=0) or 1.0
        terms: list[str] = []
        for block, factor in zip(blocks.col.tolist(), (weight / whole).tolist(), strict=True):
            terms += self._impurity(block, factor, names)
        if plus is not None:
            added = plus.data * self.scale[plus.col] / whole
            terms += [_times(a, names[j]) for j, a in zip(plus.col.tolist(), added.tolist(), strict=True)]
        return terms

    def _impurity(self, block: int, factor: float, names: Sequence[str]) -> list[str]:
        """The impurity of a block, per person of it, times a factor; nothing where the block is empty."""
        settled = self.settled[block].tolist()
        shares = [
            names[j] if j >= 0 else repr(p)
            for j, p in zip(self.counts[block].tolist(), settled, strict=True)
            if j >= 0 or p > 0
        ]
        size = names[self.sizes[block]] if self.sizes[block] >= 0 else repr(sum(settled))
        if not shares or not factor:
            return []
        if self.part.curved.gini:
            return [_times(factor, size), *(_times(-factor, f"{share}^2/{size}") for share in shares)]
        return [_times(factor, f"{size}*log({size})"), *(_times(-factor, f"{share}*log({share})") for share in shares)]


def _times(factor: float, term: str) -> str:
    return f"({factor!r})*{term}"


def lift(part: Subproblem) -> LiftedProblem:
    """The part with all that varies in a block, and all slack, as variables of their own."""
    curved, n = part.curved, len(part)
    scale = np.where(np.isfinite(part.limit) & (part.limit > 0), part.limit, np.maximum(1, part.start))
    at_start = curved.counts(part.start)
    people = np.maximum(1, at_start.sum(axis=1))
    free = (np.diff(curved.matrix.indptr) > 0).reshape(-1, curved.classes)
    open_blocks = free.any(axis=1)
    counts = np.where(free, n + np.cumsum(free).reshape(free.shape) - 1, -1)
    sizes = np.where(open_blocks, n + free.sum() + np.cumsum(open_blocks) - 1, -1)
    slack = np.maximum(1, np.abs(part.inequality_bound))
    short = np.maximum(part.inequality @ part.start - part.inequality_bound, 0)
    start = [part.start / scale, (at_start / people[:, None])[free], (at_start.sum(axis=1) / people)[open_blocks]]
    settled = np.where(free, 0, curved.offset.reshape(free.shape)) / people[:, None]
    matrix, right = _stacked(part, scale, (free, people, settled), slack)
    inside = np.maximum(np.concatenate([*start, short / slack]), INSIDE)
    return LiftedProblem(part, scale, people, counts, sizes, settled, matrix, right, inside)


def _stacked(
    part: Subproblem, scale: Floats, blocks: tuple[Mask, Floats, Floats], slack: Floats
) -> tuple[sp.csr_array, Floats]:
    """All linear equations: the part's own, people and sizes of blocks, inequalities with their slack."""
    free, people, settled = blocks
    rows, mine, several = independent_rows(part.equality), np.flatnonzero(free), np.flatnonzero(free.any(axis=1))
    per = np.repeat(people, part.curved.classes)[mine]
    adding = sp.csr_array((np.ones(len(mine)), (np.nonzero(free)[0], np.arange(len(mine)))), (len(free), len(mine)))
    largest = 1 / np.maximum(abs(part.equality[rows]).max(axis=1).toarray().ravel(), 1e-300)
    own = [
        _scaled(part.equality[rows], largest, scale),
        -_scaled(part.curved.matrix[mine], 1 / per, scale),
        sp.csr_array((len(several), len(part))),
        _scaled(part.inequality, 1 / slack, scale),
    ]
    tied = sp.block_diag([sp.csr_array((len(rows), 0)), _sizes(adding[several]), -sp.eye_array(len(slack))])
    bounds = [part.equality_bound[rows] * largest, part.curved.offset[mine] / per, settled.sum(axis=1)[several]]
    right = np.concatenate([*bounds, part.inequality_bound / slack])
    return sp.csr_array(sp.hstack([sp.vstack(own), tied], format="csr")), right


def _sizes(adding: sp.csr_array) -> sp.csr_array:
    """People of each block by class, then `size - people = what is settled`."""
    several, mine = adding.shape
    own = sp.vstack([sp.eye_array(mine), -adding])
    sizes = sp.vstack([sp.csr_array((mine, several)), sp.eye_array(several)])
    return sp.csr_array(sp.hstack([own, sizes], format="csr"))


def _scaled(matrix: sp.csr_array, left: Floats, right: Floats) -> sp.csr_array:
    return sp.csr_array(sp.diags_array(left) @ matrix @ sp.diags_array(right))


def make_elastic(part: Subproblem, relief: sp.csr_array, cost: Floats) -> Subproblem:
    """The part with further variables that make its curved constraints easier, at a cost.

    `relief` has a row a constraint and a column a new variable: what one unit of it adds. The prices
    of the constraints are then capped: `relief.T @ duals <= cost`.
    """
    n, more = len(part), len(cost)
    wide = sp.csr_array((len(part.curved), n))
    short = np.maximum(-part.curved.values(part.start), 0)
    columns = sp.csc_array(relief)
    need = np.maximum.reduceat(np.append(short[columns.indices], 0), columns.indptr[:-1]) if more else np.zeros(0)

    def widened(matrix: sp.csr_array) -> sp.csr_array:
        return sp.csr_array(sp.hstack([matrix, sp.csr_array((matrix.shape[0], more))], format="csr"))

    return replace(
        part,
        reference=np.concatenate([part.reference, np.zeros(more)]),
        limit=np.concatenate([part.limit, np.full(more, np.inf)]),
        start=np.concatenate([part.start, 1.1 * need + 0.1]),
        equality=widened(part.equality),
        inequality=widened(part.inequality),
        curved=replace(
            part.curved,
            matrix=widened(part.curved.matrix),
            plus=sp.csr_array(sp.hstack([wide, relief], format="csr")),
        ),
        cost=np.concatenate([part.costs, cost]),
    )


MIN_BATCH_VARIABLES = 500
"""Variables; smaller components are solved together, for starting the solver costs as much as so many."""


@dataclass(frozen=True)
class Batch:
    """Some variables, and the equations and curved constraints that are about them."""

    variables: Ids
    rows: Ids
    curved: Ids


def decompose_blocks(problem: LiftedProblem) -> Iterator[Batch]:
    """All variables, the largest components by themselves, small ones together."""
    curved = _involvement(problem)
    rows, variables = component_numbers(sp.vstack([problem.matrix, curved], format="csr"))
    size = np.bincount(variables, minlength=int(rows.max(initial=-1)) + 1)
    batch = _batch_numbers(size)
    for each in np.unique(batch[variables]):
        mine = batch[rows] == each
        cut = problem.matrix.shape[0]
        yield Batch(np.flatnonzero(batch[variables] == each), np.flatnonzero(mine[:cut]), np.flatnonzero(mine[cut:]))


def _involvement(problem: LiftedProblem) -> sp.csr_array:
    """Which variables each curved constraint is about, as far as equations do not say it."""
    curved, n = problem.part.curved, len(problem.start)
    varies = np.flatnonzero(problem.sizes >= 0)
    size = sp.csr_array((np.ones(len(varies)), (varies, problem.sizes[varies])), (len(problem.sizes), n))
    about = sp.csr_array(abs(curved.coefficients) @ size)
    if curved.plus is None:
        return about
    more = sp.csr_array((len(curved), n - len(problem.part)))
    return sp.csr_array(about + sp.hstack([abs(curved.plus), more], format="csr"))


def _batch_numbers(size: Ids) -> Ids:
    """For each component the number of its batch."""
    order = np.argsort(-size, kind="stable")
    batch = np.zeros(len(size), dtype=np.int64)
    number, held = 0, 0
    for each in order.tolist():
        if held and held + size[each] > MIN_BATCH_VARIABLES:
            number, held = number + 1, 0
        batch[each] = number
        held += int(size[each])
    return batch
