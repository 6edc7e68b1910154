"""Joint classes: people whom several releases together treat alike, and what these releases state of them in numbers.

Two people are in one joint class where they are among the people of the same releases and can reach the same leaves of
every tree of these. What leaves publish is then a system of linear constraints on whole numbers of people: how many
people of each class have which value of the secret. `joint_proofs` derives from the system what is certain.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from leafgate.algorithms.equivalence import group_by_keys
from leafgate.algorithms.feasible import largest_value_going_low
from leafgate.algorithms.leaf_statements import (
    NO_LIMIT,
    Statement,
    leaf_statements,
    partly_used_reason,
    unsupported_reason,
)
from leafgate.algorithms.routing import leaf_numbers
from leafgate.errors import InconclusiveError
from leafgate.kernel.arrays import CompactIds, Ids, Mask
from leafgate.kernel.knowledge import LeafRoll, SecretChange
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table
from leafgate.kernel.tree import Node, NumericSplit, columns_asked, iterate_nodes, tree_arrays

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ABSENT = -2
"""In place of a leaf, for people whom the release was not learned from; those who reach no leaf have -1."""

MAX_CELLS = 5_000_000
"""Combinations of people's records with cells that nobody knows; more of them do not fit into memory."""

FEW_CHANGES = "name fewer releases, or fewer directions in `secret_may_change`"
FEW_PEOPLE = "let the trees test fewer columns that the adversary does not know"


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedTable:
    """A release, and which people it was learned from, as an adversary knows them.

    Attributes:
        release: its trees test columns of the schema.
        public: the distinct public records of its people.
        record: shape (n_people,), the position in `public` of each person's record; -1 for people it was not learned
            from.
        label: what reports call it.
        table: the number of the table of its people, in the order of time; releases of one table have the same.
        largest_share: no class has a larger share of the people of a leaf.
        roll: where the table of its people is gone, their leaves; `record` has positions in it, and `public` no rows.
            Its trees test public columns alone, of which the class is none.
    """

    release: Release
    public: Table
    record: Ids
    label: str = ""
    table: int = 0
    largest_share: float = 1.0
    roll: LeafRoll | None = None

    @property
    def forgotten(self) -> int:
        """Its people of whom nobody knows who they are."""
        return 0 if self.roll is None else self.roll.forgotten


@dataclass(frozen=True, kw_only=True, eq=False)
class JointSystem:
    """What several releases state together: low <= matrix @ assignment <= high for whole numbers of people from 0.

    An assignment has for each cell, which is a joint class and one combination of what nobody knows of its people, how
    many people of the class have this combination. The first `n_classes` constraints state the sizes of the classes.
    The last classes are of forgotten people, where a release has some: one for each of its trees.

    Attributes:
        class_of: shape (n_people,), the joint class of each person.
        size: shape (n_classes,), the people of each class.
        present: shape (n_classes, n_releases), whether the people of a class are among those of each release.
        cell_class: shape (n_cells,), rising.
        cell_value: shape (n_cells,), the position of the secret's value in its domain.
        values: the domain of the secret.
        matrix: shape (n_constraints, n_cells), whole numbers.
        low: shape (n_constraints,), whole numbers; -NO_LIMIT for no limit.
        high: shape (n_constraints,), whole numbers; NO_LIMIT for no limit.
        tree: shape (n_constraints,), the number of the tree that states it; -1 for none.
        leaf: shape (n_constraints,), the leaf of this tree; -1 for none.
        unsupported: for each release of whose numbers not all are used, its position and why.
    """

    class_of: Ids
    size: Ids
    present: Mask
    cell_class: Ids
    cell_value: Ids
    values: tuple[Any, ...]
    matrix: csr_array
    low: Ids
    high: Ids
    tree: Ids
    leaf: Ids
    unsupported: tuple[tuple[int, str], ...] = ()

    @property
    def n_classes(self) -> int:
        """How many joint classes there are."""
        return len(self.size)

    @cached_property
    def pair_of_cell(self) -> Ids:
        """For each cell the number of its pair of a class and a value: class * n_values + value."""
        return self.cell_class * len(self.values) + self.cell_value

    def people_by_value(self, assignment: Ids) -> Ids:
        """The people of each class by their value in an assignment: shape (n_classes, n_values)."""
        pairs = np.bincount(self.pair_of_cell, weights=assignment, minlength=self.n_classes * len(self.values))
        return pairs.astype(np.int64).reshape(self.n_classes, len(self.values))


def joint_system(
    sources: Sequence[ReleasedTable],
    weight: Ids,
    schema: Schema,
    secret: Column,
    *,
    change: SecretChange | None = None,
    known: Table | None = None,
    at: int | None = None,
) -> JointSystem:
    """The joint classes of some people, and what all releases together state of a secret of theirs.

    A person's secret is that of the latest table she is in. Her other cells that nobody knows are the same in all
    tables. Of a release whose numbers are not supported nothing is used, and no leaf of it tells its people apart.
    Forgotten people of a release are persons of whom nothing else is known: each is in some leaf of each of its trees.

    Args:
        sources: the releases, from one; the first is of the latest table.
        weight: shape (n_people,), how many persons each person stands for, from 1.
        schema: the columns of all tables.
        secret: the class, or another column that is not public and has values or bins.
        change: how the class may differ between two tables, where it is a secret; None for not at all.
        known: people of the first table whose class or secret is known, with all public columns. Nobody knows which of
            the people with their public cells they are: so many of these have these secrets.
        at: the number of the table whose class is asked of the people in it; None for the latest of each.

    Raises:
        InconclusiveError: there are too many combinations of cells that nobody knows, a release has numbers that whole
            people cannot have, or trees test a secret that may change.
    """
    change = SecretChange() if change is None else change
    ignored = {i: reason for i, each in enumerate(sources) if (reason := unsupported_reason(each.release))}
    partly = {i: reason for i, each in enumerate(sources) if (reason := partly_used_reason(each.release))}
    used = [each for i, each in enumerate(sources) if i not in ignored]
    unknown = _Unknown.of(used, schema, secret)
    if not change.is_none and any(schema[name] in schema.secrets for name in unknown.cells):
        raise InconclusiveError("tests a secret that may change, which is followed for the class alone")
    leaf_of = [(source, tree, unknown.leaves(source, tree)) for source in used for tree in source.release.trees]
    keys: list[CompactIds] = [(each.record >= 0).astype(np.int8) for each in sources]
    if unknown.class_is_public:
        keys += [_class_codes(source, schema) for source in used]
    for source, _, found in leaf_of:
        keys += [_of_people(column, source.record) for column in found.T]
    among = None if known is None else known_records(known, sources[0])
    if among is not None:
        keys.append(np.where(np.isin(sources[0].record, among), sources[0].record, ABSENT))
    class_of, first = group_by_keys(keys)
    size = np.bincount(class_of, weights=weight, minlength=len(first)).astype(np.int64)
    present = np.stack([each.record[first] >= 0 for each in sources], axis=1)
    leaf = [np.stack([_of_people(column, source.record[first]) for column in each.T]) for source, _, each in leaf_of]
    histories = replace(_Histories.of([sources[0], *used], schema, first, change), at=at)
    forgotten = _Forgotten.of([(source, tree) for source, tree, _ in leaf_of], histories.tables, schema)
    cells = forgotten.added_to(_Cells.of(leaf, unknown, histories), len(size))
    size = np.append(size, forgotten.people)
    present = np.concatenate([present, forgotten.present_in(sources)])
    constraints = _Constraints(cells, size)
    for number, (source, tree, _) in enumerate(leaf_of):
        persons = int(weight[source.record >= 0].sum()) + source.forgotten
        stated = leaf_statements(source.release, tree, max(persons, 1), source.largest_share)
        constraints.add_tree(number, stated, source.release, schema, histories.tables.index(source.table))
    if change.at_most is not None:
        constraints.add_changes(change.at_most)
    for one, other in forgotten.same_people():
        constraints.add_same_people(len(first) + one, len(first) + other, histories.tables.index(forgotten.table[one]))
    if known is not None and among is not None:
        record = np.append(sources[0].record[first], np.full(len(forgotten.people), ABSENT))
        constraints.add_known(known, among, record, secret)
    matrix, low, high, tree_of, leaf_number = constraints.result()
    return JointSystem(
        class_of=class_of,
        size=size,
        present=present,
        cell_class=cells.joint_class,
        cell_value=cells.value,
        values=tuple(secret.domain),
        matrix=matrix,
        low=low,
        high=high,
        tree=tree_of,
        leaf=leaf_number,
        unsupported=tuple(sorted((partly | ignored).items())),
    )


def _of_people(leaf: CompactIds, record: Ids) -> Ids:
    """The leaf of each person by the leaf of each record; ABSENT for people who have none."""
    return np.where(record >= 0, np.append(leaf, ABSENT)[record], ABSENT).astype(np.int64)


def _class_codes(source: ReleasedTable, schema: Schema) -> Ids:
    return _of_people(source.public.codes(schema.target.name), source.record)


def known_records(known: Table, source: ReleasedTable) -> Ids:
    """The public record of each of the people whose secrets are known: shape (n_known,).

    Args:
        known: these people, with all public columns.
        source: a release of a table with all of them.

    Raises:
        InconclusiveError: somebody has the public cells of nobody in the table.
    """
    names = [column.name for column in source.public.schema.columns]
    both = pd.concat([known.frame[names], source.public.frame[names]], ignore_index=True)
    number = Table(source.public.schema, both, np.ones(len(both), dtype=np.int64)).project(names)[1]
    record_of = np.full(int(number.max(initial=-1)) + 1, -1)
    record_of[number[len(known) :]] = np.arange(len(source.public))
    found = record_of[number[: len(known)]]
    if (found < 0).any():
        raise InconclusiveError(
            "somebody whose secret is known has the public cells of nobody in the table",
            place="knows.people",
            remedy="name people of the table",
        )
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class _Histories:
    """The classes that people can have had in the tables, one after the other.

    Attributes:
        tables: the numbers of the tables, in the order of time.
        label: shape (n_histories, n_tables), the position of the class in its domain; ABSENT in tables without them.
        start: shape (n_classes,), the position of the first history that the people of a joint class can have.
        n: shape (n_classes,), how many these are.
        at: the number of the table that is asked about; None for the latest of each person.
    """

    tables: list[int]
    label: Ids
    start: Ids
    n: Ids
    at: int | None = None

    @classmethod
    def of(cls, sources: Sequence[ReleasedTable], schema: Schema, first: Ids, change: SecretChange) -> _Histories:
        """Those of each joint class; `first` has one person of each."""
        tables = sorted({each.table for each in sources})
        by_table = {table: [each for each in sources if each.table == table] for table in tables}
        if schema.target.public:
            label = np.stack([_class_codes(by_table[table][-1], schema)[first] for table in tables], axis=1)
            return cls(tables, label, np.arange(len(first)), np.ones(len(first), dtype=np.int64))
        # somebody who is forgotten in one roll of a table may be known in another one
        known = [np.stack([each.record[first] >= 0 for each in own]).any(axis=0) for own in by_table.values()]
        there = np.stack(known, axis=1)
        patterns, pattern_of = np.unique(there, axis=0, return_inverse=True)
        allowed = _allowed_steps(schema.target, change if schema.target in schema.secrets else SecretChange())
        found = [_histories(pattern, allowed) for pattern in patterns]
        n = np.array([len(each) for each in found], dtype=np.int64)
        start = np.cumsum(n) - n
        label = np.concatenate(found) if found else np.zeros((0, len(tables)), dtype=np.int64)
        return cls(tables, label, start[pattern_of.reshape(-1)], n[pattern_of.reshape(-1)])

    @property
    def latest(self) -> Ids:
        """The class of each history in the table that is asked about, or in the latest one with these people."""
        label = np.full(len(self.label), ABSENT)
        asked = [column for table, column in zip(self.tables, self.label.T, strict=True) if table == self.at]
        for column in (*self.label.T, *asked):
            label = np.where(column >= 0, column, label)
        return label

    @property
    def changed(self) -> Mask:
        """Which histories have two classes."""
        earliest = np.full(len(self.label), ABSENT)
        changed = np.zeros(len(self.label), dtype=bool)
        for column in self.label.T:
            changed |= (column >= 0) & (earliest >= 0) & (column != earliest)
            earliest = np.where((column >= 0) & (earliest < 0), column, earliest)
        return changed


def _allowed_steps(target: Column, change: SecretChange) -> Mask:
    """Which class may follow which in the next table, also by several changes: shape (n_labels, n_labels)."""
    values = [str(value) for value in target.domain]
    return np.array([[change.allows(older, newer) for newer in values] for older in values])


def _histories(there: Mask, allowed: Mask) -> Ids:
    """The classes that people who are in these tables can have had: shape (n_histories, n_tables).

    Of people who are in no table that a release states something of, it is that of the latest one.
    """
    n_labels, tables = len(allowed), np.flatnonzero(there if there.any() else [*there[:-1], True])
    found = np.full((n_labels, len(there)), ABSENT, dtype=np.int64)
    found[:, tables[0]] = np.arange(n_labels)
    for before, table in itertools.pairwise(tables):
        if len(found) * n_labels > MAX_CELLS:
            raise InconclusiveError("leaves too many classes possible that people can have had", remedy=FEW_CHANGES)
        row, label = np.nonzero(allowed[found[:, before]])
        found = found[row]
        found[:, table] = label
    return found


@dataclass(frozen=True, eq=False)
class _Unknown:
    """What nobody knows of people: combinations of cells of the columns that trees test and that are not public.

    Attributes:
        schema: every column.
        cells: for each tested column that is not public one cell of each part of its domain that trees tell apart.
        combinations: shape (n_combinations, n_columns), positions in `cells`.
        secret_value: shape (n_combinations,), the secret's value; None where the secret is the class, or untested.
        n_values: of the secret.
        n_labels: classes that people can have.
        class_is_public: whether everybody's class is known.
        secret_is_class: whether the secret is the class.
    """

    schema: Schema
    cells: dict[str, list[Any]]
    combinations: Ids
    secret_value: Ids | None
    n_values: int
    n_labels: int
    class_is_public: bool
    secret_is_class: bool

    @classmethod
    def of(cls, sources: Sequence[ReleasedTable], schema: Schema, secret: Column) -> _Unknown:
        trees = [tree for source in sources for tree in source.release.trees]
        asked = frozenset[str]().union(*map(columns_asked, trees))
        target = schema.target.name
        names = [c.name for c in schema.columns if c.name in asked and not c.public and c.name != target]
        cells = {name: _parts_of_domain(schema[name], trees) for name in names}
        if math.prod(map(len, cells.values())) > MAX_CELLS:
            raise InconclusiveError("has too many combinations of cells that nobody knows", remedy=FEW_PEOPLE)
        grid = [*itertools.product(*(range(len(each)) for each in cells.values()))]
        combinations = np.array(grid, dtype=np.int64).reshape(len(grid), len(names))
        value = None
        if secret.name in cells:
            value = _codes_of(secret, cells[secret.name])[combinations[:, names.index(secret.name)]]
        return cls(
            schema,
            cells,
            combinations,
            value,
            len(secret.domain),
            len(schema.target.domain),
            schema.target.public,
            secret.name == target,
        )

    def leaves(self, source: ReleasedTable, tree: Node) -> Ids:
        """The leaf of each public record with each combination: shape (n_records, n_combinations), -1 for no leaf."""
        if source.roll is not None:
            number = next(i for i, each in enumerate(source.release.trees) if each is tree)
            return np.repeat(source.roll.leaf[number][:, None], len(self.combinations), axis=1)
        n, m = len(source.public), len(self.combinations)
        asked = [name for name in self.cells if name in columns_asked(tree)]
        if not asked or not n:
            return np.repeat(leaf_numbers(tree, source.public).astype(np.int64)[:, None], m, axis=1)
        if n * m > MAX_CELLS:
            raise InconclusiveError("has too many combinations of cells that nobody knows", remedy=FEW_PEOPLE)
        places = [list(self.cells).index(name) for name in asked]
        kinds, kind_of = np.unique(self.combinations[:, places], axis=0, return_inverse=True)
        frame = source.public.frame.iloc[np.repeat(np.arange(n), len(kinds))].reset_index(drop=True)
        for i, name in enumerate(asked):
            column, chosen = self.schema[name], np.tile(kinds[:, i], n).tolist()
            frame[name] = _typed(column, [self.cells[name][code] for code in chosen])
        columns = tuple(c for c in self.schema.columns if c.name in source.public.schema or c.name in asked)
        everyone = Table(Schema(columns), frame, np.ones(len(frame), dtype=np.int64))
        found = leaf_numbers(tree, everyone).astype(np.int64).reshape(n, len(kinds))
        return np.asarray(found[:, kind_of.reshape(-1)])


def _typed(column: Column, cells: list[Any]) -> Any:
    if column.numeric:
        return np.array(cells, dtype=np.float64)
    return pd.Categorical(cells, categories=list(column.values or ()))


def _parts_of_domain(column: Column, trees: Sequence[Node]) -> list[Any]:
    """One cell of each part of a column's domain that the trees, or the bins of a secret, tell apart.

    The parts of numbers lie between thresholds, rounded as each test rounds: each has its largest number or its least.
    """
    if not column.numeric:
        return list(column.domain)
    low, high = column.bounds or (-math.inf, math.inf)
    if column.bins is not None:
        low, high = max(low, column.bins[0]), min(high, column.bins[-1])
    cuts = (node for node in iterate_nodes(*trees) if isinstance(node, NumericSplit) and node.column == column.name)
    tops = set(map(largest_value_going_low, cuts))
    tops |= {math.nextafter(edge, -math.inf) for edge in (column.bins or ())[1:-1]}
    ends = {low, high, *tops, *(math.nextafter(top, math.inf) for top in tops)}
    finite = sorted(number for number in ends if low <= number <= high and math.isfinite(number))
    return [*finite, *([math.nan] if column.missing else [])]


def _codes_of(secret: Column, cells: list[Any]) -> Ids:
    frame = pd.DataFrame({secret.name: _typed(secret, cells)})
    return Table(Schema((secret,)), frame, np.ones(len(frame), dtype=np.int64)).codes(secret.name)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Each joint class with each combination of what nobody knows of its people, those alike in everything once.

    Attributes:
        joint_class: shape (n_cells,), rising.
        label: shape (n_cells, n_tables), the class in each table; ABSENT in tables without these people.
        changed: shape (n_cells,), whether the class is not the same in all tables.
        value: shape (n_cells,), the secret's value.
        leaf: for each tree, shape (n_cells,), the leaf.
        value_is_label: whether the secret is the class.
    """

    joint_class: Ids
    label: Ids
    changed: Mask
    value: Ids
    leaf: list[Ids]
    value_is_label: bool

    @classmethod
    def of(cls, leaf: list[Ids], unknown: _Unknown, histories: _Histories) -> _Cells:
        """The cells; `leaf` has for each tree the leaf of each combination and joint class."""
        n_classes, n_combinations = len(histories.n), len(unknown.combinations)
        joint, combination = np.divmod(np.arange(n_classes * n_combinations), n_combinations)
        leaves_of = [each.T.reshape(-1) for each in leaf]
        if unknown.secret_value is not None:
            value = unknown.secret_value[combination]
        else:
            value = np.zeros(len(joint), dtype=np.int64)
        if n_combinations > 1:
            _, first = group_by_keys([joint, value, *leaves_of])
            first = np.sort(first)
            joint, value, leaves_of = joint[first], value[first], [each[first] for each in leaves_of]
        own = histories.n[joint]
        is_free = not unknown.secret_is_class and unknown.secret_value is None
        if int(own.sum()) * (unknown.n_values if is_free else 1) > MAX_CELLS:
            raise InconclusiveError("has too many combinations of cells that nobody knows", remedy=FEW_PEOPLE)
        repeat = np.repeat(np.arange(len(joint)), own)
        history = np.arange(len(repeat)) - np.repeat(np.cumsum(own) - own, own) + histories.start[joint][repeat]
        if unknown.secret_is_class:
            value = histories.latest[history]
        elif is_free:
            # nothing is published of the secret, so that each of its values is possible for everybody
            repeat, history = np.repeat(repeat, unknown.n_values), np.repeat(history, unknown.n_values)
            value = np.tile(np.arange(unknown.n_values), len(repeat) // unknown.n_values)
        else:
            value = value[repeat]
        leaves_of = [each[repeat] for each in leaves_of]
        label, changed = histories.label[history], histories.changed[history]
        return cls(joint[repeat], label, changed, value, leaves_of, unknown.secret_is_class)


@dataclass(frozen=True, eq=False)
class _Forgotten:
    """The people of releases of whom nobody knows who they are: a class of them for each tree of these releases.

    That the classes of one release have as many people with each class label is all that holds of them together: as
    every leaf of one tree may go with every leaf of another, people can then be named who are in all of these leaves.

    Attributes:
        sources: the release of each class.
        tree: the number of the tree of each class, among those of all releases.
        n_leaves: of this tree.
        some_reach_none: whether the tree has no branch for some cells.
        table: the number of the table of the release.
        columns: the position of this table among those of cells.
        n_labels: class labels that people can have.
    """

    sources: list[ReleasedTable]
    tree: list[int]
    n_leaves: list[int]
    some_reach_none: list[bool]
    table: list[int]
    columns: list[int]
    n_labels: int

    @classmethod
    def of(cls, trees: Sequence[tuple[ReleasedTable, Node]], tables: Sequence[int], schema: Schema) -> _Forgotten:
        """Those of releases that have forgotten people; `trees` are all trees, each with its release."""
        own = [(i, source, tree) for i, (source, tree) in enumerate(trees) if source.forgotten]
        return cls(
            [source for _, source, _ in own],
            [i for i, _, _ in own],
            [tree_arrays(tree).n_leaves for _, _, tree in own],
            [not _has_branch_for_everybody(tree, schema) for _, _, tree in own],
            [source.table for _, source, _ in own],
            [[*tables].index(source.table) for _, source, _ in own],
            len(schema.target.domain),
        )

    @property
    def people(self) -> Ids:
        """The people of each class."""
        return np.array([source.forgotten for source in self.sources], dtype=np.int64)

    def present_in(self, sources: Sequence[ReleasedTable]) -> Mask:
        """Whether each class is among the people of each release: shape (n_classes, n_releases)."""
        present = [own is each for own in self.sources for each in sources]
        return np.array(present, dtype=bool).reshape(len(self.sources), len(sources))

    def same_people(self) -> list[tuple[int, int]]:
        """Each two classes, one after the other, that have the same people."""
        return [(i, i + 1) for i in range(len(self.sources) - 1) if self.sources[i] is self.sources[i + 1]]

    def added_to(self, cells: _Cells, n_classes: int) -> _Cells:
        """The cells, and after them for each class of forgotten people one for each leaf and class label.

        Where the tree has a branch for everybody, nobody has reached no leaf. Their secret is their class where that is
        the secret; otherwise nothing is asked.
        """
        for number in range(len(self.sources)):
            ends = self.n_leaves[number] + self.some_reach_none[number]
            leaf, label = np.divmod(np.arange(ends * self.n_labels), self.n_labels)
            leaf, n = leaf - self.some_reach_none[number], len(leaf)
            labels = np.full((n, cells.label.shape[1]), ABSENT, dtype=np.int64)
            labels[:, self.columns[number]] = label
            value = label if cells.value_is_label else np.zeros(n, dtype=np.int64)
            cells = _Cells(
                np.append(cells.joint_class, np.full(n, n_classes + number)),
                np.concatenate([cells.label, labels]),
                np.append(cells.changed, np.zeros(n, dtype=bool)),
                np.append(cells.value, value),
                [
                    np.append(each, leaf if i == self.tree[number] else np.full(n, ABSENT))
                    for i, each in enumerate(cells.leaf)
                ],
                cells.value_is_label,
            )
        return cells


def _has_branch_for_everybody(tree: Node, schema: Schema) -> bool:
    """Does every row of a table reach a leaf of a tree?"""
    return all(
        fan.has_default or {*schema[fan.column].domain} <= {value for values in fan.branches for value in values}
        for fan in tree_arrays(tree).fans
    )


class _Constraints:
    """The rows of a system, as they are added."""

    def __init__(self, cells: _Cells, size: Ids) -> None:
        self.cells, self.size = cells, size
        self.rows = [cells.joint_class]
        self.columns = [np.arange(len(cells.joint_class))]
        self.coefficients = [np.ones(len(cells.joint_class), dtype=np.int64)]
        self.low, self.high = [*size.tolist()], [*size.tolist()]
        self.origins = [(-1, -1)] * len(size)

    def add_tree(
        self, number: int, stated: list[list[Statement]], release: Release, schema: Schema, table: int
    ) -> None:
        """Add what the leaves of a tree state; `number` and `table` are their positions among those of the cells."""
        leaf, label = self.cells.leaf[number], self.cells.label[:, table]
        position = {name: i for i, name in enumerate(schema.target.domain)}
        order = np.array([position[name] for name in release.classes])
        by_leaf = np.argsort(leaf, kind="stable")
        ends = np.searchsorted(leaf[by_leaf], np.arange(len(stated) + 1))
        is_whole = self._whole_classes(leaf)
        label_of = np.full(len(schema.target.domain), -1)
        label_of[order] = np.arange(len(order))
        for i, own in enumerate(stated):
            cells = by_leaf[ends[i] : ends[i + 1]]
            inside = np.unique(self.cells.joint_class[cells])
            most = int(self.size[inside].sum())
            people = most if is_whole[inside].all() else None
            column_of = label_of[label[cells]]
            for each in _tightened(own, people, max(most, 1)):
                coefficients = np.where(column_of >= 0, np.append(each.coefficients, 0)[column_of], 0)
                self._add(cells, coefficients.astype(np.int64), each.low, each.high, (number, i))

    def add_changes(self, most: int) -> None:
        """Add that so many people at most have two classes."""
        cells = np.flatnonzero(self.cells.changed)
        self._add(cells, np.ones(len(cells), dtype=np.int64), -NO_LIMIT, most)

    def add_same_people(self, one: int, other: int, table: int) -> None:
        """Add that two joint classes have as many people with each class label in a table."""
        joint, label = self.cells.joint_class, self.cells.label[:, table]
        for code in np.unique(label[joint == one]):
            cells = np.flatnonzero(((joint == one) | (joint == other)) & (label == code))
            self._add(cells, np.where(joint[cells] == one, 1, -1).astype(np.int64), 0, 0)

    def add_known(self, known: Table, record: Ids, record_of_class: Ids, secret: Column) -> None:
        """Add that so many people with a record have the secrets that are known of them.

        Their class is known as it is in the latest table, whichever table is asked about.

        Args:
            known: the people.
            record: shape (n_known,), their records.
            record_of_class: shape (n_classes,), the record of each joint class in the latest table.
            secret: the column that the values of the cells are of.
        """
        targets = [column.name for column in known.schema.having("class")]
        names = [name for name in dict.fromkeys([*targets, secret.name]) if name in known.schema]
        latest = self.cells.label[:, -1]
        codes = np.stack([record, *(known.codes(name) for name in names)], axis=1)
        rows, row_of = np.unique(codes, axis=0, return_inverse=True)
        people = np.bincount(row_of.reshape(-1), weights=known.weight, minlength=len(rows)).astype(np.int64)
        own = record_of_class[self.cells.joint_class]
        for row, least in zip(rows, people.tolist(), strict=True):
            fits = own == row[0]
            for name, code in zip(names, row[1:].tolist(), strict=True):
                fits &= ((latest if name in targets else self.cells.value) == code) | (code < 0)
            cells = np.flatnonzero(fits)
            self._add(cells, np.ones(len(cells), dtype=np.int64), least, NO_LIMIT)

    def _whole_classes(self, leaf: Ids) -> Mask:
        """Which joint classes are in one leaf with all their cells."""
        n = len(self.size)
        least, most = np.full(n, 2**31), np.full(n, -(2**31))
        np.minimum.at(least, self.cells.joint_class, leaf)
        np.maximum.at(most, self.cells.joint_class, leaf)
        return np.asarray(least == most)

    def _add(self, cells: Ids, coefficients: Ids, low: int, high: int, origin: tuple[int, int] = (-1, -1)) -> None:
        used = coefficients != 0
        if not used.any() and low <= 0 <= high:
            return
        self.rows.append(np.full(int(used.sum()), len(self.low)))
        self.columns.append(cells[used])
        self.coefficients.append(coefficients[used])
        self.low.append(low)
        self.high.append(high)
        self.origins.append(origin)

    def result(self) -> tuple[csr_array, Ids, Ids, Ids, Ids]:
        """The matrix, the bounds of its rows, and the tree and leaf of each."""
        from scipy.sparse import coo_array

        places = (np.concatenate(self.rows), np.concatenate(self.columns))
        shape = (len(self.low), len(self.cells.joint_class))
        matrix = coo_array((np.concatenate(self.coefficients), places), shape=shape).tocsr()
        tree, leaf = np.array(self.origins, dtype=np.int64).reshape(-1, 2).T
        return matrix, np.array(self.low, dtype=np.int64), np.array(self.high, dtype=np.int64), tree, leaf


def _tightened(stated: list[Statement], people: int | None, most: int) -> Iterator[Statement]:
    """The same statements for a leaf of so many people; None where that is not known, and at most `most`.

    A coefficient of everybody is a constant where the number of people is known; what is left is an interval. Where it
    is not, "d >= 1 if somebody is there", for a difference d >= 0 of whole numbers of people, is most * d >= people.
    """
    for each in stated:
        if people is None:
            if each.of_people:
                yield Statement(tuple(most * a - 1 for a in each.coefficients), 0, NO_LIMIT)
            else:
                yield each
            continue
        if each.of_people and people == 0:
            continue
        common = max(set(each.coefficients), key=each.coefficients.count)
        rest = tuple(a - common for a in each.coefficients)
        step = math.gcd(*rest)
        if step == 0:  # a number of everybody, which the sizes of classes have already
            if not each.low <= common * people <= each.high:
                yield each
            continue
        low = each.low if each.low == -NO_LIMIT else -((common * people - each.low) // step)
        high = each.high if each.high == NO_LIMIT else (each.high - common * people) // step
        yield Statement(tuple(a // step for a in rest), low, high)
