"""Which nodes of a tree are drawn: the paths to the leaves that matter, and as much of the rest as has room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from leafgate.tree_layout import TreeLayout

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
    def together(self) -> bool:
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
