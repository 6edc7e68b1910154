"""The tree as a picture shows it: which paths lead to people past a limit, folded where it is too large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leafgate.case import Case
from leafgate.report import Finding, People, Private
from leafgate.routing import NOWHERE, route
from leafgate.schema import Schema
from leafgate.scoring import Judged
from leafgate.tree import Node
from leafgate.tree_layout import TreeLayout, layout_of

NODES, DEPTH = 180, 40
"""So many nodes are drawn, so deep; the rest is folded."""
Risk = Literal["past", "allowed", "within", "nobody"]
ORDER: Sequence[Risk] = ("past", "allowed", "within", "nobody")


@dataclass(frozen=True, repr=False)
class TreeView:
    """One tree of the release, drawn twice: `coloured` by risk, unfolded where it is, and `plain`, by shape alone.

    `leaves_past` says for each finding with people past its limit in how many leaves of this tree they are.
    """

    trees: int
    coloured: Sequence[Mapping[str, Any]]
    plain: Sequence[Mapping[str, Any]]
    leaves_past: Mapping[str, int]


@dataclass(frozen=True)
class Risks:
    """Of each leaf: the people in it, those past each finding's limit, and what that makes of the leaf."""

    people: NDArray[np.int64]
    past: Mapping[str, NDArray[np.int64]]
    level: NDArray[np.int64]


def tree_view(judged: Judged, findings: Sequence[Finding]) -> TreeView | None:
    """The release's first tree with what was found about the people in its leaves; None without a tree."""
    if not judged.release.trees:
        return None
    tree = judged.release.trees[0]
    leaf = route(tree, judged.table).leaf
    laid = layout_of(tree, judged.release.schema)
    risks = _risks(leaf, laid.leaves, findings, judged)
    drawn = _unfolded(laid, _by_urgency(risks))
    coloured = _nodes(
        laid, drawn, risks, _beliefs(judged, leaf, {laid.number[i] for i in drawn if laid.number[i] >= 0})
    )
    plain = bare_view(tree, judged.release.schema)
    leaves_past = {name: int((past > 0).sum()) for name, past in risks.past.items()}
    return TreeView(len(judged.release.trees), coloured, plain, leaves_past)


def bare_view(tree: Node, schema: Schema) -> list[dict[str, Any]]:
    """The nodes of a tree to draw, and nothing of the people in it."""
    laid = layout_of(tree, schema)
    return _nodes(laid, _unfolded(laid, []), None, {})


def _risks(leaf: NDArray[np.int64], leaves: int, findings: Sequence[Finding], judged: Judged) -> Risks:
    reached = leaf != NOWHERE

    def count(weight: NDArray[Any]) -> NDArray[np.int64]:
        return np.bincount(leaf[reached], weights=weight[reached], minlength=leaves).astype(np.int64)

    people = count(judged.table.weight)
    level = np.where(people > 0, ORDER.index("within"), ORDER.index("nobody"))
    past: dict[str, NDArray[np.int64]] = {}
    for finding in findings:
        if finding.scored is None or not finding.scored.everyone or not finding.scored.past.any():
            continue
        past[finding.id] = count(np.where(finding.scored.past, judged.table.weight, 0))
        level = np.where(past[finding.id] > 0, np.minimum(level, int(finding.passed is not False)), level)
    return Risks(people, past, level)


def _by_urgency(risks: Risks) -> list[int]:
    """The leaves with people past a limit, the worst first: broken limits, then the fewest people."""
    order = np.lexsort((risks.people, risks.level))
    return [int(i) for i in order if risks.level[i] <= ORDER.index("allowed")]


def _unfolded(laid: TreeLayout, urgent: Sequence[int]) -> list[int]:
    """The nodes to draw, in the tree's order: the root, the paths to urgent leaves, then level by level."""
    chosen = {0}
    for number in urgent:
        path = laid.path(laid.place_of_leaf[number])[:DEPTH]
        wanted = {sibling for node in path for sibling in laid.below[node]} - chosen
        if len(chosen) + len(wanted) <= NODES:
            chosen |= wanted
    waiting = [0]
    for node in waiting:  # grows while it is walked: level by level
        if len(chosen) + len(laid.below[node]) <= NODES and laid.depth[node] < DEPTH:
            chosen |= set(laid.below[node])
        waiting.extend(child for child in laid.below[node] if child in chosen)
    return sorted(chosen)


def _nodes(
    laid: TreeLayout, drawn: Sequence[int], risks: Risks | None, beliefs: Mapping[int, Any]
) -> list[dict[str, Any]]:
    """The drawn nodes, a parent before its children; tests, words and people are for auditors."""
    place = {node: i for i, node in enumerate(drawn)}
    told = []
    for node in drawn:
        first, last = laid.span[node]
        kind = "leaf" if laid.number[node] >= 0 else "test" if set(laid.below[node]) <= place.keys() else "folded"
        parent = laid.parent[node]
        one: dict[str, Any] = {"parent": None if parent < 0 else place[parent], "kind": kind, "leaves": last - first}
        one |= {} if risks is None else _risk_facts(risks, first, last)
        one |= {"way": Private(laid.way[node])} if parent >= 0 else {}
        one |= {"words": Private(laid.words[node])} if kind != "folded" else {}
        one |= {"beliefs": Private(beliefs[laid.number[node]])} if laid.number[node] in beliefs else {}
        told.append(one)
    return told


def _risk_facts(risks: Risks, first: int, last: int) -> dict[str, Any]:
    """What is found about the people in a run of leaves."""
    level = risks.level[first:last]
    past = {name: int(count[first:last].sum()) for name, count in risks.past.items()}
    return {
        "risk": ORDER[int(level.min())],
        "leaves_past": int((level == ORDER.index("past")).sum()),
        "people": Private(People(int(risks.people[first:last].sum()))),
        "past": Private({name: People(count) for name, count in past.items() if count}),
    }


def _beliefs(judged: Judged, leaf: NDArray[np.int64], numbers: set[int]) -> dict[int, list[dict[str, Any]]]:
    """For each of these leaves what every attack believes of its people's secrets on average, and what is true."""
    told: dict[int, list[dict[str, Any]]] = {number: [] for number in numbers}
    for name, case in _about_everyone(judged):
        chances, truth = case.chances.to_numpy(dtype=float), judged.table.codes(case.secret.name)
        for number in sorted(numbers):
            rows = leaf == number
            if not rows.any():
                continue
            weight = judged.table.weight[rows]
            mean = weight @ chances[rows] / weight.sum()
            true = np.bincount(truth[rows], weights=weight, minlength=len(case.secret.domain))
            top, domain = int(mean.argmax()), case.secret.domain
            told[number].append(
                {
                    "attack": name,
                    "secret": case.secret.name,
                    "believed": {str(domain[top]): round(float(mean[top]), 6)},
                    "true": {str(domain[i]): People(int(n)) for i, n in enumerate(true) if n},
                }
            )
    return told


def _about_everyone(judged: Judged) -> Iterator[tuple[str, Case]]:
    for attempt in judged.attempts:
        for belief in attempt.beliefs:
            if belief.chances is not None and belief.cells is None:
                yield attempt.attack.called, judged.case(belief)
