"""Spans: the groups of people whom an adversary cannot distinguish while the tree grows.

A span is the set of bins (leaf x class value) a person could land in when private cells vary. Here
it is kept as the set of leaves it reaches and the people in it; with a public class it also has one
class value. Nodes know their spans and spans their nodes.

Source: Friedman, Schuster, Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006, Definition 4
and Algorithm 1 (SPLIT).
Departure: the printed lines 28 and 31 stand inside the loop over v; here they are outside of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from leafgate.algorithms.induction.encoding import EncodedTable
from leafgate.algorithms.induction.growth import GrowingNode, sides, son_groups
from leafgate.algorithms.induction.growth import split as split_node
from leafgate.algorithms.induction.histograms import Histograms, count_histograms
from leafgate.algorithms.induction.selection import Choice
from leafgate.algorithms.induction.splits import Cuts, cuts_of, on_level, segments
from leafgate.api import Codes, InconclusiveError, Mask, Rows
from leafgate_kadet.requirements import Admissible, SecretView


@dataclass(frozen=True)
class InadmissibleSplits:
    """The tests that are inadmissible for the people of one span.

    `fans[level, feature]` says whether asking a categorical feature on a level is admitted: every
    value that occurs in the span holds an admissible population. A cut of a number breaches when it
    lies in a bad stretch: from `code` up to, but not including, `next_code` of `feature`.
    """

    fans: Mask
    feature: Codes
    code: Codes
    next_code: Codes


def find_inadmissible_splits(admissible: Admissible, populations: Sequence[Rows]) -> list[InadmissibleSplits]:
    """The inadmissible tests of several populations, by the requirements of all columns."""
    views = [_inadmissible_in_view(view, populations) for view in admissible.views]
    return views[0] if len(views) == 1 else [_combine_views(each) for each in zip(*views, strict=True)]


def _combine_views(several: Sequence[InadmissibleSplits]) -> InadmissibleSplits:
    fans = np.logical_and.reduce([each.fans for each in several])
    stretches = (np.concatenate([getattr(e, name) for e in several]) for name in ("feature", "code", "next_code"))
    return InadmissibleSplits(fans, *stretches)


def _inadmissible_in_view(view: SecretView, populations: Sequence[Rows]) -> list[InadmissibleSplits]:
    """The tests that the requirements of one column forbid.

    Between two numbers that follow each other in a population, every cut parts its people alike;
    the stretch is bad when the people up to it, or those above, are not admissible.
    """
    coded = view.coded
    cells = count_histograms(coded, populations)
    depth = max((len(feature.levels) for feature in coded.features), default=0)
    fans = np.ones((len(populations), depth, len(coded.features)), dtype=bool)
    for level in range(depth):
        part = on_level(coded, cells, level)
        if len(part.code):
            first = segments(part)
            fine = np.logical_and.reduceat(view(part.counts), first)
            fans[part.group[first], level, part.feature[first]] = fine
    cuts = cuts_of(coded, cells)
    bad = np.flatnonzero(~(view(cuts.low) & view(cuts.high))) if len(cuts.code) else np.zeros(0, dtype=np.int64)
    ends = np.searchsorted(cuts.group[bad], np.arange(len(populations) + 1))
    parts = [bad[start:end] for start, end in pairwise(ends)]
    return [
        InadmissibleSplits(fans[i], cuts.feature[part], cuts.code[part], cuts.next_code[part])
        for i, part in enumerate(parts)
    ]


@dataclass(eq=False)
class Span:
    """People whom the adversary cannot distinguish: `rows` of the table, and the leaves they could be in.

    `inadmissible_splits` is filled in when it is first asked for; the people of a span never change.
    """

    rows: Rows
    nodes: set[GrowingNode]
    class_value: int | None = None
    inadmissible_splits: InadmissibleSplits | None = None


@dataclass
class Spans:
    """The spans of each leaf (`of`, in order), updated by every split."""

    coded: EncodedTable
    max_spans: int
    of: dict[GrowingNode, dict[Span, None]] = field(default_factory=dict)
    count: int = 0

    def initial(self, root: GrowingNode, class_is_public: bool) -> list[Span]:
        """The spans of a tree that is one leaf: everybody, or one span for each class that occurs."""
        classes = self.coded.classes[root.rows]
        if class_is_public:
            values = np.unique(classes).tolist()
            found = [Span(root.rows[classes == value], {root}, value) for value in values]
        else:
            found = [Span(root.rows, {root})]
        self.of[root] = dict.fromkeys(found)
        self.count = len(found)
        return found

    def split(self, node: GrowingNode, choice: Choice) -> tuple[list[GrowingNode], set[GrowingNode]]:
        """Split a node; returns its children and the other leaves whose spans changed."""
        feature = self.coded.features[choice.feature]
        spans = self.of.pop(node)
        children = split_node(self.coded, node, choice)
        if not feature.column.public:
            for span in spans:
                span.nodes.remove(node)
                span.nodes.update(children)
            self.of.update((child, dict(spans)) for child in children)
            return children, set()
        self.of.update((child, {}) for child in children)
        touched: set[GrowingNode] = set()
        for span in spans:
            parts = self._parts(span, node, choice)
            self.count += len(parts) - 1
            elsewhere = span.nodes - {node}
            touched |= elsewhere
            for part in parts:
                for leaf in part.nodes:
                    self.of[leaf][part] = None
            for leaf in elsewhere:
                del self.of[leaf][span]
        if self.count > self.max_spans:
            raise InconclusiveError(
                f"the tree separates more than {self.max_spans} groups",
                place="build.max_spans",
                remedy="declare fewer private columns, raise k, or raise max_spans",
            )
        return children, touched

    def _parts(self, span: Span, node: GrowingNode, choice: Choice) -> list[Span]:
        """The non-empty parts of a span, one for each child that its people could reach."""
        elsewhere = span.nodes - {node}
        if span.rows is node.rows:
            return [
                Span(child.rows, elsewhere | {child}, span.class_value) for child in node.children if len(child.rows)
            ]
        side = sides(self.coded, choice, self.coded.codes[span.rows, choice.feature])
        groups = son_groups(self.coded, node, choice)
        parts = ((span.rows[side == group], child) for group, child in zip(groups, node.children, strict=True))
        return [Span(rows, elsewhere | {child}, span.class_value) for rows, child in parts if len(rows)]

    def all(self) -> list[Span]:
        """Every span once."""
        return list(dict.fromkeys(span for spans in self.of.values() for span in spans))


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The spans of the tree as it is now, after pruning put leaves in the place of subtrees.

    Spans that reach the same leaves are one; whatever distinguished them is no longer asked.
    """
    together: dict[tuple[frozenset[GrowingNode], int | None], list[Rows]] = {}
    for span in spans:
        leaves = frozenset(node.surviving_ancestor() for node in span.nodes)
        together.setdefault((leaves, span.class_value), []).append(span.rows)
    return [Span(np.concatenate(rows), set(leaves), value) for (leaves, value), rows in together.items()]


@dataclass(frozen=True)
class SpanFilter:
    """A split filter whose populations are the spans of each node, including people in other leaves.

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
        """The filter for nodes with these spans, in the order of the nodes; spans cache their inadmissible tests."""
        flat = [span for of in spans for span in of]
        fresh = [span for span in dict.fromkeys(flat) if span.inadmissible_splits is None]
        for span, found in zip(fresh, find_inadmissible_splits(admissible, [s.rows for s in fresh]), strict=True):
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
        starts = np.sort(self._sort_key(node, feature, code))
        ends = np.sort(self._sort_key(node, feature, next_code))
        place = self._sort_key(cuts.group, cuts.feature, cuts.code)
        inside = np.searchsorted(starts, place, side="right") - np.searchsorted(ends, place, side="right")
        return np.asarray((inside == 0) | ~self.public[cuts.feature])

    def _sort_key(self, node: Codes, feature: Codes, code: Codes) -> Codes:
        """One number for each (node, feature, code), in that order."""
        return np.asarray((node * len(self.coded.features) + feature) * int(self.coded.sizes.max()) + code)
