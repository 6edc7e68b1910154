"""A picture of a tree: a box for each node, a line for each branch, for trees that a page holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING

from leafgate.errors import InconclusiveError
from leafgate.types.release import Release
from leafgate.types.tree import CategoricalSplit, Leaf, Node, NumericSplit, children

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAF_WIDTH = 1.6
"""Inches of a new figure for each leaf."""
LEVEL_HEIGHT = 1.2
"""Inches of a new figure for each level."""
LARGEST_SIDE = 60.0
"""Inches that a new figure has at most on a side."""
LONGEST_TEXT = 28
"""Characters of the values on a branch."""


@dataclass(frozen=True)
class Box:
    """A node at its place: `x` counts leaves from the left, `depth` levels from the root."""

    node: Node
    x: float
    depth: int
    text: str
    parent: Box | None = None
    branch: str = ""


def draw_tree(release: Release, ax: Axes | None = None) -> Axes:
    """Draw the first tree of a release.

    Args:
        release: a release with a tree.
        ax: where to draw; a new figure that is large enough when left out.

    Raises:
        ImportError: matplotlib is not installed.
        InconclusiveError: the release has no tree.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('a drawing needs matplotlib: pip install "leafgate[docs]"') from None
    if not release.trees:
        raise InconclusiveError("there is no tree to draw", remedy="read `release_`")
    boxes = list(layout(release.trees[0]))
    width, height = 1 + max(box.x for box in boxes), 1 + max(box.depth for box in boxes)
    if ax is None:
        from matplotlib import pyplot

        size = (min(LEAF_WIDTH * width, LARGEST_SIDE), min(LEVEL_HEIGHT * height, LARGEST_SIDE))
        figure: Figure = pyplot.figure(figsize=size)
        ax = figure.subplots()
    for box in boxes:
        if box.parent is not None:
            ax.plot([box.parent.x, box.x], [-box.parent.depth, -box.depth], color="0.6", linewidth=1, zorder=1)
            middle = ((box.parent.x + box.x) / 2, -(box.parent.depth + box.depth) / 2)
            white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            ax.annotate(box.branch, middle, ha="center", va="center", fontsize=7, bbox=white, zorder=2)
        face = "0.95" if isinstance(box.node, Leaf) else "white"
        frame = {"boxstyle": "round", "facecolor": face, "edgecolor": "0.4"}
        ax.annotate(box.text, (box.x, -box.depth), ha="center", va="center", fontsize=8, bbox=frame, zorder=3)
    ax.set_xlim(-0.6, width - 0.4)
    ax.set_ylim(0.5 - height, 0.5)
    ax.set_axis_off()
    return ax


def layout(tree: Node) -> Iterator[Box]:
    """Every node at its place: leaves side by side, every other node in the middle above its children."""
    leaves_before = 0

    def place(node: Node, depth: int) -> tuple[float, list[tuple[Node, float, int, int, str]]]:
        """Where the node is, and for each node below: the node, its place, and the position of its parent."""
        nonlocal leaves_before
        if isinstance(node, Leaf):
            leaves_before += 1
            return leaves_before - 1.0, []
        below: list[tuple[Node, float, int, int, str]] = []
        places = []
        for child, branch in zip(children(node), branch_texts(node), strict=True):
            x, rows = place(child, depth + 1)
            own = len(below)
            below.append((child, x, depth + 1, -1, branch))
            below += [(each, at, level, parent + own + 1, text) for each, at, level, parent, text in rows]
            places.append(x)
        return (places[0] + places[-1]) / 2, below

    x, rows = place(tree, 0)
    boxes = [Box(tree, x, 0, node_text(tree))]
    for node, at, level, parent, branch in rows:
        boxes.append(Box(node, at, level, node_text(node), boxes[parent + 1], branch))
    yield from boxes


def node_text(node: Node) -> str:
    """What stands in the box of a node: a leaf's label and statistic, a number's test, or the column that is asked."""
    if isinstance(node, NumericSplit):
        return f"{node.column} {'<' if node.strict else '<='} {node.at:.6g}"
    if isinstance(node, CategoricalSplit):
        return node.column
    return node.words if node.label is None or node.has_no_statistic else f"{node.label}\n{node.words}"


def branch_texts(node: Node) -> list[str]:
    """What stands on each branch of a node, in the order of its children."""
    if isinstance(node, NumericSplit):
        return ["yes", "no"]
    if isinstance(node, Leaf):
        return []
    texts = [", ".join("missing" if value is None else value for value in each.values) for each in node.branches]
    return [shorten(text, LONGEST_TEXT, placeholder=" ...") for text in (*texts, *(["else"] if node.default else []))]
