"""The table a k-anonymous tree is a template for.

Each person is replaced by the public conditions of their span, the private conditions of their
leaf, and their class. Everyone in a span then shows the same public cells, so every combination of
public cells stands for at least k people.

Source: Friedman, Schuster, Wolff 2006, section 5 (the idea, in one sentence).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.errors import PolicyError
from leafgate.induction.coding import Coded, Feature
from leafgate.induction.growing import Sprout, class_counts, sides, son_groups
from leafgate.release import Records
from leafgate.schema import Schema
from leafgate_kadet.spans import Span

Codes = NDArray[np.int64]


def equivalent_table(coded: Coded, schema: Schema, spans: Sequence[Span]) -> Records:
    """One row for each non-empty (span, leaf, class), with its people as weight.

    Columns: the features in policy order, then the class. A cell that no condition limits is the
    whole domain. Unlike the tree's leaf counts, which pool all spans that reach a leaf, the rows
    tell each span's own class counts; they are still about at least k people.
    """
    gaps = [f.column.name for f in coded.features if f.numbers is not None and np.isneginf(f.numbers[:1]).any()]
    if gaps:
        raise PolicyError(
            f"a range of {gaps[0]!r} cannot say that the cell is missing",
            place="build.publish_table",
            remedy="say `on_missing: drop`, or publish the tree alone",
        )
    rows: list[tuple[Any, ...]] = []
    weight: list[int] = []
    for span in spans:
        public = _meet(_conditions(coded, leaf, public=True) for leaf in span.nodes)
        for leaf, mine in _by_leaf(span, len(coded.classes)):
            private = _conditions(coded, leaf, public=False)
            cells = [_cell(feature, (public | private).get(i)) for i, feature in enumerate(coded.features)]
            counts = class_counts(coded, mine)
            for value in np.flatnonzero(counts).tolist():
                rows.append((*cells, schema.classes[value]))
                weight.append(int(counts[value]))
    names = (*(feature.column.name for feature in coded.features), schema.target.name)
    return Records(names, tuple(rows), tuple(weight))


def _by_leaf(span: Span, n_rows: int) -> Iterable[tuple[Sprout, Codes]]:
    """The span's leaves that hold some of its people, with those people's rows."""
    inside = np.zeros(n_rows, dtype=bool)
    inside[span.rows] = True
    for leaf in sorted(span.nodes, key=lambda node: node.rows[:1].tolist()):
        mine = leaf.rows[inside[leaf.rows]]
        if len(mine):
            yield leaf, mine


def _conditions(coded: Coded, leaf: Sprout, *, public: bool) -> dict[int, Codes]:
    """The codes that the tests above a leaf leave possible, for public or for other features."""
    found: dict[int, Codes] = {}
    son, node = leaf, leaf.above
    while node is not None:
        choice = node.choice
        if choice is not None and coded.features[choice.feature].column.public == public:
            codes = found.get(choice.feature, np.arange(coded.features[choice.feature].size))
            group = son_groups(coded, node, choice)[node.sons.index(son)]
            found[choice.feature] = codes[sides(coded, choice, codes) == group]
        son, node = node, node.above
    return found


def _meet(conditions: Iterable[dict[int, Codes]]) -> dict[int, Codes]:
    """What all of several sets of conditions allow."""
    met: dict[int, Codes] = {}
    for each in conditions:
        for feature, codes in each.items():
            met[feature] = np.intersect1d(met[feature], codes) if feature in met else codes
    return met


def _cell(feature: Feature, codes: Codes | None) -> Any:
    """A cell as a release writes it: a value, {"in": [...]}, or {"from", "to"}, the cuts around it."""
    if feature.numbers is None:
        values = [feature.values[code] for code in (range(feature.size) if codes is None else codes)]
        return values[0] if len(values) == 1 else {"in": values}
    first, last = (0, feature.size - 1) if codes is None else (int(codes[0]), int(codes[-1]))
    bounds = feature.column.bounds or (float(feature.numbers[0]), float(feature.numbers[-1]))
    low = bounds[0] if first == 0 else _just_above(feature, first - 1)
    high = bounds[1] if last == feature.size - 1 else feature.threshold(last)
    return {"from": low, "to": high}


def _just_above(feature: Feature, code: int) -> float:
    """The cut after `code`, as the lower end of a range that leaves that code's number out."""
    assert feature.numbers is not None
    cut = feature.threshold(code)
    return cut if cut > feature.numbers[code] else float(np.nextafter(cut, np.inf))
