"""Trees read from JSON: `leaf`, `cut`, `fan`, many at once; every node of a foreign file is checked.

All nodes are checked together; where one is wrong, each is checked by itself, to say what is wrong where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np
from pydantic_core import from_json

from leafgate.errors import ReleaseError
from leafgate.io.json import is_number, refuse_unknown
from leafgate.kernel.arrays import Ids, Mask
from leafgate.kernel.leaf import OF_CLASSES, STATISTICS, LeafStatistics, Numbers, Statistic
from leafgate.kernel.schema import Schema, Value
from leafgate.kernel.tree import MAX_DEPTH, NO_FAN, NUMBER_OF_WAY, Fan, Node, TreeArrays, split_trees

KEYS = {
    "leaf": frozenset({"kind", "label", *STATISTICS}),
    "cut": frozenset({"kind", "column", "at", "low", "high", "missing", "strict", "float32"}),
    "fan": frozenset({"kind", "column", "branches", "other"}),
}
BRANCH_KEYS = frozenset({"values", "node"})

SHARES_TOLERANCE = 1e-6
"""By how much the sum of a leaf's shares may differ from 1."""

WRONG = (ReleaseError, ValueError, LookupError, TypeError, AttributeError, OverflowError)
"""What reading of all nodes together raises where one of them is wrong."""


class TreeReader:
    """Reads trees from the JSON of release files with one schema, which nothing in them is trusted to fit."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.classes = schema.classes if schema.having("class") else ()
        numeric = [column.name for column in schema.columns if column.numeric]
        others = [column.name for column in schema.columns if not column.numeric]
        pairs = [(name, float32) for name in numeric for float32 in (False, True)]
        self._columns = (*pairs, *((name, None) for name in others))
        """What tests ask about, as TreeArrays has it; numbers in single precision follow the same in double."""
        self._number = {name: 2 * i for i, name in enumerate(numeric)}
        self._number_of_other = {name: len(pairs) + i for i, name in enumerate(others)}
        self._labels: dict[str | None, int] = {label: i for i, label in enumerate(self.classes)} | {None: -1}
        self._names = {column.name: column.name for column in schema.columns}
        self._values: dict[tuple[Value, ...], tuple[Value, ...]] = {}
        """Each name, and the values of each branch, once, so that not every test keeps its own."""

    def written(self, text: bytes) -> list[Node] | None:
        """The trees in a text, with commas between them; None where one is wrong, or where it is not just that.

        A parser that is not told to looks for no key that stands twice. A text of trees has a colon after each key, and
        others only where the names of its columns, values and classes have some: as many as there are keys in what was
        read, if there are no such names and no such key.
        """
        try:
            return self._together(from_json(b"[%b]" % text, allow_inf_nan=False), text.count(b":"))
        except WRONG:
            return None

    def read(self, documents: Mapping[str, Any]) -> list[Node]:
        """The trees that documents describe, by their places; ReleaseError names the first node that is wrong."""
        try:
            return self._together([*documents.values()])
        except WRONG:
            return [self._alone(document, place) for place, document in documents.items()]

    def _alone(self, document: Any, place: str) -> Node:
        """One tree; ReleaseError names the node that is wrong."""
        try:
            return self._together([document])[0]
        except WRONG:
            for _ in self._leaves(document, place):
                pass
            for leaf, here in self._leaves(document, place):
                self._refuse_leaf(leaf, here)
            raise ReleaseError("has leaves that cannot be read", place=place) from None

    def _together(self, documents: Sequence[Any], n_keys: int | None = None) -> list[Node]:
        """The trees; an error of any kind where one is wrong, or where their objects have not so many keys in all."""
        cuts, leaves = list[dict[str, Any]](), list[dict[str, Any]]()
        fans, n_children, keys_of_fans = list[Fan](), list[int](), 0
        waiting = [*documents][::-1]
        while waiting:
            node = waiting.pop()
            kind = node["kind"]
            if kind == "cut":
                cuts.append(node)
                n_children.append(2)
                waiting += node["high"], node["low"]
            elif kind == "leaf":
                leaves.append(node)
                n_children.append(0)
            elif kind == "fan":
                fan, below = self._fan(node, "")
                fans.append(fan)
                n_children.append(-len(below))  # which tells it from a numeric test
                keys_of_fans += len(node) + len(BRANCH_KEYS) * len(fan.branches)
                waiting += below[::-1]
            else:
                raise ValueError("is of another kind")
        stated = _stated(leaves)
        if n_keys is not None and n_keys != keys_of_fans + sum(map(len, cuts)) + _n_keys(leaves, stated):
            raise ValueError("has keys that were not read")
        if not n_children:
            return []
        children = np.array(n_children, dtype=np.int64)
        child, n_tests, n_leaves = _children(abs(children))
        statistics = self._statistics(leaves, stated)
        together = self._tests(cuts, fans, children[children != 0] > 0, child, statistics)
        trees = split_trees(together, statistics.split(n_leaves.tolist()), n_tests)
        if any(len(tree.column) > MAX_DEPTH and tree.depth > MAX_DEPTH for tree in trees):
            raise ValueError("has a tree that is too deep")
        return [tree.root for tree in trees]

    def _tests(
        self, cuts: Sequence[dict[str, Any]], fans: Sequence[Fan], is_cut: Mask, child: Ids, leaves: LeafStatistics
    ) -> TreeArrays:
        """The arrays of all trees, from their numeric and categorical tests and which of all tests are numeric."""
        at, strict = [cut["at"] for cut in cuts], [cut.get("strict", False) for cut in cuts]
        float32 = [cut.get("float32", False) for cut in cuts]
        types = set(map(type, at))
        if not all(map(KEYS["cut"].issuperset, cuts)) or not types <= {int, float}:
            raise ValueError("has a numeric test with other keys, or a threshold that is no number")
        if not {*map(type, strict), *map(type, float32)} <= {bool}:
            raise ValueError("has a numeric test whose flags are none")
        column, fan = np.zeros(len(is_cut), dtype=np.int64), np.full(len(is_cut), NO_FAN)
        threshold, missing = np.zeros(len(is_cut)), np.zeros(len(is_cut), dtype=np.int8)
        whole, is_strict = np.zeros(len(is_cut), dtype=np.bool_), np.zeros(len(is_cut), dtype=np.bool_)
        column[is_cut] = [self._number[cut["column"]] for cut in cuts]
        column[is_cut] += np.array(float32, dtype=np.int64)
        threshold[is_cut], is_strict[is_cut] = at, strict
        whole[is_cut] = [type(number) is int for number in at] if len(types) > 1 else types == {int}
        missing[is_cut] = [NUMBER_OF_WAY[cut.get("missing")] for cut in cuts]
        if not np.isfinite(threshold).all():
            raise ValueError("has a threshold that is not finite")
        number = {each: i for i, each in enumerate(dict.fromkeys(fans))}
        column[~is_cut] = [self._number_of_other[each.column] for each in fans]
        fan[~is_cut] = [number[each] for each in fans]
        tests = threshold, whole, is_strict, missing
        return TreeArrays(self._columns, column, *tests, child, fan, tuple(number), child, leaves)

    def _statistics(
        self, leaves: Sequence[dict[str, Any]], stated: Mapping[Statistic, Sequence[Any]]
    ) -> LeafStatistics:
        """What the leaves publish; an error of any kind for what is wrong."""
        if not all(map(KEYS["leaf"].issuperset, leaves)):
            raise ValueError("has a leaf with other keys")
        label = np.array([self._labels[leaf.get("label")] for leaf in leaves], dtype=np.int64)
        numbers = {name: self._numbers(name, each) for name, each in stated.items()}
        return LeafStatistics(label, self.classes, self.classes, numbers)

    def _numbers(self, name: Statistic, stated: Sequence[Any]) -> Numbers:
        """One statistic of all leaves; an error of any kind for what is wrong. Classes that are left out have 0."""
        if name in OF_CLASSES:
            numbers = Numbers.of([*map(self._row, stated)], len(self.classes))
        else:
            numbers = Numbers.of([None if each is None else (each,) for each in stated], 1)
        _check_statistic(name, numbers, self.schema)
        return numbers

    def _row(self, of_classes: Any) -> tuple[Any, ...] | None:
        if of_classes is None:
            return None
        if tuple(of_classes) == self.classes:
            return tuple(of_classes.values())
        if not set(self.classes).issuperset(of_classes):
            raise ValueError("has other names")
        return tuple([of_classes.get(name, 0) for name in self.classes])

    def _leaves(self, document: Any, place: str) -> Iterator[tuple[dict[str, Any], str]]:
        """Each leaf of a tree, not checked, and its place; ReleaseError names the first test that is wrong."""
        waiting: list[tuple[Any, str, int]] = [(document, place, 0)]
        while waiting:
            node, here, depth = waiting.pop()
            if depth > MAX_DEPTH:
                raise ReleaseError(f"is deeper than {MAX_DEPTH} tests", place=here[:60])
            kind = node.get("kind") if isinstance(node, dict) else None
            if kind == "leaf":
                yield node, here
            elif kind == "cut":
                self._refuse_cut(node, here)
                waiting += ((node.get(side), f"{here}.{side}", depth + 1) for side in ("high", "low"))
            elif kind == "fan":
                fan, below = self._fan(node, here)
                ways = [f"{here}.branches[{i}].node" for i in range(len(fan.branches))] + [f"{here}.other"]
                waiting += [(each, way, depth + 1) for each, way in zip(below, ways, strict=False)][::-1]
            else:
                raise ReleaseError("must be an object whose `kind` is leaf, cut or fan", place=here)

    def _refuse_cut(self, node: dict[str, Any], place: str) -> None:
        """Raise the error of a numeric test that is wrong, if it is."""
        refuse_unknown(node, KEYS["cut"], ReleaseError, place)
        column, at = node.get("column"), node.get("at")
        if not isinstance(column, str) or column not in self._number:
            raise self._column_error(column, "cuts a column that has `values`", place)
        if at is None or not is_number(at):
            raise ReleaseError("`at` must be a finite number", place=place)
        if node.get("missing") not in (None, "low", "high"):
            raise ReleaseError("`missing` must be low or high", place=place)
        for flag in ("strict", "float32"):
            if not isinstance(node.get(flag, False), bool):
                raise ReleaseError("must be true or false", place=f"{place}.{flag}")

    def _fan(self, node: dict[str, Any], place: str) -> tuple[Fan, list[Any]]:
        """A categorical test and the nodes below it; ReleaseError says what is wrong with it."""
        if not node.keys() <= KEYS["fan"]:
            refuse_unknown(node, KEYS["fan"], ReleaseError, place)
        column, written, other = node.get("column"), node.get("branches"), node.get("other")
        if not isinstance(column, str) or column not in self._number_of_other:
            raise self._column_error(column, "fans out over a numeric column", place)
        if not isinstance(written, list) or not written:
            raise ReleaseError("`branches` must be a list, not an empty one", place=place)
        domain, named = self.schema[column].domain_set, set[Value]()
        branches, below = list[tuple[Value, ...]](), list[Any]()
        for i, branch in enumerate(written):
            values = branch.get("values") if isinstance(branch, dict) else None
            if isinstance(branch, dict) and not branch.keys() <= BRANCH_KEYS:
                refuse_unknown(branch, BRANCH_KEYS, ReleaseError, f"{place}.branches[{i}]")
            if not isinstance(values, list) or not values:
                raise ReleaseError("`values` must be a list, not an empty one", place=f"{place}.branches[{i}]")
            if not {*map(type, values)} <= {str, NoneType} or not domain.issuperset(values):
                raise ReleaseError("names a value outside the column's domain", place=f"{place}.branches[{i}]")
            if not named.isdisjoint(values) or len(set(values)) != len(values):
                raise ReleaseError("names a value that has a branch already", place=f"{place}.branches[{i}]")
            named.update(values)
            branches.append(self._values.setdefault(tuple(values), tuple(values)))
            below.append(branch.get("node"))
        below += [] if other is None else [other]
        return Fan(self._names[column], tuple(branches), other is not None), below

    def _refuse_leaf(self, leaf: dict[str, Any], place: str) -> None:
        """Raise the error of a leaf that is wrong."""
        refuse_unknown(leaf, KEYS["leaf"], ReleaseError, place)
        label, error_rate, value = leaf.get("label"), leaf.get("error_rate"), leaf.get("value")
        if label is not None and label not in self.classes:
            raise ReleaseError("`label` is not one of the classes", place=place)
        if error_rate is not None and not (is_number(error_rate) and 0 <= error_rate <= 1):
            raise ReleaseError("`error_rate` must lie between 0 and 1", place=place)
        if value is not None and not is_number(value):
            raise ReleaseError("`value` must be a number", place=place)
        if value is not None and self.schema.target.edges is None:
            raise ReleaseError(
                "`value` is for a class of numbers, and this class has none",
                place=place,
                remedy="give the class `bins` if the tree predicts numbers, else take the values out",
            )
        for name in ("counts", "shares", "scores"):
            if leaf.get(name) is not None:
                self._refuse_numbers(leaf[name], name, place)

    def _refuse_numbers(self, numbers: Any, name: str, place: str) -> None:
        """Raise the error of a statistic of classes that is wrong."""
        if not isinstance(numbers, dict) or not all(each in self.classes for each in numbers):
            raise ReleaseError(f"`{name}` must hold one number for each class", place=place)
        if not all(map(is_number, numbers.values())):
            what = "must be finite numbers" if name == "scores" else "must not be negative"
            raise ReleaseError(f"`{name}` {what}", place=place)
        if name != "scores" and any(number < 0 for number in numbers.values()):
            raise ReleaseError(f"`{name}` must not be negative", place=place)
        if name == "shares" and abs(sum(numbers.values()) - 1) > SHARES_TOLERANCE:
            raise ReleaseError("`shares` must sum to 1", place=place)

    def _column_error(self, column: Any, other_kind: str, place: str) -> ReleaseError:
        known = isinstance(column, str) and column in self.schema
        return ReleaseError(other_kind if known else "asks about a column the schema does not have", place=place)


def _stated(leaves: Sequence[dict[str, Any]]) -> dict[Statistic, list[Any]]:
    """What each leaf states of each statistic that some leaf states."""
    stated = {name: [leaf.get(name) for leaf in leaves] for name in STATISTICS}
    return {name: each for name, each in stated.items() if each.count(None) < len(each)}


def _n_keys(leaves: Sequence[dict[str, Any]], stated: Mapping[Statistic, Sequence[Any]]) -> int:
    """How many keys leaves have, and what they state of classes."""
    of_classes = [len(each) for name in OF_CLASSES & stated.keys() for each in stated[name] if each is not None]
    return sum(map(len, leaves)) + sum(of_classes)


def _children(n_children: Ids) -> tuple[Ids, Ids, Ids]:
    """The children of each test, one test after another, and how many tests and leaves each tree has.

    Whoever walks the trees from a stack puts the children of a test on it, the last one first. Of the nodes at one
    height of the stack, the first one that was put there is the first one that is taken, and so on.

    Args:
        n_children: of each node, in the order in which the nodes are taken; 0 of leaves.
    """
    is_test = n_children > 0
    grown = np.cumsum(n_children - 1) - (n_children - 1)
    tree = -np.minimum.accumulate(grown)
    height, is_root = grown + tree, np.diff(tree, prepend=-1) > 0
    n = n_children[is_test]
    later_siblings = np.repeat(np.cumsum(n), n) - 1 - np.arange(n.sum())
    put, taken = np.repeat(height[is_test], n) + later_siblings, height[~is_root]
    number = np.where(is_test, np.cumsum(is_test) - 1, ~(np.cumsum(~is_test) - 1))
    child = np.empty(len(put), dtype=np.int64)
    child[np.argsort(put, kind="stable")] = number[~is_root][np.argsort(taken, kind="stable")]
    starts = np.flatnonzero(is_root)
    n_tests, n_leaves = (np.add.reduceat(each, starts, dtype=np.int64) for each in (is_test, ~is_test))
    return child, n_tests, n_leaves


def _check_statistic(name: Statistic, numbers: Numbers, schema: Schema) -> None:
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
