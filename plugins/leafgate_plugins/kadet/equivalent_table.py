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

from leafgate.algorithms.induction.encoding import EncodedTable
from leafgate.algorithms.induction.growth import GrowingNode, class_counts
from leafgate.algorithms.induction.paths import cell_of, conditions, refuse_gaps
from leafgate.api import Codes, Records, Schema
from leafgate.io.json import canonical
from leafgate.kernel.arrays import CompactIds
from leafgate_plugins.kadet.spans import Span


def equivalent_table(coded: EncodedTable, schema: Schema, spans: Sequence[Span]) -> Records:
    """One row for each non-empty (span, leaf, class), with its people as weight.

    Columns: the features in policy order, then the class. A cell that no condition limits is the
    whole domain. Unlike the tree's leaf counts, which pool all spans that reach a leaf, the rows
    publish the class counts of each span; each span has at least k people.
    """
    refuse_gaps(coded.features, "build.publish_table")
    rows: list[tuple[Any, ...]] = []
    weight: list[int] = []
    for span in spans:
        public = _intersect(conditions(coded, leaf, public=True) for leaf in span.nodes)
        for leaf, mine in _rows_by_leaf(span, len(coded.classes)):
            private = conditions(coded, leaf, public=False)
            cells = [cell_of(feature, (public | private).get(i)) for i, feature in enumerate(coded.features)]
            counts = class_counts(coded, mine)
            for value in np.flatnonzero(counts).tolist():
                rows.append((*cells, schema.classes[value]))
                weight.append(int(counts[value]))
    names = (*(feature.column.name for feature in coded.features), schema.target.name)
    order = sorted(
        range(len(rows)), key=lambda i: canonical(rows[i])
    )  # another order could disclose the order of the input
    return Records(names, tuple(rows[i] for i in order), tuple(weight[i] for i in order))


def _rows_by_leaf(span: Span, n_rows: int) -> Iterable[tuple[GrowingNode, CompactIds]]:
    """The leaves that hold people of the span, each with the rows of these people."""
    inside = np.zeros(n_rows, dtype=bool)
    inside[span.rows] = True
    for leaf in span.nodes:
        mine = leaf.rows[inside[leaf.rows]]
        if len(mine):
            yield leaf, mine


def _intersect(conditions: Iterable[dict[int, Codes]]) -> dict[int, Codes]:
    """The conjunction of several sets of conditions, as codes per feature."""
    met: dict[int, Codes] = {}
    for each in conditions:
        for feature, codes in each.items():
            met[feature] = np.intersect1d(met[feature], codes) if feature in met else codes
    return met
