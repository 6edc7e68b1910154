"""A tree laid out as lists: every node by its place, parents before children, the leaves numbered left to right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from leafgate.types.schema import Schema
from leafgate.types.tree import CategoricalSplit, Leaf, Node, NumericSplit

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
    if isinstance(node, NumericSplit):
        low, high = ("<", ">=") if node.strict else ("<=", ">")
        side = node.missing if schema[node.column].missing else None
        missing = {way: ", or missing" if way == side else "" for way in ("low", "high")}
        yield f"{low} {node.at:.6g}{missing['low']}", node.low
        yield f"{high} {node.at:.6g}{missing['high']}", node.high
    elif isinstance(node, CategoricalSplit):
        for branch in node.branches:
            values = branch.values
            yield ", ".join(map(str, values)) if len(values) <= WIDEST else f"{len(values)} values", branch.node
        if node.default is not None:
            yield "any other", node.default


# --- Which nodes of a tree are drawn: the paths to the leaves that matter, and as much of the rest as has room ---

ROWS, WHOLE, DEPTH, TRIES = 26, 48, 40, 200
"""So many ends of paths are drawn (of a tree that has not many more: all), and so deep.

So many urgent leaves that find no room are tried before giving up.
"""


@dataclass(frozen=True)
class Drawn:
    """One node of the picture: a node of the tree, or several children of one test that are folded together."""

    nodes: Sequence[int]
    parent: int | None
    opened: bool

    @property
    def is_folded(self) -> bool:
        return len(self.nodes) > 1


@dataclass
class _Chosen:
    """The nodes to draw so far, how many children of each are among them, and the ends the picture has by them."""

    laid: TreeLayout
    nodes: set[int] = field(default_factory=lambda: {0})
    drawn: Counter[int] = field(default_factory=Counter)
    rows: int = 1

    def adds(self, nodes: Sequence[int]) -> int:
        """How many ends more the picture has with these, which are not among them yet but their parents are."""
        more = Counter(self.laid.parent[node] for node in nodes)
        old = sum(self._ends(node, self.drawn[node]) for node in more if node in self.nodes)
        return sum(self._ends(node, self.drawn[node] + more[node]) for node in {*more, *nodes}) - old

    def take(self, nodes: Sequence[int]) -> None:
        self.rows += self.adds(nodes)
        self.nodes |= set(nodes)
        self.drawn.update(self.laid.parent[node] for node in nodes)

    def _ends(self, node: int, drawn: int) -> int:
        """A node is an end itself, or folds the children that are not drawn into one."""
        return int(drawn < len(self.laid.below[node])) if drawn else 1


def unfolded(laid: TreeLayout, urgent: Sequence[int], rows: int | None = None) -> list[Drawn]:
    """The picture's nodes, parents before their children: paths to urgent leaves first, then level by level.

    Children of a test that are not drawn are folded into one, so that no test with many answers takes all the room.
    """
    rows = rows or (WHOLE if laid.leaves <= WHOLE else ROWS)
    chosen, failed = _Chosen(laid), 0
    for number in urgent:
        leaf = laid.place_of_leaf[number]
        path = [node for node in (*laid.path(leaf), leaf) if node not in chosen.nodes]
        if laid.depth[leaf] <= DEPTH and chosen.rows + chosen.adds(path) <= rows:
            chosen.take(path)
        else:
            failed += 1
            if failed == TRIES:
                break
    _fill(chosen, rows)
    return list(_drawn(laid, chosen.nodes))


def _fill(chosen: _Chosen, rows: int) -> None:
    """Draw level by level what else there is room for."""
    laid, waiting = chosen.laid, [0]
    for node in waiting:  # grows while it is walked: level by level
        hidden = [child for child in laid.below[node] if child not in chosen.nodes]
        if laid.depth[node] < DEPTH and hidden:
            room = rows - chosen.rows
            chosen.take(hidden if len(hidden) - 1 <= room else hidden[:room])  # all of them leave nothing to fold
        waiting.extend(child for child in laid.below[node] if child in chosen.nodes)


def _drawn(laid: TreeLayout, chosen: set[int]) -> Iterator[Drawn]:
    """The nodes in the tree's order, the folded rest of a test's children after the others."""
    waiting: list[tuple[tuple[int, ...], int | None]] = [((0,), None)]
    place = 0
    while waiting:
        nodes, parent = waiting.pop()
        below = laid.below[nodes[0]] if len(nodes) == 1 else ()
        shown = [child for child in below if child in chosen]
        yield Drawn(nodes, parent, bool(shown))
        rest = tuple(child for child in below if child not in chosen) if shown else ()
        groups: list[tuple[int, ...]] = [(child,) for child in shown]
        groups = sorted([*groups, rest]) if len(rest) == 1 else [*groups, *([rest] if rest else [])]
        waiting.extend((group, place) for group in reversed(groups))
        place += 1
