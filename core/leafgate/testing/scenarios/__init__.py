"""Settings: tables, and releases of them that give much away or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from leafgate.engine.build import known_of
from leafgate.io.release_codec import seal
from leafgate.testing.scenarios.releases import (
    Telling,
    noisy_release,
    noisy_release_with_tree,
    private_release,
    public_tree_release,
    running,
    tree_release,
    withheld_release,
)
from leafgate.testing.scenarios.tables import OLDEST, numbered, salaries, survey, twins
from leafgate.types.adversary import Known
from leafgate.types.release import Counted, Level, Publish, Records, Release, published
from leafgate.types.table import Table

if TYPE_CHECKING:
    from leafgate.types.adversary import Mechanism


@dataclass(frozen=True)
class World:
    """A release as its file says it, the table it was made from, and what is known."""

    table: Table
    release: Release
    known: Known
    origins: tuple[int, ...] | None


@dataclass(frozen=True)
class Setting:
    """A table, and releases of it that tell `much` of some people's secrets, or `nothing`.

    `exposed` says of rows of a table whether the first kind gives their secret away; with `cells` to those only who
    know whose record is whose. `labels`: can the secret's values be declared in another order? `mechanism` makes the
    algorithm that attackers may run; then what the release claims of it is false, or (telling nothing) true.
    """

    name: str
    table: Callable[[Telling], Table]
    release: Callable[[Table, Telling], Release]
    exposed: Callable[[Table], Sequence[bool]] = lambda table: [True] * len(table)
    cells: bool = False
    labels: bool = True
    mechanism: Callable[[Telling], Mechanism] | None = None

    def world(self, change: Callable[[Table], Table] = lambda table: table, telling: Telling = "much") -> World:
        """The world of the table, changed beforehand."""
        table = change(self.table(telling))
        made = self.release(table, telling)
        mechanism = None if self.mechanism is None else self.mechanism(telling)
        return World(table, seal(made).release, known_of(table, distribution=True, mechanism=mechanism), made.origins)

    def counting(self, counted: Counted) -> Setting:
        """The same with numbers that are said to count something else."""
        return replace(self, release=lambda table, telling: replace(self.release(table, telling), counted=counted))

    def telling(self, level: Level) -> Setting:
        """The same with this on the leaves and no more."""

        def release(table: Table, telling: Telling) -> Release:
            return published(self.release(table, telling), Publish(level, measure=False), frozenset())

        return replace(self, name=f"{self.name} that tells {level}", release=release)


def apart(setting: Setting) -> World | None:
    """The setting's world with everybody in a record alone; None where they are so anyway.

    People get a public column that tells them apart and says nothing; published records are repeated.
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


def _without_smoking(telling: Telling) -> Table:
    return survey().project(["town", "age", "illness"])[0]


def _old(table: Table) -> list[bool]:
    return (table.frame["age"] == OLDEST).tolist()


SETTINGS = (
    Setting("a tree", lambda telling: survey(), tree_release, _old),
    Setting("a tree of public columns", _without_smoking, public_tree_release, _old),
    Setting("withheld cells", lambda telling: twins(alike=telling == "nothing"), withheld_release, cells=True),
    Setting("noise on numbers", lambda telling: salaries(), noisy_release, cells=True, labels=False),
    Setting(
        "noise on numbers, and a tree", lambda telling: salaries(), noisy_release_with_tree, cells=True, labels=False
    ),
    Setting("a mechanism", lambda telling: survey(), private_release, mechanism=running),
)


def truth_of(table: Table, secret: str) -> pd.Series[Any]:
    """The secret of each row, as one of its domain."""
    domain = table.schema[secret].domain
    return pd.Series([domain[code] for code in table.codes(secret).tolist()], dtype=object)
