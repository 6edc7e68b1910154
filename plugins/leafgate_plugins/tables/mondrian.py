"""Mondrian: cut the people into boxes at medians, as long as every box keeps k people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from leafgate.api import Records, Release, lazy
from leafgate.kernel.tree import MAX_DEPTH
from leafgate_plugins.tables.generalisation import GeneralisingBuilder, refuse_small
from leafgate_plugins.tables.raw_table import PublishedColumn, as_they_are, class_column, records_of

if TYPE_CHECKING:
    import numpy as np

    from leafgate.algorithms.induction import (
        encoding,
        greedy,
        growth,
        histograms,
        large,
        paths,
        pruning,
        selection,
        splits,
    )
    from leafgate.algorithms.induction.encoding import EncodedTable, Feature
    from leafgate.algorithms.induction.growth import GrowingNode
    from leafgate.algorithms.induction.histograms import Histograms
    from leafgate.algorithms.induction.selection import Choice
    from leafgate.api import Codes, Floats, LargeTable, Schema, Table
else:
    np = lazy("numpy")
    encoding, greedy, growth, histograms, large, paths, pruning, selection, splits = (
        lazy(f"leafgate.algorithms.induction.{name}")
        for name in (
            *("encoding", "greedy", "growth", "histograms", "large", "paths", "pruning", "selection", "splits"),
        )
    )


class Mondrian(GeneralisingBuilder):
    """Cut the people into boxes of at least k at medians, and release the boxes as a tree or a table.

    Below the boxes, the tree tests private columns.
    """

    use: Literal["mondrian"] = "mondrian"
    measure: Literal["gain", "gain_ratio", "gini"] = Field(
        "gain", description="The measure by which the best test is chosen."
    )

    policy_example = "k: 10"
    formula = "cut the widest column at its median (or into its hierarchy's parts) while every part has k people"
    source = (
        'K. LeFevre, D. DeWitt, R. Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006; '
        "departures: docs/explanation/baselines.md"
    )

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        """The boxes as a tree (tests on private columns below them), as a table, or as both."""
        coded, public_class = encoding.encode(table), table.schema.target.public
        refuse_small(coded, coded.classes if public_class else np.zeros_like(coded.classes), self.k)
        root = growth.growing_node(coded, np.arange(len(coded.classes)))
        boxes = cut_into_boxes(coded, [root], self.k, by_class=public_class)
        records = _records(coded, table, boxes) if self.release != "tree" else None
        self._grow_below(coded, boxes)
        if self.prune:
            pruning.prune(root, self.confidence)
        return self._release(table.schema, growth.finished(coded, root, table.schema), records, {"k": self.k})

    def builds_large(self, schema: Schema) -> bool:
        """A tree."""
        return self.release == "tree"

    def build_large(self, table: LargeTable, rng: np.random.Generator) -> Release:
        """The tree that `build` grows of these people; raises as it does."""
        encoded, by_class = large.encode_blocks(table), table.schema.target.public
        overall = encoded.overall
        refuse_small(overall, overall.classes if by_class else np.zeros_like(overall.classes), self.k)

        def look(coded: EncodedTable, nodes: Sequence[GrowingNode], cells: Histograms) -> Sequence[Choice | None]:
            cuts = _cuts(coded, nodes, cells, self.k, by_class=by_class)
            private = self._tests_below(coded, nodes, cells)
            return [
                test if cut is None or not _may_be_cut(node) or _is_below_box(coded, node) else cut
                for node, cut, test in zip(nodes, cuts, private, strict=True)
            ]

        def grow_part(coded: EncodedTable, nodes: Sequence[GrowingNode]) -> None:
            below = [node for node in nodes if _is_below_box(coded, node)]
            others = [node for node in nodes if not _is_below_box(coded, node)]
            self._grow_below(coded, [*below, *cut_into_boxes(coded, others, self.k, by_class=by_class)])

        root = large.grow_in_parts(
            encoded, look, grow_part, may_split=lambda node: _may_be_cut(node) or growth.may_split(node)
        )
        if self.prune:
            pruning.prune(root, self.confidence)
        return self._release(table.schema, growth.finished(overall, root, table.schema), None, {"k": self.k})

    @property
    def _by_ratio(self) -> bool:
        """Are tests on private columns chosen as C4.5 does: of average gain at least, with two people on both sides?"""
        return self.measure == "gain_ratio"

    def _grow_below(self, coded: EncodedTable, nodes: Sequence[GrowingNode]) -> None:
        """Grow subtrees of tests on private columns below boxes."""
        if private := _private_features(coded):
            ratio = self._by_ratio
            greedy.grow_on(coded, nodes, private, self.measure, average_gain=ratio, min_leaf=2 if ratio else 1)

    def _tests_below(
        self, coded: EncodedTable, nodes: Sequence[GrowingNode], cells: Histograms
    ) -> Sequence[Choice | None]:
        """The best test on a private column of each node that may have one below the boxes."""
        private, ratio = _private_features(coded), self._by_ratio
        if not private:
            return [None] * len(nodes)
        tests = greedy.best_tests(
            coded, nodes, cells, private, self.measure, average_gain=ratio, min_leaf=2 if ratio else 1
        )
        return [test if growth.may_split(node) else None for node, test in zip(nodes, tests, strict=True)]


def _private_features(coded: EncodedTable) -> frozenset[int]:
    return frozenset(i for i, feature in enumerate(coded.features) if not feature.column.public)


def _is_below_box(coded: EncodedTable, node: GrowingNode) -> bool:
    """Is it a part of a box: does its parent test a private column?"""
    choice = None if node.parent is None else node.parent.choice
    return choice is not None and not coded.features[choice.feature].column.public


def cut_into_boxes(coded: EncodedTable, nodes: Sequence[GrowingNode], k: int, *, by_class: bool) -> list[GrowingNode]:
    """Cut nodes for as long as any cut leaves every part, `by_class` every class in it, empty or with k people.

    The widest column goes first: a number's range over its range in the whole table, a
    categorical column's values over its domain. Numbers are cut at the median, categorical columns
    into the groups of the coarsest hierarchy level that separates the box's people.

    Returns:
        The boxes with people, from left to right.

    Source: LeFevre, DeWitt, Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006,
    section 4 (strict partitioning).
    Departure: a column without a hierarchy is cut into its values, not at a median of an order
    imposed on them; with one, into all the groups of a level. When the median is the largest number,
    the cut comes before it. Ties in width go to the earlier column.
    """
    wave = [node for node in nodes if _may_be_cut(node)]
    while wave:
        cells = histograms.count_histograms(coded, [node.rows for node in wave])
        choices = _cuts(coded, wave, cells, k, by_class=by_class)
        cut = [child for node, c in zip(wave, choices, strict=True) if c for child in growth.split(coded, node, c)]
        wave = [child for child in cut if _may_be_cut(child)]
    boxes = [[box for box in node.below() if not box.children and box.people] for node in nodes]
    return [box for of_node in boxes for box in reversed(of_node)]


def _may_be_cut(node: GrowingNode) -> bool:
    return node.people > 0 and node.depth < MAX_DEPTH // 2


def _cuts(
    coded: EncodedTable, nodes: Sequence[GrowingNode], cells: Histograms, k: int, *, by_class: bool
) -> list[Choice | None]:
    """The first allowable cut of each node, None if there is none."""
    first = np.append(splits.segments(cells), len(cells.code))
    public: list[list[tuple[float, int, Codes, Floats]]] = [[] for _ in nodes]
    for start, end in pairwise(first.tolist()):
        i = int(cells.feature[start])
        if coded.features[i].column.public:
            codes, counts = cells.code[start:end], cells.counts[start:end]
            groups = counts if by_class else counts.sum(axis=1, keepdims=True)
            public[int(cells.group[start])].append((-_width(coded.features[i], codes), i, codes, groups))
    return [_cut(coded, columns, k) for columns in public]


def _cut(coded: EncodedTable, columns: Sequence[tuple[float, int, Codes, Floats]], k: int) -> Choice | None:
    """The first allowable cut of some people; `columns` are minus the width, the feature, its codes, their people."""
    for width, i, codes, people in sorted(columns, key=lambda column: column[:2]):
        if width == 0:
            return None
        choice = _choice(coded.features[i], i, codes, people.sum(axis=1))
        if _allowed(coded.features[i], choice, codes, people, k):
            return choice
    return None


def _width(feature: Feature, codes: Codes) -> float:
    """How much of the column's whole width people with these codes, rising, take up, 0 to 1."""
    low, high = int(codes[0]), int(codes[-1])
    if feature.numbers is None:
        return 0.0 if low == high else len(codes) / feature.size
    if low == high:
        return 0.0
    numbers = feature.numbers[np.isfinite(feature.numbers)]
    floor = max(float(feature.numbers[low]), float(numbers[0]))
    whole = float(numbers[-1] - numbers[0])
    return max((float(feature.numbers[high]) - floor) / whole if whole > 0 else 1.0, 1e-12)


def _choice(feature: Feature, i: int, codes: Codes, people: Floats) -> Choice:
    """The cut of a column: at the median, or into the coarsest groups that separate the people."""
    if feature.numeric:
        return selection.Choice((0, 0.0, i, 0), i, 0, _median(codes, people))
    levels = range(len(feature.levels) - 1, -1, -1)
    level = next(h for h in levels if len(np.unique(feature.levels[h][codes])) > 1)
    return selection.Choice((0, 0.0, i, level), i, level, 0)


def _median(codes: Codes, people: Floats) -> int:
    """The code up to which half of the people lie; somebody is left above it."""
    running = people.cumsum()
    return int(codes[min(int(np.searchsorted(running, running[-1] / 2)), len(codes) - 2)])


def _allowed(feature: Feature, choice: Choice, codes: Codes, people: Floats, k: int) -> bool:
    """Has every part, in every group (the columns of `people`), nobody or k people?"""
    side = (codes > choice.code).astype(np.int64) if feature.numeric else feature.levels[choice.level][codes]
    sizes = np.zeros((int(side.max()) + 1, people.shape[1]))
    np.add.at(sizes, side, people)
    return bool(sizes[sizes > 0].min() >= k)


def _records(coded: EncodedTable, table: Table, boxes: list[GrowingNode]) -> Records:
    """One record for each box, private cells and class; a box's public cells are what its cuts leave."""
    paths.refuse_gaps((feature for feature in coded.features if feature.column.public), "build.release")
    items = []
    box_conditions = [paths.conditions(coded, box, public=True) for box in boxes]
    of = np.empty(len(coded.classes), dtype=np.int64)
    for number, box in enumerate(boxes):
        of[box.rows] = number
    for i, feature in enumerate(coded.features):
        if not feature.column.public:
            items.append(as_they_are(coded, i))
            continue
        items.append(
            PublishedColumn(feature.column, [paths.cell_of(feature, each.get(i)) for each in box_conditions], of)
        )
    return records_of([*items, class_column(coded, table.schema)], coded.weight)
