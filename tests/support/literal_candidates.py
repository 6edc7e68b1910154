"""What a learner must have thought of: every test that was provably on offer where a tree asks another."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from leafgate import Release
from leafgate.api import CategoricalSplit, Column, Leaf, Node, NumericSplit, children
from oracles import Cell, Person, nodes, way

Rows = tuple[int, ...]
Parts = tuple[Rows, ...]

KNOWN_FACTS = frozenset({"measure", "average_gain", "min_leaf", "min_split", "pruned", "k"})
"""The selection facts whose meaning is known; another might be a filter."""

SAME_FLOAT32 = 1e-7
"""Learners that see float32 (scikit-learn) take numbers no further apart for one."""


@dataclass(frozen=True)
class Candidate:
    """A test that was on offer: its column, for a number the highest that goes low, and its sons' records."""

    column: str
    parts: Parts
    at: float | None = None


@dataclass(frozen=True)
class Comparison:
    """At one node `factor` x gain of `candidate` is at most the gain of what is asked, `asked` being its sons."""

    measure: Literal["entropy", "gini"]
    column: str
    asked: Parts
    candidate: Candidate
    factor: float = 1.0

    @property
    def rows(self) -> Rows:
        return tuple(sorted(row for part in self.asked for row in part))


def comparisons(release: Release, people: Sequence[Person], weight: Sequence[int]) -> list[Comparison]:
    """Every comparison that the learner's own account proves, none when it leaves room for a filter."""
    facts = release.selection
    if facts is None or not _understood(release, facts):
        return []
    found: list[Comparison] = []
    for tree in release.trees:
        for node, rows in _inner(tree, people):
            asked = _by_answer(rows, [way(node, people[row][node.column]) for row in rows])
            if None not in asked and len(asked) > 1:
                offered = _offered(release, tree, people, weight, rows)
                found += _compared(str(facts["measure"]), node, tuple(asked.values()), offered, weight)
    return found


def _understood(release: Release, facts: Mapping[str, object]) -> bool:
    """Can every candidate be told from the public columns?"""
    if (
        not set(facts) <= KNOWN_FACTS
        or not {"measure", "average_gain"} <= set(facts)
        or not {"min_leaf", "k"} & set(facts)
    ):
        return False
    if facts["measure"] not in {"gain", "gini", "gain_ratio"} or (
        facts["measure"] == "gain_ratio" and facts["average_gain"]
    ):
        return False
    public = all(
        release.schema[n.column].public for tree in release.trees for n in nodes(tree) if not isinstance(n, Leaf)
    )
    refuses_by_secret = "k" in facts and (set(release.guarantee) > {"k"} or release.schema.target.public or not public)
    return not refuses_by_secret


def _inner(tree: Node, people: Sequence[Person]) -> Iterator[tuple[NumericSplit | CategoricalSplit, Rows]]:
    """The inner nodes that somebody reaches, with their records."""
    waiting: list[tuple[Node, Rows]] = [(tree, tuple(range(len(people))))]
    while waiting:
        node, rows = waiting.pop()
        if not isinstance(node, Leaf) and rows:
            yield node, rows
            for i, child in enumerate(children(node)):
                waiting.append((child, tuple(row for row in rows if way(node, people[row][node.column]) == i)))


def _by_answer(rows: Rows, answers: Sequence[Hashable]) -> dict[Hashable, Rows]:
    found: dict[Hashable, Rows] = {}
    for row, answer in zip(rows, answers, strict=True):
        found[answer] = (*found.get(answer, ()), row)
    return found


def _offered(
    release: Release, tree: Node, people: Sequence[Person], weight: Sequence[int], rows: Rows
) -> list[Candidate]:
    """The tests of public columns that separate these records' people and that no filter refused."""
    facts = release.selection or {}
    found: list[Candidate] = []
    for column in release.schema.features:
        if column.public and column.numeric:
            found += _cuts(column, tree, people, rows)
        elif column.public and not _groups_values(tree):
            parts = _by_answer(rows, [people[row][column.name] for row in rows])
            found.append(Candidate(column.name, tuple(parts.values())))
    return [each for each in found if _allowed(each, facts, weight)]


def _groups_values(tree: Node) -> bool:
    """Does some test send several values one way?"""
    fans = [node for node in nodes(tree) if isinstance(node, CategoricalSplit)]
    return any(fan.default is not None or any(len(b.values) > 1 for b in fan.branches) for fan in fans)


def _cuts(column: Column, tree: Node, people: Sequence[Person], rows: Rows) -> Iterator[Candidate]:
    """A cut between every two numbers that follow each other; a missing cell is below all numbers."""
    single = any(isinstance(node, NumericSplit) and node.float32 for node in nodes(tree))
    numbers = {row: _number(people[row][column.name], single) for row in rows}
    for low, high in pairwise(sorted(set(numbers.values()))):
        if not single or high > low + SAME_FLOAT32:
            parts = _by_answer(rows, [numbers[row] <= low for row in rows])
            yield Candidate(column.name, tuple(parts.values()), low)


def _number(cell: Cell, single: bool) -> float:
    if cell is None:
        return -math.inf
    return float(np.float32(cell)) if single else float(cell)


def _allowed(candidate: Candidate, facts: Mapping[str, object], weight: Sequence[int]) -> bool:
    """Are there two sons with people enough, and under k-anonymity none with too few?"""
    sizes = [sum(weight[row] for row in part) for part in candidate.parts]
    if "k" in facts:
        return len(sizes) >= 2 and min(sizes) >= int(str(facts["k"]))
    return sum(size >= int(str(facts["min_leaf"])) for size in sizes) >= 2


def _compared(
    measure: str,
    node: NumericSplit | CategoricalSplit,
    asked: Parts,
    offered: Sequence[Candidate],
    weight: Sequence[int],
) -> Iterator[Comparison]:
    """The node's test against all others that separate its people differently.

    By gain ratio a number competes with the cut that *gains* most, not with the one of the best
    ratio. So of a number's own cuts the gains compare; and against another test each cut has at
    most that cut's gain, whose split information is at most the largest there is.
    """
    for each in offered:
        if {frozenset(part) for part in each.parts} == {frozenset(part) for part in asked}:
            continue
        factor = 1.0
        if measure == "gain_ratio" and not (isinstance(node, NumericSplit) and each.column == node.column):
            rivals = [other for other in offered if other.column == each.column]
            largest = max(split_information(rival.parts, weight) for rival in rivals)
            factor = split_information(asked, weight) / largest
        yield Comparison("gini" if measure == "gini" else "entropy", node.column, asked, each, factor)


def split_information(parts: Parts, weight: Sequence[int]) -> float:
    """The entropy in nats of which son a person goes to."""
    sizes = [sum(weight[row] for row in part) for part in parts]
    return -sum(size / sum(sizes) * math.log(size / sum(sizes)) for size in sizes)
