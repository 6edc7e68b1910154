"""Where the nodes of a drawn tree stand: the root at the top left, a row for each end of a path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leafgate.views.telling import clean, way_to
from leafgate.words import number

ROW, WORDY, BARE, BOX, MARGIN = 26, 104, 46, 84, 14
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
    words: str
    beside: str
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
    wordy = any("words" in node for node in nodes)
    step = WORDY + BOX if wordy else BARE
    depth, row = _depths(nodes), _rows(nodes)
    x = [MARGIN + step * level for level in depth]
    y = [MARGIN + ROW / 2 + ROW * place for place in row]
    lines = [_line(nodes, i, x, y, step) for i in range(1, len(nodes))]
    spots = [_spot(nodes, i, x[i], y[i]) for i in range(len(nodes))]
    risks = {_risk(node) for node in nodes}
    width = max(x) + (330 if wordy else 3 * BARE)
    height = max(y) + ROW / 2 + MARGIN
    return Picture(width, height, lines, spots, {risk: words for risk, words in RISKS.items() if risk in risks})


def _depths(nodes: Sequence[Mapping[str, Any]]) -> list[int]:
    depth: list[int] = []
    for node in nodes:
        depth.append(0 if node["parent"] is None else depth[node["parent"]] + 1)
    return depth


def _rows(nodes: Sequence[Mapping[str, Any]]) -> list[float]:
    """A row of its own for each end of a path; a test stands in the row of its first answer."""
    below: list[list[int]] = [[] for _ in nodes]
    for i, node in enumerate(nodes):
        if node["parent"] is not None:
            below[node["parent"]].append(i)
    ends = [i for i in range(len(nodes)) if not below[i]]
    row = dict(zip(ends, map(float, range(len(ends))), strict=True))
    for i in reversed(range(len(nodes))):
        if below[i]:
            row[i] = row[below[i][0]]
    return [row[i] for i in range(len(nodes))]


def _risk(node: Mapping[str, Any]) -> str:
    return node.get("risk") or ""


def _line(nodes: Sequence[Mapping[str, Any]], i: int, x: Sequence[float], y: Sequence[float], step: float) -> Line:
    node, parent = nodes[i], nodes[i]["parent"]
    start, end = x[parent] + (BOX if "words" in nodes[parent] else 9), x[i]
    drop = y[i] - y[parent]
    turn = f"h8V{y[i] - 8:g}q0 8 8 8H{end:g}" if drop else f"H{end:g}"
    path = f"M{start:g} {y[parent]:g}{turn}"
    share = node["people"] / max(nodes[0]["people"], 1) if "people" in node else 0.0
    return Line(
        path, round(1 + 6 * math.sqrt(share), 2), _risk(node), _short(node.get("way", ""), 15), end - 6, y[i] - 5
    )


def _spot(nodes: Sequence[Mapping[str, Any]], i: int, x: float, y: float) -> Spot:
    node, risk = nodes[i], _risk(nodes[i])
    words = _short(node.get("words", ""), 14) if node["kind"] == "test" else ""
    title = "; ".join(
        filter(None, [_what(node), ", ".join(way_to(nodes, i)), _people(node), RISKS[risk] if risk else ""])
    )
    return Spot(i, node["kind"], risk, SIGNS[risk], x, y, words, _beside(node), clean(title, 400))


def _what(node: Mapping[str, Any]) -> str:
    if node["kind"] == "test":
        return f"asks for {node['words']}" if "words" in node else "a test"
    return f"{number(node['leaves'])} leaves, not drawn" if node["kind"] == "folded" else "a leaf"


def _people(node: Mapping[str, Any]) -> str:
    return f"{number(node['people'])} {'person' if node['people'] == 1 else 'people'}" if "people" in node else ""


def _beside(node: Mapping[str, Any]) -> str:
    """What stands at the end of a path."""
    if node["kind"] == "test":
        return ""
    if node["kind"] == "leaf":
        return ": ".join(filter(None, [_people(node), _short(node.get("words", ""), 34)]))
    past = f", {number(node['leaves_past'])} past a limit" if node.get("leaves_past") else ""
    return f"+ {number(node['leaves'])} leaves{past}"


def _short(text: str, longest: int) -> str:
    return clean(text, longest)
