"""Best-first growth of kADET: the split with the largest gain, of all leaves, that keeps every span admissible."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from leafgate.algorithms.induction.encoding import EncodedTable
from leafgate.algorithms.induction.growth import GrowingNode, class_counts, growing_node, may_split
from leafgate.algorithms.induction.histograms import count_histograms
from leafgate.algorithms.induction.selection import Choice, choose, mean_gain
from leafgate.algorithms.induction.splits import ChildrenSatisfy, Measure, SplitFilter, Tests, score, tests_of
from leafgate.api import NoReleaseError, Schema
from leafgate_kadet.requirements import Admissible
from leafgate_kadet.spans import Span, SpanFilter, Spans


@dataclass
class Grower:
    """The state of one run: the spans, and a queue with each open node's best test.

    Source: Friedman, Schuster, Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006, Algorithm 1.
    Departure: the queue holds, of each node, only the best test that breaches nothing now; breach
    is monotone, so tests it leaves out would have been popped and refused. When a split elsewhere has
    changed a node's spans, the node is looked at again when it is popped. (By gain ratio the next best
    cut of a number may then come a little before its turn, for cuts with less gain can have a larger
    ratio.) Without private features no split changes another node's spans, and all open nodes are
    split at once. Further corrections of the printed algorithm: docs/explanation/kadet.md.
    """

    coded: EncodedTable
    admissible: Admissible
    measure: Measure
    average_gain: bool
    spans: Spans
    tests: Tests = field(init=False)
    order_matters: bool = field(init=False)
    queue: list[tuple[tuple[int, float, int, int], int, GrowingNode, Choice]] = field(default_factory=list)
    ages: dict[GrowingNode, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tests = tests_of(self.coded)
        self.order_matters = not all(feature.column.public for feature in self.coded.features)

    def grow(self, root: GrowingNode) -> None:
        """Split until no test anywhere gains and is admissible."""
        stale: set[GrowingNode] = set()
        fresh = [root]
        while True:
            self._enqueue([node for node in fresh if may_split(node)])
            if not self.queue:
                return
            fresh = []
            for _ in range(1 if self.order_matters else len(self.queue)):
                _, _, node, choice = heapq.heappop(self.queue)
                if node in stale:
                    stale.remove(node)
                    fresh.append(node)
                    continue
                children, touched = self.spans.split(node, choice)
                fresh += children
                stale |= touched

    def _enqueue(self, nodes: Sequence[GrowingNode]) -> None:
        """Look at nodes together; queue each one's best admissible test."""
        if not nodes:
            return
        counts = np.stack([node.counts for node in nodes])
        cells = count_histograms(self.coded, [node.rows for node in nodes])
        scores = score(self.coded, self.tests, cells, counts, self.measure, self._split_filter(nodes))
        means = mean_gain(scores, self.tests) if self.average_gain else None
        for node, choice in zip(nodes, choose(scores, self.tests, self.measure, means), strict=True):
            age = self.ages.setdefault(node, len(self.ages))
            if choice is not None:
                heapq.heappush(self.queue, (choice.key, age, node, choice))

    def _split_filter(self, nodes: Sequence[GrowingNode]) -> SplitFilter:
        """Without private features and with a private class, every node is a span of its own."""
        spans = [list(self.spans.of[node]) for node in nodes]
        if not self.order_matters and spans[0][0].class_value is None:
            return ChildrenSatisfy(self.admissible.views[0])
        return SpanFilter.of(self.coded, self.admissible, spans)


def grow(
    coded: EncodedTable, schema: Schema, admissible: Admissible, measure: Measure, *, average_gain: bool, max_spans: int
) -> tuple[GrowingNode, Spans]:
    """The unpruned tree and its spans.

    Raises NoReleaseError when not even a single leaf is admissible, InconclusiveError when there are
    more than `max_spans` spans.
    """
    root = growing_node(coded, np.arange(len(coded.classes)))
    spans = Spans(coded, max_spans)
    for span in spans.initial(root, schema.target.public):
        _check_root(schema, admissible, span)
    Grower(coded, admissible, measure, average_gain and measure == "gain_ratio", spans).grow(root)
    return root, spans


def _check_root(schema: Schema, admissible: Admissible, span: Span) -> None:
    why = admissible.why_not(span.rows)
    if not why:
        return
    if span.class_value is None:
        reason = f"the table as a whole is one group, and {why}"
    else:
        value = schema.classes[span.class_value]
        reason = f"the class {schema.target.name!r} is public, so everyone with {value!r} is one group, and {why}"
    raise NoReleaseError(
        f"no tree, not even a single leaf, keeps the promise: {reason}",
        people=int(class_counts(admissible.views[0].coded, span.rows).sum()),
        remedy="gather more people, or bring together values of these columns that few people have",
    )
