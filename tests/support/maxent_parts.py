"""Small parts of maximum entropy problems: of random tables, and one that is written out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse as sp

from leafgate import Table
from leafgate.algorithms.publication import published
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.release import Publish
from leafgate_plugins.baselines.builders import Id3
from leafgate_plugins.maxent.presolve.fixed_cells import fixed_cells
from leafgate_plugins.maxent.presolve.reduce import ActiveSet, reduce_problem
from leafgate_plugins.maxent.problem.build import build_model
from leafgate_plugins.maxent.problem.split_constraints import impurity
from leafgate_plugins.maxent.solve.closed_form import closed_form
from leafgate_plugins.maxent.solve.subproblem import NonlinearConstraints, Subproblem
from random_tables import categorical, table_of


def random_table(seed: int, rows: int = 60, values: int = 3, classes: int = 3) -> Table:
    """Rows of 1 to 4 people with four public columns and a secret class that has nothing to do with them."""
    rng = np.random.default_rng(seed)
    columns = [categorical(name, "quasi_identifier", values=[f"{name}{i}" for i in range(values)]) for name in "abcd"]
    columns.append(categorical("y", "class", "sensitive", values=[f"y{i}" for i in range(classes)]))
    codes = rng.integers(0, [*[values] * 4, classes], size=(rows, 5)).tolist()
    domains = [column.domain for column in columns]
    cells = [[domain[i] for domain, i in zip(domains, row, strict=True)] for row in codes]
    return table_of(columns, cells, rng.integers(1, 5, rows).tolist())


def parts(seed: int, *, gini: bool) -> Iterator[Subproblem]:
    """What is left of a random table's problem, its class counts published; none where its leaves break nothing."""
    table = random_table(seed)
    builder = Id3.model_validate({"measure": "gini" if gini else "gain", "min_split": 12})
    draft = builder.build(table, np.random.default_rng(0))
    release = published(draft, Publish(leaves="counts", measure=True), builder.measure_options)
    problem = build_model(release, grant_knowledge(table), internal=True).problem
    people, _ = closed_form(problem)
    broken = [np.flatnonzero(choices.slack(people) < -1e-7) for choices in problem.split_constraints]
    if sum(map(len, broken)):
        active = ActiveSet(broken, [np.zeros(0, dtype=np.int64) for _ in problem.linear])
        yield reduce_problem(problem, active, people, fixed_cells(problem)).part


def crossed_leaves(classes: int, *, gini: bool) -> Subproblem:
    """Two leaves of two rows each, all class counts known; a test that crosses them must not be too pure.

    Of the first leaf 30 and 10 people, of the second 10 and 30, fall on the two sides of the crossing test: it
    must split worse than it does where everyone has their leaf's distribution: a fifth of the way to not at all.
    """
    share = np.random.default_rng(classes).dirichlet(np.full(classes, 2.0), size=2) + 0.1 / classes
    share /= share.sum(axis=1, keepdims=True)
    size, leaf = np.array([30.0, 10.0, 10.0, 30.0]), np.array([0, 0, 1, 1])
    start = (size[:, None] * share[leaf]).ravel()
    one = sp.eye_array(classes)
    rows = sp.kron(sp.eye_array(4), np.ones((1, classes)))
    counts = sp.kron(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), one)
    sides = sp.csr_array(sp.kron(np.array([[1, 0, 1, 0], [0, 1, 0, 1]]), one))
    people = (sides @ start).reshape(2, classes)
    least = 0.8 * impurity(people, gini=gini).sum() + 0.2 * impurity(people.sum(axis=0), gini=gini).item()
    settled = np.full(classes, least / impurity(np.ones(classes), gini=gini).item())
    curved = NonlinearConstraints(
        matrix=sp.csr_array(sp.vstack([sides, sp.csr_array((classes, 4 * classes))])),
        offset=np.concatenate([np.zeros(2 * classes), settled]),
        coefficients=sp.csr_array(np.array([[1.0, 1.0, -1.0]])),
        classes=classes,
        gini=gini,
        top=np.ones(3),
    )
    equal = sp.csr_array(sp.vstack([rows, counts]))
    return Subproblem(
        reference=np.repeat(size, classes),
        limit=np.repeat(size, classes),
        start=start,
        equality=equal,
        equality_bound=equal @ start,
        inequality=sp.csr_array((0, 4 * classes)),
        inequality_bound=np.zeros(0),
        curved=curved,
        convex=True,
    )
