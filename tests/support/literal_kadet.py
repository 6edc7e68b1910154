"""kADET as its pseudo-code reads, corrected as `docs/explanation/kadet.md` says.

There is one global list, and every test has its turn.

Friedman, Schuster, Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006, Algorithm 1. Slow; on plain lists.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from leafgate import Table
from leafgate.api import Leaf, Node
from oracles import People, people_of
from questions import NOTHING, Measure, Question, best_cut, class_counts, depth, gain, node_of, size, thresholds, worth


@dataclass(eq=False)
class Knot:
    """A node of the growing tree: who is here, which values categorical columns can still have, how old it is."""

    people: People
    age: int
    label: str
    possible: dict[str, tuple[str | None, ...]]
    mean: float = 0.0
    asked: Question | None = None
    sons: dict[Hashable, Knot] = field(default_factory=dict)


@dataclass(eq=False)
class Span:
    """People who cannot be told apart, and the leaves they could be in."""

    people: People
    knots: list[Knot]


@dataclass(frozen=True)
class Candidate:
    """A test that may become a split, and when its turn is: the smallest turn comes first."""

    turn: tuple[bool, float, int, int, int]
    knot: Knot
    question: Question


class LiteralKadet:
    """One run; `tree` is None when not even a leaf is k-anonymous and, where more is required of people, `ok`."""

    def __init__(
        self,
        table: Table,
        k: int,
        measure: Measure,
        *,
        average_gain: bool,
        ok: Callable[[People], bool] = lambda people: True,
    ) -> None:
        self.table, self.schema, self.measure = table, table.schema, measure
        self.ok: Callable[[People], bool] = lambda people: size(people) >= k and ok(people)
        self.average_gain = average_gain and measure == "gain_ratio"
        self.born = 0
        people = people_of(table)
        root = self.knot(people, None, {c.name: c.domain for c in self.schema.features if not c.numeric})
        self.spans = [Span(part, [root]) for part in self.populations(people)]
        self.queue: list[Candidate] = []
        self.tree: Node | None = None
        if all(self.ok(span.people) for span in self.spans):
            self.push_all(root)
            self.run()
            self.tree = self.finished(root)

    def populations(self, people: People) -> list[People]:
        target = self.schema.target
        return list(Question(target).parts(people).values()) if target.public else [people]

    def knot(self, people: People, above: Knot | None, possible: dict[str, tuple[str | None, ...]]) -> Knot:
        self.born += 1
        counts = class_counts(people, self.schema)
        label = max(counts, key=lambda name: counts[name]) if people or above is None else above.label
        return Knot(people, self.born, label, possible)

    def run(self) -> None:
        while self.queue:
            candidate = min(self.queue, key=lambda candidate: candidate.turn)
            self.queue.remove(candidate)
            if candidate.knot.sons:
                continue
            if self.breaches(candidate.knot, candidate.question):
                self.push_coarser(candidate)
                continue
            self.split(candidate.knot, candidate.question)
            for son in candidate.knot.sons.values():
                self.push_all(son)

    def breaches(self, knot: Knot, question: Question) -> bool:
        if not question.column.public:
            return False
        mine = (span for span in self.spans if knot in span.knots)
        return any(not self.ok(part) for span in mine for part in question.parts(span.people).values())

    def push_all(self, knot: Knot) -> None:
        """Every test of an undivided node, the finest of each column."""
        if not knot.people:
            return
        fresh = [question for column in self.schema.features for question in self.finest(knot, column.name)]
        gains = [gain(knot.people, question, self.schema, self.measure) for question in fresh]
        useful = [g for g in gains if g > NOTHING]
        knot.mean = sum(useful) / len(useful) if useful and self.average_gain else 0.0
        for question in fresh:
            self.push(knot, question)

    def finest(self, knot: Knot, name: str) -> list[Question]:
        column = self.schema[name]
        if not column.numeric:
            return [Question(column)]
        return best_cut(thresholds(column, knot.people, self.table), knot.people, self.schema, self.measure)

    def push(self, knot: Knot, question: Question) -> None:
        gained = gain(knot.people, question, self.schema, self.measure)
        if gained <= NOTHING:
            return
        priority = size(knot.people) * worth(knot.people, question, self.schema, self.measure)
        late = gained < knot.mean - NOTHING
        place = self.schema.features.index(question.column)
        self.queue.append(Candidate((late, -priority, place, question.level, knot.age), knot, question))

    def push_coarser(self, refused: Candidate) -> None:
        """The next coarser level; of a numeric column the best threshold that does not breach."""
        knot, column = refused.knot, refused.question.column
        if column.numeric:
            cuts = [cut for cut in thresholds(column, knot.people, self.table) if not self.breaches(knot, cut)]
            for cut in best_cut(cuts, knot.people, self.schema, self.measure):
                self.push(knot, cut)
        elif refused.question.level < depth(column):
            self.push(knot, Question(column, refused.question.level + 1))

    def split(self, knot: Knot, question: Question) -> None:
        parts, column = question.parts(knot.people), question.column
        knot.asked = question
        if column.numeric:
            knot.sons = {side: self.knot(parts.get(side, []), knot, knot.possible) for side in ("low", "high")}
        else:
            for answer, values in self.answers(knot, question).items():
                knot.sons[answer] = self.knot(parts.get(answer, []), knot, knot.possible | {column.name: values})
        mine = [span for span in self.spans if knot in span.knots]
        for span in mine:
            self.spans.remove(span)
            self.spans += self.after(span, knot, question)

    def answers(self, knot: Knot, question: Question) -> dict[Hashable, tuple[str | None, ...]]:
        """Each answer that is possible here, with the values that give it."""
        found: dict[Hashable, tuple[str | None, ...]] = {}
        for value in knot.possible[question.column.name]:
            found[question.answer(value)] = (*found.get(question.answer(value), ()), value)
        return found

    def after(self, span: Span, knot: Knot, question: Question) -> list[Span]:
        """What a span becomes: itself with the sons, or its parts, each without the other values' sons."""
        others = [each for each in span.knots if each is not knot]
        if not question.column.public:
            return [Span(span.people, others + list(knot.sons.values()))]
        parts = question.parts(span.people)
        return [Span(part, [*others, knot.sons[answer]]) for answer, part in parts.items()]

    def finished(self, knot: Knot) -> Node:
        if knot.asked is None:
            return Leaf(knot.label, class_counts(knot.people, self.schema))
        name = knot.asked.column.name
        below = {answer: (son.possible.get(name, ()), self.finished(son)) for answer, son in knot.sons.items()}
        return node_of(knot.asked, below)
