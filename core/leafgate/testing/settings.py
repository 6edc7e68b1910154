"""Settings: releases made so that it is known how much they give away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from leafgate.known import Known, known_of
from leafgate.noise import Noise
from leafgate.release import Counted, Records, Release
from leafgate.release_file import seal
from leafgate.routing import route
from leafgate.table import Table
from leafgate.testing.tables import OLDEST, keys_of, numbered, salaries, survey, twins
from leafgate.tree import Branch, Cut, Fan, Leaf, Node

if TYPE_CHECKING:
    from leafgate.known import Mechanism

Telling = Literal["much", "nothing"]
WITHHELD = {"withheld": True}
SHOWN = 18
"""Of the 20 people of a row of `twins`, whose mood is published."""


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


def counted_tree(node: Node, table: Table) -> Node:
    """The tree with the table's people counted on its leaves."""
    routed = route(node, table)
    counts = np.zeros((len(routed.leaves), len(table.schema.classes)), dtype=np.int64)
    np.add.at(counts, (routed.leaf, table.codes(table.schema.target.name)), table.weight)
    told = iter(counts.tolist())

    def filled(here: Node) -> Node:
        if isinstance(here, Leaf):
            row = next(told)
            names = table.schema.classes
            return Leaf(names[int(np.argmax(row))], dict(zip(names, row, strict=True)))
        if isinstance(here, Cut):
            return replace(here, low=filled(here.low), high=filled(here.high))
        return replace(here, branches=tuple(Branch(b.values, filled(b.node)) for b in here.branches))

    return filled(node)


def _tree(table: Table, telling: Telling) -> Release:
    """Who is older than 80 has a leaf alone; or there is one leaf."""
    old = Cut("age", 80.0, Leaf(), Leaf())
    smokers = Fan("smoker", (Branch(("yes",), Leaf()), Branch(("no",), Leaf())))
    young = Cut("age", 40.0, smokers, Leaf())
    fan = Fan("town", (Branch(("Hill",), young), Branch(("Mill",), Leaf()), Branch(("Port",), old)))
    tree = fan if telling == "much" else Leaf()
    return Release({"use": "conformance"}, table.schema, (counted_tree(tree, table),))


def _public_tree(table: Table, telling: Telling) -> Release:
    """The same without a question that nobody else could answer."""
    old = Cut("age", 80.0, Leaf(), Leaf())
    fan = Fan("town", (Branch(("Hill",), Leaf()), Branch(("Mill",), Leaf()), Branch(("Port",), old)))
    tree = fan if telling == "much" else Leaf()
    return Release({"use": "conformance"}, table.schema, (counted_tree(tree, table),))


def _without_smoking(telling: Telling) -> Table:
    return survey().project(["town", "age", "illness"])[0]


def _withheld(table: Table, telling: Telling) -> Release:
    """Everything is published but the mood of two people a row."""
    names = tuple(column.name for column in table.schema.columns)
    rows, weight, origins = [], [], []
    shown = table.frame.astype(object).to_numpy().tolist()
    for i, (row, people) in enumerate(zip(shown, table.weight.tolist(), strict=True)):
        hidden = [WITHHELD if name == "mood" else cell for name, cell in zip(names, row, strict=True)]
        copies = [(row, people * SHOWN // 20), *([(hidden, 1)] * 2)]
        rows += [tuple(cells) for cells, _ in copies]
        weight += [n for _, n in copies]
        origins += [i] * len(copies)
    records = Records(names, tuple(rows), tuple(weight))
    return Release({"use": "conformance"}, table.schema, model="none", records=records, origins=tuple(origins))


def _noisy(table: Table, telling: Telling) -> Release:
    """Pay and hours with noise on them: very little, or so much that nothing is left."""
    law = Noise("gaussian", 0.01 if telling == "much" else 100_000.0)
    order = sorted(range(len(table)), key=lambda i: sorted(keys[i])) if (keys := keys_of(table)) else []
    frame, rng = table.frame.iloc[order].reset_index(drop=True), np.random.default_rng(5)
    for name in ("hours", "pay"):
        frame[name] = law.added(frame[name].to_numpy(dtype=float), rng)
    cells = tuple(tuple(row) for row in frame.astype(object).to_numpy().tolist())
    records = Records(tuple(frame.columns), cells, tuple(table.weight[order].tolist()))
    noise = {"pay": law, "hours": law}
    return Release(
        {"use": "conformance"},
        table.schema,
        model="none",
        counted="perturbed",
        records=records,
        noise=noise,
        origins=tuple(order),
    )


def _noisy_and_tree(table: Table, telling: Telling) -> Release:
    """Shared numbers, and a tree that predicts the grade from the true ones or from what is shared."""
    tree = counted_tree(Cut("hours", 50.0, Leaf(), Leaf()), table)
    return replace(_noisy(table, telling), model="trees", trees=(tree,), alternatives={"perturbed": tree})


def _private(table: Table, telling: Telling) -> Release:
    """Counts that claim epsilon 0.1: the true ones, or none of them."""
    tree = counted_tree(Leaf(), table)
    assert isinstance(tree, Leaf)
    counts = {name: count if telling == "much" else 1 for name, count in (tree.counts or {}).items()}
    return Release(
        {"use": "conformance"},
        table.schema,
        (replace(tree, counts=counts),),
        selection={"measure": "none"},
        counted="noisy",
        guarantee={"epsilon": {"at_most": 0.1, "delta": 0.0}},
    )


def _running(telling: Telling) -> Mechanism:
    def run(table: Table, rng: np.random.Generator) -> Release:
        return _private(table, telling)

    return run


def _old(table: Table) -> list[bool]:
    return (table.frame["age"] == OLDEST).tolist()


SETTINGS = (
    Setting("a tree", lambda telling: survey(), _tree, _old),
    Setting("a tree of public columns", _without_smoking, _public_tree, _old),
    Setting("withheld cells", lambda telling: twins(alike=telling == "nothing"), _withheld, cells=True),
    Setting("noise on numbers", lambda telling: salaries(), _noisy, cells=True, labels=False),
    Setting("noise on numbers, and a tree", lambda telling: salaries(), _noisy_and_tree, cells=True, labels=False),
    Setting("a mechanism", lambda telling: survey(), _private, mechanism=_running),
)


def truth_of(table: Table, secret: str) -> pd.Series[Any]:
    """The secret of each row, as one of its domain."""
    domain = table.schema[secret].domain
    return pd.Series([domain[code] for code in table.codes(secret).tolist()], dtype=object)
