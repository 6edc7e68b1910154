"""R's print-out of an rpart tree: `node), split, n, loss, yval, (yprob)`, one line a node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leafgate.api import FileDisclosure, Floats, ModelIR, NodeNumbers, ReleaseError
from leafgate_printouts.builder import PrintedTree, lines_of, number_in, unread_content

DEEPEST = 31
"""rpart numbers nodes 2i and 2i + 1 below node i, and grows no deeper."""

HEADER = "node), split, n, loss, yval, (yprob)"
NODE = re.compile(r"\s*(?P<node>\d{1,10})\) (?P<content>.*)")
SHARES = re.compile(r"(?P<shares>[\d.eE+ -]+)\)\s*(?P<end>\*?)\s*")
NUMBER = re.compile(r"(?P<name>.+?)(?P<sign>>=|<) *(?P<value>-?[\d.]+(e[+-]?\d+)?)")
SET = re.compile(r"(?P<name>[^=]+)=(?P<values>.+)")
UNTOLD = "the print-out leaves out the surrogate splits that decide where they go"
CLOSE = 0.02
"""A number of people may be off by so much: shares have eight digits."""


@dataclass(frozen=True)
class Line:
    """One node of the print-out."""

    split: str
    people: float
    loss: float
    label: str
    shares: tuple[float, ...]
    leaf: bool
    place: str


def read(content: bytes, place: str) -> ModelIR:
    """The model, not yet checked. Thresholds are as printed, with seven digits or as many as R was set to print."""
    lines = lines_of(content, place)
    result = _nodes(lines, place)
    classes = _classes(result, place)
    growing = PrintedTree(classes=classes)
    where = _grow(growing, result, place)
    counts = _counts(growing, result, where, classes)
    shares = FileDisclosure("shares", "medium", "shares of each class on every node", "shares")
    people = FileDisclosure("counts", "high", "people of each class on every node", "counts")
    return ModelIR(
        format="rpart",
        features=tuple(growing.names),
        classes=classes,
        trees=(growing.tree(counts, numbers=[_rows(growing, result, where)]),),
        values="labels",
        counted="exact" if counts is not None else "unknown",
        discloses=(shares if counts is None else people, *unread_content(lines, _read(lines, result[1]))),
        producer="R rpart",
        unspecified_missing=UNTOLD,
    )


def _nodes(lines: Sequence[str], place: str) -> dict[int, Line]:
    """The nodes by their numbers."""
    start = next((i for i, line in enumerate(lines) if line.startswith("node), split, n,")), None)
    if start is None or lines[start].strip() != HEADER:
        raise ReleaseError("is no print-out of a classification tree", place=place, remedy=f"its header is {HEADER!r}")
    found: dict[int, Line] = {}
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if not line.strip() or line.strip() == "* denotes terminal node":
            continue
        here = f"{place}, line {number}"
        node, line_told = _node(line, here)
        if node in found or not 1 <= node < 2**DEEPEST:
            raise ReleaseError("has a node twice, or one too deep", place=here)
        found[node] = line_told
    if 1 not in found or any(node != 1 and node // 2 not in found for node in found):
        raise ReleaseError("has no root, or a node without the one above it", place=place)
    return found


def _read(lines: Sequence[str], root: Line) -> set[int]:
    """The numbers of the lines that say nothing but the tree: all from its header on, and how many people there are."""
    start = next(i for i, line in enumerate(lines) if line.startswith("node), split, n,"))
    people = re.compile(r"n= ?(\d{1,15})\s*")
    items = {i for i in range(start) if (found := people.fullmatch(lines[i])) and float(found[1]) == root.people}
    return {*items, *range(start, len(lines))}


def _node(line: str, place: str) -> tuple[int, Line]:
    """A node's number, and the rest of its line: before the label stand people and loss, the last two numbers."""
    result, _, numbers = line.rpartition("(")
    node, shares = NODE.fullmatch(result), SHARES.fullmatch(numbers)
    parts = node["content"].split() if node else []
    at = next((i for i in range(len(parts) - 3, 0, -1) if _is_number(parts[i]) and _is_number(parts[i + 1])), None)
    if node is None or shares is None or at is None:
        raise ReleaseError("is no node of rpart's", place=place)
    people, loss = number_in(parts[at], place), number_in(parts[at + 1], place)
    each = tuple(number_in(share, place) for share in shares["shares"].split())
    split, label = " ".join(parts[:at]), " ".join(parts[at + 2 :])
    return int(node["node"]), Line(split, people, loss, label, each, shares["end"] == "*", place)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d[\d.]{0,20}(e[+-]?\d{1,3})?", text) is not None


def _classes(document: Mapping[int, Line], place: str) -> tuple[str, ...]:
    """The classes' names in the order of the shares: a node has the name of its largest, of several that of one."""
    width = len(document[1].shares)
    names: dict[int, str] = {}
    tied: list[tuple[str, list[int]]] = []
    for line in document.values():
        if len(line.shares) != width or not all(0 <= share <= 1 for share in line.shares):
            raise ReleaseError("must have one share for each class", place=line.place)
        largest = [i for i, share in enumerate(line.shares) if share == max(line.shares)]
        if len(largest) > 1:
            tied.append((line.label, largest))
        elif names.setdefault(largest[0], line.label) != line.label:
            raise ReleaseError("predicts another class than the likeliest (losses, priors)", place=line.place)
    _name_by_ties(names, tied)
    if width < 2 or len(names) < width or len(set(names.values())) < width:
        missing = next((i + 1 for i in range(width) if i not in names), width)
        raise ReleaseError(f"never says what class {missing} is called, as no node predicts it", place=place)
    if {line.label for line in document.values()} - set(names.values()):
        raise ReleaseError("predicts a class that has no share", place=place)
    return tuple(names[i] for i in range(width))


def _name_by_ties(names: dict[int, str], tied: Sequence[tuple[str, Sequence[int]]]) -> None:
    """Name the classes that are the only one of a node's largest that its label can be, until there are no more."""
    while True:
        for label, largest in tied:
            unnamed = [i for i in largest if i not in names]
            if len(unnamed) == 1 and label not in names.values():
                names[unnamed[0]] = label
                break
        else:
            return


def _grow(growing: PrintedTree, document: Mapping[int, Line], place: str) -> dict[int, int]:
    """Add every node; where each stands. Values that neither way names get no prediction."""
    where: dict[int, int] = {}
    waiting = [(1, -1, 0)]
    while waiting:
        node, above, side = waiting.pop()
        if above >= 0:
            growing.children[above][side] = len(growing)
        line = document[node]
        below = [document.get(2 * node), document.get(2 * node + 1)]
        if line.leaf != (below == [None, None]) or (not line.leaf and None in below):
            raise ReleaseError("must have two nodes below it, or be terminal", place=line.place)
        where[node] = len(growing)
        if line.leaf:
            growing.leaf(line.label)
            continue
        left, right = (each for each in below if each is not None)
        waiting += _test(growing, node, left, right)
    return where


def _test(growing: PrintedTree, node: int, left: Line, right: Line) -> list[tuple[int, int, int]]:
    """Add the test that two nodes are the ways of; what is to be added below."""
    one, other = (NUMBER.fullmatch(each.split) for each in (left, right))
    if one is not None and other is not None:
        if one["name"] != other["name"] or one["value"] != other["value"] or one["sign"] == other["sign"]:
            raise ReleaseError("is not the other way of the same test", place=right.place)
        at = growing.numeric_test(one["name"].rstrip(), number_in(one["value"], left.place), strict=True)
        low = 0 if one["sign"] == "<" else 1
        return [(2 * node + low, at, 0), (2 * node + 1 - low, at, 1)]
    a, b = (SET.fullmatch(each.split) for each in (left, right))
    if a is None or b is None or a["name"] != b["name"]:
        raise ReleaseError("is not the other way of the same test", place=right.place)
    first, second = a["values"].split(","), b["values"].split(",")
    if set(first) & set(second):
        raise ReleaseError("names a value that goes the other way", place=right.place)
    at = growing.subset_test(a["name"], first)
    further = growing.subset_test(a["name"], second)
    growing.children[at][1] = further
    growing.children[further][1] = growing.leaf(None)
    return [(2 * node, at, 0), (2 * node + 1, further, 0)]


def _rows(growing: PrintedTree, document: Mapping[int, Line], where: Mapping[int, int]) -> NodeNumbers:
    """The number of rows that rpart prints for each node, weighted or not; 0 at leaves that predict nothing."""
    rows = np.full(len(growing), np.nan)
    rows[growing.silent_leaves] = 0
    for node, line in document.items():
        rows[where[node]] = line.people
    return NodeNumbers("n", "rows", rows)


def _counts(
    growing: PrintedTree, document: Mapping[int, Line], where: Mapping[int, int], classes: Sequence[str]
) -> Floats | None:
    """People by class on every node, where shares times people are whole and agree with the losses."""
    rows = np.full((len(growing), len(classes)), np.nan)
    rows[growing.silent_leaves] = 0
    for node, line in document.items():
        exact = np.array(line.shares) * line.people
        people = np.rint(exact)
        mine = people[classes.index(line.label)]
        if (abs(exact - people) > CLOSE).any() or people.sum() != line.people or line.people - mine != line.loss:
            return None
        rows[where[node]] = people
    return rows
