"""Which tests would breach: the paper's BREACH, for many nodes and all their tests at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.induction.cells import Cells
from leafgate.induction.coding import Coded
from leafgate.induction.measures import Floats
from leafgate.induction.splits import Admits, Cuts, Mask, on_level, segments
from leafgate_kadet.spans import Span, cells_of


@dataclass(frozen=True)
class SpanPeople:
    """A judge for which the populations are the spans of each node, wherever their people are.

    A private feature never breaches. A public one breaches when some span's people with one of its
    values (below or above a cut) are not admissible: every value that occurs in the span, not only
    among the node's own people.
    """

    coded: Coded
    admits: Admits
    owner: NDArray[np.int64]
    cells: Cells
    public: Mask

    @classmethod
    def of(cls, coded: Coded, admits: Admits, spans: Sequence[Sequence[Span]]) -> SpanPeople:
        """The judge for nodes whose spans are given in the nodes' order."""
        owner = np.repeat(np.arange(len(spans)), [len(s) for s in spans])
        public = np.array([feature.column.public for feature in coded.features], dtype=bool)
        return cls(coded, admits, owner, cells_of(coded, [span for of in spans for span in of]), public)

    def fans(self, part: Cells, start: NDArray[np.int64], level: int) -> Mask:
        mine = on_level(self.coded, self.cells, level)
        first = segments(mine)
        fine = np.logical_and.reduceat(self.admits(mine.counts), first)
        admitted = np.ones((self.owner[-1] + 1, len(self.coded.features)), dtype=bool)
        np.logical_and.at(admitted, (self.owner[mine.group[first]], mine.feature[first]), fine)
        admitted[:, ~self.public] = True
        return admitted[part.group[start], part.feature[start]]

    def cuts(self, cuts: Cuts, high: Floats) -> Mask:
        admitted = np.ones(len(cuts.code), dtype=bool)
        for feature in np.unique(cuts.feature[self.public[cuts.feature]]).tolist():
            chosen = np.flatnonzero(cuts.feature == feature)
            admitted[chosen] = self._cuts_of(feature, cuts.group[chosen], cuts.code[chosen])
        return admitted

    def _cuts_of(self, feature: int, group: NDArray[np.int64], code: NDArray[np.int64]) -> Mask:
        """Every span of the cut's node, split at the cut: are both sides admissible?"""
        mine = self.cells.feature == feature
        size = self.coded.features[feature].size
        key = self.cells.group[mine] * size + self.cells.code[mine]
        running = np.concatenate([np.zeros((1, self.coded.n_classes)), self.cells.counts[mine].cumsum(axis=0)])
        first_span = np.searchsorted(self.owner, group, side="left")
        n_spans = np.searchsorted(self.owner, group, side="right") - first_span
        cut = np.repeat(np.arange(len(code)), n_spans)
        span = np.arange(len(cut)) - np.repeat(np.cumsum(n_spans) - n_spans, n_spans) + first_span[cut]
        begin, end = np.searchsorted(key, span * size), np.searchsorted(key, (span + 1) * size)
        middle = np.searchsorted(key, span * size + code[cut], side="right")
        low, high = running[middle] - running[begin], running[end] - running[middle]
        fine = self.admits(low) & self.admits(high)
        admitted = np.ones(len(code), dtype=bool)
        np.logical_and.at(admitted, cut, fine)
        return admitted
