"""Mondrian: cut the people into boxes at medians, as long as every box keeps k people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from leafgate.api import MAX_DEPTH, Records, Release, lazy
from leafgate_tables.generalisation import GeneralisingBuilder, refuse_small
from leafgate_tables.raw_table import PublishedColumn, as_they_are, class_column, records_of

if TYPE_CHECKING:
    import numpy as np

    from leafgate.algorithms.induction import encoding, greedy, growth, paths, pruning, selection
    from leafgate.algorithms.induction.encoding import EncodedTable, Feature
    from leafgate.algorithms.induction.growth import GrowingNode
    from leafgate.algorithms.induction.selection import Choice
    from leafgate.api import Codes, Floats, Table
else:
    np = lazy("numpy")
    encoding, greedy, growth, paths, pruning, selection = (
        lazy(f"leafgate.algorithms.induction.{name}")
        for name in ("encoding", "greedy", "growth", "paths", "pruning", "selection")
    )


class Mondrian(GeneralisingBuilder):
    """Cut the people into boxes of at least k at medians, and release the boxes as a tree or a table."""

    use: Literal["mondrian"] = "mondrian"
    measure: Literal["gain", "gain_ratio", "gini"] = Field(
        "gain", description="Of the tests on private columns, below the boxes: what the best has most of."
    )

    policy_example = "k: 10"
    formula = "cut the widest column at its median (or into its hierarchy's parts) while every part has k people"
    source = (
        'K. LeFevre, D. DeWitt, R. Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006; '
        "departures: docs/explanation/baselines.md"
    )

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        """The boxes as a tree (tests on private columns below them), as a table, or as both."""
        coded = encoding.encode(table)
        groups = coded.classes if table.schema.target.public else np.zeros(len(coded.classes), dtype=np.int64)
        refuse_small(coded, groups, self.k)
        root = growth.growing_node(coded, np.arange(len(coded.classes)))
        boxes = cut_into_boxes(coded, root, self.k, groups)
        records = _records(coded, table, boxes) if self.release != "tree" else None
        ratio = self.measure == "gain_ratio"
        private = frozenset(i for i, feature in enumerate(coded.features) if not feature.column.public)
        if private:
            greedy.grow_on(coded, boxes, private, self.measure, average_gain=ratio, min_leaf=2 if ratio else 1)
        if self.prune:
            pruning.prune(root, self.confidence)
        return self._release(table.schema, growth.finished(coded, root, table.schema), records, {"k": self.k})


def cut_into_boxes(coded: EncodedTable, root: GrowingNode, k: int, groups: Codes) -> list[GrowingNode]:
    """Cut the root for as long as any cut leaves every part, and every group in it, empty or with k people.

    The widest column goes first: a number's range over its range in the whole table, a
    categorical column's values over its domain. Numbers are cut at the median, categorical columns
    into the groups of the coarsest hierarchy level that separates the box's people.

    Source: LeFevre, DeWitt, Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006,
    section 4 (strict partitioning).
    Departure: a column without a hierarchy is cut into its values, not at a median of an order
    imposed on them; with one, into all the groups of a level. When the median is the largest number,
    the cut comes before it. Ties in width go to the earlier column.
    """
    boxes, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        children = _cut(coded, node, k, groups) if node.depth < MAX_DEPTH // 2 else []
        if children:
            waiting.extend(reversed([child for child in children if len(child.rows)]))
        else:
            boxes.append(node)
    return boxes


def _cut(coded: EncodedTable, node: GrowingNode, k: int, groups: Codes) -> list[GrowingNode]:
    """The children of the first allowable cut, none if there is none."""
    widths = [(-_width(f, coded.codes[node.rows, i]), i) for i, f in enumerate(coded.features) if f.column.public]
    for width, i in sorted(widths):
        if width == 0:
            break
        choice = _choice(coded, node, i)
        if _allowed(coded, node, choice, k, groups):
            return growth.split(coded, node, choice)
    return []


def _width(feature: Feature, codes: Codes) -> float:
    """How much of the column's whole width these people take up, 0 to 1."""
    low, high = int(codes.min()), int(codes.max())
    if feature.numbers is None:
        return 0.0 if low == high else len(np.unique(codes)) / feature.size
    if low == high:
        return 0.0
    numbers = feature.numbers[np.isfinite(feature.numbers)]
    floor = max(float(feature.numbers[low]), float(numbers[0]))
    whole = float(numbers[-1] - numbers[0])
    return max((float(feature.numbers[high]) - floor) / whole if whole > 0 else 1.0, 1e-12)


def _choice(coded: EncodedTable, node: GrowingNode, i: int) -> Choice:
    """The cut of a column: at the median, or into the coarsest groups that separate the people."""
    feature, codes = coded.features[i], coded.codes[node.rows, i]
    if feature.numeric:
        return selection.Choice((0, 0.0, i, 0), i, 0, _median(codes, coded.weight[node.rows]))
    levels = range(len(feature.levels) - 1, -1, -1)
    level = next(h for h in levels if len(np.unique(feature.levels[h][codes])) > 1)
    return selection.Choice((0, 0.0, i, level), i, level, 0)


def _median(codes: Codes, weight: Floats) -> int:
    """The code up to which half of the people lie; somebody is left above it."""
    people = np.bincount(codes, weights=weight).cumsum()
    return min(int(np.searchsorted(people, people[-1] / 2)), int(codes[codes < codes.max()].max()))


def _allowed(coded: EncodedTable, node: GrowingNode, choice: Choice, k: int, groups: Codes) -> bool:
    feature, codes = coded.features[choice.feature], coded.codes[node.rows, choice.feature]
    side = (codes > choice.code).astype(np.int64) if feature.numeric else feature.levels[choice.level][codes]
    sizes = np.bincount(side * (int(groups.max()) + 1) + groups[node.rows], weights=coded.weight[node.rows])
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
