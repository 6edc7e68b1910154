"""Trees as JSON: `leaf`, `cut`, `fan`, written from arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.io.json import append_readable
from leafgate.kernel.arrays import Ids
from leafgate.kernel.leaf import OF_CLASSES, STATISTICS, LeafStatistics, as_numbers
from leafgate.kernel.tree import MAX_DEPTH, NO_FAN, WAYS_OF_MISSING, Fan, TreeArrays

TREE_INDENT = 2
"""The spaces before the first and the last line of a tree in a release file."""

MAX_INDENT = 1_024
"""More than the spaces before any node."""

NUMBER, CHILD = 0, 1
"""Stand for a number and for a child in the document of a node, which has no numbers of its own."""
SIGNS = {repr(NUMBER): "\0", repr(CHILD): "\1"}
"""Stand for the same in its text; no text of JSON has these signs."""

Template = tuple[str, tuple[tuple[int, int, str], ...]]
"""The text of a node up to its first child, with `%r` for each number; then, from the last child to the first, the
position of each among the children, the spaces before it, and the text after it."""


class Cut(NamedTuple):
    """What a numeric test states, besides its threshold; `missing` is a position in WAYS_OF_MISSING."""

    column: str
    float32: bool
    missing: int
    strict: bool


class End(NamedTuple):
    """What a leaf states, besides its numbers; `published` has a bit for each statistic, the first one the lowest."""

    label: str | None
    published: int


def document_of(node: Cut | Fan | End, classes: tuple[str, ...]) -> dict[str, Any]:
    """A node as JSON of the format `leafgate/release/1`; what is not known is not written."""
    match node:
        case Cut(column, float32, missing, strict):
            options = {"missing": WAYS_OF_MISSING[missing], "strict": strict, "float32": float32}
            stated = {name: option for name, option in options.items() if option}
            return {"kind": "cut", "column": column, "at": NUMBER, **stated, "low": CHILD, "high": CHILD}
        case Fan(column, branches, has_default):
            listed = [{"values": list(values), "node": CHILD} for values in branches]
            return {"kind": "fan", "column": column, "branches": listed, **({"other": CHILD} if has_default else {})}
        case End(label, published):
            document: dict[str, Any] = {"kind": "leaf"} if label is None else {"kind": "leaf", "label": label}
            for name in [name for i, name in enumerate(STATISTICS) if published >> i & 1]:
                document[name] = dict.fromkeys(classes, NUMBER) if name in OF_CLASSES else NUMBER
            return document


class TreeWriter:
    """Writes the trees of a release as text: JSON with an indent of 1, without what is not known.

    Nodes that differ in their numbers and children alone have one template.
    """

    def __init__(self, classes: tuple[str, ...]) -> None:
        self.classes = classes
        self._nodes = list[Cut | Fan | End]()
        self._known: dict[Cut | Fan | End, int] = {}
        """The position of each different node in `_nodes`, times MAX_INDENT."""
        self._templates: dict[int, Template] = {}
        """By such a number plus the spaces before the node."""

    def text(self, tree: TreeArrays, indent: int = TREE_INDENT) -> str:
        """The tree, with so many spaces before its last line; ReleaseError for what no file can hold."""
        if not np.isfinite(tree.threshold).all():
            raise ReleaseError("has a test whose threshold is no finite number")
        if len(tree.column) > MAX_DEPTH and tree.depth > MAX_DEPTH:
            raise ReleaseError(f"has a tree that is deeper than {MAX_DEPTH} tests")
        statistics = tree.statistics.over(self.classes)
        nodes = self._tests(tree) + self._leaves(statistics)[::-1]  # so that `~leaf` is its position
        numbers = _thresholds(tree) + _rows(statistics)[::-1]
        first_child, child, templates = tree.first_child.tolist(), (tree.child * MAX_INDENT).tolist(), self._templates
        pieces = list[str]()
        add, waiting = pieces.append, list[Any]([(0 if first_child else ~0) * MAX_INDENT + indent])
        """Nodes times MAX_INDENT plus the spaces before them, and the texts after them."""
        while waiting:
            following = waiting.pop()
            if type(following) is str:
                add(following)
                continue
            node = following // MAX_INDENT
            key = nodes[node] + following % MAX_INDENT
            before, below = templates.get(key) or self._template(key)
            add(before % numbers[node])
            for number, spaces, after in below:
                waiting += after, child[first_child[node] + number] + spaces
        return "".join(pieces)

    def _tests(self, tree: TreeArrays) -> list[int]:
        """What each test is, as `_known` numbers it."""

        def test(code: int) -> Cut | Fan:
            if code < 0:
                return tree.fans[~code]
            column, float32 = tree.columns[code // 6]
            return Cut(column, bool(float32), code // 2 % 3, bool(code % 2))

        codes = (tree.column * len(WAYS_OF_MISSING) + tree.missing) * 2 + tree.strict
        return self._numbered(np.where(tree.fan == NO_FAN, codes, ~tree.fan) if tree.fans else codes, test)

    def _leaves(self, statistics: LeafStatistics) -> list[int]:
        """What each leaf is, as `_known` numbers it."""
        labels, n = (None, *statistics.labels), len(STATISTICS)
        codes = statistics.label + 1 << n
        for name in statistics.numbers:
            codes |= statistics.publishes(name).astype(np.int64) << STATISTICS.index(name)
        return self._numbered(codes, lambda code: End(labels[code >> n], code & (1 << n) - 1))

    def _numbered(self, codes: Ids, node_of: Callable[[int], Cut | Fan | End]) -> list[int]:
        """Nodes as `_known` numbers them, from codes that are this tree's own."""
        listed: list[int] = codes.tolist()
        number = dict[int, int]()
        for code in set(listed):
            node = node_of(code)
            if node not in self._known:
                self._known[node] = len(self._nodes) * MAX_INDENT
                self._nodes.append(node)
            number[code] = self._known[node]
        return [number[code] for code in listed]

    def _template(self, key: int) -> Template:
        """The template of a node with so many spaces before it."""
        number, indent = divmod(key, MAX_INDENT)
        pieces = list[str]()
        append_readable(document_of(self._nodes[number], self.classes), "\n" + " " * indent, pieces)
        parts = "".join([SIGNS.get(piece, piece) for piece in pieces]).split(SIGNS[repr(CHILD)])
        lines = [part.rpartition("\n")[2] for part in parts]
        spaces = [len(line) - len(line.lstrip(" ")) for line in lines]
        before = parts[0].replace("%", "%%").replace(SIGNS[repr(NUMBER)], "%r")
        self._templates[key] = before, tuple(zip(range(len(parts) - 1), spaces, parts[1:], strict=False))[::-1]
        return self._templates[key]


def _thresholds(tree: TreeArrays) -> list[Any]:
    """What each test is formatted with: the threshold of a numeric one, nothing of a categorical one."""
    numbers: list[Any] = as_numbers(tree.threshold, tree.whole if tree.whole.any() else False)
    for number in np.flatnonzero(tree.fan != NO_FAN).tolist() if tree.fans else ():
        numbers[number] = ()
    return numbers


def _rows(statistics: LeafStatistics) -> list[Any]:
    """The numbers of each leaf, one statistic after another."""
    found = [statistics.numbers[name].rows() for name in STATISTICS if name in statistics.numbers]
    if len(found) == 1:
        return [row or () for row in found[0]]
    return [sum([row for row in rows if row], ()) for rows in zip(*found, strict=True)] or [()] * len(statistics)
