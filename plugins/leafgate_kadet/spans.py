"""Spans: the groups of people an adversary cannot tell apart while the tree grows.

A span is the set of bins (leaf x class value) a person could land in when private cells vary. Here
it is kept as the set of leaves it reaches and the people in it; with a public class it also has one
class value. Nodes know their spans and spans their nodes.

Source: Friedman, Schuster, Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006, Definition 4
and Algorithm 1 (SPLIT).
Departure: the printed lines 28 and 31 stand inside the loop over v; here they are outside of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from leafgate.errors import InconclusiveError
from leafgate.induction.choosing import Choice
from leafgate.induction.coding import Coded, Rows
from leafgate.induction.growing import Sprout, sides, son_groups
from leafgate.induction.growing import split as split_node
from leafgate_kadet.breaches import Breaches


@dataclass(eq=False)
class Span:
    """People who cannot be told apart: `rows` of the table, and the leaves they could be in.

    `breaches` is filled in when it is first asked for; the people of a span never change.
    """

    rows: Rows
    nodes: set[Sprout]
    class_value: int | None = None
    breaches: Breaches | None = None


@dataclass
class Spans:
    """Which spans each leaf belongs to (`of`, in order), kept true through every split."""

    coded: Coded
    most: int
    of: dict[Sprout, dict[Span, None]] = field(default_factory=dict)
    count: int = 0

    def start(self, root: Sprout, class_is_public: bool) -> list[Span]:
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

    def split(self, node: Sprout, choice: Choice) -> tuple[list[Sprout], set[Sprout]]:
        """Split a node; returns its sons and the other leaves whose spans changed."""
        feature = self.coded.features[choice.feature]
        spans = self.of.pop(node)
        sons = split_node(self.coded, node, choice)
        if not feature.column.public:
            for span in spans:
                span.nodes.remove(node)
                span.nodes.update(sons)
            self.of.update((son, dict(spans)) for son in sons)
            return sons, set()
        self.of.update((son, {}) for son in sons)
        touched: set[Sprout] = set()
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
        if self.count > self.most:
            raise InconclusiveError(
                f"the tree tells more than {self.most} groups apart",
                place="build.max_spans",
                remedy="declare fewer private columns, raise k, or raise max_spans",
            )
        return sons, touched

    def _parts(self, span: Span, node: Sprout, choice: Choice) -> list[Span]:
        """A span's non-empty parts, one for each son its people could go to."""
        elsewhere = span.nodes - {node}
        if span.rows is node.rows:
            return [Span(son.rows, elsewhere | {son}, span.class_value) for son in node.sons if len(son.rows)]
        side = sides(self.coded, choice, self.coded.codes[span.rows, choice.feature])
        groups = son_groups(self.coded, node, choice)
        parts = ((span.rows[side == group], son) for group, son in zip(groups, node.sons, strict=True))
        return [Span(rows, elsewhere | {son}, span.class_value) for rows, son in parts if len(rows)]

    def all(self) -> list[Span]:
        """Every span once."""
        return list(dict.fromkeys(span for spans in self.of.values() for span in spans))


def merged(spans: Iterable[Span]) -> list[Span]:
    """The spans of the tree as it is now, after pruning put leaves in the place of subtrees.

    Spans that reach the same leaves are one; whatever distinguished them is no longer asked.
    """
    together: dict[tuple[frozenset[Sprout], int | None], list[Rows]] = {}
    for span in spans:
        leaves = frozenset(node.surviving() for node in span.nodes)
        together.setdefault((leaves, span.class_value), []).append(span.rows)
    return [Span(np.concatenate(rows), set(leaves), value) for (leaves, value), rows in together.items()]
