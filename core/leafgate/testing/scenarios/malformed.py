"""Unusual releases and tables, which a plugin may meet in an audit and must not crash on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import get_args

import numpy as np

from leafgate.algorithms.publication import published
from leafgate.engine.knowledge import grant_knowledge
from leafgate.io.release_codec import serialize
from leafgate.kernel.facts import Fact
from leafgate.kernel.knowledge import AdversaryKnowledge
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import Counted, Level, Publish, Records, Release
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table, make_table
from leafgate.testing.scenarios import SETTINGS, Instance
from leafgate.testing.scenarios.releases import WITHHELD, counted_tree, tree_release
from leafgate.testing.scenarios.tables import survey


def edge_case_instances(reads: Collection[str]) -> Iterator[Instance]:
    """Releases at every level, of every count, with hardly anyone in them or nothing to read; and unusual knowledge."""
    table = survey()
    known = grant_knowledge(table)
    for release in _unusual_releases(table):
        for counted in [each for each in get_args(Counted) if each in reads]:
            yield Instance(table, serialize(replace(release, count_semantics=counted)).release, known, None)
    plain = serialize(SETTINGS[0].world().release).release
    for counted in [each for each in get_args(Counted) if each in reads][:1]:
        for more in _unusual_knowledge(table):
            yield Instance(table, replace(plain, count_semantics=counted), more, None)
        alone = one_person()
        lone = Release({"use": "conformance"}, alone.schema, (counted_tree(Leaf(), alone),), count_semantics=counted)
        yield Instance(alone, serialize(lone).release, grant_knowledge(alone), None)


def _unusual_releases(table: Table) -> Iterator[Release]:
    tree = counted_tree(Leaf(), table)
    nobody = Leaf("none", dict.fromkeys(table.schema.classes, 0))
    plain = tree_release(table, "much")
    for level in get_args(Level):
        yield published(plain, Publish(leaves=level, measure=False), frozenset())
    yield replace(plain, trees=plain.trees * 2, combine="vote")
    yield replace(plain, trees=(tree, nobody), combine="sum")
    yield replace(plain, trees=(nobody,))
    yield replace(plain, trees=())
    yield replace(plain, trees=(), model="none")
    names = tuple(column.name for column in table.schema.columns)
    yield replace(
        plain,
        trees=(),
        model="none",
        records=Records(names[:1], (("Hill",), ({"in": ["Hill", "Mill"]},), (WITHHELD,)), (1, 2, 1)),
    )


def _unusual_knowledge(table: Table) -> Iterator[AdversaryKnowledge]:
    names = [column.name for column in table.schema.columns if "private" not in column.roles]
    some = table.project(names)[0]
    few = Table(some.schema, some.frame.head(3).reset_index(drop=True), some.weight[:3].copy())
    yield grant_knowledge(table, people=few)
    yield grant_knowledge(table, facts=[Fact({}, "illness", ("flu",), 0.1, 0.9)], distribution=True)
    yield grant_knowledge(table, population=table.public[0])


def one_person() -> Table:
    """One person of the survey, alone."""
    table = survey()
    return Table(table.schema, table.frame.head(1).reset_index(drop=True), np.ones(1, dtype=np.int64))


def edge_case_tables() -> Iterator[Table]:
    """One person; one class; no class; nobody public; nothing but the class; nobody's age known."""
    table = survey()
    yield one_person()
    same = np.flatnonzero(table.codes("illness") == 0)
    yield Table(table.schema, table.frame.iloc[same].reset_index(drop=True), table.weight[same].copy())
    yield _with_roles(table, illness={"sensitive"})
    yield _with_roles(table, town={"private"}, age={"private"})
    yield table.project(["illness"])[0]
    unknown = tuple(replace(c, missing=True) if c.name == "age" else c for c in table.schema.columns)
    yield make_table(Schema(unknown), table.frame.assign(age=np.nan), table.weight)


def _with_roles(table: Table, **roles: set[str]) -> Table:
    columns: list[Column] = []
    for column in table.schema.columns:
        new_roles = frozenset(roles[column.name]) if column.name in roles else column.roles
        columns.append(replace(column, roles=new_roles))
    return make_table(Schema(tuple(columns)), table.frame, table.weight)
