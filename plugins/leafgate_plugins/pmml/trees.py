"""A PMML tree as a binary one: the first child whose predicate is true is taken, and what is missing goes its way."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from leafgate.api import Floats, ReleaseError
from leafgate.readers import LEAF, NodeNumbers, NumberKind, TreeIR, TreeIRBuilder
from leafgate_plugins.pmml.fields import Field, Predicate, Several, Test


@dataclass(frozen=True)
class Remaining:
    """What a field can still be: a number above `low` and up to `high`, or a value of `values` (None: any but `gone`).

    And perhaps missing.
    """

    low: float = -math.inf
    high: float = math.inf
    values: frozenset[str] | None = None
    gone: frozenset[str] = frozenset()
    missing: bool = True

    @property
    def something(self) -> bool:
        """Can it be anything that is there?"""
        return self.low < self.high and (self.values is None or bool(self.values))


Known = Mapping[str, Remaining]


def left_of(field: Field, known: Known, *, missing: bool) -> Remaining:
    """What the tests so far leave of a field; before them it may be missing or not."""
    if field.name in known:
        return known[field.name]
    return Remaining(values=None if field.values is None else frozenset(field.values), missing=missing)


def split(test: Test, remaining: Remaining) -> tuple[Remaining, Remaining]:
    """What is left where the test is true, and where it is false; missing where it was, in both."""
    if test.asks == "missing":
        nothing = Remaining(0, 0, missing=remaining.missing)
        true, false = nothing, remaining
    elif test.at is not None:
        top = math.nextafter(test.at, -math.inf) if test.strict else test.at
        true = Remaining(remaining.low, min(remaining.high, top), missing=remaining.missing)
        false = Remaining(max(remaining.low, top), remaining.high, missing=remaining.missing)
    elif remaining.values is not None:
        true = Remaining(values=remaining.values & test.chosen, missing=remaining.missing)
        false = Remaining(values=remaining.values - test.chosen, missing=remaining.missing)
    else:
        true = Remaining(values=test.chosen - remaining.gone, missing=remaining.missing)
        false = Remaining(gone=remaining.gone | test.chosen, missing=remaining.missing)
    return (false, true) if test.turned else (true, false)


MAX_NODES = 100_000
"""So many nodes a tree may come to, once compound predicates are asked one after the other."""

MAX_ASKED = 100_000
"""So many predicates may be looked at on the way, whether they become nodes or not."""

VALUES = 100
"""Values of a field that are looked at in the time that a predicate takes."""

Missing = Literal["false", "last", "null", "default"]
"""What a missing value makes of a predicate: false, the node's own score, no prediction, its default child."""


@dataclass(frozen=True, eq=False)
class PmmlNode:
    """A node of the file; `says` and `counts` are rows of numbers by class, `counts` NaN where the file has none.

    `size` is its recordCount, NaN where it has none.
    """

    predicate: Predicate
    says: Floats
    counts: Floats
    children: tuple[PmmlNode, ...]
    default: int | None = None
    size: float = np.nan


@dataclass(frozen=True)
class EnterNode:
    """Go on below a node."""

    node: PmmlNode


@dataclass(frozen=True)
class PredictFromNode:
    """End with the node's own prediction, for a number of people that the file does not give."""

    node: PmmlNode


@dataclass(frozen=True)
class PredictNothing:
    """End with no prediction."""


@dataclass(frozen=True)
class EvaluatePredicate:
    """Evaluate a predicate: where to go if it is true, false, or unknown.

    `surrogate`: it is part of one, where a missing value is unknown whatever the model makes of those elsewhere.
    """

    predicate: Predicate
    true: Step
    false: Step
    unknown: Step
    surrogate: bool = False


@dataclass(frozen=True)
class TryChildren:
    """Try a node's children from one of them on."""

    node: PmmlNode
    child: int


Step = EnterNode | PredictFromNode | PredictNothing | EvaluatePredicate | TryChildren
"""What is done next on the way of a row through the tree."""

Branch = tuple[Step, Known]
"""The step after an answer, and what is known of the fields there."""


@dataclass(frozen=True)
class Split:
    """A test, and where it leads if it is true or false."""

    test: Test
    true: Branch
    false: Branch


@dataclass
class Walk:
    """The tree as it grows, node by node; `visits` says how often each node of the file was entered.

    `last`: where no child is taken, the node's own score counts. `silent` and `nobody` are the rows of a leaf that
    predicts nothing, and of one that counts nobody. `ever_missing`: no value is missing where this is false.
    """

    fields: Mapping[str, int]
    missing: Missing
    last: bool
    silent: Floats
    nobody: Floats
    ever_missing: bool = True
    built: TreeIRBuilder = field(default_factory=TreeIRBuilder)
    rows: list[tuple[Floats, Floats]] = field(default_factory=list)
    visits: dict[PmmlNode, int] = field(default_factory=dict)
    entered: list[tuple[PmmlNode, int]] = field(default_factory=list)
    asked: int = 0

    def tree(self, root: PmmlNode, place: str, kind: NumberKind = "rows") -> TreeIR:
        """Everything below the root; `kind` is what whole numbers of its nodes count."""
        waiting: list[tuple[Step, Known, int, int]] = [
            (EvaluatePredicate(root.predicate, EnterNode(root), PredictNothing(), PredictNothing()), {}, -1, 0)
        ]
        while waiting:
            step, known, parent, side = waiting.pop()
            if len(self.built) > MAX_NODES:
                raise ReleaseError(f"comes to more than {MAX_NODES:,} nodes", place=place)
            if parent >= 0:
                self.built.children[parent][side] = len(self.built)
            waiting += self._add_node(step, known)
        return replace(self._tree(), numbers=self._numbers(root, kind))

    def _numbers(self, root: PmmlNode, kind: NumberKind) -> tuple[NodeNumbers, ...]:
        """The numbers of the file's nodes, in the order they stand; none where all are shares, which count nobody."""
        nodes, waiting = list[PmmlNode](), [root]
        while waiting:
            nodes.append(waiting.pop())
            waiting.extend(reversed(nodes[-1].children))
        position = {node: i for i, node in enumerate(nodes)}
        items = np.array([position[node] for node, _ in self.entered], dtype=np.int64)
        members = items, np.array([node for _, node in self.entered], dtype=np.int64)
        fields = {
            "recordCount": np.array([node.size for node in nodes]),
            "ScoreDistribution": np.array([node.counts for node in nodes]),
        }
        found = []
        for name, values in fields.items():
            people = np.nan_to_num(values)
            whole = bool((people == np.rint(people)).all())
            if people.max() > 1 and (name == "recordCount" or len(self.nobody) > 1):
                found.append(
                    NodeNumbers(name, kind if whole else "parts" if kind == "rows" else "weight", values, members)
                )
        return tuple(found)

    def _add_node(self, step: Step, known: Known) -> list[tuple[Step, Known, int, int]]:
        """Add the next node; what is to be done below it."""
        counts = self.nobody * np.nan
        while True:
            if isinstance(step, EnterNode):
                self.visits[step.node] = self.visits.get(step.node, 0) + 1
                self.entered.append((step.node, len(self.built)))
                counts = step.node.counts
                step = TryChildren(step.node, 0) if step.node.children else PredictFromNode(step.node)
                if isinstance(step, PredictFromNode):
                    self._leaf(step.node.says, counts)
                    return []
            elif isinstance(step, TryChildren):
                step = self._child_test(step)
            elif isinstance(step, EvaluatePredicate):
                tested = self._test(step, known)
                if isinstance(tested, Split):
                    return self._inner(tested, counts)
                step = tested
            else:
                self._leaf(step.node.says if isinstance(step, PredictFromNode) else self.silent, self.nobody)
                return []

    def _child_test(self, step: TryChildren) -> Step:
        node, child = step.node, step.child
        if child == len(node.children):
            return PredictFromNode(node) if self.last else PredictNothing()
        after = TryChildren(node, child + 1)
        default: Step = PredictNothing() if node.default is None else EnterNode(node.children[node.default])
        open_: dict[Missing, Step] = {
            "false": after,
            "last": PredictFromNode(node),
            "null": PredictNothing(),
            "default": default,
        }
        return EvaluatePredicate(
            node.children[child].predicate, EnterNode(node.children[child]), after, open_[self.missing]
        )

    def _test(self, step: EvaluatePredicate, known: Known) -> Step | Split:
        """The next step where the answer follows from what is known, else the test with its two branches."""
        predicate = step.predicate
        self.asked += 1
        if self.asked > MAX_ASKED:
            raise ReleaseError(f"asks more than {MAX_ASKED:,} predicates")
        if isinstance(predicate, bool):
            return step.true if predicate else step.false
        if isinstance(predicate, Several):
            return self._several(predicate, step)
        left = left_of(predicate.field, known, missing=self.ever_missing)
        self.asked += (len(left.values or ()) + len(left.gone) + len(predicate.chosen)) // VALUES
        true, false = split(predicate, left)
        filled = predicate.filled() if predicate.asks != "missing" else not predicate.turned
        unknown = self._unknown(step)
        if filled is None and unknown == step.false:
            filled = False
        name = predicate.field.name
        if left.missing and not left.something:
            return unknown if filled is None else step.true if filled else step.false
        if left.missing and predicate.asks != "missing" and _apart(filled, true, false):
            absent = Test(predicate.field, at=sys.float_info.max if predicate.field.number else None, asks="missing")
            gone, there = Remaining(0, 0, missing=True), replace(left, missing=False)
            return Split(absent, (step, {**known, name: gone}), (step, {**known, name: there}))
        true = replace(true, missing=left.missing and filled is True)
        false = replace(false, missing=left.missing and filled is False)
        if not (false.something or false.missing):
            return step.true
        if not (true.something or true.missing):
            return step.false
        return Split(predicate, (step.true, {**known, name: true}), (step.false, {**known, name: false}))

    def _several(self, several: Several, step: EvaluatePredicate) -> EvaluatePredicate:
        """The first part, and what is left to be asked then."""
        first, rest = several.parts[0], several.parts[1:]
        after: Predicate = Several(several.how, rest) if len(rest) > 1 else rest[0]
        surrogate = step.surrogate or several.how == "surrogate"
        unknown = self._unknown(step)

        def test(true: Step, false: Step, unknown: Step, predicate: Predicate = after) -> EvaluatePredicate:
            return EvaluatePredicate(predicate, true, false, unknown, surrogate)

        further = test(step.true, step.false, unknown)
        match several.how:
            case "and":
                first_test = test(further, step.false, test(unknown, step.false, unknown), first)
            case "or":
                first_test = test(step.true, further, test(step.true, unknown, unknown), first)
            case "xor":
                first_test = test(test(step.false, step.true, unknown), further, unknown, first)
            case "surrogate":
                first_test = test(step.true, step.false, further, first)
        return first_test

    def _unknown(self, step: EvaluatePredicate) -> Step:
        """Where a missing value goes."""
        return step.false if self.missing == "false" and not step.surrogate else step.unknown

    def _inner(self, tested: Split, counts: Floats) -> list[tuple[Step, Known, int, int]]:
        """A test: a number's goes low where `x <= at`, a set's where x is in it."""
        test, name = tested.test, tested.test.field.name
        (true, if_true), (false, if_false) = tested.true, tested.false
        number, missing = test.field.number, test.asks == "missing"
        if test.turned != (missing and number):
            true, if_true, false, if_false = false, if_false, true, if_true
        node = self.built.add(
            self.fields[name],
            np.nan if test.at is None else test.at,
            strict=test.strict,
            float32=test.field.single and not missing,
            missing_low=not number if missing else if_true[name].missing,
            subset=None if number else test.chosen,
        )
        self.rows.append((self.silent * np.nan, counts))
        return [(false, if_false, node, 1), (true, if_true, node, 0)]

    def _leaf(self, says: Floats, counts: Floats) -> None:
        self.built.add()
        self.rows.append((says, counts))

    def _tree(self) -> TreeIR:
        values, counts = (np.array(rows) for rows in zip(*self.rows, strict=True))
        return self.built.build(values, counts if self._counted(counts) else None)

    def _counted(self, counts: Floats) -> bool:
        """Whether every leaf has counts, every node counts as many as its children, and each node was entered once."""
        leaves = np.array(self.built.feature) == LEAF
        whole = all(_adds_up(node) for node in self.visits)
        return whole and not np.isnan(counts[leaves]).any() and max(self.visits.values(), default=0) == 1


def _apart(filled: bool | None, true: Remaining, false: Remaining) -> bool:
    """Whether a missing value needs a test of its own first: it does where no other value takes the same path."""
    if filled is None:
        return True
    own, others = (true, false) if filled else (false, true)
    return others.something and not own.something


def _adds_up(node: PmmlNode) -> bool:
    if not node.children:
        return True
    below = np.sum([child.counts for child in node.children], axis=0)
    return bool(np.isnan(node.counts).all() or np.array_equal(below, node.counts))


def fields_in(predicate: Predicate) -> Sequence[Field]:
    """The fields a predicate asks about, each as it is compared."""
    if isinstance(predicate, bool):
        return ()
    if isinstance(predicate, Test):
        return (predicate.field,)
    return [field for part in predicate.parts for field in fields_in(part)]
