"""Settings: tables, and releases of them that give much away or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from leafgate.algorithms.publication import published
from leafgate.algorithms.sampling import sampled
from leafgate.engine.knowledge import grant_knowledge
from leafgate.io.release_codec import serialize
from leafgate.testing.scenarios.releases import (
    DisclosureLevel,
    noisy_release,
    noisy_release_with_tree,
    private_release,
    public_tree_release,
    running,
    tree_release,
    withheld_release,
)
from leafgate.testing.scenarios.tables import OLDEST, numbered, salaries, survey, twins
from leafgate.types.adversary import AdversaryKnowledge, Fact
from leafgate.types.release import BuildResult, Counted, Level, Publish, Records, Release
from leafgate.types.table import Table

if TYPE_CHECKING:
    from leafgate.types.adversary import Mechanism


@dataclass(frozen=True)
class Instance:
    """A release as its file says it, the table it was made from, and what is known."""

    table: Table
    release: Release
    known: AdversaryKnowledge
    origins: tuple[int, ...] | None


@dataclass(frozen=True)
class Scenario:
    """A table, and releases of it that disclose `much` of some people's secrets, or `nothing`.

    `exposed` says of rows of a table whether the first kind gives their secret away; with `cells` to those only who
    know whose record is whose. `labels`: can the secret's values be declared in another order? `mechanism` makes the
    algorithm that attackers may run; then what the release claims of it is false, or (if it discloses nothing) true.
    """

    name: str
    table: Callable[[DisclosureLevel], Table]
    release: Callable[[Table, DisclosureLevel], Release | BuildResult]
    exposed: Callable[[Table], Sequence[bool]] = lambda table: [True] * len(table)
    cells: bool = False
    labels: bool = True
    mechanism: Callable[[DisclosureLevel], Mechanism] | None = None

    def world(
        self, change: Callable[[Table], Table] = lambda table: table, telling: DisclosureLevel = "much"
    ) -> Instance:
        """The world of the table, changed beforehand."""
        table = change(self.table(telling))
        built = BuildResult.of(self.release(table, telling))
        mechanism = None if self.mechanism is None else self.mechanism(telling)
        return Instance(
            table,
            serialize(built).release,
            grant_knowledge(table, distribution=True, mechanism=mechanism),
            built.origins,
        )

    def counting(self, counted: Counted) -> Scenario:
        """The same with numbers that are said to count something else."""
        return self._with_release(self.name, lambda release: replace(release, count_semantics=counted))

    def at_level(self, level: Level) -> Scenario:
        """The same with this on the leaves and no more."""
        name = f"{self.name} that publishes {level}"
        return self._with_release(name, lambda release: published(release, Publish(level, measure=False), frozenset()))

    def _with_release(self, name: str, change: Callable[[Release], Release]) -> Scenario:
        """The same by another name, each release changed."""

        def changed(table: Table, telling: DisclosureLevel) -> BuildResult:
            built = BuildResult.of(self.release(table, telling))
            return replace(built, release=change(built.release))

        return replace(self, name=name, release=changed)


def well_informed(instance: Instance) -> AdversaryKnowledge:
    """What is known of an instance, and besides something of every kind that a policy can grant."""
    table, release = instance.table, instance.release
    secret = next((column for column in table.schema.secrets if column.values is not None), None)
    facts = () if secret is None else (Fact({}, secret.name, secret.domain[:1], 0.0, 0.5),)
    accuracies = dict.fromkeys(map(str, release.classes), 0.75)
    known = grant_knowledge(
        table,
        distribution=True,
        mechanism=lambda own, rng: release,
        population=table.public[0],
        people=sampled(table, 0.5, 0),
        facts=facts,
    )
    return replace(known, label_accuracies=accuracies, vote_accuracies=accuracies)


def apart(setting: Scenario) -> Instance | None:
    """The setting's world with everybody in a record alone; None where they are so anyway.

    People get a public column that identifies them and discloses nothing else; published records are repeated.
    """
    world = setting.world()
    records = world.release.records
    if records is None:
        return setting.world(numbered)
    if set(records.weight) == {1}:
        return None
    times = list(zip(records.rows, records.weight, world.origins or (), strict=True))
    rows = tuple(row for row, weight, _ in times for _ in range(weight))
    origins = tuple(origin for _, weight, origin in times for _ in range(weight))
    alone = Records(records.columns, rows, (1,) * len(rows))
    return replace(world, release=replace(world.release, records=alone), origins=origins)


def _without_smoking(telling: DisclosureLevel) -> Table:
    return survey().project(["town", "age", "illness"])[0]


def _old(table: Table) -> list[bool]:
    return (table.frame["age"] == OLDEST).tolist()


SETTINGS = (
    Scenario("a tree", lambda telling: survey(), tree_release, _old),
    Scenario("a tree of public columns", _without_smoking, public_tree_release, _old),
    Scenario("withheld cells", lambda telling: twins(alike=telling == "nothing"), withheld_release, cells=True),
    Scenario("noise on numbers", lambda telling: salaries(), noisy_release, cells=True, labels=False),
    Scenario(
        "noise on numbers, and a tree", lambda telling: salaries(), noisy_release_with_tree, cells=True, labels=False
    ),
    Scenario("a mechanism", lambda telling: survey(), private_release, mechanism=running),
)


def truth_of(table: Table, secret: str) -> pd.Series[Any]:
    """The secret of each row, as one of its domain."""
    domain = table.schema[secret].domain
    return pd.Series([domain[code] for code in table.codes(secret).tolist()], dtype=object)
