"""Which tests at which nodes would breach: those that would breach one of the node's spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leafgate.algorithms.induction.encoding import EncodedTable
from leafgate.algorithms.induction.histograms import Codes, Histograms
from leafgate.algorithms.induction.splits import Cuts, Mask
from leafgate_kadet.requirements import Admissible
from leafgate_kadet.spans import InadmissibleSplits, Span, inadmissible_splits_of


@dataclass(frozen=True)
class SpanFilter:
    """A judge for which the populations are the spans of each node, wherever their people are.

    A private feature never breaches. A public one breaches when it breaches some span of the node:
    every value that occurs in the span counts, not only those among the node's own people.
    `owner` numbers, for each of `inadmissible_splits`, the node it speaks of.
    """

    coded: EncodedTable
    owner: Codes
    inadmissible_splits: Sequence[InadmissibleSplits]
    public: Mask

    @classmethod
    def of(cls, coded: EncodedTable, admissible: Admissible, spans: Sequence[Sequence[Span]]) -> SpanFilter:
        """The judge for nodes whose spans are given in the nodes' order; spans remember their breaches."""
        flat = [span for of in spans for span in of]
        fresh = [span for span in dict.fromkeys(flat) if span.inadmissible_splits is None]
        for span, found in zip(fresh, inadmissible_splits_of(admissible, [s.rows for s in fresh]), strict=True):
            span.inadmissible_splits = found
        owner = np.repeat(np.arange(len(spans)), [len(of) for of in spans])
        public = np.array([feature.column.public for feature in coded.features], dtype=bool)
        return cls(
            coded, owner, [span.inadmissible_splits for span in flat if span.inadmissible_splits is not None], public
        )

    def fans(self, part: Histograms, start: Codes, level: int) -> Mask:
        first = np.searchsorted(self.owner, np.arange(self.owner[-1] + 1))
        admitted = np.logical_and.reduceat(
            np.stack([each.fans[level] for each in self.inadmissible_splits]), first, axis=0
        )
        admitted[:, ~self.public] = True
        return np.asarray(admitted[part.group[start], part.feature[start]])

    def cuts(self, cuts: Cuts) -> Mask:
        """A cut breaches when it lies in a bad stretch of one of its node's spans; they are counted, not compared."""
        lengths = [len(each.code) for each in self.inadmissible_splits]
        node = np.repeat(self.owner, lengths)
        feature, code, next_code = (
            np.concatenate([getattr(each, name) for each in self.inadmissible_splits])
            for name in ("feature", "code", "next_code")
        )
        starts = np.sort(self._place(node, feature, code))
        ends = np.sort(self._place(node, feature, next_code))
        place = self._place(cuts.group, cuts.feature, cuts.code)
        inside = np.searchsorted(starts, place, side="right") - np.searchsorted(ends, place, side="right")
        return np.asarray((inside == 0) | ~self.public[cuts.feature])

    def _place(self, node: Codes, feature: Codes, code: Codes) -> Codes:
        """One number for each (node, feature, code), in that order."""
        return np.asarray((node * len(self.coded.features) + feature) * int(self.coded.sizes.max()) + code)
