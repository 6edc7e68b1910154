"""A picture of a tree: a box for each node, a line for each branch, for trees that a page holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from leafgate.errors import InconclusiveError
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import Release
from leafgate.kernel.tree import CategoricalSplit, Node, NumericSplit, children
from leafgate.lazy_loading import install_command

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

CENTRED: Mapping[str, Any] = {"ha": "center", "va": "center", "parse_math": False}
"""How texts are drawn: what stands between two `$` is a text like any other."""


@dataclass(frozen=True)
class Box:
    """A node at its place.

    Attributes:
        node: the node.
        x: leaves to the left of it; for other nodes the middle of their children.
        depth: levels above it.
        text: what stands in it.
        parent: the position of its parent in the list of all boxes; None for the root.
        branch: what stands on the line to its parent.
    """

    node: Node
    x: float
    depth: int
    text: str
    parent: int | None = None
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
        raise ImportError(f"a drawing needs matplotlib: {install_command('docs')}") from None
    if not release.trees:
        raise InconclusiveError("there is no tree to draw", remedy="read `release_`")
    boxes = layout(release.trees[0])
    width, height = 1 + max(box.x for box in boxes), 1 + max(box.depth for box in boxes)
    if ax is None:
        from matplotlib import pyplot

        size = (min(LEAF_WIDTH * width, LARGEST_SIDE), min(LEVEL_HEIGHT * height, LARGEST_SIDE))
        figure: Figure = pyplot.figure(figsize=size)
        ax = figure.subplots()
    for box in boxes:
        if box.parent is not None:
            above = boxes[box.parent]
            ax.plot([above.x, box.x], [-above.depth, -box.depth], color="0.6", linewidth=1, zorder=1)
            middle = ((above.x + box.x) / 2, -(above.depth + box.depth) / 2)
            white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            ax.annotate(box.branch, middle, **CENTRED, fontsize=7, bbox=white, zorder=2)
        face = "0.95" if isinstance(box.node, Leaf) else "white"
        frame = {"boxstyle": "round", "facecolor": face, "edgecolor": "0.4"}
        ax.annotate(box.text, (box.x, -box.depth), **CENTRED, fontsize=8, bbox=frame, zorder=3)
    ax.set_xlim(-0.6, width - 0.4)
    ax.set_ylim(0.5 - height, 0.5)
    ax.set_axis_off()
    return ax


def layout(tree: Node) -> list[Box]:
    """Every node at its place, parents before their children: leaves side by side, others in the middle above."""
    boxes: dict[int, Box] = {}
    leaf_places = count()

    def place(node: Node, depth: int, parent: int | None, branch: str) -> float:
        position = len(boxes)
        boxes[position] = Box(node, 0.0, depth, node_text(node), parent, branch)
        below = zip(children(node), branch_texts(node), strict=True)
        places = [place(child, depth + 1, position, text) for child, text in below]
        x = (places[0] + places[-1]) / 2 if places else float(next(leaf_places))
        boxes[position] = replace(boxes[position], x=x)
        return x

    place(tree, 0, None, "")
    return list(boxes.values())


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
