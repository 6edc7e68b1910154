"""Spans: the groups of people whom an adversary cannot distinguish while the tree grows.

A span is the set of bins (leaf x class value) a person could land in when private cells vary. Here
it is kept as the people in it; with a public class it also has one class value. While the tree grows,
leaves know their spans; which leaves a span reaches is collected at the end.

Source: Friedman, Schuster, Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006, Definition 4
and Algorithm 1 (SPLIT).
Departure: the printed lines 28 and 31 stand inside the loop over v; here they are outside of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, starmap

import numpy as np

from leafgate.algorithms.induction.encoding import EncodedTable
from leafgate.algorithms.induction.growth import GrowingNode, sides, son_groups
from leafgate.algorithms.induction.histograms import Histograms
from leafgate.algorithms.induction.selection import Choice
from leafgate.algorithms.induction.splits import Cuts, cuts_of, on_level, segments
from leafgate.api import Codes, InconclusiveError, Mask
from leafgate.kernel.arrays import CompactIds
from leafgate_plugins.kadet.requirements import Admissible, SecretView


@dataclass(frozen=True)
class InadmissibleSplits:
    """The tests that are inadmissible for the people of one span, or for those of one of several spans.

    `fans[level, feature]` says whether asking a categorical feature on a level is admitted: every
    value that occurs in the span holds an admissible population. A cut of a number breaches when it
    lies in a bad stretch: from `code` up to, but not including, `next_code` of `feature`. Tests of private features
    are never inadmissible.
    """

    fans: Mask
    feature: Codes
    code: Codes
    next_code: Codes

    @classmethod
    def of_any(cls, several: Sequence[InadmissibleSplits]) -> InadmissibleSplits:
        """The tests that one of these or another forbids."""
        if len(several) == 1:
            return several[0]
        fans = np.logical_and.reduce([each.fans for each in several])
        return cls(
            fans,
            np.concatenate([each.feature for each in several]),
            np.concatenate([each.code for each in several]),
            np.concatenate([each.next_code for each in several]),
        )

    def admits(self, choice: Choice) -> bool:
        """Is a test of a public feature admitted?"""
        if not self.fans[choice.level, choice.feature]:
            return False
        inside = (self.feature == choice.feature) & (self.code <= choice.code) & (choice.code < self.next_code)
        return not inside.any()


@dataclass(frozen=True)
class PublicCodes:
    """Of each feature the lowest and the highest code that somebody in a span has; 0 for private ones."""

    lowest: Sequence[int]
    highest: Sequence[int]


def _inadmissible_in_view(
    view: SecretView, cells: Histograms, populations: int
) -> tuple[list[InadmissibleSplits], list[PublicCodes]]:
    """The tests that the requirements of one column forbid, and the public codes, of each of so many populations.

    `cells` are histograms of the populations' public features. Between two numbers that follow each other in a
    population, every cut parts its people alike; the stretch is bad when the people up to it, or those above, are not
    admissible. Stretches that follow each other are joined.
    """
    public, coded = view.public_features
    shape = (populations, len(view.coded.features))
    depth = len(view.coded.level_groups)
    fans = np.ones((shape[0], depth, shape[1]), dtype=bool)
    for level in range(len(coded.level_groups)):
        part = on_level(coded, cells, level)
        if len(part.code):
            first = segments(part)
            fine = np.logical_and.reduceat(view(part.counts), first)
            fans[part.group[first], level, public[part.feature[first]]] = fine
    lowest, highest = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    first = segments(cells)
    at = cells.group[first], public[cells.feature[first]]
    lowest[at] = cells.code[first]
    highest[at] = cells.code[np.append(first[1:], len(cells.code))[: len(first)] - 1]
    group, feature, code, next_code = _bad_stretches(view, cuts_of(coded, cells))
    ends = np.searchsorted(group, np.arange(shape[0] + 1))
    found = [
        InadmissibleSplits(fans[i], public[feature[at]], code[at], next_code[at])
        for i, at in enumerate(starmap(slice, pairwise(ends)))
    ]
    return found, list(map(PublicCodes, lowest.tolist(), highest.tolist()))


def _bad_stretches(view: SecretView, cuts: Cuts) -> tuple[Codes, Codes, Codes, Codes]:
    """Population, feature, first code and code behind the last of every bad stretch, in this order."""
    if not len(cuts.code):
        return cuts.group, cuts.feature, cuts.code, cuts.code
    bad = np.flatnonzero(~(view(cuts.low) & view(cuts.high)))
    segment = cuts.segment[bad]
    goes_on = (np.diff(bad) == 1) & (np.diff(segment) == 0)
    first, last = bad[np.append(True, ~goes_on)[: len(bad)]], bad[np.append(~goes_on, True)[: len(bad)]]
    return cuts.group[first], cuts.feature[first], cuts.code[first], cuts.next_code[last]


@dataclass(eq=False)
class Span:
    """People whom the adversary cannot distinguish: `rows` of the table, and the leaves they could be in.

    The people of a span never change, so `inadmissible_splits` and `codes` are found once, when they are first needed.
    `parts` stand in the place of a span whose people a split told apart; it holds nobody any more. `nodes` is filled in
    by `Spans.all`.
    """

    rows: CompactIds
    nodes: set[GrowingNode] = field(default_factory=set)
    class_value: int | None = None
    inadmissible_splits: InadmissibleSplits | None = None
    codes: PublicCodes | None = None
    parts: Sequence[Span] = ()

    def current(self) -> Iterator[Span]:
        """This span, or the spans that stand in its place now."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.current()

    def replace_by(self, parts: Sequence[Span]) -> None:
        """Leave the people to the parts, so that all spans together hold everybody just once."""
        self.parts, self.rows, self.inadmissible_splits, self.codes = parts, self.rows[:0], None, None


@dataclass(eq=False)
class SharedSpans:
    """The spans of a node, or of several that only private tests distinguish: these have the same spans.

    They keep the same spans whatever is split: where a split of one of them parts a span, all parts reach the
    others. So they share this object, and a split need not visit them. `version` counts the changes. `partings` is the
    number of `Spans.partings` when parted spans were last looked for here.
    """

    spans: list[Span]
    version: int = 0
    partings: int = -1
    _forbidden: InadmissibleSplits | None = None

    def replace_parted(self) -> None:
        """Put the parts of parted spans in their place."""
        if any(span.parts for span in self.spans):
            self.spans = [part for span in self.spans for part in span.current()]
            self.version, self._forbidden = self.version + 1, None

    def forbidden(self) -> InadmissibleSplits:
        """The tests that are inadmissible for some span; `find_inadmissible_splits` has found those of each."""
        if self._forbidden is None:
            known = [each for span in self.spans if (each := span.inadmissible_splits) is not None]
            assert len(known) == len(self.spans)
            self._forbidden = InadmissibleSplits.of_any(known)
        return self._forbidden


def find_inadmissible_splits(admissible: Admissible, several: Iterable[SharedSpans]) -> None:
    """Find the inadmissible tests of those spans that lack them, by the requirements of all columns."""
    all_spans = dict.fromkeys(span for shared in several for span in shared.spans)
    fresh = [span for span in all_spans if span.inadmissible_splits is None]
    if fresh:
        rows = [span.rows for span in fresh]
        views = [_inadmissible_in_view(view, view.count_public(rows), len(fresh)) for view in admissible.views]
        for span, codes, *forbidden in zip(fresh, views[0][1], *(each for each, _ in views), strict=True):
            of_persons = [InadmissibleSplits(*each) for each in admissible.forbidden_by_persons(span.rows)]
            span.inadmissible_splits, span.codes = InadmissibleSplits.of_any([*forbidden, *of_persons]), codes


@dataclass(frozen=True)
class SpansAfter:
    """The spans after a split: those of each child, and the spans whose people it tells apart, each with its parts."""

    of_children: Sequence[SharedSpans]
    parted: Sequence[tuple[Span, Sequence[Span]]]


def too_many_spans(most: int) -> InconclusiveError:
    """The error for a tree with more than so many spans."""
    return InconclusiveError(
        f"the tree separates more than {most} groups",
        place="build.max_spans",
        remedy="declare fewer private columns, raise k, or raise max_spans",
    )


@dataclass
class Spans:
    """The spans of each leaf: `count` of them, after `partings` splits that parted some."""

    coded: EncodedTable
    max_spans: int
    of: dict[GrowingNode, SharedSpans] = field(default_factory=dict)
    count: int = 0
    partings: int = 0

    def update(self, shared: SharedSpans) -> int:
        """Put parts in the place of spans that splits of other nodes have parted; returns the version."""
        if shared.partings != self.partings:
            shared.partings = self.partings
            shared.replace_parted()
        return shared.version

    def initial(self, root: GrowingNode, class_is_public: bool) -> list[Span]:
        """The spans of a tree that is one leaf: everybody, or one span for each class that occurs."""
        classes = self.coded.classes[root.rows]
        if class_is_public:
            values = np.unique(classes).tolist()
            found = [Span(root.rows[classes == value], class_value=value) for value in values]
        else:
            found = [Span(root.rows)]
        self.of[root] = SharedSpans(found)
        self.count += len(found)
        return found

    def split(self, node: GrowingNode, after: SpansAfter) -> None:
        """Let the children of a split leaf take its place.

        Raises:
            InconclusiveError: there are more than `max_spans` spans then.
        """
        del self.of[node]
        self.of.update(zip(node.children, after.of_children, strict=True))
        for span, parts in after.parted:
            span.replace_by(parts)
            self.count += len(parts) - 1
        self.partings += bool(after.parted)
        if self.count > self.max_spans:
            raise too_many_spans(self.max_spans)

    def after_split(
        self, shared: SharedSpans, node: GrowingNode, choice: Choice, children: Sequence[GrowingNode]
    ) -> SpansAfter:
        """What the spans of a node become by a split of it into these children; nothing changes yet."""
        if not self.coded.features[choice.feature].column.public:
            return SpansAfter([shared] * len(children), [])
        if len(shared.spans) == 1 and shared.spans[0].rows is node.rows:
            return _parted_like(shared.spans[0], children)
        groups = son_groups(self.coded, node, choice)
        of_children: dict[int, list[Span]] = {group: [] for group in groups.tolist()}
        parted = []
        for span, side in zip(shared.spans, self._common_sides(shared, choice), strict=True):
            parts = self._parts(span, choice, groups) if side is None else {side: span}
            for group, part in parts.items():
                of_children[group].append(part)
            if len(parts) > 1:
                parted.append((span, list(parts.values())))
        # A child that keeps all spans goes on sharing them.
        return SpansAfter([shared if own == shared.spans else SharedSpans(own) for own in of_children.values()], parted)

    def records_to_part(self, shared: SharedSpans, choice: Choice) -> int:
        """How many records are in spans whose people a test tells apart."""
        if not self.coded.features[choice.feature].column.public:
            return 0
        common = self._common_sides(shared, choice)
        return sum(len(span.rows) for span, side in zip(shared.spans, common, strict=True) if side is None)

    def _common_sides(self, shared: SharedSpans, choice: Choice) -> list[int | None]:
        """For each span the side of a test on which all its people are; None where sides differ, or are not known.

        The codes of each side of a test are one run. So where the sides of the lowest and of the highest code agree,
        all do.
        """
        known = [each for span in shared.spans if (each := span.codes) is not None]
        if len(known) < len(shared.spans):
            return [None] * len(shared.spans)
        extremes = [each.lowest[choice.feature] for each in known] + [each.highest[choice.feature] for each in known]
        side = sides(self.coded, choice, np.array(extremes)).tolist()
        return [one if one == other else None for one, other in zip(side, side[len(known) :], strict=False)]

    def _parts(self, span: Span, choice: Choice, groups: Codes) -> dict[int, Span]:
        """The non-empty parts of a span by the sides of a public test; the span itself where there is just one."""
        side = sides(self.coded, choice, self.coded.codes[span.rows, choice.feature])
        inside = [(group, part) for group in groups.tolist() if len(part := span.rows[side == group])]
        if len(inside) == 1:
            return {inside[0][0]: span}
        return {group: Span(part, class_value=span.class_value) for group, part in inside}

    def all(self) -> list[Span]:
        """Every span once, with the leaves that it reaches."""
        found: dict[Span, None] = {}
        for leaf, shared in self.of.items():
            self.update(shared)
            for span in shared.spans:
                span.nodes.add(leaf)
                found[span] = None
        return list(found)


def _parted_like(span: Span, children: Sequence[GrowingNode]) -> SpansAfter:
    """What a span becomes by a split of the node that has just its people: each non-empty child is a part."""
    own = [[Span(child.rows, class_value=span.class_value)] if len(child.rows) else [] for child in children]
    return SpansAfter([SharedSpans(spans) for spans in own], [(span, [part for spans in own for part in spans])])


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The spans of the tree as it is now, after pruning put leaves in the place of subtrees.

    Spans that reach the same leaves are one; whatever distinguished them is no longer asked.
    """
    together: dict[tuple[frozenset[GrowingNode], int | None], list[CompactIds]] = {}
    for span in spans:
        leaves = frozenset(node.surviving_ancestor() for node in span.nodes)
        together.setdefault((leaves, span.class_value), []).append(span.rows)
    return [Span(np.concatenate(rows), set(leaves), value) for (leaves, value), rows in together.items()]


@dataclass(frozen=True)
class SpanFilter:
    """A split filter whose populations are the spans of each node, including people in other leaves.

    A private feature never breaches. A public one breaches when it breaches some span of the node:
    every value that occurs in the span counts, not only those among the node's own people. Nodes that
    share their spans are looked up together: `shared` is for each node the place of its spans in `forbidden`.
    """

    coded: EncodedTable
    shared: Codes
    forbidden: Sequence[InadmissibleSplits]

    @classmethod
    def of(cls, coded: EncodedTable, admissible: Admissible, spans: Sequence[SharedSpans]) -> SpanFilter:
        """The filter for nodes with these spans, in the order of the nodes; spans cache their inadmissible tests."""
        number = {each: i for i, each in enumerate(dict.fromkeys(spans))}
        find_inadmissible_splits(admissible, number)
        return cls(coded, np.array([number[each] for each in spans]), [each.forbidden() for each in number])

    @classmethod
    def of_counts(cls, every_span: Admissible, counted: Sequence[Histograms], spans: Codes) -> SpanFilter:
        """The filter for nodes that share no span with each other.

        Args:
            every_span: the requirements.
            counted: for each column that they are about the histograms of the public features of the nodes' spans.
            spans: the number of the node that each span belongs to, rising; a span may be empty.
        """
        views = zip(every_span.views, counted, strict=True)
        found = [_inadmissible_in_view(view, cells, len(spans))[0] for view, cells in views]
        starts = np.flatnonzero(np.diff(spans, prepend=-1)).tolist()
        forbidden = [
            InadmissibleSplits.of_any([one for each in found for one in each[start:end]])
            for start, end in pairwise([*starts, len(spans)])
        ]
        return cls(every_span.views[0].coded, np.arange(len(starts)), forbidden)

    @cached_property
    def _admitted_fans(self) -> Mask:
        """By spans, level and feature: does the test on a category breach none of them?"""
        return np.stack([each.fans for each in self.forbidden])

    def fans(self, part: Histograms, start: Codes, level: int) -> Mask:
        return np.asarray(self._admitted_fans[self.shared[part.group[start]], level, part.feature[start]])

    def cuts(self, cuts: Cuts) -> Mask:
        """A cut breaches when it lies in a bad stretch of one of its node's spans; they are counted, not compared."""
        owner = np.repeat(np.arange(len(self.forbidden)), [len(each.code) for each in self.forbidden])
        together = InadmissibleSplits.of_any(self.forbidden)
        starts = np.sort(self._sort_key(owner, together.feature, together.code))
        ends = np.sort(self._sort_key(owner, together.feature, together.next_code))
        place = self._sort_key(self.shared[cuts.group], cuts.feature, cuts.code)
        inside = np.searchsorted(starts, place, side="right") - np.searchsorted(ends, place, side="right")
        public = np.array([feature.column.public for feature in self.coded.features], dtype=bool)
        return np.asarray((inside == 0) | ~public[cuts.feature])

    def _sort_key(self, owner: Codes, feature: Codes, code: Codes) -> Codes:
        """One number for each (spans, feature, code), in that order."""
        return np.asarray((owner * len(self.coded.features) + feature) * int(self.coded.sizes.max()) + code)
