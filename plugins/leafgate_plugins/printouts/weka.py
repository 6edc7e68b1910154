"""WEKA's print-out of J48: one line a way, indented by `|`, leaves with the people on them and how many err."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leafgate.api import FileDisclosure, Floats, ReleaseError
from leafgate.kernel.tree import MAX_DEPTH
from leafgate.readers import ModelIR, NodeNumbers, TreeIR
from leafgate_plugins.printouts.builder import PrintedTree, lines_of, number_in, unread_content

TITLE = re.compile(r"J48 (un)?pruned tree\s*$")
WAY = re.compile(r"(?P<name>.+?) (?P<sign><=|>|!=|=) (?P<value>.+)")
END = re.compile(r"(?P<people>[0-9.]+)(/(?P<errors>[0-9.]+))?\)")
MATRIX = re.compile(r"[\d. ]+\| +\S+ = (?P<label>.+)")
UNTOLD = "J48 then takes every way, each for a part of the person, by numbers that the print-out does not tell"


@dataclass(frozen=True)
class Line:
    """One line of a tree: how deep it stands, its test, and the leaf at its end, if there is one."""

    number: int
    depth: int
    name: str
    sign: str
    value: str
    label: str | None
    people: float
    errors: float


def read(content: bytes, place: str) -> ModelIR:
    """The model, not yet checked. Thresholds are as printed, with six decimals at most."""
    lines = lines_of(content, place)
    start = next((i for i, line in enumerate(lines) if TITLE.match(line)), None)
    if start is None:
        raise ReleaseError("has no tree of J48's", place=place)
    result = _lines(lines, start + 2, place)
    named = dict.fromkeys(line.label for line in result if line.label is not None)
    matrix = [found["label"] for line in lines[start:] if (found := MATRIX.fullmatch(line.strip()))]
    classes = tuple(matrix or named)
    if len(classes) < 2 or not set(named) <= set(classes) or len(set(classes)) < len(classes):
        raise ReleaseError("names fewer than two classes, or others than its confusion matrix", place=place)
    growing = PrintedTree(classes=classes)
    people: dict[int, tuple[float, float]] = {}
    end = Walk(growing, result, _after(result), place, people).grow(0, 0)
    if end != len(result):
        raise ReleaseError("goes on after its tree has ended", place=f"{place}, line {result[end].number + 1}")
    tree = _with_people(growing, people, known=bool(matrix) and len(classes) == 2)
    says = "people on every leaf, and how many of them have another class"
    level = FileDisclosure("counts", "high", says, "counts" if len(classes) == 2 else "error_rates")
    whole = all(number == round(number) for pair in people.values() for number in pair)
    return ModelIR(
        format="j48",
        features=tuple(growing.names),
        classes=classes,
        trees=(tree,),
        values="labels",
        counted="exact" if tree.counts is not None and whole else "unknown",
        discloses=(level, *unread_content(lines, _read(lines, start, result))),
        producer="WEKA J48",
        unspecified_missing=UNTOLD,
    )


def _lines(lines: Sequence[str], start: int, place: str) -> list[Line]:
    """The lines of the tree, up to the number of its leaves."""
    found: list[Line] = []
    for number, line in enumerate(lines[start:], start):
        if line.startswith("Number of Leaves"):
            return found
        if line.strip():
            found.append(_line(line.rstrip(), number, f"{place}, line {number + 1}"))
    raise ReleaseError("does not say how many leaves its tree has: is it whole?", place=place)


def _read(lines: Sequence[str], start: int, entries: Sequence[Line]) -> set[int]:
    """The numbers of the lines that say nothing but the tree: title, tests, leaves, and how many there are of these."""
    leaves = sum(line.label is not None for line in entries)
    size = 1 if not entries[0].name else len(entries) + 1
    ends = {f"Number of Leaves:{leaves}", f"Size of the tree:{size}"}
    after = range(entries[-1].number + 1, len(lines))
    found = {number for number in after if re.sub(r"\s*:\s*", ":", lines[number].strip()) in ends}
    rule = {start + 1} if re.fullmatch(r"-{3,}\s*", lines[start + 1]) else set()
    return {start, *rule, *(line.number for line in entries), *found}


def _line(line: str, number: int, place: str) -> Line:
    depth = 0
    while line.startswith("|"):
        line, depth = line[1:].lstrip(" "), depth + 1
    if depth > MAX_DEPTH:
        raise ReleaseError(f"is deeper than {MAX_DEPTH} tests", place=place)
    result, _, numbers = line.rpartition(" (")
    end = END.fullmatch(numbers)
    way, _, label = result.rpartition(": ") if end else (line, "", None)
    people, errors = (0.0, 0.0) if end is None else _people(end, place)
    if end and not way and not depth:
        return Line(number, 0, "", "", "", label, people, errors)
    test = WAY.fullmatch(way)
    if test is None:
        raise ReleaseError("is no test of J48's", place=place)
    return Line(number, depth, test["name"], test["sign"], test["value"], label, people, errors)


def _people(end: re.Match[str], place: str) -> tuple[float, float]:
    people, errors = number_in(end["people"], place), number_in(end["errors"] or "0", place)
    if errors > people:
        raise ReleaseError("has more errors than people", place=place)
    return people, errors


@dataclass
class Walk:
    """The tree as it grows from its lines, and the people and errors on each leaf."""

    growing: PrintedTree
    lines: Sequence[Line]
    after: Sequence[int]
    place: str
    people: dict[int, tuple[float, float]]

    def grow(self, at: int, depth: int) -> int:
        """Add the node whose ways stand from line `at` on; the line after it. The node is the next one added."""
        result, growing = self.lines, self.growing
        if at >= len(result) or result[at].depth != depth:
            where = result[min(at, len(result) - 1)].number + 1 if result else 0
            raise ReleaseError("ends where a test or a leaf belongs", place=f"{self.place}, line {where}")
        if not result[at].name:
            return self.leaf(at)
        ways = _ways(result, self.after, at)
        _check(ways, result, self.place)
        above: int | None = None
        for i in ways[:-1]:
            node, turned = self.test(result[i]), result[i].sign in {">", "!="}
            if above is not None:
                growing.children[above][1] = node
            growing.children[node][int(turned)] = len(growing)
            self.below(i, depth)
            growing.children[node][int(not turned)] = len(growing)
            above = node
        return self.below(ways[-1], depth)

    def test(self, line: Line) -> int:
        if line.sign in {"=", "!="}:
            return self.growing.subset_test(line.name, [line.value])
        at = number_in(line.value, f"{self.place}, line {line.number + 1}")
        return self.growing.numeric_test(line.name, at, strict=False)

    def below(self, at: int, depth: int) -> int:
        """Add what a way leads to; the line after it."""
        return self.grow(at + 1, depth + 1) if self.lines[at].label is None else self.leaf(at)

    def leaf(self, at: int) -> int:
        line = self.lines[at]
        self.people[self.growing.leaf(line.label)] = line.people, line.errors
        return at + 1


def _ways(lines: Sequence[Line], after: Sequence[int], at: int) -> list[int]:
    """The lines of one node's ways: those at its depth that no line above it parts."""
    found = [at]
    while (at := after[at]) < len(lines) and lines[at].depth == lines[found[0]].depth:
        found.append(at)
    return found


def _after(lines: Sequence[Line]) -> list[int]:
    """For each line the next one that stands as far left, or further."""
    found, waiting = [len(lines)] * len(lines), list[int]()
    for i, line in enumerate(lines):
        while waiting and lines[waiting[-1]].depth >= line.depth:
            found[waiting.pop()] = i
        waiting.append(i)
    return found


def _check(ways: Sequence[int], entries: Sequence[Line], place: str) -> None:
    lines = [entries[i] for i in ways]
    signs, values = [line.sign for line in lines], [line.value for line in lines]
    alike = len({line.name for line in lines}) == 1
    nominal = alike and set(signs) == {"="} and len(set(values)) == len(values) >= 2
    pair = alike and sorted(signs) in (["<=", ">"], ["!=", "="]) and len(set(values)) == 1
    if not nominal and not pair:
        raise ReleaseError("has ways that are not those of one test", place=f"{place}, line {lines[0].number + 1}")


def _with_people(growing: PrintedTree, people: Mapping[int, tuple[float, float]], *, known: bool) -> TreeIR:
    """The tree with the people on its leaves; by class only where all classes are `known`, and there are two."""
    n, k = len(growing), len(growing.classes)
    size, counts = np.full(n, np.nan), np.full((n, k), np.nan)
    for node, (total, errors) in people.items():
        size[node] = total
        mine = growing.classes.index(str(growing.labels[node]))
        counts[node] = [total - errors if i == mine else errors for i in range(k)]
    tree = growing.tree()
    sums = _summed(tree, counts) if known else None, _summed(tree, size)
    if all(number == round(number) for pair in people.values() for number in pair):
        return growing.tree(*sums)
    numbers = NodeNumbers("size", "parts", sums[1]) if sums[0] is None else NodeNumbers("counts", "parts", sums[0])
    return growing.tree(*sums, [numbers])


def _summed(tree: TreeIR, leaves: Floats) -> Floats:
    """The numbers of inner nodes: those of their children together, for children come after their parents."""
    result = leaves.copy()
    for node in range(tree.nodes - 1, -1, -1):
        if tree.feature[node] >= 0:
            result[node] = result[tree.low[node]] + result[tree.high[node]]
    return result
