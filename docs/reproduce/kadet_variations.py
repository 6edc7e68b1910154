"""The same experiments with one thing changed, to see what a difference from the paper is due to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np

from kadet_runs import K_GRID, Setting, release_of, row_of
from leafgate.algorithms.induction.encoding import encode
from leafgate.algorithms.prediction import predict
from leafgate.algorithms.routing import split_rows
from leafgate.api import Release, Table
from leafgate.kernel.arrays import Rows
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.schema import Column, Hierarchy, Schema
from leafgate.kernel.tables import Tables
from leafgate.kernel.tree import CategoricalSplit, Node, NumericSplit, children

HIGHER = "Higher education"


def with_columns(setting: Setting, change: Callable[[tuple[Column, ...]], Sequence[Column]]) -> Setting:
    """The setting with other columns: same cells, another order or other hierarchies."""

    def changed(table: Table) -> Table:
        return replace(table, schema=Schema(tuple(change(table.schema.columns))))

    run = replace(setting.run, tables=Tables(changed(setting.table), changed(setting.test)))
    return replace(setting, run=run)


def with_level(setting: Setting, name: str, group: Mapping[str, str]) -> Setting:
    """One more, coarsest level for a column; `group` maps what was coarsest (a value, without levels)."""

    def coarser(column: Column) -> Column:
        if column.name != name:
            return column
        old = column.hierarchy.groups if column.hierarchy else dict.fromkeys(column.domain, ())
        groups = {value: (*names, group[(value or "", *names)[-1]]) for value, names in old.items()}
        return replace(column, hierarchy=Hierarchy(groups))

    return with_columns(setting, lambda columns: [coarser(column) for column in columns])


def with_education(setting: Setting) -> Setting:
    """Primary and secondary education get a group of their own beside higher education."""
    low = "no higher education"
    return with_level(setting, "education", {"Primary education": low, "Secondary education": low, HIGHER: HIGHER})


def with_relationship(setting: Setting) -> Setting:
    """Relationship, which has no hierarchy, gets one level: husbands and wives, and the others."""
    values = setting.table.schema["relationship"].values or ()
    return with_level(setting, "relationship", {v: "spouse" if v in {"Husband", "Wife"} else "other" for v in values})


ROOT_KS = (500, 750, 889, 890, 1000)


@dataclass(frozen=True)
class RootChange:
    """A pruned ID3 tree around the k at which Relationship drops out: what its root asks, and its test error."""

    hierarchies: str
    k: int
    root: str
    error: float


def root_changes(setting: Setting) -> list[RootChange]:
    """With the hierarchies as they are, and with other ones."""
    both = with_relationship(with_education(setting))
    settings = {
        "as they are": setting,
        "one more level for Education": with_education(setting),
        "one level for Relationship": with_relationship(setting),
        "both": both,
    }
    return [_root_change(name, each, k) for name, each in settings.items() for k in ROOT_KS]


def _root_change(name: str, setting: Setting, k: int) -> RootChange:
    done = setting.kadet(k, prune=True)
    return RootChange(name, k, asked(release_of(done).trees[0]), row_of("kadet", k, True, done).test_error)


def asked(node: Node) -> str:
    """The column a node asks, and how many ways lead on."""
    return "nothing" if isinstance(node, Leaf) else f"{node.column} ({len(children(node))} ways)"


@dataclass(frozen=True)
class Disagreement:
    """People for whom two releases predict differently, and for how many of them each is right.

    `chance` is how often a fair coin would be as one-sided (exact sign test, two-sided).
    """

    among: str
    people: int
    first_right: int
    second_right: int
    chance: float


def disagreement(first: Release, second: Release, table: Table, among: str) -> Disagreement:
    a, b, truth = predict(first, table), predict(second, table), table.codes(first.target)
    differ = a != b
    n, first_right, second_right = (int(table.weight[differ & each].sum()) for each in (differ, a == truth, b == truth))
    fewer = min(first_right, second_right)
    chance = min(1.0, 2 * sum(comb(n, i) for i in range(fewer + 1)) / (1 << n))
    return Disagreement(among, n, first_right, second_right, chance)


@dataclass(frozen=True)
class RootTest:
    """What the root could ask: the smallest group it would make, and the surest one in per cent."""

    column: str
    level: int
    ways: int
    smallest: int
    surest: float


def root_tests(table: Table) -> list[RootTest]:
    """Every categorical column on every level of its hierarchy, groups nobody is in left out."""
    found, small = [], encode(table)
    for i, feature in enumerate(small.features):
        for level, groups in enumerate(feature.levels):
            counts = np.zeros((groups.max() + 1, small.n_classes))
            np.add.at(counts, (groups[small.codes[:, i]], small.classes), small.weight)
            counts = counts[counts.sum(axis=1) > 0]
            size = counts.sum(axis=1)
            surest = 100 * float((counts.max(axis=1) / size).max())
            found.append(RootTest(feature.column.name, level, len(counts), int(size.min()), surest))
    return found


@dataclass(frozen=True)
class Shift:
    """What one change does to the test error, over the whole grid; `at` is the k of the largest change."""

    setting: str
    pruned: bool
    change: str
    moved: tuple[int, ...]
    largest: float
    at: int | None


def shifts(setting: Setting, *, pruned: bool) -> list[Shift]:
    """Columns in reverse order (ties), and for gain ratio where cuts lie and the average-gain filter."""
    usual = {k: setting.kadet(k, prune=pruned) for k in K_GRID}
    turned = with_columns(setting, lambda columns: columns[::-1])
    others = {"columns in reverse order": _errors(turned, pruned)}
    if setting.measure == "gain_ratio":
        others["cuts where C4.5 puts them"] = {
            k: test_error(recut(release_of(done), setting.table), setting.test) for k, done in usual.items()
        }
        others["no average-gain filter"] = _errors(setting, pruned, average_gain=False)
    errors = {k: row_of("kadet", k, pruned, done).test_error for k, done in usual.items()}
    return [_shift(setting.name, pruned, change, errors, other) for change, other in others.items()]


def _errors(setting: Setting, pruned: bool, **options: Any) -> dict[int, float]:
    done = {k: setting.kadet(k, prune=pruned, **options) for k in K_GRID}
    return {k: row_of("kadet", k, pruned, each).test_error for k, each in done.items()}


def _shift(setting: str, pruned: bool, change: str, usual: Mapping[int, float], other: Mapping[int, float]) -> Shift:
    difference = {k: other[k] - usual[k] for k in usual if abs(other[k] - usual[k]) > 1e-9}
    at = max(difference, key=lambda k: abs(difference[k]), default=None)
    return Shift(setting, pruned, change, tuple(difference), 0.0 if at is None else difference[at], at)


def test_error(release: Release, test: Table) -> float:
    """Per cent of the people in `test` whose class the release does not predict."""
    right = predict(release, test) == test.codes(release.target)
    return 100 * (1 - float(test.weight[right].sum()) / test.total_weight)


def recut(release: Release, table: Table) -> Release:
    """The same tree with each cut at the largest number of the table up to the middle of the node's own gap.

    Source: Quinlan, "C4.5: Programs for Machine Learning", 1993, section 2.4. Our builders cut
    midway between a number of the node and the next number of the whole table.
    """
    return replace(release, trees=tuple(_recut(tree, table, np.arange(len(table))) for tree in release.trees))


def _recut(node: Node, table: Table, rows: Rows) -> Node:
    if isinstance(node, Leaf):
        return node
    below = [_recut(child, table, mine) for child, mine in split_rows(node, table, rows)]
    if isinstance(node, CategoricalSplit):
        branches = zip(node.branches, below, strict=True)
        return replace(node, branches=tuple(replace(branch, node=child) for branch, child in branches))
    return replace(node, at=_c45_place(node, table, rows), low=below[0], high=below[1])


def _c45_place(node: NumericSplit, table: Table, rows: Rows) -> float:
    everywhere = table.numbers(node.column)
    here = everywhere[rows]
    if not (here <= node.at).any() or not (here > node.at).any():
        return node.at
    middle = (here[here <= node.at].max() + here[here > node.at].min()) / 2
    return float(everywhere[everywhere <= middle].max())
