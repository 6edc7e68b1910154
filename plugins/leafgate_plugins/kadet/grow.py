"""Best-first growth of kADET: the split with the largest gain, of all leaves, that keeps every span admissible."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from leafgate.algorithms.induction.encoding import EncodedTable
from leafgate.algorithms.induction.growth import GrowingNode, children_of, growing_node, may_split
from leafgate.algorithms.induction.histograms import Histograms, count_histograms
from leafgate.algorithms.induction.selection import Choice, choose, mean_gain
from leafgate.algorithms.induction.splits import ChildrenSatisfy, Measure, SplitFilter, Tests, score, tests_of
from leafgate.api import Column, Floats, NoReleaseError, Schema
from leafgate.kernel.arrays import Rows
from leafgate_plugins.kadet import spans as kadet_spans
from leafgate_plugins.kadet.requirements import (
    Admissible,
    Required,
    Requirement,
    requirements_by_column,
    secret_positions,
)

if TYPE_CHECKING:
    from leafgate.algorithms.induction.large import EncodedBlocks

GENERATIONS_AHEAD = 2
"""So many generations below the queued nodes are looked at ahead of their turn; what lies deeper often changes."""
NEXT_IN_QUEUE = 4
"""So many nodes at the head of the queue are split ahead of their turn, whatever their spans are."""
MOST_PARTED = 2
"""Of other nodes, spans are parted ahead where they hold at most so many times the node's records."""


@dataclass(frozen=True)
class Look:
    """A node's best test that breaches none of these spans, which it had at this version; None: there is none."""

    choice: Choice | None
    spans: kadet_spans.SharedSpans
    version: int


@dataclass(frozen=True)
class SplitAhead:
    """What the split of a node by its best test gives, computed before its turn with these spans at this version."""

    look: Look
    children: list[GrowingNode]
    after: kadet_spans.SpansAfter


@dataclass
class Grower:
    """The state of one run: the spans, and a queue with each open node's best test.

    Source: Friedman, Schuster, Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006, Algorithm 1.
    Departure: the queue holds, of each node, only the best test that breaches nothing now; breach
    is monotone, so tests it leaves out would have been popped and refused. When a split elsewhere has
    parted a node's spans, its test is tried again when it is popped, and the node is looked at again where the
    test breaches. (By gain ratio it is always looked at again: the next best cut of a number may come a little
    before its turn, for cuts with less gain can have a larger ratio.) Without private features no split changes
    another node's spans, and all open nodes are split at once. With private ones they are split one at a time, but
    looked at together, ahead of their turn. Further corrections of the printed algorithm: docs/explanation/kadet.md.
    """

    coded: EncodedTable
    admissible: Admissible
    measure: Measure
    average_gain: bool
    spans: kadet_spans.Spans
    tests: Tests = field(init=False)
    order_matters: bool = field(init=False)
    queue: list[tuple[tuple[int, float, int, int], int, GrowingNode, Choice]] = field(default_factory=list)
    ages: dict[GrowingNode, int] = field(default_factory=dict)
    looks: dict[GrowingNode, Look] = field(default_factory=dict)
    ahead: dict[GrowingNode, SplitAhead] = field(default_factory=dict)
    newly_queued: list[GrowingNode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tests = tests_of(self.coded)
        self.order_matters = not all(feature.column.public for feature in self.coded.features)

    def grow(self, leaves: Sequence[GrowingNode]) -> None:
        """Split these nodes until no test anywhere gains and is admissible."""
        fresh = list(leaves)
        while True:
            self._enqueue([node for node in fresh if may_split(node)])
            if not self.queue:
                return
            fresh = []
            for _ in range(1 if self.order_matters else len(self.queue)):
                _, _, node, choice = heapq.heappop(self.queue)
                still_best = self._is_still_best(node) and self.looks[node].choice is choice
                fresh += self._split(node, choice) if still_best else [node]

    def _enqueue(self, nodes: Sequence[GrowingNode]) -> None:
        """Queue each node's best admissible test."""
        unseen = {node: self.spans.of[node] for node in nodes if not self._is_still_best(node)}
        if unseen:
            self._look_at(unseen)
        for node in nodes:
            age, choice = self.ages.setdefault(node, len(self.ages)), self.looks[node].choice
            if choice is not None:
                heapq.heappush(self.queue, (choice.key, age, node, choice))
                self.newly_queued.append(node)

    def _is_still_best(self, node: GrowingNode) -> bool:
        """Is the test that was chosen at the last look what another look would choose, though spans may be parted now?

        Parting spans only ever adds to the tests that breach. Where tests with more gain come first, the best test is
        still the best unless it breaches now, and a private one never does. By gain ratio that may be otherwise. Where
        the answer is yes, it is noted for the spans as they are now.
        """
        look = self.looks.get(node)
        if not self.order_matters:
            return look is not None
        shared = self.spans.of[node]
        version = self.spans.update(shared)
        if look is None:
            return False
        if shared is look.spans and version == look.version:
            return True
        if self.measure == "gain_ratio":
            return False
        if look.choice is not None and self.coded.features[look.choice.feature].column.public:
            kadet_spans.find_inadmissible_splits(self.admissible, [shared])
            if not shared.forbidden().admits(look.choice):
                return False
        self.looks[node] = Look(look.choice, shared, version)
        return True

    def _look_at(self, nodes: dict[GrowingNode, kadet_spans.SharedSpans]) -> None:
        """Find the best admissible test of each node, given its spans, and of nodes whose turn is to come.

        A look at one node costs hardly less than a look at twenty. So where nodes are split one at a time, the children
        that queued nodes will have are looked at along with these, for some generations.
        """
        head = [node for _, _, node, _ in heapq.nsmallest(NEXT_IN_QUEUE, self.queue)] if self.order_matters else []
        for _ in range(GENERATIONS_AHEAD):
            if self.order_matters:
                nodes = nodes | self._split_ahead(head, self.newly_queued)
            if not nodes:
                return
            counts = np.stack([node.counts for node in nodes])
            cells = count_histograms(self.coded, [node.rows for node in nodes])
            scores = score(
                self.coded, self.tests, cells, counts, self.measure, self._split_filter(list(nodes.values()))
            )
            means = mean_gain(scores, self.tests) if self.average_gain else None
            choices = choose(scores, self.tests, self.measure, means)
            for (node, shared), choice in zip(nodes.items(), choices, strict=True):
                self.looks[node] = Look(choice, shared, shared.version)
            if not self.order_matters:
                return
            head, self.newly_queued, nodes = [], list(nodes), {}

    def _split_ahead(
        self, head: Sequence[GrowingNode], others: Sequence[GrowingNode]
    ) -> dict[GrowingNode, kadet_spans.SharedSpans]:
        """The children that nodes will have unless spans change before their turn, with the spans of each.

        Queued nodes whose best test has become inadmissible are returned as well, to be looked at again. Left out are
        nodes whose split parts spans of many more people than the node has: of all nodes with these spans, only the
        first to be split parts them, and parting them for each would cost more than it saves. At the head of the queue
        the first one is known.
        """
        result: dict[GrowingNode, kadet_spans.SharedSpans] = {}
        parted_first: set[kadet_spans.SharedSpans] = set()
        for node in [*head, *others]:
            if node in self.spans.of and not self._is_still_best(node):
                result[node] = self.spans.of[node]
                continue
            look, ahead = self.looks.get(node), self.ahead.get(node)
            if look is None or look.choice is None or self.spans.update(look.spans) != look.version:
                continue
            if ahead is not None and ahead.look.choice is look.choice:
                continue
            first = node in head and look.spans not in parted_first
            parted_first.add(look.spans)
            if not first and self.spans.records_to_part(look.spans, look.choice) > MOST_PARTED * len(node.rows):
                continue
            self._forget_split_ahead(node)
            children = children_of(self.coded, node, look.choice)
            after = self.spans.after_split(look.spans, node, look.choice, children)
            self.ahead[node] = SplitAhead(look, children, after)
            of_children = zip(children, after.of_children, strict=True)
            result.update((child, shared) for child, shared in of_children if may_split(child))
        return result

    def _forget_split_ahead(self, node: GrowingNode) -> None:
        """Drop what was computed ahead below a node."""
        waiting = [node]
        while waiting:
            ahead = self.ahead.pop(waiting.pop(), None)
            for child in ahead.children if ahead is not None else ():
                self.looks.pop(child, None)
                waiting.append(child)

    def _split(self, node: GrowingNode, choice: Choice) -> list[GrowingNode]:
        """Split a node; returns its children."""
        shared, ahead = self.spans.of[node], self.ahead.get(node)
        if ahead is None or ahead.look.choice != choice:
            self._forget_split_ahead(node)
            children = children_of(self.coded, node, choice)
            after = self.spans.after_split(shared, node, choice, children)
        else:
            children, after = ahead.children, ahead.after
            if shared is not ahead.look.spans or shared.version != ahead.look.version:
                after = self.spans.after_split(shared, node, choice, children)
        self.ahead.pop(node, None)
        self.looks.pop(node)
        node.choice, node.children = choice, children
        self.spans.split(node, after)
        return children

    def _split_filter(self, spans: Sequence[kadet_spans.SharedSpans]) -> SplitFilter:
        """Without private features and with a private class, every node is a span of its own."""
        counts_classes = self.coded is self.admissible.views[0].coded and not self.admissible.counts_persons
        if counts_classes and not self.order_matters and spans[0].spans[0].class_value is None:
            return ChildrenSatisfy(self.admissible.views[0])
        return kadet_spans.SpanFilter.of(self.coded, self.admissible, spans)


def grow(
    coded: EncodedTable, schema: Schema, admissible: Admissible, measure: Measure, *, average_gain: bool, max_spans: int
) -> tuple[GrowingNode, kadet_spans.Spans]:
    """The unpruned tree and its spans.

    Raises NoReleaseError when not even a single leaf is admissible, InconclusiveError when there are
    more than `max_spans` spans.
    """
    root = growing_node(coded, np.arange(len(coded.classes)))
    spans = kadet_spans.Spans(coded, max_spans)
    for span in spans.initial(root, schema.target.public):
        _check_root(schema, admissible, span.class_value, admissible.counts(span.rows))
    Grower(coded, admissible, measure, average_gain and measure == "gain_ratio", spans).grow([root])
    return root, spans


def grow_large(
    encoded: EncodedBlocks,
    schema: Schema,
    k: int,
    wanted: Sequence[Required],
    measure: Measure,
    *,
    average_gain: bool,
    max_spans: int,
) -> GrowingNode:
    """The unpruned tree of a large table, whose spans have `k` people and all that is `wanted` besides.

    Raises as `grow` does, PolicyError for a wrong requirement, and InconclusiveError where too many records are needed
    in memory.
    """
    people = PeopleByValue(encoded, schema)
    requirements = requirements_by_column(schema, k, wanted, people.of)
    joint, by_class = [people.by_class(schema[name]) for name in requirements], schema.target.public
    every_span = Admissible.of(encoded.overall, schema, requirements)
    for value in np.flatnonzero(encoded.class_counts).tolist() if by_class else [None]:
        counts = [each.sum(axis=1) if value is None else each[:, value] for each in joint]
        _check_root(schema, every_span, value, counts)
    by_mean = average_gain and measure == "gain_ratio"
    return LargeGrower(encoded, schema, requirements, every_span, measure, by_mean, max_spans).grow()


@dataclass
class LargeGrower:
    """One run on a large table.

    Below tests on public columns alone, the people of a node are a span, or those of each of its classes where the
    class is public, and nodes grow independently of each other: these are split by counts. A node whose best test is on
    a private column is grown in memory, with all its records.
    """

    encoded: EncodedBlocks
    schema: Schema
    requirements: Mapping[str, Sequence[Requirement]]
    every_span: Admissible
    measure: Measure
    average_gain: bool
    max_spans: int
    grown_in_memory: set[GrowingNode] = field(default_factory=set)
    span_count: int = 0

    def grow(self) -> GrowingNode:
        """The tree."""
        features = self.encoded.features
        from leafgate.algorithms.induction.large import grow_in_parts

        root = grow_in_parts(
            self.encoded,
            self._look,
            self._grow_part,
            countings=[] if self._nodes_are_spans else [partial(self._count_spans, name) for name in self.requirements],
            alone=lambda choice: features[choice.feature].column.public,
        )
        if self.span_count + self._spans_above(root) > self.max_spans and root.children:
            raise kadet_spans.too_many_spans(self.max_spans)
        return root

    @property
    def _spans_a_node(self) -> int:
        return self.encoded.n_classes if self.schema.target.public else 1

    @property
    def _nodes_are_spans(self) -> bool:
        """Do the histograms of nodes by class tell which tests are admissible?"""
        public = all(feature.column.public for feature in self.encoded.features)
        return public and not self.schema.target.public and len(self.requirements) == 1

    def _look(
        self, overall: EncodedTable, nodes: Sequence[GrowingNode], cells: Histograms, *of_spans: Histograms
    ) -> Sequence[Choice | None]:
        split_filter: SplitFilter = ChildrenSatisfy(self.every_span.views[0])
        if not self._nodes_are_spans:
            node_of_span = np.repeat(np.arange(len(nodes)), self._spans_a_node)
            split_filter = kadet_spans.SpanFilter.of_counts(self.every_span, of_spans, node_of_span)
        tests, counts = tests_of(overall), np.stack([node.counts for node in nodes])
        scores = score(overall, tests, cells, counts, self.measure, split_filter)
        return choose(scores, tests, self.measure, mean_gain(scores, tests) if self.average_gain else None)

    def _count_spans(self, name: str, coded: EncodedTable, rows: Sequence[Rows]) -> Histograms:
        """The histograms of the public features of the spans of each node by the values of a column."""
        if self.schema.target.public:
            rows = [its[coded.classes[its] == value] for its in rows for value in range(coded.n_classes)]
        return Admissible.of(coded, self.schema, {name: self.requirements[name]}).views[0].count_public(rows)

    def _grow_part(self, coded: EncodedTable, nodes: Sequence[GrowingNode]) -> None:
        spans = kadet_spans.Spans(coded, self.max_spans)
        for node in nodes:
            spans.initial(node, self.schema.target.public)
        admissible = Admissible.of(coded, self.schema, self.requirements)
        Grower(coded, admissible, self.measure, self.average_gain, spans).grow(nodes)
        self.grown_in_memory.update(nodes)
        self.span_count += spans.count

    def _spans_above(self, root: GrowingNode) -> int:
        """How many spans the leaves have that were not grown in memory."""
        count, waiting = 0, [root]
        while waiting:
            node = waiting.pop()
            if node not in self.grown_in_memory:
                waiting += node.children
                if not node.children:
                    count += int((node.counts > 0).sum()) if self.schema.target.public else int(node.counts.any())
        return count


@dataclass(frozen=True)
class PeopleByValue:
    """How many people of a large table have each value of a column."""

    encoded: EncodedBlocks
    schema: Schema

    def of(self, column: Column) -> Floats:
        """Shape (n_values,), in the order of the domain."""
        return np.asarray(self.by_class(column).sum(axis=1))

    def by_class(self, column: Column) -> Floats:
        """Shape (n_values, n_classes), in the order of the domains."""
        if column.name == self.schema.target.name:
            return np.diag(self.encoded.class_counts.astype(np.float64))
        i = next(i for i, feature in enumerate(self.encoded.features) if feature.column.name == column.name)
        counts = np.zeros((len(column.domain), self.encoded.n_classes))
        counts[secret_positions(self.encoded.features[i], column)] = self._by_code[i]
        return counts

    @cached_property
    def _by_code(self) -> list[Floats]:
        return self.encoded.value_counts()


def _check_root(schema: Schema, every_span: Admissible, class_value: int | None, counts: Sequence[Floats]) -> None:
    """Raise NoReleaseError where these people, of one class or all, may not form a group."""
    why = every_span.why_not(counts)
    if not why:
        return
    if class_value is None:
        reason = f"the table as a whole is one group, and {why}"
    else:
        value = schema.classes[class_value]
        reason = f"the class {schema.target.name!r} is public, so everyone with {value!r} is one group, and {why}"
    raise NoReleaseError(
        f"no tree, not even a single leaf, keeps the promise: {reason}",
        people=int(counts[0].sum()),
        remedy="gather more people, or bring together values of these columns that few people have",
    )
