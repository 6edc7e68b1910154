"""Questions about a maximum entropy problem: its solution, the truth in its terms, whether an engine was called."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from leafgate import NoReleaseError, PolicyError, Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import AdversaryKnowledge, BuildResult, Leaf, Node, TreeBuilder, children
from leafgate.kernel.release import Level, Publish
from leafgate_plugins.maxent.attack import describe_split_constraint
from leafgate_plugins.maxent.problem import build as modelling
from leafgate_plugins.maxent.problem.problem import EntropyMaximum, Problem, SolveSettings
from leafgate_plugins.maxent.solve import active_set
from leafgate_plugins.maxent.solve.active_set import solve
from oracles import Path, path_of, persons

Floats = NDArray[np.float64]


def built(builder: TreeBuilder, table: Table, level: Level = "counts") -> Release | None:
    """What the builder grows on the table, published at a level; None where it refuses."""
    try:
        draft = builder.build(table, np.random.default_rng(0))
    except (NoReleaseError, PolicyError):  # a requirement may be about secrets that are not there
        return None
    return published(BuildResult.of(draft).release, Publish(leaves=level, measure=True), builder.measure_options)


def words_of(problem: Problem) -> list[str]:
    """Each split constraint of the only tree in words."""
    (choices,), (tree,) = problem.split_constraints, problem.trees
    return [describe_split_constraint(choices, i, tree) for i in range(len(choices))]


def problem_of(release: Release, known: AdversaryKnowledge, *, internal: bool = True, members: bool = True) -> Problem:
    return modelling.build_model(release, known, internal=internal, members=members).problem


def answer(
    release: Release, known: AdversaryKnowledge, *, internal: bool = True, solver: str = "structured", starts: int = 2
) -> EntropyMaximum:
    """The attack's solution, by one engine."""
    return solve(problem_of(release, known, internal=internal), SolveSettings(solver, starts, 120.0))


def solved(problem: Problem) -> EntropyMaximum:
    """The attack's solution of a problem, by the structured engine."""
    return solve(problem, SolveSettings("structured", 2, 60.0))


def believed(problem: Problem, people: Floats) -> Floats:
    """p(class | public record), a row for each record."""
    values = np.zeros((len(problem.weight), problem.classes))
    np.add.at(values, problem.strata.row, people)
    return values / problem.weight[:, None]


@contextlib.contextmanager
def no_engine() -> Iterator[None]:
    """Whoever calls an engine in here fails."""
    called = AssertionError("an engine was called")
    ours, theirs = "leafgate_plugins.maxent.solve.interior_point._iterate", "leafgate_plugins.maxent.solve.gekko.solve"
    with patch(ours, side_effect=called), patch(theirs, side_effect=called):
        yield


def in_processes(patch: pytest.MonkeyPatch) -> None:
    """Have several processes search, however small the problem is."""
    patch.setattr(active_set, "MIN_CELLS_FOR_PROCESSES", 0)
    patch.setattr(os, "cpu_count", lambda: 2)


def truth_in(problem: Problem, release: Release, table: Table, members: Table | None = None) -> Floats:
    """How many people of `table` really are in each cell of the problem.

    With `members`, the trees were learned from these people, all of them in `table`.
    """
    people = np.zeros((len(problem.strata), problem.classes))
    _add(people, problem, release, table if members is None else members, 1)
    if members is not None:
        outsiders = np.full((len(table), len(release.trees)), -1)
        _add(people, problem, release, table, 1, outsiders)
        _add(people, problem, release, members, -1, np.full((len(members), len(release.trees)), -1))
    return people


def _add(
    people: Floats, problem: Problem, release: Release, table: Table, sign: int, leaf: NDArray[np.int64] | None = None
) -> None:
    strata = problem.strata
    leaf = leaves_of(release, table) if leaf is None else leaf
    public = [column.name for column in problem.public.schema.columns]
    number = {tuple(one.values()): i for i, one in enumerate(persons(problem.public.frame))}
    row = [number[tuple(one[name] for name in public)] for one in persons(table.frame)]
    codes = [table.codes(name) for name in strata.value]
    member = np.zeros(len(strata), dtype=bool) if strata.member is None else strata.member
    values = [each.tolist() for each in strata.value.values()]
    items = zip(strata.row.tolist(), member.tolist(), strata.leaf.tolist(), *values, strict=True)
    place = {(row, inside, tuple(at), *map(int, rest)): i for i, (row, inside, at, *rest) in enumerate(items)}
    of_class = table.codes(release.target)
    for i, weight in enumerate(table.weight.tolist()):
        inside = strata.member is not None and bool((leaf[i] >= 0).any())
        stratum = place[row[i], inside, tuple(leaf[i].tolist()), *(int(code[i]) for code in codes)]
        people[stratum, of_class[i]] += sign * weight


def leaves_of(release: Release, table: Table) -> NDArray[np.int64]:
    """The number of everyone's leaf in each tree, from left to right; -1 for who falls through."""
    found = []
    for tree in release.trees:
        number: dict[Path, int] = {path: i for i, path in enumerate(leaf_paths(tree))} | {None: -1}
        found.append([number[path_of(tree, person)] for person in persons(table.frame)])
    return np.array(found, dtype=np.int64).reshape(len(release.trees), len(table)).T


def leaf_paths(node: Node, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The ways to the leaves of a tree, from left to right."""
    if isinstance(node, Leaf):
        yield path
    for i, child in enumerate(children(node)):
        yield from leaf_paths(child, (*path, i))
