"""Tests of a tree on plain lists of people: what separates whom, what it gains, what becomes of it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from leafgate import Table
from leafgate.api import Branch, CategoricalSplit, Column, Leaf, Node, NumericSplit, Schema
from oracles import Cell, People

NOTHING = 1e-12
Measure = Literal["gain", "gain_ratio", "gini"]


@dataclass(frozen=True)
class Question:
    """A column asked on one level of its hierarchy, or at a threshold (missing numbers are low)."""

    column: Column
    level: int = 0
    at: float | None = None

    def answer(self, cell: Cell) -> Hashable:
        if self.at is not None:
            return "low" if cell is None or float(cell) <= self.at else "high"
        if self.level == 0 or self.column.hierarchy is None:
            return cell
        return self.column.hierarchy.groups[None if cell is None else str(cell)][self.level - 1]

    def parts(self, people: People) -> dict[Hashable, People]:
        """The people by their answers; nobody, no part."""
        found: dict[Hashable, People] = {}
        for person, n in people:
            found.setdefault(self.answer(person[self.column.name]), []).append((person, n))
        return found


def depth(column: Column) -> int:
    """How many levels a column can be asked on beyond the values themselves; only public ones have any."""
    return column.hierarchy.depth if column.hierarchy is not None and column.public else 0


def size(people: People) -> int:
    return sum(n for _, n in people)


def class_counts(people: People, schema: Schema) -> dict[str, int]:
    """People in each class."""
    counts, target = dict.fromkeys(schema.classes, 0), schema.target.name
    for person, n in people:
        counts[str(person[target])] += n
    return counts


def impurity(people: People, schema: Schema, measure: Measure) -> float:
    """Entropy in bits, or gini."""
    shares = [n / size(people) for n in class_counts(people, schema).values() if n]
    if measure == "gini":
        return 1 - sum(share**2 for share in shares)
    return -sum(share * math.log2(share) for share in shares)


def exact_gain(people: People, question: Question, schema: Schema, measure: Measure) -> float:
    left = sum(size(part) * impurity(part, schema, measure) for part in question.parts(people).values())
    return impurity(people, schema, measure) - left / size(people)


def gain(people: People, question: Question, schema: Schema, measure: Measure) -> float:
    """What the question gains a person, to 12 decimals so that ties are ties."""
    return float(np.round(exact_gain(people, question, schema, measure), 12))


def worth(people: People, question: Question, schema: Schema, measure: Measure) -> float:
    """The gain, or the gain over the split information."""
    if measure != "gain_ratio":
        return gain(people, question, schema, measure)
    shares = [size(part) / size(people) for part in question.parts(people).values()]
    information = -sum(share * math.log2(share) for share in shares)
    if information <= NOTHING:
        return 0.0
    return float(np.round(exact_gain(people, question, schema, measure) / information, 12))


def thresholds(column: Column, people: People, table: Table) -> list[Question]:
    """Cuts after each number of these people, midway to the next number of the whole table."""
    mine = {-math.inf if (cell := person[column.name]) is None else float(cell) for person, _ in people}
    everyone = set(table.frame[column.name].dropna().tolist())
    floor = column.bounds[0] if column.bounds else math.inf
    found = []
    for number in sorted(mine)[:-1]:
        following = min(other for other in everyone if other > number)
        at = min(floor, following) - 1 if math.isinf(number) else (number + following) / 2
        found.append(Question(column, at=at))
    return found


def best_cut(cuts: Sequence[Question], people: People, schema: Schema, measure: Measure) -> list[Question]:
    """The lowest of the cuts that gain most, if there are any."""
    return sorted(cuts, key=lambda cut: (-gain(people, cut, schema, measure), cut.at))[:1]


def node_of(question: Question, below: Mapping[Hashable, tuple[tuple[str | None, ...], Node]]) -> Node:
    """The question as a tree that reads like the core's; `below` has the values and the node of each answer."""
    column = question.column
    if question.at is not None:
        missing: Literal["low"] | None = "low" if column.missing else None
        return NumericSplit(column.name, question.at, below["low"][1], below["high"][1], missing)
    return CategoricalSplit(column.name, tuple(Branch(values, node) for values, node in below.values()))


def shape(node: Node) -> Hashable:
    """A tree in one way of writing: the order of branches and of their values does not matter."""
    if isinstance(node, Leaf):
        return node.label, tuple((node.counts or {}).items())
    if isinstance(node, NumericSplit):
        return node.column, node.at, node.missing, shape(node.low), shape(node.high)
    branches = frozenset((frozenset(branch.values), shape(branch.node)) for branch in node.branches)
    return node.column, branches, None if node.default is None else shape(node.default)
