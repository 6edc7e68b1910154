"""R's print-out of an rpart tree: `node), split, n, loss, yval, (yprob)`, one line a node.

Trees of numbers (anova, poisson) have `node), split, n, deviance, yval`. A line such as `[1] "no"  "yes"`, which R
prints of `attr(fit, "ylevels")`, names the classes in the order of the shares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from leafgate.api import FileDisclosure, Floats, ReleaseError
from leafgate.readers import CategoryCodes, ModelIR, NodeNumbers
from leafgate_plugins.printouts.builder import MAX_LINE, PrintedTree, lines_of, number_in, unread_content

DEEPEST = 31
"""rpart numbers nodes 2i and 2i + 1 below node i, and grows no deeper."""

HEADER = "node), split, n, loss, yval, (yprob)"
NUMBERS_HEADER = "node), split, n, deviance, yval"
NUMBER_TEXT = r"\d[\d.]{0,20}(?:e[+-]?\d{1,3})?"
HEAD = rf"\s*(?P<node>\d{{1,10}})\) (?P<split>.*) (?P<people>{NUMBER_TEXT}) +(?P<loss>{NUMBER_TEXT})"
NUMBER_NODE = re.compile(rf"{HEAD} +(?P<label>-?\d[\d.]*(?:e[+-]?\d+)?) ?(?P<end>\*?)\s*")
SHARES_TEXT = re.compile(r"(?P<shares>[\d.eE+ -]+)\) ?(?P<end>\*?)\s*")
NUMBER = re.compile(r"(?P<name>.*[^=])(?P<sign>>=|<) *(?P<value>-?[\d.]+(e[+-]?\d+)?)")
SET = re.compile(r"(?P<name>[^=]+)=(?P<values>.*)")
LEVELS = re.compile(r'\s*\[\d+\](\s+"(?:[^"\\]|\\.)*")+\s*')
LEVEL = re.compile(r'"((?:[^"\\]|\\.)*)"')
NAME_CLASSES = (
    'print the names of the classes below the tree, with `print(attr(fit, "ylevels"))` in R, and save both as one file'
)
UNTOLD = "the print-out leaves out the surrogate splits that decide where they go"
SLACK = 1e-9
"""Room for the rounding of floating point, beside that of printed digits."""

MIN_SINGULAR = 1e-6
"""Smaller singular values than this, for each person, are rounding: then nodes do not determine what classes weigh."""

MAX_WEIGHT_ERROR = 0.01
"""What classes weigh follows only where the digits leave less than this of one person open: else other numbers fit."""

LOSS_DIGITS = 7
"""Losses have no more significant digits, whatever R was set to print."""

MIN_DIGITS = 2
"""Shares of five classes and more have two significant digits, whatever R was set to print."""

DEVIANCE = FileDisclosure(
    "impurity", "medium", "the deviance of every node, from which the spread of its numbers follows"
)
SIZES = FileDisclosure("sizes", "high", "how many people reach every node", "counts")
SHARES = FileDisclosure("shares", "medium", "shares of each class on every node", "shares")
COUNTS = FileDisclosure("counts", "high", "people of each class on every node", "counts")


@dataclass(frozen=True)
class Line:
    """One node of the print-out; `texts` are its loss and its shares as printed, `label` a class or a number."""

    split: str
    people: float
    loss: float
    label: str
    shares: tuple[float, ...]
    texts: tuple[str, ...]
    leaf: bool
    place: str


def read(content: bytes, place: str) -> ModelIR:
    """The model, not yet checked. Thresholds are as printed, with seven digits or as many as R was set to print."""
    lines = lines_of(content, place)
    start, header = _header(lines, place)
    levels = _levels(lines, place)
    result = _nodes(lines, start, place, levels, of_numbers=header == NUMBERS_HEADER)
    around = unread_content(lines, _read(lines, start, result[1]))
    if header == NUMBERS_HEADER:
        return _of_numbers(result, around, place)
    classes = _classes(result, levels, place)
    growing = PrintedTree(classes=classes)
    factors = _factors(result)
    where = _grow(growing, result, factors, place)
    counts = PrintedCounts(result, classes).solve()
    rows = _rows(growing, result, where)
    if counts is None:
        tree = growing.tree(numbers=[rows, _classes_there(growing, result, where, len(classes))])
    else:
        tree = growing.tree(_placed(growing, counts, where, len(classes)), numbers=[rows])
    shares = _shares(growing, result, where, classes) if counts is None else None
    tree = tree if shares is None else replace(tree, values=shares)
    people = (COUNTS,) if counts is not None else (SIZES, SHARES)
    return ModelIR(
        format="rpart",
        features=tuple(growing.names),
        classes=classes,
        trees=(tree,),
        values="labels" if shares is None else "shares",
        origins=_origins(growing, factors),
        counted="exact" if counts is not None else "unknown",
        discloses=(*people, *around),
        producer="R rpart",
        unspecified_missing=UNTOLD,
    )


def _of_numbers(document: Mapping[int, Line], around: tuple[FileDisclosure, ...], place: str) -> ModelIR:
    """A tree that predicts numbers, as anova and poisson trees do."""
    growing = PrintedTree()
    factors = _factors(document)
    where = _grow(growing, document, factors, place)
    values = np.zeros((len(growing), 1))
    values[growing.silent_leaves] = np.nan
    for node, line in document.items():
        values[where[node], 0] = number_in(line.label, line.place)
    return ModelIR(
        format="rpart",
        features=tuple(growing.names),
        classes=(),
        trees=(growing.build(values, numbers=[_rows(growing, document, where)]),),
        values="values",
        origins=_origins(growing, factors),
        discloses=(SIZES, DEVIANCE, *around),
        producer="R rpart",
        unspecified_missing=UNTOLD,
    )


def _header(lines: Sequence[str], place: str) -> tuple[int, str]:
    """The position and the text of the line above the tree."""
    start = next((i for i, line in enumerate(lines) if line.startswith("node), split, n,")), None)
    header = "" if start is None else lines[start].strip()
    if start is None or header not in {HEADER, NUMBERS_HEADER}:
        remedy = f"its header is {HEADER!r}, or {NUMBERS_HEADER!r} where it predicts numbers"
        raise ReleaseError("is no print-out of an rpart tree", place=place, remedy=remedy)
    return start, header


def _levels(lines: Sequence[str], place: str) -> tuple[str, ...]:
    """The names of the classes, where lines such as `[1] "no"  "yes"` list them; ReleaseError for too long a list."""
    listed = [match for line in lines if LEVELS.fullmatch(line) for match in LEVEL.findall(line)]
    if sum(map(len, listed)) > MAX_LINE:
        raise ReleaseError(f"lists classes whose names have more than {MAX_LINE:,} signs", place=place)
    return tuple(re.sub(r'\\(["\\])', r"\1", name) for name in listed)


def _nodes(lines: Sequence[str], start: int, place: str, levels: Sequence[str], *, of_numbers: bool) -> dict[int, Line]:
    """The nodes by their numbers."""
    found: dict[int, Line] = {}
    label = "|".join(map(re.escape, levels)) if levels else ".*"
    pattern = NUMBER_NODE if of_numbers else re.compile(rf"{HEAD} (?P<label>{label}) ")
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if not line.strip() or line.strip() == "* denotes terminal node" or LEVELS.fullmatch(line):
            continue
        here = f"{place}, line {number}"
        node, content = _node(line, here, pattern, of_numbers=of_numbers)
        if node in found or not 1 <= node < 2**DEEPEST:
            raise ReleaseError("has a node twice, or one too deep", place=here)
        found[node] = content
    if 1 in found and found[1].split != "root":
        raise ReleaseError(
            "has a root that tests something, or classes that hold numbers", place=place, remedy=NAME_CLASSES
        )
    if 1 not in found or any(node != 1 and node // 2 not in found for node in found):
        raise ReleaseError("has no root, or a node without the one above it", place=place)
    return found


def _read(lines: Sequence[str], start: int, root: Line) -> set[int]:
    """The numbers of the lines that say nothing but the tree: all from its header on, and how many people there are."""
    people = re.compile(r"n= ?(\d{1,15})\s*")
    items = {i for i in range(start) if (found := people.fullmatch(lines[i])) and float(found[1]) == root.people}
    named = {i for i in range(start) if LEVELS.fullmatch(lines[i])}
    return {*items, *named, *range(start, len(lines))}


def _node(line: str, place: str, pattern: re.Pattern[str], *, of_numbers: bool) -> tuple[int, Line]:
    """A node's number, and the rest of its line: before the label stand people and loss, the last two numbers.

    Names are kept as they are printed: levels and classes may be empty, or have blanks at their ends.
    """
    if of_numbers:
        node = end = pattern.fullmatch(line)
    else:
        before, _, after = line.rpartition("(")
        node, end = pattern.fullmatch(before), SHARES_TEXT.fullmatch(after)
    if node is None or end is None:
        raise ReleaseError("is no node of rpart's", place=place)
    shares = () if of_numbers else tuple(end["shares"].split())
    return int(node["node"]), Line(
        split=node["split"],
        people=number_in(node["people"], place),
        loss=number_in(node["loss"], place),
        label=node["label"],
        shares=tuple(number_in(share, place) for share in shares),
        texts=(node["loss"], *shares),
        leaf=end["end"] == "*",
        place=place,
    )


def _classes(document: Mapping[int, Line], levels: tuple[str, ...], place: str) -> tuple[str, ...]:
    """The classes' names in the order of the shares: as R lists them, or by what the nodes predict.

    Without the list a node has the name of its largest share, of several that of one.
    """
    width = len(document[1].shares)
    for line in document.values():
        if len(line.shares) != width or not all(0 <= share <= 1 for share in line.shares):
            raise ReleaseError("must have one share for each class", place=line.place)
    labels = {line.label for line in document.values()}
    if levels:
        if len(levels) != width or len(set(levels)) < width or not labels <= set(levels):
            raise ReleaseError("lists other classes than its tree has", place=place, remedy=NAME_CLASSES)
        return levels
    names: dict[int, str] = {}
    tied: list[tuple[str, list[int]]] = []
    for line in document.values():
        largest = [i for i, share in enumerate(line.shares) if share == max(line.shares)]
        if len(largest) > 1:
            tied.append((line.label, largest))
        elif names.setdefault(largest[0], line.label) != line.label:
            why = "predicts another class than the likeliest (losses, priors), so that its shares have no names"
            raise ReleaseError(why, place=line.place, remedy=NAME_CLASSES)
    _name_by_ties(names, tied)
    if width < 2 or len(names) < width or len(set(names.values())) < width:
        missing = next((i + 1 for i in range(width) if i not in names), width)
        why = f"never says what class {missing} is called, as no node predicts it"
        raise ReleaseError(why, place=place, remedy=NAME_CLASSES)
    if labels - set(names.values()):
        raise ReleaseError("predicts a class that has no share", place=place, remedy=NAME_CLASSES)
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


Factors = Mapping[str, Mapping[str, float]]
"""A number for each level that some split names, by the names of the factors."""


def _factors(document: Mapping[int, Line]) -> Factors:
    """Every factor with all levels that splits name."""
    found: dict[str, dict[str, float]] = {}
    for node, line in document.items():
        test = SET.fullmatch(line.split)
        if test is not None and node ^ 1 in document and _cut(line, document[node ^ 1]) is None:
            codes = found.setdefault(test["name"], {})
            for level in test["values"].split(","):
                codes.setdefault(level, float(len(codes)))
    return found


def _origins(growing: PrintedTree, factors: Factors) -> tuple[CategoryCodes | None, ...] | None:
    """What the features are: a factor takes the levels that some split names, and no other value."""
    found = tuple(CategoryCodes(name, factors[name]) if name in factors else None for name in growing.names)
    return found if any(found) else None


Open = Mapping[str, frozenset[str]]
"""The levels that may come to a node, by the factors that were asked above it."""


def _grow(growing: PrintedTree, document: Mapping[int, Line], factors: Factors, place: str) -> dict[int, int]:
    """Add every node; where each stands."""
    where: dict[int, int] = {}
    waiting: list[tuple[int, int, int, Open]] = [(1, -1, 0, {})]
    while waiting:
        node, above, side, levels = waiting.pop()
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
        if _cut(left, right) is not None:
            waiting += [(*each, levels) for each in _numeric(growing, node, left, right)]
        else:
            waiting += _categorical(growing, node, (left, right), factors, levels)
    return where


def _cut(left: Line, right: Line) -> re.Match[str] | None:
    """The test of a number that two nodes are the ways of; None where they are those of a factor.

    The name of a level may look like a test, such as `<30`.
    """
    one, other = (NUMBER.fullmatch(each.split) for each in (left, right))
    if one is None or other is None or one["sign"] == other["sign"]:
        return None
    return one if (one["name"], one["value"]) == (other["name"], other["value"]) else None


def _numeric(growing: PrintedTree, node: int, left: Line, right: Line) -> list[tuple[int, int, int]]:
    """Add the test of a number that two nodes are the ways of; what is to be added below."""
    one = _cut(left, right)
    assert one is not None
    at = growing.numeric_test(one["name"], number_in(one["value"], left.place), strict=True)
    low = 0 if one["sign"] == "<" else 1
    return [(2 * node + low, at, 0), (2 * node + 1 - low, at, 1)]


def _categorical(
    growing: PrintedTree, node: int, ways: tuple[Line, Line], factors: Factors, levels: Open
) -> list[tuple[int, int, int, Open]]:
    """Add the test of a factor that two nodes are the ways of; what is to be added below.

    Each side names the levels of the people who were there. Levels that may come and that neither side names get no
    prediction: R decides them by surrogate splits, which it does not print.
    """
    a, b = (SET.fullmatch(each.split) for each in ways)
    if a is None or b is None or a["name"] != b["name"]:
        raise ReleaseError("is not the other way of the same test", place=ways[1].place)
    name, codes = a["name"], factors.get(a["name"], {})
    first, second = (frozenset(each["values"].split(",")) for each in (a, b))
    if first & second or not first | second <= codes.keys():
        remedy = "levels whose names hold commas cannot be told apart: rename these and grow the tree again"
        raise ReleaseError("names a value that goes the other way", place=ways[1].place, remedy=remedy)
    come = levels.get(name, frozenset(codes))
    at = growing.subset_test(name, [codes[level] for level in first])
    further, side = at, 1
    if not come <= first | second:
        further, side = growing.subset_test(name, [codes[level] for level in second]), 0
        growing.children[at][1] = further
        growing.children[further][1] = growing.leaf(None)
    return [
        (2 * node, at, 0, {**levels, name: come & first}),
        (2 * node + 1, further, side, {**levels, name: come & second}),
    ]


def _rows(growing: PrintedTree, document: Mapping[int, Line], where: Mapping[int, int]) -> NodeNumbers:
    """The number of rows that rpart prints for each node, weighted or not; 0 at leaves that predict nothing."""
    rows = np.full(len(growing), np.nan)
    rows[growing.silent_leaves] = 0
    for node, line in document.items():
        rows[where[node]] = line.people
    return NodeNumbers("n", "rows", rows)


def _classes_there(
    growing: PrintedTree, document: Mapping[int, Line], where: Mapping[int, int], width: int
) -> NodeNumbers:
    """The shares of classes as weights: somebody of the class is there. A share that is printed as 0 may be rounded."""
    shares = np.full((len(growing), width), np.nan)
    for node, line in document.items():
        shares[where[node]] = [share if share > 0 else np.nan for share in line.shares]
    return NodeNumbers("yprob", "weight", shares)


def _placed(growing: PrintedTree, counts: Mapping[int, Floats], where: Mapping[int, int], width: int) -> Floats:
    """People by class on every node of the tree; nobody at leaves that predict nothing."""
    rows = np.full((len(growing), width), np.nan)
    rows[growing.silent_leaves] = 0
    for node, people in counts.items():
        rows[where[node]] = people
    return rows


def _shares(
    growing: PrintedTree, document: Mapping[int, Line], where: Mapping[int, int], classes: Sequence[str]
) -> Floats | None:
    """The shares of the leaves; None where a leaf predicts another class than its first largest, or nothing."""
    values = np.zeros((len(growing), len(classes)))
    for node, line in document.items():
        values[where[node]] = np.array(line.shares) / sum(line.shares)
        if line.leaf and classes[int(values[where[node]].argmax())] != line.label:
            return None
    return None if growing.silent_leaves else values


class PrintedCounts:
    """People of each class on the nodes, worked out from what is printed, to its last digit.

    A node t has shares p_k = w_k n_k / W, where W is the sum of w_k n_k over the classes k and w_k what a person of
    class k weighs: 1, or with `prior` prior_k N / N_k. Its loss is c times the weight of the other classes' people,
    where c (1, or what a loss matrix says) is one number for each label.

    Source: Therneau, Atkinson, An Introduction to Recursive Partitioning Using the RPART Routines, section 3.1.
    """

    def __init__(self, document: Mapping[int, Line], classes: Sequence[str]) -> None:
        lines = list(document.values())
        self.place_of = {node: place for place, node in enumerate(document)}
        self.root = self.place_of[1]
        self.labels = np.array([classes.index(line.label) for line in lines])
        self.people = np.array([line.people for line in lines])
        self.loss = np.array([line.loss for line in lines])
        self.shares = np.array([line.shares for line in lines])
        self.share_error = _share_errors(lines, self.shares)
        self.loss_error = _loss_errors(lines, self.loss)

    def solve(self) -> dict[int, Floats] | None:
        """The people of each class by node; None where the print-out does not determine them."""
        if not (self.people == np.rint(self.people)).all():
            return None
        for weights in (np.ones(self.shares.shape[1]), self._weights()):
            counts = None if weights is None else self._counts(weights)
            if counts is not None and weights is not None and self._explains(counts, weights):
                return dict(zip(self.place_of, counts, strict=True))
        return None

    def _weights(self) -> Floats | None:
        """What a person of each class weighs under priors; None where the nodes do not determine it.

        n = sum of p_k W / w_k is linear in 1 / w_k, and W = loss / (1 - p_label). The number of people of each class,
        p_k W / w_k at the root, is then rounded to a whole one.
        """
        other = 1 - self.shares[np.arange(len(self.people)), self.labels]
        mixed = (self.loss > 0) & (other > 0)
        if not mixed[self.root] or self._weight_error() * self.people[self.root] > MAX_WEIGHT_ERROR:
            return None
        whole = np.zeros(len(self.people))
        whole[mixed] = self.loss[mixed] / other[mixed]
        sums = self.shares[mixed] * whole[mixed, None]
        if np.linalg.matrix_rank(sums, tol=MIN_SINGULAR * self.people[self.root]) < sums.shape[1]:
            return None
        inverse = np.linalg.lstsq(sums, self.people[mixed], rcond=None)[0]
        weighed = self.shares[self.root] * whole[self.root]
        each = np.rint(weighed * inverse)
        weights: Floats = weighed / np.maximum(each, 1)
        return None if (each < 1).any() else weights

    def _weight_error(self) -> float:
        """The largest relative error of two classes' weights, by the digits of the root's numbers."""
        share, loss = self.shares[self.root], self.loss[self.root]
        relative = self.share_error[self.root] / np.maximum(share, SLACK)
        return float(2 * (relative.max() + self.loss_error[self.root] / max(loss, SLACK)))

    def _counts(self, weights: Floats) -> Floats | None:
        """Whole numbers of people that the shares come to; None where several would fit a leaf.

        n_k = n (p_k / w_k) / sum of (p_j / w_j). Of two unweighted classes the loss counts the other one, where shares
        have too few digits. The people of inner nodes are those of their leaves.
        """
        parts = self.shares / weights
        scale = (self.people / parts.sum(axis=1))[:, None]
        near: Floats = np.rint(parts * scale)
        unweighted = bool((weights == 1).all())
        width = self.share_error / weights * scale * (1 if unweighted else 2)
        known = (width < 0.5).all(axis=1)
        if near.shape[1] == 2 and unweighted:
            rows = np.flatnonzero(~known & (self.loss_error <= 0.5))
            near[rows, 1 - self.labels[rows]] = np.rint(self.loss[rows])
            near[rows, self.labels[rows]] = self.people[rows] - np.rint(self.loss[rows])
            known[rows] = True
        for node in sorted(self.place_of, reverse=True):
            place = self.place_of[node]
            if 2 * node in self.place_of:
                near[place] = near[self.place_of[2 * node]] + near[self.place_of[2 * node + 1]]
            elif not known[place]:
                return None
        return near

    def _explains(self, counts: Floats, weights: Floats) -> bool:
        """Do these people give every printed number to its last digit?"""
        if (counts < 0).any() or (counts.sum(axis=1) != self.people).any():
            return False
        weight = counts * weights
        whole = weight.sum(axis=1, keepdims=True)
        error = SLACK if (weights == 1).all() else self._weight_error()
        if (abs(weight / whole - self.shares) > self.share_error + error).any():
            return False
        rows = np.arange(len(counts))
        others = whole[:, 0] - weight[rows, self.labels]
        for label in set(self.labels.tolist()):
            mine = (self.labels == label) & (others > 0)
            low, high = (self.loss[mine] + sign * self.loss_error[mine] for sign in (-1, 1))
            if mine.any() and (low / others[mine]).max() > (high / others[mine]).min() * (1 + error):
                return False
        return bool((self.loss[others == 0] == 0).all())


def _unit(text: str) -> float:
    """What one more in the last printed digit is: .01 for 0.25, 10 for 1.5e+02."""
    mantissa, _, exponent = text.lower().partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def _significant(text: str) -> int:
    """How many significant digits are printed, without zeros at the end, which may fill a column."""
    return len(text.lower().partition("e")[0].replace(".", "").strip("0"))


def _last_digit(numbers: Floats, digits: int) -> Floats:
    """Half of what one more in the last of so many significant digits is; 0 for 0."""
    with np.errstate(divide="ignore"):
        places = np.floor(np.log10(numbers)) - digits + 1
    return np.asarray(np.where(numbers > 0, 0.5 * 10.0**places, 0.0))


def _share_errors(lines: Sequence[Line], shares: Floats) -> Floats:
    """How far each share may be from what is printed: R prints all with one number of decimals, or of digits."""
    texts = [line.texts[1:] for line in lines]
    units = {_unit(text) for each in texts for text in each}
    if len(units) == 1:
        return np.full(shares.shape, 0.5 * units.pop())
    digits = max(MIN_DIGITS, max(_significant(text) for each in texts for text in each))
    return np.asarray(np.where(shares == 1, 0.5 * 10.0**-digits, _last_digit(shares, digits)))


def _loss_errors(lines: Sequence[Line], loss: Floats) -> Floats:
    """How far each loss may be from what is printed.

    R rounds losses, thresholds and shares to as many significant digits as it was set to print, at least as many as any
    of them shows; shares of five classes and more show nothing of it.
    """
    shown = [_significant(line.texts[0]) for line in lines]
    shown += [_significant(cut["value"].lstrip("-")) for line in lines if (cut := NUMBER.fullmatch(line.split))]
    units = {_unit(text) for line in lines for text in line.texts[1:]}
    mixed = [text for line in lines for text, share in zip(line.texts[1:], line.shares, strict=True) if 0 < share < 1]
    if len(units) == 1 and mixed:
        shown.append(min(len(text.partition(".")[2].lstrip("0")) for text in mixed))
    return _last_digit(loss, min(LOSS_DIGITS, max(*shown, 1)))
