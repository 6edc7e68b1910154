"""The maximum entropy problem as it reads, for GEKKO: every cell a variable, every constraint written out.

Only cells that the leaves say are empty are left out, and it starts from what each leaf says of its people: without
either no solver gets anywhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gekko import GEKKO
from scipy import sparse as sp

from leafgate.api import Floats
from leafgate_plugins.maxent.presolve.fixed_cells import fixed_cells
from leafgate_plugins.maxent.problem.problem import Problem
from leafgate_plugins.maxent.problem.split_constraints import SplitConstraints
from leafgate_plugins.maxent.solve.closed_form import closed_form

LEAST = 1e-9
"""No share is below; there the logarithm ends."""
IPOPT = 3


def solve_naively(problem: Problem, time_limit: float) -> Floats:
    """People by stratum and class, by IPOPT; each unknown is the share p(x | q) of a class among a public row."""
    model = GEKKO(remote=False)
    try:
        people = np.repeat(problem.reference, problem.classes)
        filled = np.flatnonzero(fixed_cells(problem) != 0)
        start = closed_form(problem)[0].ravel() / people
        shares = {int(i): model.Var(value=max(float(start[i]), LEAST), lb=LEAST, ub=1) for i in filled}
        cells = {i: float(people[i]) * share for i, share in shares.items()}
        _linear(model, problem, cells)
        for choices in problem.split_constraints:
            _internal(model, choices, cells, problem)
        for i, p in shares.items():
            model.Minimize(float(people[i] / problem.weight.sum()) * p * model.log(p))
        model.options.SOLVER, model.options.MAX_TIME = IPOPT, time_limit
        model.solver_options = ["bound_relax_factor 0"]
        model.solve(disp=False)
        found = np.zeros(len(people))
        found[filled] = [people[i] * share.value[0] for i, share in shares.items()]
        return found.reshape(len(problem.strata), problem.classes)
    finally:
        model.cleanup()


def _linear(model: Any, problem: Problem, cells: dict[int, Any]) -> None:
    """One equation or inequality a row; of a leaf's counts one follows from the others and is left out."""
    for linear in problem.linear:
        matrix = sp.csr_array(linear.matrix)
        leaves = set()
        for i, bound in enumerate(linear.bound.tolist()):
            row = slice(matrix.indptr[i], matrix.indptr[i + 1])
            terms = [float(a) * cells[j] for a, j in _told(matrix, row) if j in cells]
            follows = linear.kind == "leaf count" and linear.about[i, 0] not in leaves
            if terms and follows:
                leaves.add(linear.about[i, 0])
            elif terms:
                total = model.sum(terms)
                model.Equation(total == bound if linear.equal else total >= bound)


def _internal(model: Any, choices: SplitConstraints, cells: dict[int, Any], problem: Problem) -> None:
    """E(N, T) <= E(N, W), each side the sum of its branches' people x entropy."""
    blocks, coefficients = choices.blocks(np.arange(len(choices)))
    worth = []
    for b in range(blocks.shape[0]):
        rows = blocks.indices[blocks.indptr[b] : blocks.indptr[b + 1]]
        size = float(problem.reference[rows].sum())
        held = [[cells[j] for j in (rows * problem.classes + x).tolist() if j in cells] for x in range(problem.classes)]
        counts = [model.Intermediate(model.sum(each)) for each in held if each]
        worth.append(model.Intermediate(size * math.log(size) - model.sum([n * model.log(n) for n in counts])))
    for i in range(len(choices)):
        row = slice(coefficients.indptr[i], coefficients.indptr[i + 1])
        model.Equation(model.sum([float(c) * worth[b] for c, b in _told(coefficients, row)]) >= 0)


def _told(matrix: sp.csr_array, row: slice) -> list[tuple[float, int]]:
    return list(zip(matrix.data[row].tolist(), matrix.indices[row].tolist(), strict=True))
