"""A tree laid out as lists: every node by its place, parents before children, the leaves numbered left to right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from leafgate.schema import Schema
from leafgate.tree import Cut, Fan, Leaf, Node

WIDEST = 8
"""So many values of a way are named; of more, their number is said."""


@dataclass
class TreeLayout:
    """For each node: its parent (-1 for the root), depth, the way to it in words, its own words, its children.

    `label` is a test's column, or the value a leaf predicts; `number` is a leaf's number from the left, -1 for a test;
    `span` the leaves below, from first to before last.
    """

    parent: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    way: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    label: list[str | None] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    below: list[Sequence[int]] = field(default_factory=list)
    span: list[tuple[int, int]] = field(default_factory=list)
    place_of_leaf: list[int] = field(default_factory=list)

    @property
    def leaves(self) -> int:
        return len(self.place_of_leaf)

    def path(self, node: int) -> list[int]:
        """The nodes above this one, from the root down."""
        above = []
        while self.parent[node] >= 0:
            node = self.parent[node]
            above.append(node)
        return above[::-1]


def layout_of(tree: Node, schema: Schema) -> TreeLayout:
    """The tree as lists; deep trees need no recursion."""
    laid = TreeLayout()
    waiting: list[tuple[Node, int, str]] = [(tree, -1, "")]
    children: list[list[int]] = []
    while waiting:
        node, parent, way = waiting.pop()
        here = len(laid.parent)
        laid.parent.append(parent)
        laid.depth.append(0 if parent < 0 else laid.depth[parent] + 1)
        laid.way.append(way)
        laid.words.append(node.words if isinstance(node, Leaf) else node.column)
        laid.label.append(node.label if isinstance(node, Leaf) else node.column)
        laid.number.append(laid.leaves if isinstance(node, Leaf) else -1)
        children.append([])
        if parent >= 0:
            children[parent].append(here)
        if isinstance(node, Leaf):
            laid.place_of_leaf.append(here)
        waiting.extend((child, here, words) for words, child in reversed(list(ways(node, schema))))
    laid.below = list(children)
    laid.span = _spans(laid)
    return laid


def _spans(laid: TreeLayout) -> list[tuple[int, int]]:
    """The run of leaves below each node: children come after their parents, so this walks backwards."""
    spans = [(number, number + 1) for number in laid.number]
    for node in reversed(range(len(spans))):
        if laid.below[node]:
            spans[node] = (spans[laid.below[node][0]][0], spans[laid.below[node][-1]][1])
    return spans


def ways(node: Node, schema: Schema) -> Iterator[tuple[str, Node]]:
    """Each child with the answer that leads to it, in words; where missing cells go only if there may be any."""
    if isinstance(node, Cut):
        low, high = ("<", ">=") if node.strict else ("<=", ">")
        side = node.missing if schema[node.column].missing else None
        missing = {way: ", or missing" if way == side else "" for way in ("low", "high")}
        yield f"{low} {node.at:.6g}{missing['low']}", node.low
        yield f"{high} {node.at:.6g}{missing['high']}", node.high
    elif isinstance(node, Fan):
        for branch in node.branches:
            values = branch.values
            yield ", ".join(map(str, values)) if len(values) <= WIDEST else f"{len(values)} values", branch.node
        if node.other is not None:
            yield "any other", node.other
