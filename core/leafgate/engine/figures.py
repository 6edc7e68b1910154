"""The figures of a report: the tree with the paths to people outside a limit, folded where large; best guesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.routing import NOWHERE, route
from leafgate.engine.attack import AttackResult
from leafgate.engine.audience import audience_of_guesses
from leafgate.engine.scores import counted_by
from leafgate.engine.state import AuditState
from leafgate.errors import InconclusiveError, UnreadableError
from leafgate.kernel.belief import Belief, PosteriorBelief, SecretBelief, classes_of
from leafgate.kernel.context import ScoringContext
from leafgate.kernel.evidence import AuditorOnly, PeopleCount, ReleaseOnly
from leafgate.kernel.findings import AttackAccuracy, Finding, TreeView
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table
from leafgate.kernel.tree import CategoricalSplit, Node, NumericSplit

WIDEST = 8
"""So many values of a way are named; of more, their number is said."""


@dataclass
class TreeLayout:
    """For each node: its parent (-1 for the root), depth, the way to it in words, its own words, its children.

    `label` is a test's column, or the value a leaf predicts; `number` is a leaf's number from the left, -1 for a test;
    `span` the leaves below, from first to before last.
    """

    parent: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    way: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    label: list[str | None] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    below: list[Sequence[int]] = field(default_factory=list)
    span: list[tuple[int, int]] = field(default_factory=list)
    place_of_leaf: list[int] = field(default_factory=list)

    @property
    def leaves(self) -> int:
        return len(self.place_of_leaf)

    def path(self, node: int) -> list[int]:
        """The nodes above this one, from the root down."""
        above = []
        while self.parent[node] >= 0:
            node = self.parent[node]
            above.append(node)
        return above[::-1]


def layout_of(tree: Node, schema: Schema) -> TreeLayout:
    """The tree as lists; deep trees need no recursion."""
    laid = TreeLayout()
    waiting: list[tuple[Node, int, str]] = [(tree, -1, "")]
    children: list[list[int]] = []
    while waiting:
        node, parent, way = waiting.pop()
        here = len(laid.parent)
        laid.parent.append(parent)
        laid.depth.append(0 if parent < 0 else laid.depth[parent] + 1)
        laid.way.append(way)
        laid.words.append(node.words if isinstance(node, Leaf) else node.column)
        laid.label.append(node.label if isinstance(node, Leaf) else node.column)
        laid.number.append(laid.leaves if isinstance(node, Leaf) else -1)
        children.append([])
        if parent >= 0:
            children[parent].append(here)
        if isinstance(node, Leaf):
            laid.place_of_leaf.append(here)
        waiting.extend((child, here, words) for words, child in reversed(list(ways(node, schema))))
    laid.below = list(children)
    laid.span = _spans(laid)
    return laid


def _spans(laid: TreeLayout) -> list[tuple[int, int]]:
    """The run of leaves below each node: children come after their parents, so this walks backwards."""
    spans = [(number, number + 1) for number in laid.number]
    for node in reversed(range(len(spans))):
        if laid.below[node]:
            spans[node] = (spans[laid.below[node][0]][0], spans[laid.below[node][-1]][1])
    return spans


def ways(node: Node, schema: Schema) -> Iterator[tuple[str, Node]]:
    """Each child with the answer that leads to it, in words; where missing cells go only if there may be any."""
    if isinstance(node, NumericSplit):
        low, high = ("<", ">=") if node.strict else ("<=", ">")
        side = node.missing if schema[node.column].missing else None
        missing = {way: ", or missing" if way == side else "" for way in ("low", "high")}
        yield f"{low} {node.at:.6g}{missing['low']}", node.low
        yield f"{high} {node.at:.6g}{missing['high']}", node.high
    elif isinstance(node, CategoricalSplit):
        for branch in node.branches:
            values = branch.values
            yield ", ".join(map(str, values)) if len(values) <= WIDEST else f"{len(values)} values", branch.node
        if node.default is not None:
            yield "any other", node.default


MAX_ROWS = 26
"""Ends of paths that a picture draws, one a row."""
MAX_ROWS_UNFOLDED = 48
"""A tree with no more leaves than this is drawn with all of them."""
MAX_DEPTH_DRAWN = 40
"""Nodes below this depth are folded."""
MAX_FAILED_LEAVES = 200
"""Urgent leaves without room that are tried before giving up."""


@dataclass(frozen=True)
class Drawn:
    """One node of the picture: a node of the tree, or several children of one test that are folded together."""

    nodes: Sequence[int]
    parent: int | None
    opened: bool

    @property
    def is_folded(self) -> bool:
        return len(self.nodes) > 1


@dataclass
class _Chosen:
    """The nodes to draw so far, how many children of each are among them, and the ends the picture has by them."""

    laid: TreeLayout
    nodes: set[int] = field(default_factory=lambda: {0})
    drawn: Counter[int] = field(default_factory=Counter)
    rows: int = 1

    def adds(self, nodes: Sequence[int]) -> int:
        """How many ends more the picture has with these, which are not among them yet but their parents are."""
        more = Counter(self.laid.parent[node] for node in nodes)
        old = sum(self._ends(node, self.drawn[node]) for node in more if node in self.nodes)
        return sum(self._ends(node, self.drawn[node] + more[node]) for node in {*more, *nodes}) - old

    def take(self, nodes: Sequence[int]) -> None:
        self.rows += self.adds(nodes)
        self.nodes |= set(nodes)
        self.drawn.update(self.laid.parent[node] for node in nodes)

    def _ends(self, node: int, drawn: int) -> int:
        """A node is an end itself, or folds the children that are not drawn into one."""
        return int(drawn < len(self.laid.below[node])) if drawn else 1


def unfolded(laid: TreeLayout, urgent: Sequence[int], rows: int | None = None) -> list[Drawn]:
    """The picture's nodes, parents before their children: paths to urgent leaves first, then level by level.

    Children of a test that are not drawn are folded into one, so that no test with many answers takes all the room.
    """
    rows = rows or (MAX_ROWS_UNFOLDED if laid.leaves <= MAX_ROWS_UNFOLDED else MAX_ROWS)
    chosen, failed = _Chosen(laid), 0
    for number in urgent:
        leaf = laid.place_of_leaf[number]
        path = [node for node in (*laid.path(leaf), leaf) if node not in chosen.nodes]
        if laid.depth[leaf] <= MAX_DEPTH_DRAWN and chosen.rows + chosen.adds(path) <= rows:
            chosen.take(path)
        else:
            failed += 1
            if failed == MAX_FAILED_LEAVES:
                break
    _fill(chosen, rows)
    return list(_drawn(laid, chosen.nodes))


def _fill(chosen: _Chosen, rows: int) -> None:
    """Draw level by level what else there is room for."""
    laid, waiting = chosen.laid, [0]
    for node in waiting:  # grows while it is walked: level by level
        hidden = [child for child in laid.below[node] if child not in chosen.nodes]
        if laid.depth[node] < MAX_DEPTH_DRAWN and hidden:
            room = rows - chosen.rows
            chosen.take(hidden if len(hidden) - 1 <= room else hidden[:room])  # all of them leave nothing to fold
        waiting.extend(child for child in laid.below[node] if child in chosen.nodes)


def _drawn(laid: TreeLayout, chosen: set[int]) -> Iterator[Drawn]:
    """The nodes in the tree's order, the folded rest of a test's children after the others."""
    waiting: list[tuple[tuple[int, ...], int | None]] = [((0,), None)]
    place = 0
    while waiting:
        nodes, parent = waiting.pop()
        below = laid.below[nodes[0]] if len(nodes) == 1 else ()
        shown = [child for child in below if child in chosen]
        yield Drawn(nodes, parent, bool(shown))
        rest = tuple(child for child in below if child not in chosen) if shown else ()
        groups: list[tuple[int, ...]] = [(child,) for child in shown]
        groups = sorted([*groups, rest]) if len(rest) == 1 else [*groups, *([rest] if rest else [])]
        waiting.extend((group, place) for group in reversed(groups))
        place += 1


Risk = Literal["past", "allowed", "within", "nobody"]
ORDER: Sequence[Risk] = ("past", "allowed", "within", "nobody")


@dataclass(frozen=True)
class Risks:
    """Of each leaf: the people in it, those past each finding's limit, and what that makes of the leaf.

    `leaf` has the leaf of each record of the table, NOWHERE for one that reaches none; `violating_records` says of each
    record whether it is outside a finding's limit.
    """

    people: NDArray[np.int64]
    violating: Mapping[str, NDArray[np.int64]]
    level: NDArray[np.int64]
    table: Table
    leaf: NDArray[np.int64]
    violating_records: Mapping[str, NDArray[np.bool_]]

    def people_in(self, leaves: NDArray[np.int64]) -> tuple[int, dict[str, int]]:
        """The people in these leaves, and by findings those outside the limit; one with several rows counts once."""
        if self.table.person_rows is None:
            return int(self.people[leaves].sum()), {
                name: int(count[leaves].sum()) for name, count in self.violating.items()
            }
        there = np.isin(self.leaf, leaves)
        violating = {name: self.table.people_among(there & records) for name, records in self.violating_records.items()}
        return self.table.people_among(there), violating


def tree_view(state: AuditState, findings: Sequence[Finding], starting_trees: int = 0) -> TreeView | None:
    """The release's first tree with the findings about the people in its leaves; None without a tree.

    `starting_trees` of the first are not counted: they are the scores that boosting starts from.
    """
    if not state.release.trees:
        return None
    number = first_asking(state.release)
    tree = state.release.trees[number - 1]
    leaf = route(tree, state.table).leaf
    laid = layout_of(tree, state.release.schema)
    risks = _risks(leaf, laid.leaves, findings, state)
    drawn = unfolded(laid, _by_urgency(risks, laid))
    shown = {laid.number[one.nodes[0]] for one in drawn if not one.is_folded} - {-1}
    beliefs, classes = _beliefs(state, leaf, shown), _larger_classes(state, leaf, laid, risks, shown)
    coloured = _nodes(laid, drawn, risks, beliefs, classes, open_=_private(state.release))
    plain = _bare(laid, state.release)
    leaves_past = {name: int((violating > 0).sum()) for name, violating in risks.violating.items()}
    trees, own = len(state.release.trees) - starting_trees, max(1, number - starting_trees)
    return TreeView(trees, coloured, plain, leaves_past, own)


def first_asking(release: Release) -> int:
    """The number of the first tree that asks anything; 1 where none does."""
    return next((i for i, tree in enumerate(release.trees, 1) if not isinstance(tree, Leaf)), 1)


def bare_view(release: Release) -> list[dict[str, Any]]:
    """The nodes to draw of a release's first tree that asks anything, and nothing of the people in it."""
    return _bare(layout_of(release.trees[first_asking(release) - 1], release.schema), release)


def _bare(laid: TreeLayout, release: Release) -> list[dict[str, Any]]:
    return _nodes(laid, unfolded(laid, []), None, {}, {}, open_=_private(release))


def _private(release: Release) -> bool:
    """Does it claim differential privacy? Its numbers may then be published."""
    return release.claims_differential_privacy


def _risks(leaf: NDArray[np.int64], leaves: int, findings: Sequence[Finding], state: AuditState) -> Risks:
    reached, table = leaf != NOWHERE, state.table

    def count(records: NDArray[np.bool_]) -> NDArray[np.int64]:
        return table.people_by(np.where(records, leaf, -1), leaves)

    people = count(reached)
    level = np.where(people > 0, ORDER.index("within"), ORDER.index("nobody"))
    violating: dict[str, NDArray[np.int64]] = {}
    violating_records: dict[str, NDArray[np.bool_]] = {}
    for finding in findings:
        if (
            finding.scored_people is None
            or not finding.scored_people.everyone
            or not finding.scored_people.violates.any()
        ):
            continue
        violating_records[finding.id] = reached & finding.scored_people.violates
        violating[finding.id] = count(violating_records[finding.id])
        level = np.where(violating[finding.id] > 0, np.minimum(level, int(finding.passed is not False)), level)
    return Risks(people, violating, level, table, leaf, violating_records)


def _by_urgency(risks: Risks, laid: TreeLayout) -> list[int]:
    """Leaves with people outside a limit, the worst first: broken limits, then the fewest people, then short paths."""
    depths = np.array([laid.depth[node] for node in laid.place_of_leaf])
    order = np.lexsort((depths, risks.people, risks.level))
    return [int(i) for i in order if risks.level[i] <= ORDER.index("allowed")]


def _nodes(
    laid: TreeLayout,
    drawn: Sequence[Drawn],
    risks: Risks | None,
    beliefs: Mapping[int, Any],
    classes: Mapping[int, Any],
    *,
    open_: bool,
) -> list[dict[str, Any]]:
    """The drawn nodes, a parent before its children; people, beliefs and equivalence classes are for auditors.

    Once the release may be published everybody may see its tests and what it predicts; its numbers only if `open_`.
    """
    items = []
    for one in drawn:
        node = one.nodes[0]
        number = -1 if one.is_folded else laid.number[node]
        spans = [laid.span[each] for each in one.nodes]
        here: dict[str, Any] = {
            "parent": one.parent,
            "kind": "leaf" if number >= 0 else "test" if one.opened else "folded",
            "leaves": sum(last - first for first, last in spans),
        }
        here |= {} if risks is None else _risk_facts(risks, spans)
        here |= {} if one.parent is None else {"way": ReleaseOnly(_way(laid, one), _way(laid, one))}
        public = laid.words[node] if open_ else laid.label[node]
        here |= {} if here["kind"] == "folded" else {"words": ReleaseOnly(laid.words[node], public)}
        here |= {"beliefs": AuditorOnly(beliefs[number])} if number in beliefs else {}
        here |= {"equivalence_class": AuditorOnly(classes[number])} if number in classes else {}
        items.append(here)
    return items


def _way(laid: TreeLayout, one: Drawn) -> str:
    return f"{len(one.nodes)} others" if one.is_folded else laid.way[one.nodes[0]]


def _risk_facts(risks: Risks, spans: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """The findings about the people in ranges of leaves."""
    here = np.concatenate([np.arange(*span) for span in spans])
    people, violating = risks.people_in(here)
    return {
        "risk": ORDER[int(risks.level[here].min())],
        "leaves_past": int((risks.level[here] == ORDER.index("past")).sum()),
        "people": AuditorOnly(PeopleCount(people)),
        "past": AuditorOnly({name: PeopleCount(count) for name, count in violating.items() if count}),
    }


def _beliefs(state: AuditState, leaf: NDArray[np.int64], numbers: set[int]) -> dict[int, list[dict[str, Any]]]:
    """For each of these leaves what every attack believes of its people's secrets on average, and what is true."""
    document: dict[int, list[dict[str, Any]]] = {number: [] for number in numbers}
    for name, case in _about_everyone(state):
        chances, truth = case.posterior.to_numpy(dtype=float), state.table.codes(case.secret.name)
        for number in sorted(numbers):
            rows = leaf == number
            if not rows.any():
                continue
            weight = state.table.persons[rows]
            mean = weight @ chances[rows] / max(weight.sum(), 1)
            true = state.table.people_by(np.where(rows, truth, -1), len(case.secret.domain))
            top, domain = int(mean.argmax()), case.secret.domain
            document[number].append(
                {
                    "attack": name,
                    "secret": case.secret.name,
                    "believed": {str(domain[top]): round(float(mean[top]), 6)},
                    "true": {str(domain[i]): PeopleCount(int(n)) for i, n in enumerate(true) if n},
                }
            )
    return document


def _larger_classes(
    state: AuditState, leaf: NDArray[np.int64], laid: TreeLayout, risks: Risks, numbers: set[int]
) -> dict[int, dict[str, Any]]:
    """The leaves that fewer people reach than share an equivalence class, which is what limits on groups are about.

    For each of them the people of the smallest class that any of its people is in, and the columns of the tests above
    it that the adversary does not know: only who knows them could single these people out of their class.
    """
    smallest: dict[int, int] = {}
    for result in state.attack_results:
        for belief in result.beliefs:
            if classes_of(belief) is None:
                continue
            sizes = state.case(result, belief).sizes.to_numpy()
            for number in numbers:
                if (leaf == number).any():
                    size = int(sizes[leaf == number].min())
                    smallest[number] = min(size, smallest.get(number, size))
    schema = state.release.schema
    fields = {}
    for number in sorted(number for number, size in smallest.items() if size > risks.people[number]):
        asked = dict.fromkeys(laid.words[node] for node in laid.path(laid.place_of_leaf[number]))
        unknown = [name for name in asked if not schema[name].public]
        if unknown:
            fields[number] = {"people": PeopleCount(smallest[number]), "unknown": unknown}
    return fields


def _about_everyone(state: AuditState) -> Iterator[tuple[str, ScoringContext]]:
    for result in state.attack_results:
        for belief in result.beliefs:
            if isinstance(belief, SecretBelief) and not belief.incomplete:
                yield result.attack.called, state.case(result, belief)


def guesses(state: AuditState) -> list[AttackAccuracy]:
    """One for each attack and secret it has a posterior of, about everyone or about the people behind hidden cells."""
    accuracies = []
    for result, belief in _with_posteriors(state):
        with suppress(InconclusiveError, UnreadableError):  # whose the cells are is unknown, or none is secret
            accuracies.append(_guess(state, result, belief))
    return accuracies


def _with_posteriors(state: AuditState) -> Iterator[tuple[AttackResult, Belief]]:
    for result in state.attack_results:
        for belief in result.beliefs:
            if isinstance(belief, PosteriorBelief) and not belief.incomplete:
                yield result, belief


def _guess(state: AuditState, result: AttackResult, belief: Belief) -> AttackAccuracy:
    case = state.case(result, belief)
    chances, truth = case.posterior.to_numpy(dtype=float), case.table.codes(case.secret.name)
    best = np.isclose(chances, chances.max(axis=1, keepdims=True), rtol=0, atol=1e-9)
    right = best[np.arange(len(truth)), truth] / best.sum(axis=1)
    weight = counted_by(case.table, right, "at_most")[0]
    people = int(weight.sum())
    commonest = int(case.table.people_by(truth, len(case.secret.domain)).max())
    audience = audience_of_guesses(case, result)
    return AttackAccuracy(result.attack.called, case.secret.name, people, float(weight @ right), commonest, audience)


def affected(state: AuditState, findings: Sequence[Finding]) -> int | None:
    """How many different people are outside at least one broken limit; None where some of them are not known."""
    broken = [finding for finding in findings if finding.fails and finding.violations]
    violating = [
        each.scored_people.violates for each in broken if each.scored_people is not None and each.scored_people.everyone
    ]
    if not violating or len(violating) < len(broken):
        return None
    return state.table.people_among(np.logical_or.reduce(violating))
