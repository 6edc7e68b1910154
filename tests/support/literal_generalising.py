"""Top-down specialisation and Mondrian as their papers and our departures read: slow, on plain lists of people.

Fung, Wang, Yu, "Top-Down Specialization for Information and Privacy Preservation", ICDE 2005; LeFevre, DeWitt,
Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from leafgate import Table
from leafgate.api import Column, Schema
from oracles import Cell, People, Person, people_of
from questions import NOTHING, Question, depth, impurity, size

Cells = tuple[Cell, ...]
"""Some of a column's cells: values in the domain's order, or the table's numbers in rising order (missing first)."""


def rank(cell: Cell) -> float:
    """Where a number stands; a missing one is below all others."""
    return -math.inf if cell is None else float(cell)


def all_cells(column: Column, people: People) -> Cells:
    """The domain, or the numbers that occur."""
    if column.values is not None:
        return column.domain
    return tuple(sorted({person[column.name] for person, _ in people}, key=rank))


def between(column: Column, low: Cell, high: Cell) -> float:
    """The threshold between two numbers of the table that follow each other."""
    assert high is not None
    if low is None:
        return min(column.bounds[0] if column.bounds else math.inf, float(high)) - 1
    return (float(low) + float(high)) / 2


def answers(column: Column, level: int, cells: Cells) -> dict[Hashable, Cells]:
    """Cells by their groups on a level."""
    found: dict[Hashable, Cells] = {}
    for cell in cells:
        answer = Question(column, level).answer(cell)
        found[answer] = (*found.get(answer, ()), cell)
    return found


def coarsest_parts(column: Column, cells: Cells) -> list[Cells]:
    """The values on the coarsest level that tells any of them apart, in the domain's order."""
    for level in range(depth(column), -1, -1):
        found = answers(column, level, cells)
        if len(found) > 1:
            return list(found.values())
    return []


def bystanders(person: Person, schema: Schema) -> Cell:
    """What divides people before anything else: their class, where it is public."""
    return person[schema.target.name] if schema.target.public else None


def smallest(people: People, schema: Schema) -> int:
    """The people in the smallest group that nothing can hide."""
    sizes: dict[Cell, int] = {}
    for person, n in people:
        sizes[bystanders(person, schema)] = sizes.get(bystanders(person, schema), 0) + n
    return min(sizes.values())


@dataclass(frozen=True)
class Part:
    """A value of the generalised table: a column, and the cells that are told as one."""

    name: str
    cells: Cells


class LiteralTds:
    """One run; `parts` are, column by column, what the table's cells are generalised to."""

    def __init__(self, table: Table, k: int) -> None:
        self.schema, self.people = table.schema, people_of(table)
        public = [column for column in self.schema.features if column.public]
        self.parts = [Part(column.name, all_cells(column, self.people)) for column in public]
        while refined := self.best(k):
            self.parts = refined

    def best(self, k: int) -> list[Part]:
        """The parts after the valid refinement with the best score, none if none is left."""
        now = self.least(self.parts)
        found: list[tuple[float, list[Part]]] = []
        for part in self.in_order():
            gained, after = self.gain(part, self.finer(part)), self.refined(part)
            if gained <= NOTHING or self.least(after) < k:
                continue
            lost = now - self.least(after)
            found.append((round(gained / lost if lost else gained, 12), after))
        return max(found, key=lambda scored: scored[0], default=(0.0, []))[1]

    def in_order(self) -> list[Part]:
        """The order that breaks ties: the policy's columns, then their cells."""

        def place(part: Part) -> tuple[int, int]:
            column = self.schema[part.name]
            return self.schema.features.index(column), all_cells(column, self.people).index(part.cells[0])

        return sorted(self.parts, key=place)

    def refined(self, part: Part) -> list[Part]:
        """All parts, one of them refined."""
        return [each for each in self.parts if each != part] + self.finer(part)

    def finer(self, part: Part) -> list[Part]:
        """What a part is refined to: the coarsest groups below it, or the two sides of the best cut."""
        column = self.schema[part.name]
        if not column.numeric:
            return [Part(part.name, cells) for cells in coarsest_parts(column, part.cells)]
        cuts = [[part.cells[:i], part.cells[i:]] for i in range(1, len(part.cells))]
        sides = [[Part(part.name, cells) for cells in cut] for cut in cuts]
        return max(sides, key=lambda cut: self.gain(part, cut), default=[])

    def gain(self, part: Part, finer: Sequence[Part]) -> float:
        """Bits a person among the people of the part."""
        mine = self.having(part)
        sons = [son for each in finer if (son := self.having(each))]
        if not mine or not sons:
            return 0.0
        left = sum(size(son) * impurity(son, self.schema, "gain") for son in sons)
        return round(impurity(mine, self.schema, "gain") - left / size(mine), 12)

    def having(self, part: Part) -> People:
        return [(person, n) for person, n in self.people if person[part.name] in part.cells]

    def least(self, parts: Sequence[Part]) -> int:
        """The people in the smallest group with equal generalised cells."""
        sizes: dict[Hashable, int] = {}
        for person, n in self.people:
            key = published_cells(person, parts, self.schema)
            sizes[key] = sizes.get(key, 0) + n
        return min(sizes.values())

    def groups(self, name: str) -> list[Cells]:
        """A column's cells as they are told together, in order."""
        return [part.cells for part in self.in_order() if part.name == name]

    def cuts(self, name: str) -> list[float]:
        """The thresholds of a column of numbers, rising."""
        runs, column = self.groups(name), self.schema[name]
        return [between(column, low[-1], high[0]) for low, high in pairwise(runs)]


def published_cells(person: Person, parts: Sequence[Part], schema: Schema) -> tuple[frozenset[Part], Cell]:
    """A person's generalised public cells, and the class where it is public."""
    mine = frozenset(part for part in parts if person[part.name] in part.cells)
    return mine, bystanders(person, schema)


@dataclass(frozen=True)
class Box:
    """People who cannot be told apart, and the cells that the cuts leave of each public column."""

    people: People
    cells: Mapping[str, Cells]


class LiteralMondrian:
    """One run; `boxes` in the order they are finished."""

    def __init__(self, table: Table, k: int) -> None:
        self.schema, self.people, self.k = table.schema, people_of(table), k
        self.public = [column for column in self.schema.features if column.public]
        self.cells = {column.name: all_cells(column, self.people) for column in self.public}
        self.boxes = self.cut(Box(self.people, self.cells))

    def cut(self, box: Box) -> list[Box]:
        """The box, or what becomes of its parts."""
        wide = [column for column in self.public if self.width(box, column) > 0]
        for column in sorted(wide, key=lambda column: -self.width(box, column)):
            parts = self.parts(box, column)
            if all(not part.people or smallest(part.people, self.schema) >= self.k for part in parts):
                return [done for part in parts if part.people for done in self.cut(part)]
        return [box]

    def width(self, box: Box, column: Column) -> float:
        """The box's share of the column's width: of its range in the whole table, or of its domain."""
        mine = {person[column.name] for person, _ in box.people}
        if len(mine) == 1:
            return 0.0
        if not column.numeric:
            return len(mine) / len(column.domain)
        numbers = [rank(cell) for cell in self.cells[column.name] if cell is not None]
        lowest, highest = numbers[0], numbers[-1]
        if lowest == highest:
            return 1.0
        return max((max(map(rank, mine)) - max(min(map(rank, mine)), lowest)) / (highest - lowest), 1e-12)

    def parts(self, box: Box, column: Column) -> list[Box]:
        cells = box.cells[column.name]
        if column.numeric:
            low = tuple(cell for cell in cells if rank(cell) <= self.median(box, column))
            return [self.part(box, column, some) for some in (low, cells[len(low) :])]
        mine = tuple(cell for cell in cells if any(person[column.name] == cell for person, _ in box.people))
        level = next(h for h in range(depth(column), -1, -1) if len(answers(column, h, mine)) > 1)
        groups = answers(column, level, cells)
        return [self.part(box, column, some) for some in groups.values()]

    def part(self, box: Box, column: Column, cells: Cells) -> Box:
        people = [(person, n) for person, n in box.people if person[column.name] in cells]
        return Box(people, {**box.cells, column.name: cells})

    def median(self, box: Box, column: Column) -> float:
        """The lower of the two people in the middle; the next number below if nobody were above."""
        everyone = sorted(rank(person[column.name]) for person, n in box.people for _ in range(n))
        middle = everyone[(len(everyone) - 1) // 2]
        return middle if middle < everyone[-1] else max(number for number in everyone if number < middle)

    def box_of(self, person: Person) -> int:
        """The number of the box whose people a person is one of."""
        return next(i for i, box in enumerate(self.boxes) if any(other == person for other, _ in box.people))
