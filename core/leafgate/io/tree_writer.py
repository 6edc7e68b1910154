"""Trees as JSON: `leaf`, `cut`, `fan`, written from arrays, many trees at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

import numpy as np
from pydantic_core import to_json

from leafgate.errors import ReleaseError
from leafgate.io.json import append_readable
from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.leaf import OF_CLASSES, STATISTICS, LeafStatistics, Numbers, Statistic, as_numbers
from leafgate.kernel.tree import MAX_DEPTH, NO_FAN, WAYS_OF_MISSING, Fan, Node, TreeArrays, tree_arrays

TREE_INDENT = 2
"""The spaces before the first and the last line of a tree in a release file."""
BEFORE_TREE = ",\n" + " " * TREE_INDENT

NODES_AT_ONCE = 20_000
"""So many nodes are written together, so that each of many small trees takes little time."""

TEST, LEAF, END = range(3)
"""The kinds of pieces that a text consists of: up to the threshold of a test, a leaf, the end of a test."""
ROOT, LOW, HIGH, FIRST_BRANCH = range(4)
"""The ways to a node: none, to the children of a numeric test, to those of categorical tests."""
NUMBER_HERE = "\0"
"""Stands for a number in a piece; no text of JSON has this sign."""
BITS = 24
"""Of a piece's number: for its way, and for what it consists of besides."""
BITS_OF_INDENT = 10
"""Of a piece's number: for the spaces of its last line, which are at most MAX_DEPTH times 3 more than of the first."""


class TreeWriter:
    """Writes the trees of a release as text: JSON with an indent of 1, without what is not known.

    The text is put together of pieces without numbers: one for each node, with what stands before it, and one for the
    end of each test. Nodes that differ in numbers alone have the same piece, which is made once.
    """

    def __init__(self, classes: tuple[str, ...]) -> None:
        self.classes = classes
        self._columns = list[tuple[str, bool | None]]()
        self._fans = list[Fan]()
        self._labels = list[str | None]()
        self._branches = list[tuple[Fan, int]]()
        self._known: dict[Any, int] = {}
        """The number of each column, fan and label in these lists, and of each fan's first branch."""
        self._pieces = _Pieces(self)

    def texts(self, trees: Iterable[Node]) -> Iterator[str]:
        """Texts that together are all trees, each after BEFORE_TREE; ReleaseError for what no file can hold."""
        waiting, nodes = list[TreeArrays](), 0
        for tree in trees:
            waiting.append(tree_arrays(tree))
            nodes += len(waiting[-1].column) + waiting[-1].n_leaves
            if nodes > NODES_AT_ONCE:
                yield self.text(waiting)
                waiting, nodes = [], 0
        if waiting:
            yield self.text(waiting)

    def text(self, trees: Sequence[TreeArrays], indent: int = TREE_INDENT) -> str:
        """These trees, each after BEFORE_TREE, with so many spaces before their first line."""
        forest = _Forest(trees)
        if not np.isfinite(forest.threshold).all():
            raise ReleaseError("has a test whose threshold is no finite number")
        tests, ways = self._tests(trees, forest), self._ways(trees, forest)
        if forest.depth_of_test.max(initial=0) >= MAX_DEPTH:
            raise ReleaseError(f"has a tree that is deeper than {MAX_DEPTH} tests")
        statistics = _joined([tree.statistics.over(self.classes) for tree in trees])
        of_leaf = self._leaves(trees, statistics)
        codes = (
            _codes(TEST, indent + forest.indent_of_test, ways[forest.position_of_test], tests),
            _codes(LEAF, indent + forest.indent_of_leaf, ways[forest.position_of_leaf], of_leaf),
            _codes(END, indent + forest.indent_of_test, 0, np.where(forest.is_cut, 0, tests)),
        )
        n_numbers = (
            forest.is_cut.astype(np.int64),
            sum(
                (each.published * each.values.shape[1] for each in statistics.values()),
                np.zeros(len(of_leaf), np.int64),
            ),
            np.zeros(len(tests), dtype=np.int64),
        )
        places = np.concatenate(forest.places())
        length = np.zeros(len(places), dtype=np.int64)
        length[places] = 2 * np.concatenate(n_numbers) + 1
        first = (np.cumsum(length) - length)[places]
        texts = np.empty(int(length.sum()), dtype=object)
        """What stands before, between and after numbers in each piece, and the numbers."""
        of_tests, of_leaves, of_ends = np.split(first, np.cumsum([len(tests), len(of_leaf)]))
        for at, code, n in zip((of_tests, of_leaves, of_ends), codes, n_numbers, strict=True):
            pieces = [*map(self._pieces.__getitem__, code.tolist())]
            for length_here in np.unique(n).tolist():
                alike = np.flatnonzero(n == length_here)
                same = pieces if len(alike) == len(pieces) else [pieces[i] for i in alike.tolist()]
                for number in range(length_here + 1):
                    texts[at[alike] + 2 * number] = [parts[number] for parts in same]
        cut = forest.is_cut
        texts[of_tests[cut] + 1] = _texts_of(forest.threshold[cut], forest.whole[cut])
        following = of_leaves + 1
        for each in statistics.values():
            published = np.flatnonzero(each.published)
            whole = np.broadcast_to(each.whole, each.values.shape)
            for column in range(each.values.shape[1]):
                here = each.values[published, column]
                texts[following[published]] = _texts_of(here, whole[published, column])
                following[published] += 2
        return "".join(texts.tolist())

    def _tests(self, trees: Sequence[TreeArrays], forest: _Forest) -> Ids:
        """What each test has besides its threshold, as a number: even of numeric tests, odd of categorical ones."""
        column = _renumbered([(tree.column, tree.columns) for tree in trees], self._number(self._columns))
        fan = np.array([*map(self._number(self._fans), forest.fans), -1])[forest.fan]
        numeric = (column * 2 + forest.strict) * len(WAYS_OF_MISSING) + forest.missing
        return np.where(forest.is_cut, numeric * 2, fan * 2 + 1)

    def _ways(self, trees: Sequence[TreeArrays], forest: _Forest) -> Ids:
        """The way to each position in `forest.child`."""
        for fan in forest.fans:
            if (fan, "branches") not in self._known:
                self._known[fan, "branches"] = FIRST_BRANCH + len(self._branches)
                self._branches += [(fan, i) for i in range(len(fan.branches) + fan.has_default)]
        starts = np.array([*(self._known[fan, "branches"] for fan in forest.fans), LOW])[forest.fan]
        ways = np.full(len(forest.child), ROOT)
        ways[forest.parent >= 0] = np.repeat(starts, forest.n_children)
        return ways + forest.number_among_siblings

    def _leaves(self, trees: Sequence[TreeArrays], statistics: Mapping[Statistic, Numbers]) -> Ids:
        """What each leaf has besides its numbers, as a number: its label, and which statistics it publishes."""
        leaves = [tree.statistics for tree in trees]
        labels = [(np.where(each.label < 0, len(each.labels), each.label), (*each.labels, None)) for each in leaves]
        published = _renumbered(labels, self._number(self._labels))
        for name in STATISTICS:
            published = published * 2 + (statistics[name].published if name in statistics else 0)
        return published

    def _number(self, listed: list[Any]) -> Callable[[Any], int]:
        """Returns the number of a thing in a list, at whose end it is put where it is new."""

        def number(thing: Any) -> int:
            if thing not in self._known:
                self._known[thing] = len(listed)
                listed.append(thing)
            return self._known[thing]

        return number

    def piece(self, kind: int, indent: int, way: int, content: int) -> str:
        """The text of a piece whose last line has so many spaces."""
        line = "\n" + " " * indent
        if kind == LEAF:
            return self._before(way, line) + self._leaf(content, line + " ") + f"{line}}}"
        if not content % 2:
            return f"{line}}}" if kind == END else self._before(way, line) + self._cut(content // 2, line + " ")
        fan = self._fans[content // 2]
        if kind == END:
            return f"{line}}}" if fan.has_default else f"{_end_of_branches(fan, line + ' ')}{line}}}"
        column = f'{line} "kind": "fan",{line} "column": {encode_basestring(fan.column)}'
        return f'{self._before(way, line)}{{{column},{line} "branches": ['

    def _before(self, way: int, line: str) -> str:
        """What stands between a node and the node, or the end of a node, before it."""
        if way < FIRST_BRANCH:
            return ("," + line, f',{line}"low": ', f',{line}"high": ')[way]
        fan, number = self._branches[way - FIRST_BRANCH]
        if number == len(fan.branches):
            return f'{_end_of_branches(fan, line)},{line}"other": '
        listed = list[str]()
        append_readable(list(fan.branches[number]), line, listed)
        values = "".join(listed)
        end = f"{line[:-1]}}}," if number else ""
        return f'{end}{line[:-1]}{{{line}"values": {values},{line}"node": '

    def _cut(self, number: int, line: str) -> str:
        number, missing = divmod(number, len(WAYS_OF_MISSING))
        column, float32 = self._columns[number // 2]
        options = {"missing": WAYS_OF_MISSING[missing], "strict": number % 2, "float32": float32}
        written = {key: f'"{option}"' if key == "missing" else "true" for key, option in options.items() if option}
        fields = "".join(f',{line}"{key}": {option}' for key, option in written.items())
        return f'{{{line}"kind": "cut",{line}"column": {encode_basestring(column)},{line}"at": {NUMBER_HERE}{fields}'

    def _leaf(self, number: int, line: str) -> str:
        label, published = self._labels[number >> len(STATISTICS)], f"{number:b}".zfill(len(STATISTICS))
        fields = ['"kind": "leaf"'] + ([] if label is None else [f'"label": {encode_basestring(label)}'])
        of_classes = ",".join(f"{line} {encode_basestring(name)}: {NUMBER_HERE}" for name in self.classes)
        for name, flag in zip(STATISTICS, published[-len(STATISTICS) :], strict=True):
            if flag == "1":
                fields.append(f'"{name}": ' + (f"{{{of_classes}{line}}}" if name in OF_CLASSES else NUMBER_HERE))
        return "{" + ",".join(line + field for field in fields)


class _Pieces(dict[int, tuple[str, ...]]):
    """The parts of each piece between its numbers, by its number as `_codes` gives it."""

    def __init__(self, writer: TreeWriter) -> None:
        self.writer = writer

    def __missing__(self, code: int) -> tuple[str, ...]:
        rest, content = divmod(code, 1 << BITS)
        rest, way = divmod(rest, 1 << BITS)
        kind, indent = divmod(rest, 1 << BITS_OF_INDENT)
        self[code] = tuple(self.writer.piece(kind, indent, way, content).split(NUMBER_HERE))
        return self[code]


def _codes(kind: int, indent: Ids, way: Ids | int, content: Ids) -> Ids:
    """A number for each different piece."""
    return (((kind << BITS_OF_INDENT) + indent << BITS) + way << BITS) + content


def _end_of_branches(fan: Fan, line: str) -> str:
    """The end of the last branch and of the list of branches, whose lines begin like this."""
    return f"{line} }}{line}]" if fan.branches else "]"


def _renumbered(each: Sequence[tuple[Ids, Sequence[Any]]], number: Callable[[Any], int]) -> Ids:
    """Positions in lists of each tree's own as positions in one list."""
    numbers = np.array([number(thing) for _, listed in each for thing in listed], dtype=np.int64)
    sizes, lengths = zip(*((len(at), len(listed)) for at, listed in each), strict=True)
    first = np.repeat(np.cumsum(lengths) - lengths, sizes)
    return np.asarray(numbers[np.concatenate([at for at, _ in each]) + first])


def _texts_of(values: Floats, whole: Mask) -> list[str]:
    """What `repr` writes of finite numbers, as whole numbers or not; faster, where it writes what everybody does."""
    if not len(values):
        return []
    numbers = as_numbers(values, bool(whole[0]) if whole.all() or not whole.any() else whole)
    texts = to_json(numbers)[1:-1].decode().split(",")
    size = np.abs(values)
    for i in np.flatnonzero(((size < 1e-4) & (size > 0)) | (size >= 2**53)).tolist():
        texts[i] = repr(numbers[i])
    return texts


def _joined(parts: Sequence[LeafStatistics]) -> dict[Statistic, Numbers]:
    """The statistics of several trees, one after another, each with a row for every leaf."""
    joined = dict[Statistic, Numbers]()
    for name in STATISTICS:
        found = [part.numbers.get(name) for part in parts]
        width = max((each.values.shape[1] for each in found if each is not None), default=0)
        if width:
            values = [
                np.full((len(part), width), math.nan) if each is None else each.values
                for part, each in zip(parts, found, strict=True)
            ]
            flags = [each is not None and each.whole for each in found]
            if all(flag is flags[0] for flag in flags) and isinstance(flags[0], bool):
                joined[name] = Numbers(np.concatenate(values), flags[0])
            else:
                whole = [np.broadcast_to(flag, each.shape) for flag, each in zip(flags, values, strict=True)]
                joined[name] = Numbers(np.concatenate(values), np.concatenate(whole))
    return joined


class _Forest:
    """Trees one after another as arrays, with the numbers of tests, leaves and positions counted through."""

    def __init__(self, trees: Sequence[TreeArrays]) -> None:
        self.threshold, self.whole, self.strict, self.missing = (
            np.concatenate([getattr(tree, name) for tree in trees])
            for name in ("threshold", "whole", "strict", "missing")
        )
        n_tests, n_leaves = (np.array(each) for each in zip(*((len(t.column), t.n_leaves) for t in trees), strict=True))
        first_test, first_leaf = np.cumsum(n_tests) - n_tests, np.cumsum(n_leaves) - n_leaves
        self.fans = [fan for tree in trees for fan in tree.fans]
        n_fans = np.array([len(tree.fans) for tree in trees])
        fan = np.concatenate([tree.fan for tree in trees])
        self.is_cut = fan == NO_FAN
        self.fan = np.where(self.is_cut, -1, fan + np.repeat(np.cumsum(n_fans) - n_fans, n_tests))
        """Which of all fans each test is, -1 for numeric ones."""
        in_branches = np.array([*(len(each.branches) for each in self.fans), 0])[self.fan]
        self.n_children = np.array([*(len(each.branches) + each.has_default for each in self.fans), 2])[self.fan]
        lengths = np.array([len(tree.child) for tree in trees])
        child, roots = np.concatenate([tree.child for tree in trees]), np.cumsum(lengths) - lengths
        of_leaf, of_test = np.repeat(first_leaf, lengths), np.repeat(first_test, lengths)
        self.child = np.where(child < 0, child - of_leaf, child + of_test)
        self.child[roots] = np.where(n_tests > 0, first_test, ~first_leaf)
        below = np.ones(len(self.child), dtype=bool)
        below[roots] = False
        ends = np.cumsum(self.n_children)
        self.parent, self.number_among_siblings = (
            np.full(len(self.child), -1),
            np.zeros(len(self.child), dtype=np.int64),
        )
        self.parent[below] = np.repeat(np.arange(len(ends)), self.n_children)
        self.number_among_siblings[below] = np.arange(below.sum()) - np.repeat(ends - self.n_children, self.n_children)
        deeper = np.zeros(len(self.child), dtype=np.int64)
        branches = np.repeat(in_branches, self.n_children)
        deeper[below] = np.where(self.number_among_siblings[below] < branches, 3, 1)
        self.position_of_test = np.zeros(len(ends), dtype=np.int64)
        self.position_of_leaf = np.zeros(int(n_leaves.sum()), dtype=np.int64)
        is_test = np.flatnonzero(self.child >= 0)
        is_leaf = np.flatnonzero(self.child < 0)
        self.position_of_test[self.child[is_test]] = is_test
        self.position_of_leaf[~self.child[is_leaf]] = is_leaf
        self._first_child = np.flatnonzero(below)[ends - self.n_children]
        above = self.parent[self.position_of_test]
        self.depth_of_test, self.indent_of_test = _down(above, deeper[self.position_of_test])
        of_leaf = self.parent[self.position_of_leaf]
        self.depth_of_leaf = np.append(self.depth_of_test, -1)[of_leaf] + 1
        self.indent_of_leaf = np.append(self.indent_of_test, 0)[of_leaf] + deeper[self.position_of_leaf]

    def places(self) -> tuple[Ids, Ids, Ids]:
        """Where each test, each leaf and each test's end comes in the text, counted in pieces."""
        first, last = self._outermost(self._first_child), self._outermost(self._first_child + self.n_children - 1)
        tests, leaves = np.arange(len(first)), np.arange(len(self.position_of_leaf))
        tests_before = np.searchsorted(first, leaves, side="right")
        at_test = first + 2 * tests - self.depth_of_test  # before it: leaves, tests, and the ends of those not above it
        at_leaf = leaves + 2 * tests_before - self.depth_of_leaf
        at_end = at_leaf[last] + self.depth_of_leaf[last] - self.depth_of_test
        return at_test, at_leaf, at_end

    def _outermost(self, outermost: Ids) -> Ids:
        """The first or the last leaf below each test, from the position of its first or last child."""
        below = self.child[outermost]
        while (inner := below >= 0).any():
            below[inner] = self.child[outermost[below[inner]]]
        return np.asarray(~below)


def _down(parent: Ids, amount: Ids) -> tuple[Ids, Ids]:
    """How many nodes are above each, and the sum of amounts from the root down to it; the root's parent is -1."""
    above, total = (parent >= 0).astype(np.int64), amount.copy()
    jump = np.where(parent >= 0, parent, np.arange(len(parent)))
    while (further := above[jump]).any():
        above, total, jump = above + further, total + np.where(further > 0, total[jump], 0), jump[jump]
    return above, total
