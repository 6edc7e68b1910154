"""Which nodes of a tree are drawn: the paths to the leaves that matter, and as much of the rest as has room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


def unfolded(laid: TreeLayout, urgent: Sequence[int], rows: int | None = None) -> list[Drawn]:
    """The picture's nodes, parents before their children: paths to urgent leaves first, then level by level.

    Children of a test that are not drawn are folded into one, so that no test with many answers takes all the room.
    """
    rows = rows or (WHOLE if laid.leaves <= WHOLE else ROWS)
    chosen, used, failed = {0}, 1, 0
    for number in urgent:
        leaf = laid.place_of_leaf[number]
        path = {*laid.path(leaf)[:DEPTH], leaf}
        more = _rows(laid, chosen | path) - used if laid.depth[leaf] <= DEPTH else rows
        if used + more <= rows:
            chosen, used = chosen | path, used + more
        else:
            failed += 1
            if failed == TRIES:
                break
    return list(_drawn(laid, _filled(laid, chosen, rows)))


def _rows(laid: TreeLayout, chosen: set[int]) -> int:
    """How many ends the picture has if these are drawn."""
    return sum(_adds(laid, node, chosen) for node in chosen)


def _adds(laid: TreeLayout, node: int, chosen: set[int]) -> int:
    """The ends a node brings: itself, or the rest of its children where some of them are drawn."""
    drawn = sum(child in chosen for child in laid.below[node])
    return int(drawn < len(laid.below[node])) if drawn else 1


def _filled(laid: TreeLayout, chosen: set[int], rows: int) -> set[int]:
    """The chosen nodes, and level by level what else there is room for."""
    used, waiting = _rows(laid, chosen), [0]
    for node in waiting:  # grows while it is walked: level by level
        for child in laid.below[node] if laid.depth[node] < DEPTH else ():
            with_child = _adds(laid, node, chosen | {child}) + 1 - _adds(laid, node, chosen)
            if child not in chosen and used + with_child <= rows:
                chosen, used = chosen | {child}, used + with_child
        waiting.extend(child for child in laid.below[node] if child in chosen)
    return chosen


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
