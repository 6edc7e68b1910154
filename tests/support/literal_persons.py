"""What is certain of persons with several rows, by listing every assignment that agrees with what leaves state."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from leafgate.algorithms.leaf_statements import NO_LIMIT, Statement
from leafgate.algorithms.person_certainty import RowsOfPersons, Statements
from leafgate.api import Mask

Stated = Literal["counts", "shares", "labels"]
Outcome = tuple[tuple[tuple[int, ...], int, int], ...]
"""Rows of one person in one way: combinations of leaves, values, and how many rows."""

MOST_ASSIGNMENTS = 5_000


def random_rows(rng: np.random.Generator, n_trees: int) -> RowsOfPersons:
    """Two to five persons with a few rows on up to three leaves of each tree; some of several values."""
    n_persons, n_values, n_leaves = int(rng.integers(2, 6)), int(rng.choice([2, 2, 3])), int(rng.integers(1, 4))
    varied = rng.random() < 0.4
    cells: dict[tuple[int, tuple[int, ...], int], int] = {}
    for person in range(n_persons):
        value = int(rng.integers(n_values))
        for _ in range(int(rng.integers(1, 4))):
            leaf = tuple(int(each) for each in rng.integers(n_leaves, size=n_trees))
            own = int(rng.integers(n_values)) if varied and rng.random() < 0.3 else value
            cells[person, leaf, own] = cells.get((person, leaf, own), 0) + int(rng.integers(1, 3 if varied else 4))
    keys = sorted(cells)
    return RowsOfPersons(
        person=np.array([person for person, _, _ in keys]),
        leaf=np.array([leaf for _, leaf, _ in keys]).T.reshape(n_trees, -1),
        value=np.array([value for _, _, value in keys]),
        rows=np.array([cells[each] for each in keys]),
        n_persons=n_persons,
        n_values=n_values,
    )


def stated_of(rows: RowsOfPersons, stated: Stated) -> Statements:
    """What leaves with exact counts, with shares of one digit, or with labels alone state of these rows."""
    by_tree = [rows.counts(leaf).tolist() for leaf in rows.leaf]
    return [[_stated(row, stated) if sum(row) else [] for row in by_leaf] for by_leaf in by_tree]


def _stated(row: Sequence[int], stated: Stated) -> list[Statement]:
    total, n_values = sum(row), len(row)
    one = [tuple(int(i == k) for i in range(n_values)) for k in range(n_values)]
    if stated == "counts":
        return [Statement(one[k], count, count) for k, count in enumerate(row)]
    if stated == "shares":
        shares = [[n for n in range(total + 1) if round(n / total, 1) == round(count / total, 1)] for count in row]
        return [Statement(one[k], min(fitting), max(fitting)) for k, fitting in enumerate(shares)]
    label = int(np.argmax(row))
    differences = {k: tuple((i == label) - (i == k) for i in range(n_values)) for k in range(n_values) if k != label}
    return [Statement(each, int(k < label), NO_LIMIT) for k, each in differences.items()]


def certain_by_enumeration(rows: RowsOfPersons, stated: Statements, insiders: int, *, fixed: bool) -> Mask | None:
    """Which values each person certainly has at least once; None where there are too many assignments.

    With `fixed` all rows of a person have one value, unless her true rows have several: these are then free, and
    nothing is certain of her.
    """
    cells = list(
        zip(
            rows.person.tolist(), map(tuple, rows.leaf.T.tolist()), rows.value.tolist(), rows.rows.tolist(), strict=True
        )
    )
    several = [len({value for who, _, value, _ in cells if who == person}) > 1 for person in range(rows.n_persons)]
    parts: list[tuple[int, list[Outcome], Outcome]] = []
    for person in range(rows.n_persons):
        own = [cell[1:] for cell in cells if cell[0] == person]
        places = sorted({leaf for leaf, _, _ in own})
        if fixed and not several[person]:
            sizes = [(leaf, sum(n for where, _, n in own if where == leaf)) for leaf in places]
            outcomes: list[Outcome] = [tuple((leaf, value, n) for leaf, n in sizes) for value in range(rows.n_values)]
            parts.append((person, outcomes, outcomes[own[0][1]]))
            continue
        for leaf in places:
            true = [sum(n for where, value, n in own if (where, value) == (leaf, k)) for k in range(rows.n_values)]
            ways = (dict(enumerate(way)) for way in _ways(sum(true), rows.n_values))
            outcomes = [tuple((leaf, value, n) for value, n in way.items()) for way in ways]
            parts.append((person, outcomes, tuple((leaf, value, n) for value, n in enumerate(true))))
    if np.prod([float(len(outcomes)) for _, outcomes, _ in parts]) > MOST_ASSIGNMENTS:
        return None
    agreeing = [each for each in itertools.product(*(outcomes for _, outcomes, _ in parts)) if _agrees(each, stated)]
    certain = np.zeros((rows.n_persons, rows.n_values), dtype=bool)
    for size in range(insiders + 1):
        for coalition in itertools.combinations(range(rows.n_persons), size):
            known = [
                each
                for each in agreeing
                if all(way == true for way, (who, _, true) in zip(each, parts, strict=True) if who in coalition)
            ]
            for person in set(range(rows.n_persons)) - set(coalition):
                own_parts = [i for i, (who, _, _) in enumerate(parts) if who == person]
                for value in range(rows.n_values):
                    has = [any(v == value and n > 0 for i in own_parts for _, v, n in each[i]) for each in known]
                    certain[person, value] |= all(has) and not (fixed and several[person])
    return certain


def _ways(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to divide a number into parts from 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _ways(total - first, parts - 1):
            yield (first, *rest)


def _agrees(assignment: Sequence[Outcome], stated: Statements) -> bool:
    for tree, by_leaf in enumerate(stated):
        for number, statements in enumerate(by_leaf):
            if not statements:
                continue
            counts = [0] * len(statements[0].coefficients)
            for place, value, n in itertools.chain(*assignment):
                counts[value] += n * (place[tree] == number)
            if not all(each.holds(counts) for each in statements):
                return False
    return True
