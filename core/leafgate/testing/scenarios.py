"""Scenarios: tables of invented people, and releases of them that give much away or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms import prediction, routing
from leafgate.engine import knowledge as granting
from leafgate.io.release_codec import serialize
from leafgate.kernel import belief, knowledge
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import BuildResult, Release
from leafgate.kernel.schema import Column, Hierarchy, Schema
from leafgate.kernel.table import Table, make_table, typed_column
from leafgate.kernel.tree import Branch, CategoricalSplit, Node, NumericSplit, map_leaves

TOWNS = ("Hill", "Mill", "Port")
ILLNESSES = ("none", "cold", "flu")
ROWS = list(product(TOWNS, (20.0, 35.0, 50.0, 65.0), ("yes", "no"), ILLNESSES))
OLDEST = ("Port", 90.0, "no", "flu")
"""One person, who is like nobody else."""
KNOWN, SECRET = frozenset({"quasi_identifier"}), frozenset({"class", "sensitive"})
TYPES_OF_ILLNESS = Hierarchy({"none": ("well",), "cold": ("ill",), "flu": ("ill",)})
COLUMNS = (
    Column("town", KNOWN, values=TOWNS),
    Column("age", KNOWN, bounds=(0.0, 100.0)),
    Column("smoker", frozenset({"private"}), values=("yes", "no")),
    Column("illness", SECRET, values=ILLNESSES, ordered=True, hierarchy=TYPES_OF_ILLNESS),
)


def table_of(columns: Sequence[Column], rows: Sequence[Sequence[Any]], weight: Sequence[int]) -> Table:
    """The table of these rows, each of so many people."""
    cells = zip(columns, zip(*rows, strict=True), strict=True)
    frame = pd.DataFrame({column.name: typed_column(column, list(own)) for column, own in cells})
    return make_table(Schema(tuple(columns)), frame, np.array(weight, dtype=np.int64))


def survey(most: int = 4) -> Table:
    """Town, age, whether someone smokes (private) and which illness they have (the class, and the secret).

    All combinations, each of 1 to `most` people; and one person aged 90.
    """
    weight = np.random.default_rng(1).integers(1, most + 1, len(ROWS)).tolist()
    return table_of(COLUMNS, [*ROWS, OLDEST], [*weight, 1])


def half_survey(*, others: bool) -> Table:
    """One person for every second combination of the survey's cells; `others`: for those that the first leave out.

    Of each town, age, smoker and illness there are as many people in both halves.
    """
    half = np.indices((3, 4, 2, 3)).sum(axis=0).ravel() % 2 == others
    return table_of(COLUMNS, [row for row, inside in zip(ROWS, half, strict=True) if inside], [1] * int(half.sum()))


Change = Callable[[Table], Table]


def unchanged(table: Table) -> Table:
    """The same people."""
    return table


def reordered(table: Table) -> Table:
    """The same people, columns in the opposite order."""
    return make_table(Schema(table.schema.columns[::-1]), table.frame, table.weight)


def relabelled(table: Table) -> Table:
    """The same people, the values of secrets and classes declared in the opposite order."""
    columns, frame = list[Column](), table.frame.copy()
    for column in table.schema.columns:
        if column.values is not None and column.roles & SECRET:
            column = replace(column, values=column.values[::-1])
            frame[column.name] = frame[column.name].cat.set_categories(list(column.domain))
        columns.append(column)
    return make_table(Schema(tuple(columns)), frame, table.weight)


def shuffled(table: Table) -> Table:
    """The same people, in the opposite order."""
    return table.at(np.arange(len(table))[::-1])


def written_out(table: Table) -> Table:
    """The same people, a row for each: nobody shares one."""
    rows = np.repeat(np.arange(len(table)), table.weight)
    return replace(table.at(rows), weight=np.ones(len(rows), dtype=np.int64), _codes={})


def doubled(table: Table) -> Table:
    """Everybody twice."""
    return replace(table, weight=table.weight * 2, _codes={})


Telling = Literal["much", "nothing"]
Key = frozenset[tuple[str, str]]


def keys_of(frame: pd.DataFrame) -> list[Key]:
    """What each row says, whatever the order of columns."""
    rows = frame.astype(object).to_dict("records")
    return [frozenset((str(name), str(cell)) for name, cell in row.items()) for row in rows]


@dataclass(frozen=True)
class World:
    """A release as its file says it, the table it was made from, and what is known.

    Attributes:
        table: The people.
        release: What was made of them.
        known: What anybody may know of them; who attacks gets what it declares in `needs`.
        outside: People who are not in the table.
        origins: For each published record its row of the table.
        seed: Another one puts candidates and targets in another order.
    """

    table: Table
    release: Release
    known: knowledge.AdversaryKnowledge
    outside: Table
    origins: Sequence[int] | None = None
    seed: int = 0

    @cached_property
    def drawn(self) -> tuple[knowledge.Candidates, knowledge.Membership]:
        """The candidates of attacks that infer who is in the table, and who of them is."""
        return granting.draw_candidates(self.table, self.outside, knowledge.MAX_CANDIDATES, self.seed)

    @cached_property
    def asked(self) -> tuple[dict[str, knowledge.Targets], knowledge.Membership]:
        """The targets of attacks that infer an input of the model, and who of them is in the table.

        They are all people of the table and outside of it, of whom the class is known; those outside are the auxiliary
        people too.
        """
        people, others = (written_out(each.without_key) for each in (self.table, self.outside))
        secrets = granting.secret_inputs(self.release, people.schema)
        knows = knowledge.Knows.model_validate({"class": True})
        return granting.targets_of(people, people, others, others, knows, secrets, swapped=bool(self.seed))


@dataclass(frozen=True, eq=False)
class Scenario:
    """A table, and releases of it that disclose `much` of some people's secrets, or `nothing`.

    Attributes:
        name: What messages call it.
        table: Makes the table, by which of both is wanted.
        release: Makes the release of a table.
        exposed: The rows whose secret the first kind of release gives away.
        about: The types of beliefs about what the first kind of release gives away. Of a MechanismBelief that is that
            the release's claim of its mechanism is false.
        mechanism: Makes the algorithm that attackers may run.
        control: Makes people who are not in the table, of all who might be.
    """

    name: str
    table: Callable[[Telling], Table]
    release: Callable[[Table, Telling], Release | BuildResult]
    exposed: Callable[[Table], Sequence[bool]] = lambda table: [True] * len(table)
    about: tuple[type[belief.Belief], ...] = (belief.SecretBelief,)
    mechanism: Callable[[Telling], knowledge.Mechanism] | None = None
    control: Change = unchanged

    def world(self, change: Change = unchanged, telling: Telling = "much", seed: int = 0) -> World:
        """The world of the table, changed beforehand: made once, of which each call gets a copy."""
        return deepcopy(self._world(change, telling, seed))

    @lru_cache(maxsize=128)  # noqa: B019  scenarios live as long as the tests
    def _world(self, change: Change, telling: Telling, seed: int) -> World:
        original = self.table(telling)
        table = change(original)
        built = BuildResult.of(self.release(table, telling))

        def retrain(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
            return prediction.class_scores(BuildResult.of(self.release(own, telling)).release, asked)

        more: dict[str, Any] = {"mechanism": self.mechanism and self.mechanism(telling), "population": table.public[0]}
        known = replace(granting.grant_knowledge(table, distribution=True, **more), retrain=retrain)
        world = World(table, serialize(built).release, known, change(self.control(original)), built.origins, seed)
        return replace(world, known=replace(known, candidates=world.drawn[0], targets=world.asked[0]))


def counted_tree(node: Node, table: Table) -> Node:
    """The tree with the table's people counted on its leaves."""
    routed, names = routing.route(node, table), table.schema.classes
    counts = np.zeros((routed.n_leaves, len(names)), dtype=np.int64)
    np.add.at(counts, (routed.leaf, table.codes(table.schema.target.name)), table.weight)
    rows = iter(counts.tolist())

    def counted(leaf: Leaf) -> Leaf:
        row = next(rows)
        return Leaf(names[int(np.argmax(row))], dict(zip(names, row, strict=True)))

    return map_leaves(node, counted)


def tree_release(table: Table, telling: Telling) -> Release:
    """Who is older than 80 has a leaf alone; or there is one leaf."""
    old = NumericSplit("age", 80.0, Leaf(), Leaf())
    fan = CategoricalSplit("town", (Branch(("Hill",), Leaf()), Branch(("Mill",), Leaf()), Branch(("Port",), old)))
    return Release({"use": "kit"}, table.schema, (counted_tree(fan if telling == "much" else Leaf(), table),))


def full_tree_release(table: Table, telling: Telling) -> Release:
    """A leaf for each town, age and answer about smoking; or there is one leaf."""
    smokers = CategoricalSplit("smoker", (Branch(("yes",), Leaf()), Branch(("no",), Leaf())))
    ages: Node = smokers
    for at in (60.0, 40.0, 30.0):
        ages = NumericSplit("age", at, smokers, ages)
    towns = CategoricalSplit("town", tuple(Branch((town,), ages) for town in TOWNS))
    return Release({"use": "kit"}, table.schema, (counted_tree(towns if telling == "much" else Leaf(), table),))


def oldest(table: Table) -> list[bool]:
    """Which rows are the person's who is like nobody else."""
    return [age == OLDEST[1] for age in table.frame["age"]]


TREE = Scenario("a tree", lambda telling: survey(), tree_release, oldest)
MEMBERS = Scenario(
    "a tree with a leaf for each combination of cells",
    lambda telling: half_survey(others=False),
    full_tree_release,
    about=(belief.MembershipBelief, belief.AttributeBelief),
    control=lambda table: half_survey(others=True),
)
"""For attacks that infer who is in the table: no leaf counts anybody of the class of somebody who is not.

For attacks that infer an input: whether somebody smokes follows from the class and the public columns.
"""
SCENARIOS = (TREE, MEMBERS)
