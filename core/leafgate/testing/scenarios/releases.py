"""Releases made so that it is known how much they disclose: much of some people's secrets, or nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from leafgate.algorithms.routing import route
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.noise import Noise
from leafgate.kernel.release import BuildResult, Records, Release
from leafgate.kernel.table import Table
from leafgate.kernel.tree import Branch, CategoricalSplit, Node, NumericSplit
from leafgate.testing.scenarios.tables import TOWNS, keys_of

if TYPE_CHECKING:
    from leafgate.kernel.knowledge import Mechanism

DisclosureLevel = Literal["much", "nothing"]
WITHHELD = {"withheld": True}
PEOPLE_SHOWN = 18
"""Of the 20 people of a row of `twins`, whose mood is published."""


def counted_tree(node: Node, table: Table) -> Node:
    """The tree with the table's people counted on its leaves."""
    routed = route(node, table)
    counts = np.zeros((routed.n_leaves, len(table.schema.classes)), dtype=np.int64)
    np.add.at(counts, (routed.leaf, table.codes(table.schema.target.name)), table.weight)
    result = iter(counts.tolist())

    def filled(here: Node) -> Node:
        if isinstance(here, Leaf):
            row = next(result)
            names = table.schema.classes
            return Leaf(names[int(np.argmax(row))], dict(zip(names, row, strict=True)))
        if isinstance(here, NumericSplit):
            return replace(here, low=filled(here.low), high=filled(here.high))
        return replace(here, branches=tuple(Branch(b.values, filled(b.node)) for b in here.branches))

    return filled(node)


def tree_release(table: Table, telling: DisclosureLevel) -> Release:
    """Who is older than 80 has a leaf alone; or there is one leaf."""
    old = NumericSplit("age", 80.0, Leaf(), Leaf())
    smokers = CategoricalSplit("smoker", (Branch(("yes",), Leaf()), Branch(("no",), Leaf())))
    young = NumericSplit("age", 40.0, smokers, Leaf())
    fan = CategoricalSplit("town", (Branch(("Hill",), young), Branch(("Mill",), Leaf()), Branch(("Port",), old)))
    tree = fan if telling == "much" else Leaf()
    return Release({"use": "conformance"}, table.schema, (counted_tree(tree, table),))


def public_tree_release(table: Table, telling: DisclosureLevel) -> Release:
    """The same without a question that nobody else could answer."""
    old = NumericSplit("age", 80.0, Leaf(), Leaf())
    fan = CategoricalSplit("town", (Branch(("Hill",), Leaf()), Branch(("Mill",), Leaf()), Branch(("Port",), old)))
    tree = fan if telling == "much" else Leaf()
    return Release({"use": "conformance"}, table.schema, (counted_tree(tree, table),))


def full_tree_release(table: Table, telling: DisclosureLevel) -> Release:
    """A leaf for each town, age and answer about smoking; or there is one leaf."""
    smokers = CategoricalSplit("smoker", (Branch(("yes",), Leaf()), Branch(("no",), Leaf())))
    ages: Node = smokers
    for at in (60.0, 40.0, 30.0):
        ages = NumericSplit("age", at, smokers, ages)
    towns = CategoricalSplit("town", tuple(Branch((town,), ages) for town in TOWNS))
    tree = towns if telling == "much" else Leaf()
    return Release({"use": "conformance"}, table.schema, (counted_tree(tree, table),))


def withheld_release(table: Table, telling: DisclosureLevel) -> BuildResult:
    """Everything is published but the mood of two people a row."""
    names = tuple(column.name for column in table.schema.columns)
    rows, weight, origins = [], [], []
    shown = table.frame.astype(object).to_numpy().tolist()
    for i, (row, people) in enumerate(zip(shown, table.weight.tolist(), strict=True)):
        hidden = [WITHHELD if name == "mood" else cell for name, cell in zip(names, row, strict=True)]
        copies = [(row, people * PEOPLE_SHOWN // 20), *([(hidden, 1)] * 2)]
        rows += [tuple(cells) for cells, _ in copies]
        weight += [n for _, n in copies]
        origins += [i] * len(copies)
    records = Records(names, tuple(rows), tuple(weight))
    release = Release({"use": "conformance"}, table.schema, model="none", records=records)
    return BuildResult(release, origins=tuple(origins))


def noisy_release(table: Table, telling: DisclosureLevel) -> BuildResult:
    """Pay and hours with noise on them: very little, or so much that nothing is left."""
    law = Noise("gaussian", 0.01 if telling == "much" else 100_000.0)
    order = sorted(range(len(table)), key=lambda i: sorted(keys[i])) if (keys := keys_of(table)) else []
    frame, rng = table.frame.iloc[order].reset_index(drop=True), np.random.default_rng(5)
    for name in ("hours", "pay"):
        frame[name] = law.added(frame[name].to_numpy(dtype=float), rng)
    cells = tuple(tuple(row) for row in frame.astype(object).to_numpy().tolist())
    records = Records(tuple(frame.columns), cells, tuple(table.weight[order].tolist()))
    noise = {"pay": law, "hours": law}
    release = Release(
        {"use": "conformance"},
        table.schema,
        model="none",
        count_semantics="perturbed",
        records=records,
        noise=noise,
    )
    return BuildResult(release, origins=tuple(order))


def noisy_release_with_tree(table: Table, telling: DisclosureLevel) -> BuildResult:
    """Shared numbers, and a tree that predicts the grade from the true ones or from what is shared."""
    tree = counted_tree(NumericSplit("hours", 50.0, Leaf(), Leaf()), table)
    built = noisy_release(table, telling)
    release = replace(built.release, model="trees", trees=(tree,), alternatives={"perturbed": tree})
    return replace(built, release=release)


def private_release(table: Table, telling: DisclosureLevel) -> Release:
    """Counts that claim epsilon 0.1, and the label that follows from them: the true ones, or none of them."""
    tree = counted_tree(Leaf(), table)
    assert isinstance(tree, Leaf)
    counts = {name: count if telling == "much" else 1 for name, count in (tree.counts or {}).items()}
    return Release(
        {"use": "conformance"},
        table.schema,
        (replace(tree, counts=counts, label=max(counts, key=counts.__getitem__)),),
        selection={"measure": "none"},
        count_semantics="noisy",
        guarantee={"epsilon": {"at_most": 0.1, "delta": 0.0}},
    )


def running(telling: DisclosureLevel) -> Mechanism:
    def run(table: Table, rng: np.random.Generator) -> Release:
        return private_release(table, telling)

    return run
