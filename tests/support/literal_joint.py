"""The maximum entropy problem of a tree that asks unknown columns, in full: p(class, all unknown cells | public row).

Zhu, Du, DBSec 2010, with the joint in place of p(x | q). Values only, no numbers; every class count published.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from leafgate import Release
from leafgate.api import AdversaryKnowledge, Leaf
from literal_maxent import Floats, Linear, Model
from literal_starting import unknowns_of
from maxent_questions import leaf_paths
from oracles import Path, Person, leaf_at, path_of, persons, way

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Joint:
    """`lives` are all combinations of the unknown cells; cells of p are (public row, life, class)."""

    weight: Floats
    lives: tuple[Person, ...]
    classes: tuple[str, ...]
    linear: tuple[Linear, ...]
    compared: tuple[tuple[tuple[Mask, ...], tuple[Mask, ...]], ...]
    gini: bool

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.weight), len(self.lives) * len(self.classes)


def joint_of(release: Release, known: AdversaryKnowledge, *, internal: bool) -> Joint:
    """Every unknown feature is varied, asked or not; rivals of a node are the public columns."""
    (tree,) = release.trees
    unknown = [column for column in known.schema.features if not column.public]
    lives: list[Person] = [
        dict(zip([column.name for column in unknown], cells, strict=True))
        for cells in product(*(column.domain for column in unknown))
    ]
    people = persons(known.records)
    paths = [[path_of(tree, person | life) for life in lives] for person in people]
    weight, classes = known.weight.astype(np.float64), release.classes
    linear = [
        Linear("row", _only(weight, row, len(lives) * len(classes)), "=", weight[row]) for row in range(len(people))
    ]
    for path in leaf_paths(tree):
        leaf = leaf_at(tree, path)
        assert leaf is not None
        assert leaf.counts is not None
        there = np.array([[other == path for other in mine] for mine in paths])
        for x, name in enumerate(classes):
            if there.any():
                coefficients = weight[:, None, None] * there[:, :, None] * (np.arange(len(classes)) == x)
                linear.append(Linear("counts", coefficients.reshape(len(weight), -1), "=", leaf.counts.get(name, 0)))
    compared = list(_compared(release, known, people, lives, paths)) if internal else []
    gini = (release.selection or {}).get("measure") == "gini"
    return Joint(weight, tuple(lives), classes, tuple(linear), tuple(compared), gini)


def _only(weight: Floats, row: int, size: int) -> Floats:
    return np.repeat((weight * (np.arange(len(weight)) == row))[:, None], size, axis=1)


def _compared(
    release: Release, known: AdversaryKnowledge, people: list[Person], lives: list[Person], paths: list[list[Path]]
) -> list[tuple[tuple[Mask, ...], tuple[Mask, ...]]]:
    """At every node: who takes each branch, and who has each value of a public column that splits differently."""
    found = []
    waiting: list[tuple[Any, tuple[int, ...]]] = [(release.trees[0], ())]
    while waiting:
        node, above = waiting.pop()
        if isinstance(node, Leaf):
            continue
        here = np.array([[path is not None and path[: len(above)] == above for path in mine] for mine in paths])
        asked = [here & _taking(node, i, people, lives) for i in range(len(node.branches))]
        for column in known.schema.features:
            if column.public and here.any():
                cells = [
                    here & (known.public.codes(column.name) == code)[:, None] for code in range(len(column.domain))
                ]
                sides = {mask.tobytes() for mask in cells if mask.any()}
                if len(sides) > 1 and sides != {mask.tobytes() for mask in asked if mask.any()}:
                    found.append((tuple(asked), tuple(mask for mask in cells if mask.any())))
        waiting += [(branch.node, (*above, i)) for i, branch in enumerate(node.branches)]
    return found


def _taking(node: Any, branch: int, people: list[Person], lives: list[Person]) -> Mask:
    return np.array([[way(node, (person | life)[node.column]) == branch for life in lives] for person in people])


def solve_joint(joint: Joint) -> Floats | None:
    """p(class, life | row), by IPOPT through casadi; None where it is not content."""
    plain = Model(joint.weight, tuple(map(str, range(joint.shape[1]))), joint.linear, (), np.zeros(joint.shape), True)
    known = unknowns_of(plain)
    x = casadi.SX.sym("x", int(known.free.sum()))
    cells = np.full(joint.shape, 0.0, dtype=object)
    cells[known.free] = [x[i] for i in range(int(known.free.sum()))]
    people = (cells * joint.weight[:, None]).reshape(len(joint.weight), len(joint.lives), len(joint.classes))
    inner = [
        sum(_impurity(people, m, joint.gini) for m in other) - sum(_impurity(people, m, joint.gini) for m in asked)
        for asked, other in joint.compared
    ]
    weight = np.broadcast_to(joint.weight[:, None], joint.shape)[known.free]
    problem = {
        "x": x,
        "f": casadi.dot(casadi.DM(weight) * x, casadi.log(x)),
        "g": casadi.vertcat(casadi.DM(known.equal) @ x, *inner),
    }
    quiet = {"print_level": 0, "sb": "yes", "bound_relax_factor": 0.0, "tol": 1e-10, "constr_viol_tol": 1e-10}
    options: dict[str, Any] = {"ipopt": quiet | {"s_max": 1e10}, "print_time": False, "show_eval_warnings": False}
    solver = casadi.nlpsol("solver", "ipopt", problem, options)
    lower = np.concatenate([known.is_, np.zeros(len(inner))])
    upper = np.concatenate([known.is_, np.full(len(inner), np.inf)])
    found = solver(x0=np.full(int(known.free.sum()), 1 / joint.shape[1]), lbx=0.0, lbg=lower, ubg=upper)
    p = np.zeros(joint.shape)
    p[known.free] = np.asarray(found["x"]).ravel()
    return p.reshape(people.shape) if solver.stats()["success"] else None


def _impurity(people: Any, mask: Mask, gini: bool) -> Any:
    """People x impurity of a group."""
    totals = [sum(people[:, :, x][mask]) for x in range(people.shape[2])]
    held = [total for total in totals if not isinstance(total, int | float)]
    size = sum(held)
    if gini:
        return size - sum(n * n for n in held) / size if held else 0.0
    return -sum(n * casadi.log(n / size) for n in held)
