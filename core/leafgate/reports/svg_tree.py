"""Where the nodes of a drawn tree stand: the root at the left, a row for each end of a path, as wide as words need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leafgate.disclosure.text import number
from leafgate.reports.common import clean, way_to

ROW, BARE, MARGIN, DOT, TURN = 26, 46, 14, 16, 16
SIGN, LONGEST = 6.7, 24
"""How wide a sign of the picture's type is, about; so many are shown of a name."""
RISKS = {
    "past": "people past a limit",
    "allowed": "past a limit, as the policy allows",
    "within": "nobody past a limit",
    "nobody": "nobody is here",
    "": "not told",
}
SIGNS = {"past": "!", "allowed": "~", "within": "", "nobody": "", "": ""}


@dataclass(frozen=True)
class Line:
    """A branch: a curve from a test to one of its answers, as wide as its people are many, and the answer."""

    path: str
    width: float
    risk: str
    words: str
    x: float
    y: float


@dataclass(frozen=True)
class Spot:
    """A node in the picture."""

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
    """A tree's picture in its own units."""

    width: float
    height: float
    lines: Sequence[Line]
    spots: Sequence[Spot]
    risks: Mapping[str, str]


def tree_picture(nodes: Sequence[Mapping[str, Any]]) -> Picture:
    """The picture of a report's drawn nodes; what the report does not tell of them is not in it."""
    depth, row = _depths(nodes), _rows(nodes)
    widths = [_box(node) for node in nodes]
    columns = _columns(nodes, depth, widths)
    x = [columns[level] for level in depth]
    y = [MARGIN + ROW / 2 + ROW * place for place in row]
    lines = [_line(nodes, i, x, y, widths) for i in range(1, len(nodes))]
    spots = [_spot(nodes, i, x[i], y[i], widths[i]) for i in range(len(nodes))]
    risks = {_risk(node) for node in nodes}
    width = max(here + wide + SIGN * len(_beside(node)) for here, wide, node in zip(x, widths, nodes, strict=True))
    height = max(y) + ROW / 2 + MARGIN
    return Picture(
        width + 2 * MARGIN, height, lines, spots, {risk: words for risk, words in RISKS.items() if risk in risks}
    )


def _box(node: Mapping[str, Any]) -> float:
    """How wide a node is: a test with a name is a box around it, anything else a dot."""
    named = node["kind"] == "test" and "words" in node
    return SIGN * len(_short(node["words"], LONGEST)) + 16 if named else DOT


def _columns(nodes: Sequence[Mapping[str, Any]], depth: Sequence[int], widths: Sequence[float]) -> list[float]:
    """Where the nodes of each depth begin: after the widest node above them, and the longest answer between."""
    starts = [float(MARGIN)]
    for level in range(max(depth)):
        widest = max(wide for wide, at in zip(widths, depth, strict=True) if at == level)
        answer = max(len(_answer(node)) for node, at in zip(nodes, depth, strict=True) if at == level + 1)
        starts.append(starts[-1] + widest + max(BARE - DOT, TURN + SIGN * answer + 18 if answer else 0))
    return starts


def _answer(node: Mapping[str, Any]) -> str:
    return _short(node.get("way", ""), LONGEST)


def _depths(nodes: Sequence[Mapping[str, Any]]) -> list[int]:
    depth: list[int] = []
    for node in nodes:
        depth.append(0 if node["parent"] is None else depth[node["parent"]] + 1)
    return depth


def _rows(nodes: Sequence[Mapping[str, Any]]) -> list[float]:
    """A row of its own for each end of a path; a test stands in the middle of its answers."""
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


def _risk(node: Mapping[str, Any]) -> str:
    return node.get("risk") or ""


def _line(
    nodes: Sequence[Mapping[str, Any]], i: int, x: Sequence[float], y: Sequence[float], widths: Sequence[float]
) -> Line:
    node, parent = nodes[i], nodes[i]["parent"]
    start, end = x[parent] + widths[parent], x[i]
    drop = y[i] - y[parent]
    bend = math.copysign(min(8.0, abs(drop)), drop)
    turn = f"h{TURN - 8}q8 0 8 {bend:g}V{y[i] - bend:g}q0 {bend:g} 8 {bend:g}H{end:g}" if drop else f"H{end:g}"
    share = node["people"] / max(nodes[0]["people"], 1) if "people" in node else 0.0
    width = round(1.2 + 6 * math.sqrt(share), 2)
    return Line(f"M{start:g} {y[parent]:g}{turn}", width, _risk(node), _answer(node), end - 6, y[i] - width / 2 - 3)


def _spot(nodes: Sequence[Mapping[str, Any]], i: int, x: float, y: float, width: float) -> Spot:
    node, risk = nodes[i], _risk(nodes[i])
    words = _short(node.get("words", ""), LONGEST) if node["kind"] == "test" else ""
    title = "; ".join(
        filter(
            None,
            [_what(node), ", ".join(way_to(nodes, i)), _people(node), class_words(node), RISKS[risk] if risk else ""],
        )
    )
    return Spot(i, node["kind"], risk, SIGNS[risk], x, y, width, words, _beside(node), clean(title, 400))


def _what(node: Mapping[str, Any]) -> str:
    if node["kind"] == "test":
        return f"asks for {node['words']}" if "words" in node else "a test"
    return f"{number(node['leaves'])} leaves, not drawn" if node["kind"] == "folded" else "a leaf"


def _people(node: Mapping[str, Any]) -> str:
    return f"{number(node['people'])} {'person' if node['people'] == 1 else 'people'}" if "people" in node else ""


def class_words(node: Mapping[str, Any]) -> str:
    """Of a leaf that fewer people reach than share their equivalence class: how large that is, and why; else empty."""
    result = node.get("equivalence_class")
    if result is None:
        return ""
    columns = ", ".join(clean(name, LONGEST) for name in result["unknown"])
    return (
        f"the adversary cannot tell them apart from others: their equivalence class has {number(result['people'])} "
        f"people or more, because tests above ask for what is not known of them ({columns})"
    )


def _beside(node: Mapping[str, Any]) -> str:
    """What stands at the end of a path."""
    if node["kind"] == "test":
        return ""
    if node["kind"] == "leaf":
        result = node.get("equivalence_class")
        people = _people(node) + (f" in a class of {number(result['people'])}" if result else "")
        return " → ".join(filter(None, [people, _short(node.get("words", ""), 34)]))
    past = f", {number(node['leaves_past'])} past a limit" if node.get("leaves_past") else ""
    return f"+ {number(node['leaves'])} leaves{past}"


def _short(text: str, longest: int) -> str:
    return clean(text, longest)
