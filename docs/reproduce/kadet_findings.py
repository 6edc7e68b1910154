"""Everything one run of the reproduction found, before it is written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kadet_runs import Row, Setting, open_setting, release_of, rows_of
from kadet_variations import (
    Disagreement,
    RootChange,
    RootTest,
    Shift,
    disagreement,
    root_changes,
    root_tests,
    shifts,
    with_education,
)
from leafgate.kernel.tree import Node


@dataclass(frozen=True)
class Experiment:
    """One setting's rows, how many people it was about, and the seconds its slowest k took to grow."""

    rows: Sequence[Row]
    people: int
    tested: int
    dropped: tuple[int, int]
    slowest: float

    def row(self, k: int, *, pruned: bool) -> Row:
        return next(row for row in self.rows if (row.tree, row.k, row.pruned) == ("kadet", k, pruned))

    def plain(self, tree: str, *, pruned: bool) -> Row:
        return next(row for row in self.rows if (row.tree, row.pruned) == (tree, pruned))


@dataclass(frozen=True)
class Findings:
    """Both experiments, and what was changed to explain the first one's root and the second one's details.

    `trees` are pruned ID3 trees by caption; `differ` compares those of k = 889 and 890 on the
    training people and on the test people.
    """

    id3: Experiment
    all: Experiment
    root_tests: Sequence[RootTest]
    root_changes: Sequence[RootChange]
    differ: tuple[Disagreement, Disagreement]
    trees: Sequence[tuple[str, Node]]
    shifts: Sequence[Shift]


def find(root: Path) -> Findings:
    """Run everything; `root` holds the folder `adult`."""
    id3, every = open_setting("adult-id3", "gain", root), open_setting("adult-all", "gain_ratio", root)
    first, second = (release_of(id3.kadet(k, prune=True)) for k in (889, 890))
    return Findings(
        _experiment(id3),
        _experiment(every),
        root_tests(id3.table),
        root_changes(id3),
        (disagreement(first, second, id3.table, "learned from"), disagreement(first, second, id3.test, "test")),
        list(_trees(id3)),
        [*shifts(id3, pruned=False), *shifts(every, pruned=True)],
    )


def _experiment(setting: Setting) -> Experiment:
    timed = list(rows_of(setting))
    slowest = max(seconds for row, seconds in timed if row.tree == "kadet")
    dropped = (setting.table.dropped, setting.test.dropped)
    return Experiment(
        [row for row, _ in timed], setting.table.total_weight, setting.test.total_weight, dropped, slowest
    )


def _trees(setting: Setting) -> list[tuple[str, Node]]:
    wanted = [("the hierarchies as they are", setting), ("one more level for Education", with_education(setting))]
    ks = (889, 890)
    return [(f"k = {k}, {name}", release_of(s.kadet(k, prune=True)).trees[0]) for name, s in wanted for k in ks]
