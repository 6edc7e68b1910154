"""Layout of the drawn tree: the root at the left, a row for each leaf, columns as wide as their labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leafgate.disclosure.wording import number_words
from leafgate.io.json import JsonObject
from leafgate.io.text import clean
from leafgate.reports.common import path_conditions

ROW, BARE, MARGIN, DOT, TURN = 26, 46, 14, 16, 16
CHAR_WIDTH = 6.7
"""Approximate width of a character."""
MAX_LABEL_LENGTH = 24
RISKS = {
    "past": "people outside a limit",
    "allowed": "outside a limit, as the policy allows",
    "within": "nobody outside a limit",
    "nobody": "nobody is here",
    "": "not published",
}
SIGNS = {"past": "!", "allowed": "~", "within": "", "nobody": "", "": ""}


@dataclass(frozen=True)
class Line:
    """A branch: a curve from a test to a child, with the width of its share of people, and the child's condition."""

    path: str
    width: float
    risk: str
    words: str
    x: float
    y: float


@dataclass(frozen=True)
class Spot:
    """A drawn node."""

    place: int
    kind: str
    risk: str
    sign: str
    x: float
    y: float
    width: float
    words: str
    annotation: str
    title: str


@dataclass(frozen=True)
class Picture:
    """The picture of a tree, in units of the SVG."""

    width: float
    height: float
    lines: Sequence[Line]
    spots: Sequence[Spot]
    risks: Mapping[str, str]


def tree_picture(nodes: Sequence[JsonObject]) -> Picture:
    """The picture of a report's nodes."""
    depth, row = _depths(nodes), _rows(nodes)
    widths = [_box(node) for node in nodes]
    columns = _columns(nodes, depth, widths)
    x = [columns[level] for level in depth]
    y = [MARGIN + ROW / 2 + ROW * place for place in row]
    lines = [_line(nodes, i, x, y, widths) for i in range(1, len(nodes))]
    spots = [_spot(nodes, i, x[i], y[i], widths[i]) for i in range(len(nodes))]
    risks = {_risk(node) for node in nodes}
    width = max(
        here + wide + CHAR_WIDTH * len(_annotation(node)) for here, wide, node in zip(x, widths, nodes, strict=True)
    )
    height = max(y) + ROW / 2 + MARGIN
    return Picture(
        width + 2 * MARGIN, height, lines, spots, {risk: words for risk, words in RISKS.items() if risk in risks}
    )


def _box(node: JsonObject) -> float:
    """The width of a node: a test with a label is a box around it, any other node a dot."""
    named = node["kind"] == "test" and "words" in node
    return CHAR_WIDTH * len(_short(node["words"], MAX_LABEL_LENGTH)) + 16 if named else DOT


def _columns(nodes: Sequence[JsonObject], depth: Sequence[int], widths: Sequence[float]) -> list[float]:
    """The left edge of the nodes of each depth, after the widest node and the longest condition before it."""
    starts = [float(MARGIN)]
    for level in range(max(depth)):
        widest = max(wide for wide, at in zip(widths, depth, strict=True) if at == level)
        longest = max(len(_condition(node)) for node, at in zip(nodes, depth, strict=True) if at == level + 1)
        starts.append(starts[-1] + widest + max(BARE - DOT, TURN + CHAR_WIDTH * longest + 18 if longest else 0))
    return starts


def _condition(node: JsonObject) -> str:
    return _short(node.get("way", ""), MAX_LABEL_LENGTH)


def _depths(nodes: Sequence[JsonObject]) -> list[int]:
    depth: list[int] = []
    for node in nodes:
        depth.append(0 if node["parent"] is None else depth[node["parent"]] + 1)
    return depth


def _rows(nodes: Sequence[JsonObject]) -> list[float]:
    """The row of each node: a row of its own for each leaf, the middle of its children for a test."""
    below: list[list[int]] = [[] for _ in nodes]
    for i, node in enumerate(nodes):
        if node["parent"] is not None:
            below[node["parent"]].append(i)
    ends = [i for i in range(len(nodes)) if not below[i]]
    row = dict(zip(ends, map(float, range(len(ends))), strict=True))
    for i in reversed(range(len(nodes))):
        if below[i]:
            row[i] = (row[below[i][0]] + row[below[i][-1]]) / 2
    return [row[i] for i in range(len(nodes))]


def _risk(node: JsonObject) -> str:
    return node.get("risk") or ""


def _line(nodes: Sequence[JsonObject], i: int, x: Sequence[float], y: Sequence[float], widths: Sequence[float]) -> Line:
    node, parent = nodes[i], nodes[i]["parent"]
    start, end = x[parent] + widths[parent], x[i]
    drop = y[i] - y[parent]
    bend = math.copysign(min(8.0, abs(drop)), drop)
    turn = f"h{TURN - 8}q8 0 8 {bend:g}V{y[i] - bend:g}q0 {bend:g} 8 {bend:g}H{end:g}" if drop else f"H{end:g}"
    share = node["people"] / max(nodes[0]["people"], 1) if "people" in node else 0.0
    width = round(1.2 + 6 * math.sqrt(share), 2)
    return Line(f"M{start:g} {y[parent]:g}{turn}", width, _risk(node), _condition(node), end - 6, y[i] - width / 2 - 3)


def _spot(nodes: Sequence[JsonObject], i: int, x: float, y: float, width: float) -> Spot:
    node, risk = nodes[i], _risk(nodes[i])
    words = _short(node.get("words", ""), MAX_LABEL_LENGTH) if node["kind"] == "test" else ""
    title = "; ".join(
        filter(
            None,
            [
                _what(node),
                ", ".join(path_conditions(nodes, i)),
                _people(node),
                class_words(node),
                RISKS[risk] if risk else "",
            ],
        )
    )
    return Spot(i, node["kind"], risk, SIGNS[risk], x, y, width, words, _annotation(node), clean(title, 400))


def _what(node: JsonObject) -> str:
    if node["kind"] == "test":
        return f"asks for {node['words']}" if "words" in node else "a test"
    return f"{number_words(node['leaves'])} leaves, not drawn" if node["kind"] == "folded" else "a leaf"


def _people(node: JsonObject) -> str:
    return f"{number_words(node['people'])} {'person' if node['people'] == 1 else 'people'}" if "people" in node else ""


def class_words(node: JsonObject) -> str:
    """The size of a leaf's equivalence class, and why it is larger than the leaf; empty where it is not."""
    result = node.get("equivalence_class")
    if result is None:
        return ""
    columns = ", ".join(clean(name, MAX_LABEL_LENGTH) for name in result["unknown"])
    return (
        f"the adversary cannot tell them apart from others: their equivalence class has "
        f"{number_words(result['people'])} people or more, because tests above ask for what is not known of them "
        f"({columns})"
    )


def _annotation(node: JsonObject) -> str:
    """The text beside a leaf or a folded part of the tree."""
    if node["kind"] == "test":
        return ""
    if node["kind"] == "leaf":
        result = node.get("equivalence_class")
        people = _people(node) + (f" in a class of {number_words(result['people'])}" if result else "")
        return " → ".join(filter(None, [people, _short(node.get("words", ""), 34)]))
    past = f", {number_words(node['leaves_past'])} outside a limit" if node.get("leaves_past") else ""
    return f"+ {number_words(node['leaves'])} leaves{past}"


def _short(text: str, longest: int) -> str:
    return clean(text, longest)
