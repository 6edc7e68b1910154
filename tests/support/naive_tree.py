"""Trees grown by plain recursion, with no regard to who is alone in a leaf."""

from __future__ import annotations

from collections.abc import Hashable

from leafgate import Table
from leafgate.api import Leaf, Node
from oracles import People, people_of
from questions import (
    NOTHING,
    Measure,
    Question,
    best_cut,
    class_counts,
    gain,
    node_of,
    size,
    thresholds,
    worth,
)


class Naive:
    """A tree grown by plain recursion: at every node the best question, until none gains."""

    def __init__(self, table: Table, measure: Measure, *, average_gain: bool, min_leaf: int) -> None:
        self.table, self.schema, self.measure = table, table.schema, measure
        self.average_gain, self.min_leaf = average_gain, min_leaf
        domains = {column.name: column.domain for column in self.schema.features if not column.numeric}
        self.tree = self.below(people_of(table), None, domains)

    def below(self, people: People, label: str | None, domains: dict[str, tuple[str | None, ...]]) -> Node:
        counts = class_counts(people, self.schema)
        label = max(counts, key=lambda name: counts[name]) if people else label
        question = self.best(people) if people else None
        if question is None:
            return Leaf(label, counts)
        parts, name = question.parts(people), question.column.name
        found: dict[Hashable, tuple[tuple[str | None, ...], Node]] = {}
        for answer, values in answers(question, domains).items():
            left = domains if question.at is not None else domains | {name: values}
            found[answer] = values, self.below(parts.get(answer, []), label, left)
        return node_of(question, found)

    def best(self, people: People) -> Question | None:
        questions = [q for column in self.schema.features for q in self.finest(people, column.name)]
        gains = [gain(people, question, self.schema, self.measure) for question in questions]
        useful = [(q, g) for q, g in zip(questions, gains, strict=True) if g > NOTHING]
        values = [g for question, g in useful if question.level == 0]
        mean = sum(values) / len(values) if values and self.average_gain else 0.0
        chosen = [question for question, g in useful if g >= mean - NOTHING] or [question for question, _ in useful]
        return max(chosen, key=lambda q: worth(people, q, self.schema, self.measure), default=None)

    def finest(self, people: People, name: str) -> list[Question]:
        """The column on its finest level, or its best cut, that leaves enough people in two sons."""
        column = self.schema[name]
        if column.numeric:
            cuts = [cut for cut in thresholds(column, people, self.table) if self.enough(people, cut)]
            return best_cut(cuts, people, self.schema, self.measure)
        return [question for question in [Question(column)] if self.enough(people, question)]

    def enough(self, people: People, question: Question) -> bool:
        return sum(size(part) >= self.min_leaf for part in question.parts(people).values()) >= 2


def answers(question: Question, domains: dict[str, tuple[str | None, ...]]) -> dict[Hashable, tuple[str | None, ...]]:
    """Every answer that is possible here, with the values that give it."""
    if question.at is not None:
        return {"low": (), "high": ()}
    found: dict[Hashable, tuple[str | None, ...]] = {}
    for value in domains[question.column.name]:
        found[question.answer(value)] = (*found.get(question.answer(value), ()), value)
    return found
