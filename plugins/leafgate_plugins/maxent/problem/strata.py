"""Strata: each public row combined with every outcome of its unknown cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pandas as pd

from leafgate import api
from leafgate.algorithms.feasible import Domain, Interval, intersect, largest_value_going_low, rest_of
from leafgate.algorithms.routing import NOWHERE
from leafgate.kernel.table import distinct_rows
from leafgate.kernel.tree import iterate_nodes
from leafgate_plugins.maxent.problem.tree_index import ReachableCase, cases_through

Cells = Mapping[str, Sequence[Domain]]
"""What of an unknown column is counted: its values, or the intervals between all cuts."""


def cells_of(trees: Sequence[api.Node], schema: api.Schema) -> Cells:
    """For each unknown number that the trees test, the intervals between the thresholds."""
    edges: dict[str, set[float]] = {}
    for node in iterate_nodes(*trees):
        if isinstance(node, api.NumericSplit):
            edges.setdefault(node.column, set()).add(largest_value_going_low(node))
    return {name: _intervals(schema[name], sorted(at)) for name, at in edges.items() if not schema[name].public}


def _intervals(column: api.Column, edges: Sequence[float]) -> list[Domain]:
    whole = rest_of(column, {})
    assert isinstance(whole, Interval)
    inside = [at for at in edges if whole.low < at < whole.high]
    limits = [whole.low, *inside, whole.high]
    parts: list[Domain] = [Interval(low, high, False) for low, high in pairwise(limits)]
    return [*parts, *([Interval(math.inf, -math.inf, True)] if column.missing else [])]


def share_of(way: ReachableCase, cells: Cells, schema: api.Schema) -> float:
    """The part of the unknown cells' possible values that this way takes."""
    share = 1.0
    for name, rest in way.possible.items():
        if isinstance(rest, frozenset):
            share *= len(rest) / len(schema[name].domain)
        else:
            share *= sum(bool(intersect(rest, cell)) for cell in cells[name]) / len(cells[name])
    return share


MAX_STRATA = 4_000_000
"""The largest number of strata that is built; more need too much memory."""


@dataclass(frozen=True)
class Strata:
    """The people of one public row whose unknown cells lead to the same leaves; sorted by row.

    `share` is the part of the row's possible unknown cells (values of categories, intervals between
    the cuts of numbers) that each stratum contains: what somebody who knows nothing would think.
    `leaf` has a column for each tree. `value` gives, for unknown columns that are secrets or that
    facts speak of, the code of the value; `member` which strata are of the people the tree was
    learned from.
    """

    row: api.Ids
    share: api.Floats
    leaf: api.Ids
    value: Mapping[str, api.Ids] = field(default_factory=dict)
    member: api.Mask | None = None

    def __len__(self) -> int:
        return len(self.row)


def strata_of(
    trees: Sequence[api.Node], public: api.Table, schema: api.Schema, separated: Sequence[str], *, members: bool = True
) -> Strata:
    """All strata of the people in `public`; `separated` are unknown columns whose values need strata of their own.

    Unless `members`, everybody is there twice: among those the trees were learned from, and not.
    Raises InconclusiveError when there are more than MOST.
    """
    ways = [ReachableCase(np.arange(len(public)))]
    for tree in trees:
        ways = _counted(way for one in ways for way in cases_through(tree, one, public, schema))
    for name in separated:
        ways = _counted(part for way in ways for part in _by_value(way, schema[name]))
    cells = cells_of(trees, schema)
    strata = _gathered(ways, len(trees), cells, schema, separated)
    return _sorted(strata if members else _with_outsiders(strata, cells, schema, separated))


def _counted(ways: Iterable[ReachableCase]) -> list[ReachableCase]:
    kept, total = [], 0
    for way in ways:
        kept.append(way)
        total += len(way.rows)
        if total > MAX_STRATA:
            raise api.InconclusiveError(
                f"the trees test so many unknown columns that there are more than {MAX_STRATA} cases to distinguish",
                remedy="declare more columns public, or attack with fewer trees",
            )
    return kept


def _by_value(way: ReachableCase, column: api.Column) -> Iterable[ReachableCase]:
    rest = rest_of(column, way.possible)
    assert isinstance(rest, frozenset)
    for value in column.domain:
        if value in rest:
            yield ReachableCase(way.rows, {**way.possible, column.name: frozenset([value])}, way.leaf)


def _gathered(
    ways: Sequence[ReachableCase], n_trees: int, cells: Cells, schema: api.Schema, items: Sequence[str]
) -> Strata:
    sizes = [len(way.rows) for way in ways]
    leaf = np.array([way.leaf for way in ways], dtype=np.int64).reshape(len(ways), n_trees)
    value = {}
    for name in items:
        code = {value: i for i, value in enumerate(schema[name].domain)}
        value[name] = np.repeat([code[_only(way.possible[name])] for way in ways], sizes)
    return Strata(
        np.concatenate([way.rows for way in ways]),
        np.repeat([share_of(way, cells, schema) for way in ways], sizes),
        np.repeat(leaf, sizes, axis=0),
        value,
    )


def _only(rest: Domain) -> str | None:
    assert isinstance(rest, frozenset)
    return next(iter(rest))


def _with_outsiders(strata: Strata, cells: Cells, schema: api.Schema, items: Sequence[str]) -> Strata:
    """The same people once more, in no leaf of any tree; each half as likely."""
    whole = [ReachableCase(np.arange(strata.row.max(initial=-1) + 1))]
    for name in items:
        whole = [part for way in whole for part in _by_value(way, schema[name])]
    none = _gathered(whole, 0, cells, schema, items)
    nowhere = np.full((len(none), strata.leaf.shape[1]), NOWHERE)
    return Strata(
        np.concatenate([strata.row, none.row]),
        np.concatenate([strata.share, none.share]) / 2,
        np.concatenate([strata.leaf, nowhere]),
        {name: np.concatenate([strata.value[name], none.value[name]]) for name in items},
        np.arange(len(strata) + len(none)) < len(strata),
    )


def _sorted(strata: Strata) -> Strata:
    order = np.argsort(strata.row, kind="stable")
    member = None if strata.member is None else strata.member[order]
    value = {name: codes[order] for name, codes in strata.value.items()}
    return Strata(strata.row[order], strata.share[order], strata.leaf[order], value, member)


@dataclass(frozen=True)
class ProblemRows:
    """The rows of the problem: people with the same public cells of whom the same is known.

    `public` has their public cells and how many they are; `owner` numbers, for each, the public record
    among those the adversary has, `position` that of each record of `AdversaryKnowledge.records`. `known` gives, for
    columns some people's values of which are known, each row's code, or -1.
    """

    public: api.Table
    owner: api.Ids
    position: api.Ids
    known: Mapping[str, api.Ids] = field(default_factory=dict)

    def row_of(self, record: int) -> int:
        """A row of a record's people."""
        return int(np.flatnonzero(self.owner == self.position[record])[0])


def people_of(known: api.AdversaryKnowledge, *, members: bool) -> ProblemRows:
    """Everyone in the table or, unless `members`, in the population; those with a known secret apart."""
    public, position = _everyone(known, members)
    if known.people is None:
        return ProblemRows(public, np.arange(len(public)), position)
    row = rows_among(known.people, public)
    left = public.weight - np.bincount(row[row >= 0], known.people.weight[row >= 0], len(public)).astype(np.int64)
    if (row < 0).any() or (left < 0).any():
        raise api.InconclusiveError(
            "more people are known than there are with the same public cells",
            place="knows.people",
            remedy="name people of the table, each once",
        )
    rest = np.flatnonzero(left > 0)
    owner = np.concatenate([rest, row])
    frame = public.frame.iloc[owner].reset_index(drop=True)
    weight = np.concatenate([left[rest], known.people.weight])
    names = [column.name for column in known.people.schema.columns if not column.public]
    unknown = np.full(len(rest), -1)
    codes = {name: np.concatenate([unknown, known.people.codes(name)]) for name in names}
    return ProblemRows(api.Table(public.schema, frame, weight), owner, position, codes)


def _everyone(known: api.AdversaryKnowledge, members: bool) -> tuple[api.Table, api.Ids]:
    """Those the adversary knows of, and where the records of the table are among them."""
    if members:
        return known.public, np.arange(len(known.public))
    if known.population is None:
        raise api.InconclusiveError(
            "an adversary who knows not who is in the table must know of whom it was taken",
            place="data.population",
            remedy="name a file of them, or say `members: all`",
        )
    position = rows_among(known.public, known.population)
    if (position < 0).any():
        raise api.InconclusiveError(
            "somebody in the table is not in the population",
            place="data.population",
            remedy="name a population that holds everyone in the table",
        )
    return known.population, position


def rows_among(people: api.Table, others: api.Table) -> api.Ids:
    """For each row of `people` the row of `others` with the same cells in the columns of `others`; -1 for none."""
    names = [column.name for column in others.schema.columns]
    frame = pd.concat([people.frame.loc[:, names], others.frame.loc[:, names]], ignore_index=True)
    number = distinct_rows(frame, others.schema)[1]
    found = np.full(int(number.max(initial=-1)) + 1, -1)
    found[number[len(people) :]] = np.arange(len(others))
    return np.asarray(found[number[: len(people)]])
