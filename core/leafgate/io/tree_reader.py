"""Trees read from JSON: `leaf`, `cut`, `fan`, many at once; every node of a foreign file is checked.

`TreeReader.written` reads the layout that `TreeWriter` writes: it looks only for what differs between nodes, and
believes what it has found if `TreeWriter` writes the very same text of it. Every other text is parsed, and
`TreeReader.read` checks each node and says what is wrong where.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

import numpy as np
from pydantic_core import from_json

from leafgate.errors import ReleaseError
from leafgate.io.json import is_number, refuse_unknown
from leafgate.io.tree_writer import TREE_INDENT, TreeWriter
from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.leaf import OF_CLASSES, STATISTICS, LeafStatistics, Numbers, Statistic
from leafgate.kernel.schema import Schema, Value
from leafgate.kernel.tree import (
    MAX_DEPTH,
    NO_FAN,
    WAYS_OF_MISSING,
    Fan,
    Node,
    TreeArrays,
    TreeAssembly,
    split_trees,
)

KEYS = {
    "leaf": frozenset({"kind", "label", *STATISTICS}),
    "cut": frozenset({"kind", "column", "at", "low", "high", "missing", "strict", "float32"}),
    "fan": frozenset({"kind", "column", "branches", "other"}),
}
BRANCH_KEYS = frozenset({"values", "node"})

TEXT = r'"(?:[^"\\]|\\.)*"'
COLUMN = re.compile(rf' +"column": ({TEXT})')
FAN = re.compile(rf'"fan",\n +"column": ({TEXT})')
VALUES = re.compile(rf'"values": \[((?:\n +(?:null|{TEXT}),?)*)')
LABEL = re.compile(rf'"label": ({TEXT})')
NUMBER = re.compile(r'": (-?[0-9][^,\n]*)')


class TreeReader:
    """Reads trees from the JSON of release files with one schema, which nothing in them is trusted to fit."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.classes = schema.classes if schema.having("class") else ()
        self.numeric = {column.name: column.name for column in schema.columns if column.numeric}
        """Each name once, so that not every tree keeps its own."""
        self.branches: dict[tuple[Value, ...], tuple[Value, ...]] = {}
        self.writer = TreeWriter(self.classes)
        self._values: dict[str, tuple[Value, ...]] = {}
        self.column_of = _Columns({encode_basestring(name): i for i, name in enumerate(self.numeric)})
        self.flags_of = _Flags()

    def read(self, document: Any, place: str) -> Node:
        """The tree that a document describes; ReleaseError names the node that is wrong."""
        return _Reading(self, place).tree(document)

    def written(self, content: bytes) -> list[TreeArrays] | None:
        """The trees in a text that `TreeWriter` may have written, which begins after the first tree's comma.

        None where it has not, or where the trees do not fit the schema: then `read` says what is wrong, if anything is.
        """
        try:
            text = content.decode()
            trees = _Written(self, text).trees()
            return trees if self.writer.text(trees)[1:] == text else None
        except (ReleaseError, ValueError, LookupError, TypeError, OverflowError):
            return None

    def values_of(self, text: str) -> tuple[Value, ...]:
        """The values of a branch, from the lines that list them."""
        if text not in self._values:
            values = tuple(json.loads(f"[{text}]"))
            self._values[text] = self.branches.setdefault(values, values)
        return self._values[text]

    def fits(self, fan: Fan) -> bool:
        """Is it a test of a column of the schema, each of whose values has one branch at most?"""
        if fan.column not in self.schema or self.schema[fan.column].numeric or not all(fan.branches):
            return False
        values = [value for branch in fan.branches for value in branch]
        return (
            bool(values) and len(set(values)) == len(values) and self.schema[fan.column].domain_set.issuperset(values)
        )


class _Columns(dict[str, int]):
    """The position of a numeric test's column in `TreeReader.numeric`, from its line."""

    def __init__(self, positions: Mapping[str, int]) -> None:
        self.positions = positions

    def __missing__(self, line: str) -> int:
        found = COLUMN.fullmatch(line)
        self[line] = self.positions[found[1] if found else ""]
        return self[line]


class _Flags(dict[str, int]):
    """What a numeric test states after its threshold, from these lines: missing * 4 + strict * 2 + float32."""

    def __missing__(self, lines: str) -> int:
        stated = [way is not None and f'"missing": "{way}"' in lines for way in WAYS_OF_MISSING]
        missing = stated.index(True) if True in stated else 0
        self[lines] = missing * 4 + ('"strict"' in lines) * 2 + ('"float32"' in lines)
        return self[lines]


class _Written:
    """Some trees as `TreeWriter` writes them, as arrays over all their nodes in the order of the text."""

    def __init__(self, reader: TreeReader, text: str) -> None:
        self.reader, self.text = reader, text
        before, *self.nodes = text.split('"kind": ')
        """The text from each node's kind to the next one's."""
        kind = np.frombuffer("".join([node[1] for node in self.nodes]).encode("latin-1"), dtype=np.uint8)
        self.is_leaf, self.is_fan = kind == ord("l"), kind == ord("f")
        self.is_test = ~self.is_leaf
        ends = [before, *self.nodes[:-1]]
        self.indent = np.array([len(text) - text.rfind("\n") for text in ends]) - 2 - TREE_INDENT
        self.root = self.indent == 0
        order = np.argsort(self.indent, kind="stable")
        self.parent = self._latest(1, order)
        if self.is_fan.any():
            self.parent = np.maximum(self.parent, self._latest(3, order))
        self.parent[self.root] = -1
        self.in_branch = ~self.root & (self.indent - self.indent[self.parent] == 3)
        if not self.root[0] or (self.parent[~self.root] < 0).any() or self.indent.max() > MAX_DEPTH:
            raise ValueError("is no list of trees, or has one that is very deep")
        if self.is_leaf[self.parent[~self.root]].any():
            raise ValueError("has a leaf with children")

    def _latest(self, step: int, order: Ids) -> Ids:
        """For each node the last one before it that is indented by so much less; -1 where there is none.

        `order` has all nodes by their indent, equal ones in the order of the text.
        """
        key = self.indent * len(order) + np.arange(len(order))
        at = np.searchsorted(key[order], key - step * len(order)) - 1
        found = order[np.maximum(at, 0)]
        return np.where((at >= 0) & (self.indent[found] == self.indent - step), found, -1)

    def trees(self) -> list[TreeArrays]:
        """The trees; an error of any kind where the text is none that was written of trees."""
        number = np.where(self.is_leaf, ~(np.cumsum(self.is_leaf) - 1), np.cumsum(self.is_test) - 1)
        below, starts = np.flatnonzero(~self.root), np.flatnonzero(self.root)
        child = number[below[np.argsort(self.parent[below], kind="stable")]]
        n_children = np.bincount(self.parent[below], minlength=len(self.nodes))[self.is_test]
        if (n_children[~self.is_fan[self.is_test]] != 2).any():
            raise ValueError("has a numeric test without two children")
        content = self._content()
        fans, fan = self._fans(content, n_children)
        missing, strict = (content.flags >> 2).astype(np.int8), (content.flags & 2).astype(np.bool_)
        tests = content.threshold, content.whole, strict, missing
        columns, leaves = tuple(content.columns), content.leaves
        together = TreeArrays(columns, content.column, *tests, child, fan, tuple(fans), child, leaves)
        n_tests, n_leaves = (np.add.reduceat(each, starts, dtype=np.int64) for each in (self.is_test, self.is_leaf))
        return split_trees(together, leaves.split(n_leaves.tolist()), n_tests)

    def _content(self) -> _Content:
        """What the nodes hold besides their children."""
        reader, is_cut = self.reader, ~self.is_fan[self.is_test]
        cuts = np.flatnonzero(self.is_test & ~self.is_fan).tolist()
        flags, column = (np.zeros(len(is_cut), dtype=np.int64) for _ in range(2))
        threshold, whole = np.zeros(len(is_cut)), np.zeros(len(is_cut), dtype=np.bool_)
        if cuts:
            _, asked, at, others = zip(*[self.nodes[i].split(",\n", 3) for i in cuts], strict=True)
            column[is_cut] = [*map(reader.column_of.__getitem__, asked)]
            flags[is_cut] = [*map(reader.flags_of.__getitem__, others)]
            threshold[is_cut], whole[is_cut] = _parsed(",".join(at).replace('"at": ', ""))
        if not np.isfinite(threshold).all():
            raise ValueError("has a threshold that is not finite")
        columns: list[tuple[str, bool | None]] = [(name, single) for name in reader.numeric for single in (False, True)]
        return _Content(columns, column * 2 + (flags & 1), threshold, whole, flags, self._leaves())

    def _leaves(self) -> LeafStatistics:
        """What the leaves publish; that of leaves with the same text is parsed once."""
        leaves, different = np.flatnonzero(self.is_leaf), dict[str, int]()
        end = ["\n" + " " * (TREE_INDENT + i) + "}" for i in range(int(self.indent.max()) + 1)]
        texts = [
            self.nodes[i].partition(end[n])[0]
            for i, n in zip(leaves.tolist(), self.indent[leaves].tolist(), strict=True)
        ]
        each = np.array([different.setdefault(text, len(different)) for text in texts])
        classes, texts = self.reader.classes, list(different)
        numbers, whole_numbers = _parsed(",".join(NUMBER.findall("\n".join(texts))))
        published, width = (
            dict[Statistic, Mask](),
            {name: len(classes) if name in OF_CLASSES else 1 for name in STATISTICS},
        )
        for name in STATISTICS:
            stated = np.array([f'"{name}": ' in text for text in texts], dtype=np.bool_)
            if stated.any():
                published[name] = stated
        n_numbers = sum((stated * width[name] for name, stated in published.items()), np.zeros(len(texts), np.int64))
        if len(numbers) != n_numbers.sum() or not np.isfinite(numbers).all():
            raise ValueError("has numbers where none belong, or some that are not finite")
        following, statistics = np.cumsum(n_numbers) - n_numbers, dict[Statistic, Numbers]()
        for name, stated in published.items():
            values = np.full((len(texts), width[name]), math.nan)
            whole = np.ones(values.shape, dtype=np.bool_)
            at = following[stated][:, None] + np.arange(width[name])
            values[stated], whole[stated] = numbers[at], whole_numbers[at]
            following[stated] += width[name]
            check_statistic(name, Numbers(values, whole), self.reader.schema)
            statistics[name] = Numbers(values[each], True if whole.all() else whole[each])
        return LeafStatistics(self._labels(texts)[each], classes, classes, statistics)

    def _labels(self, leaves: Sequence[str]) -> Ids:
        """The position of each leaf's label among the classes, -1 where it has none."""
        position = {encode_basestring(name): i for i, name in enumerate(self.reader.classes)}
        found = [LABEL.search(text) for text in leaves]
        return np.array([-1 if label is None else position[label[1]] for label in found], dtype=np.int64)

    def _fans(self, content: _Content, n_children: Ids) -> tuple[list[Fan], Ids]:
        """The different categorical tests, and which of them each test is; their columns are added to `content`."""
        fan = np.full(len(n_children), NO_FAN)
        if not self.is_fan.any():
            return [], fan
        names = [json.loads(name) for name in FAN.findall(self.text)]
        values = [self.reader.values_of(text) for text in VALUES.findall(self.text)]
        child = np.flatnonzero(self.in_branch)
        listed = [values[i] for i in np.argsort(self.parent[child], kind="stable").tolist()]
        n_branches = np.bincount(self.parent[child], minlength=len(self.nodes))[self.is_fan]
        tests = np.flatnonzero(self.is_fan[self.is_test])
        has_default = n_children[tests] - n_branches
        if len(listed) != len(values) or len(names) != len(tests) or not np.isin(has_default, (0, 1)).all():
            raise ValueError("has categorical tests of another shape")
        known, end = dict[Fan, int](), 0
        for i, name, n, default in zip(tests.tolist(), names, n_branches.tolist(), has_default.tolist(), strict=True):
            one = Fan(name, tuple(listed[end : end + n]), bool(default))
            end += n
            if one not in known and not self.reader.fits(one):
                raise ValueError("has a test that does not fit the schema")
            fan[i] = known.setdefault(one, len(known))
        of_fan = np.array([content.number(name) for name in names])
        content.column[tests] = of_fan
        return list(known), fan


@dataclass(frozen=True)
class _Content:
    """What nodes hold, as in TreeArrays; `flags` as `_Flags` has them."""

    columns: list[tuple[str, bool | None]]
    column: Ids
    threshold: Floats
    whole: Mask
    flags: Ids
    leaves: LeafStatistics

    def number(self, name: str) -> int:
        """The number of a categorical column, which is added to the others where it is new."""
        if (name, None) not in self.columns:
            self.columns.append((name, None))
        return self.columns.index((name, None))


def _parsed(text: str) -> tuple[Floats, Mask]:
    """The numbers of a list in JSON without its brackets, and which of them are whole."""
    numbers = from_json(f"[{text}]", allow_inf_nan=False)
    kinds = set(map(type, numbers))
    if not kinds <= {int, float}:
        raise ValueError("has something that is no number")
    if len(kinds) < 2:
        return np.array(numbers, dtype=np.float64), np.full(len(numbers), kinds == {int})
    return np.array(numbers, dtype=np.float64), np.array([type(number) is int for number in numbers], dtype=np.bool_)


def check_statistic(name: Statistic, numbers: Numbers, schema: Schema) -> None:
    """ValueError where numbers of leaves are not what the statistic can be."""
    values = numbers.values[numbers.published]
    if name == "value" and schema.target.edges is None:
        raise ValueError("is of no class of numbers")
    if name == "error_rate" and ((values < 0) | (values > 1)).any():
        raise ValueError("is no rate")
    if name in {"counts", "shares"} and (values < 0).any():
        raise ValueError("has numbers below 0")
    if name == "shares" and (abs(values.sum(axis=1) - 1) > SHARES_TOLERANCE).any():
        raise ValueError("has shares that do not sum to 1")


class _Reading:
    """Reading of one tree, from the root down; where a node is becomes a text only when it is wrong."""

    def __init__(self, reader: TreeReader, place: str) -> None:
        self.reader, self.place = reader, place
        self.assembly = TreeAssembly()
        self.waiting: list[tuple[Any, int, int]] = []
        """Nodes that are not read yet: the document, its position in the arrays, how many tests are above it."""

    def tree(self, document: Any) -> Node:
        """The tree that a document describes."""
        leaves: list[dict[str, Any]] = []
        self.waiting.append((document, 0, 0))
        while self.waiting:
            node, position, depth = self.waiting.pop()
            if depth > MAX_DEPTH:
                raise ReleaseError(f"is deeper than {MAX_DEPTH} tests", place=self._location(position)[:60])
            kind = node.get("kind") if isinstance(node, dict) else None
            if kind == "leaf":
                self.assembly.add_leaf(position)
                leaves.append(node)
            elif kind == "cut":
                self._cut(node, position, depth)
            elif kind == "fan":
                self._fan(node, position, depth)
            else:
                raise self._error("must be an object whose `kind` is leaf, cut or fan", position)
        return self.assembly.arrays(self._statistics(leaves)).root

    def _cut(self, node: dict[str, Any], position: int, depth: int) -> None:
        if not KEYS["cut"].issuperset(node):
            refuse_unknown(node, KEYS["cut"], ReleaseError, self._location(position))
        get = node.get
        column, at, missing = get("column"), get("at"), get("missing")
        name = self.reader.numeric.get(column) if isinstance(column, str) else None
        if name is None:
            raise self._column_error(column, "cuts a column that has `values`", position)
        if at is None or not is_number(at):
            raise self._error("`at` must be a finite number", position)
        if missing is not None and missing != "low" and missing != "high":
            raise self._error("`missing` must be low or high", position)
        strict, float32 = get("strict", False), get("float32", False)
        if not (strict is True or strict is False):
            raise self._error("must be true or false", position, ".strict")
        if not (float32 is True or float32 is False):
            raise self._error("must be true or false", position, ".float32")
        first = self.assembly.add_numeric(position, (name, float32), at, strict, missing)
        self.waiting += ((get("high"), first + 1, depth + 1), (get("low"), first, depth + 1))

    def _fan(self, node: dict[str, Any], position: int, depth: int) -> None:
        self._refuse_unknown(node, "fan", position)
        column, written, schema = node.get("column"), node.get("branches"), self.reader.schema
        if not isinstance(column, str) or column not in schema or schema[column].numeric:
            raise self._column_error(column, "fans out over a numeric column", position)
        if not isinstance(written, list) or not written:
            raise self._error("`branches` must be a list, not an empty one", position)
        domain, named = schema[column].domain_set, set[Value]()
        branches, below = list[tuple[Value, ...]](), list[Any]()
        for i, branch in enumerate(written):
            here = f".branches[{i}]"
            values = branch.get("values") if isinstance(branch, dict) else None
            if isinstance(branch, dict) and not branch.keys() <= BRANCH_KEYS:
                refuse_unknown(branch, BRANCH_KEYS, ReleaseError, self._location(position) + here)
            if not isinstance(values, list) or not values:
                raise self._error("`values` must be a list, not an empty one", position, here)
            if not all(isinstance(value, str | None) and value in domain for value in values):
                raise self._error("names a value outside the column's domain", position, here)
            if not named.isdisjoint(values) or len(set(values)) != len(values):
                raise self._error("names a value that has a branch already", position, here)
            named.update(values)
            branches.append(self.reader.branches.setdefault(tuple(values), tuple(values)))
            below.append(branch.get("node"))
        other = node.get("other")
        below += [] if other is None else [other]
        first = self.assembly.add_categorical(position, Fan(schema[column].name, tuple(branches), other is not None))
        self.waiting += reversed([(each, child, depth + 1) for child, each in enumerate(below, first)])

    def _statistics(self, leaves: Sequence[dict[str, Any]]) -> LeafStatistics:
        """What the leaves publish; all are checked at once, and one by one only to find the one that is wrong."""
        classes = self.reader.classes
        position: dict[str | None, int] = {label: i for i, label in enumerate(classes)} | {None: -1}
        numbers: dict[Statistic, Numbers] = {}
        try:
            if not all(map(KEYS["leaf"].issuperset, leaves)):
                raise ValueError("has other keys")
            label = np.array([position[leaf.get("label")] for leaf in leaves], dtype=np.int64)
            for name in STATISTICS:
                stated = [leaf.get(name) for leaf in leaves]
                if any(each is not None for each in stated):
                    numbers[name] = self._numbers(name, stated)
        except (ReleaseError, ValueError, LookupError, TypeError, AttributeError):
            for number, leaf in enumerate(leaves):
                self._refuse_leaf(leaf, self.assembly.child.index(~number) if self.assembly.column else 0)
            raise ReleaseError("has leaves that cannot be read", place=self.place) from None
        return LeafStatistics(label, classes, classes, numbers)

    def _numbers(self, name: Statistic, stated: Sequence[Any]) -> Numbers:
        """One statistic of all leaves; an error of any kind for what is wrong. Classes that are left out have 0."""
        if name in OF_CLASSES:
            numbers = Numbers.of([*map(self._row, stated)], len(self.reader.classes))
        else:
            numbers = Numbers.of([None if each is None else (each,) for each in stated], 1)
        check_statistic(name, numbers, self.reader.schema)
        return numbers

    def _row(self, of_classes: Any) -> tuple[Any, ...] | None:
        classes = self.reader.classes
        if of_classes is None:
            return None
        if tuple(of_classes) == classes:
            return tuple(of_classes.values())
        if not set(classes).issuperset(of_classes):
            raise ValueError("has other names")
        return tuple([of_classes.get(name, 0) for name in classes])

    def _refuse_leaf(self, leaf: dict[str, Any], position: int) -> None:
        """Raise the error of a leaf that is wrong."""
        self._refuse_unknown(leaf, "leaf", position)
        label, error_rate, value = leaf.get("label"), leaf.get("error_rate"), leaf.get("value")
        if label is not None and label not in self.reader.classes:
            raise self._error("`label` is not one of the classes", position)
        if error_rate is not None and not (is_number(error_rate) and 0 <= error_rate <= 1):
            raise self._error("`error_rate` must lie between 0 and 1", position)
        if value is not None and not is_number(value):
            raise self._error("`value` must be a number", position)
        if value is not None and self.reader.schema.target.edges is None:
            raise self._error(
                "`value` is for a class of numbers, and this class has none",
                position,
                remedy="give the class `bins` if the tree predicts numbers, else take the values out",
            )
        for name in ("counts", "shares", "scores"):
            if leaf.get(name) is not None:
                self._refuse_numbers(leaf[name], name, position)

    def _refuse_numbers(self, numbers: Any, name: str, position: int) -> None:
        """Raise the error of a statistic of classes that is wrong."""
        if not isinstance(numbers, dict) or not all(each in self.reader.classes for each in numbers):
            raise self._error(f"`{name}` must hold one number for each class", position)
        if not all(map(is_number, numbers.values())):
            what = "must be finite numbers" if name == "scores" else "must not be negative"
            raise self._error(f"`{name}` {what}", position)
        if name != "scores" and any(number < 0 for number in numbers.values()):
            raise self._error(f"`{name}` must not be negative", position)
        if name == "shares" and abs(sum(numbers.values()) - 1) > SHARES_TOLERANCE:
            raise self._error("`shares` must sum to 1", position)

    def _refuse_unknown(self, node: dict[str, Any], kind: str, position: int) -> None:
        if not node.keys() <= KEYS[kind]:
            refuse_unknown(node, KEYS[kind], ReleaseError, self._location(position))

    def _column_error(self, column: Any, other_kind: str, position: int) -> ReleaseError:
        known = isinstance(column, str) and column in self.reader.schema
        return self._error(other_kind if known else "asks about a column the schema does not have", position)

    def _error(self, message: str, position: int, suffix: str = "", remedy: str = "") -> ReleaseError:
        return ReleaseError(message, place=self._location(position) + suffix, remedy=remedy)

    def _location(self, position: int) -> str:
        """Where a node is, as errors write it."""
        words, fans = [self.place], list(self.assembly.fans)
        for node, child in self.assembly.path(position):
            fan = self.assembly.fan[node]
            if fan == NO_FAN:
                words.append((".low", ".high")[child])
            else:
                words.append(f".branches[{child}].node" if child < len(fans[fan].branches) else ".other")
        return "".join(words)


SHARES_TOLERANCE = 1e-6
"""By how much the sum of a leaf's shares may differ from 1."""
