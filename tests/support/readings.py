"""What the leaves of one tree say of a person's secret, by trying every private value."""

from __future__ import annotations

from collections.abc import Sequence

from leafgate import Release
from leafgate.api import AdversaryKnowledge, Column, Leaf
from oracles import Path, Person, leaf_at, lives, path_of


class Reading:
    """What one public record's leaves say about a secret, by trying every private value."""

    def __init__(self, public: Person, release: Release, known: AdversaryKnowledge, secret: Column) -> None:
        self.release, self.secret, self.target = release, secret, known.schema.target
        self.accuracies = known.label_accuracies or {}
        granted = known.distribution.get(secret.name)
        self.prior = [1 / len(secret.domain) if granted is None else granted[str(v)] for v in secret.domain]
        self.own_class = str(public[self.target.name]) if self.target.public else None
        self.in_reach: dict[Path, set[object]] = {}
        for life in lives(public, release.trees, known.schema):
            values = [life[secret.name]] if secret.name in life else secret.domain
            self.in_reach.setdefault(path_of(release.trees[0], life), set()).update(values)
        self.nowhere = self.in_reach.pop(None, set())

    @property
    def belief(self) -> Sequence[float]:
        found = {path: self.leaf(path) for path in self.in_reach}
        total: list[float] = []
        if self.secret.name == self.target.name:
            rows = [row for leaf in found.values() if (row := self.class_row(leaf)) is not None]
            total = [sum(column) for column in zip(*rows, strict=True)]
        elif found and all(leaf.counts is not None for leaf in found.values()):
            rows = [self.by_size(leaf, self.in_reach[path]) for path, leaf in found.items()]
            total = [sum(column) for column in zip(*rows, strict=True)]
        if self.secret.name != self.target.name and not (found and sum(total) > 0):
            total = [p * self.likelihood(value) for value, p in zip(self.secret.domain, self.prior, strict=True)]
        return [share / sum(total) for share in total] if sum(total) > 0 else self.prior

    def leaf(self, path: Path) -> Leaf:
        found = leaf_at(self.release.trees[0], path)
        assert found is not None
        return found

    def by_size(self, leaf: Leaf, values: set[object]) -> list[float]:
        """How much a leaf with counts adds to each value."""
        assert leaf.counts is not None
        people = sum(leaf.counts.values()) if self.own_class is None else leaf.counts[self.own_class]
        share = [p if v in values else 0 for v, p in zip(self.secret.domain, self.prior, strict=True)]
        share = share if sum(share) > 0 else [float(v in values) for v in self.secret.domain]
        return [people * each / sum(share) for each in share]

    def likelihood(self, value: object) -> float:
        """The mean share of the own class in leaves not known to be empty, and 1 where no leaf takes the value."""
        reached = [self.leaf(path) for path, values in self.in_reach.items() if value in values]
        rows = [self.class_row(leaf) for leaf in reached if not self.empty(leaf)]
        place = None if self.own_class is None else self.release.classes.index(self.own_class)
        items = [1.0 if row is None or place is None else row[place] / sum(row) for row in rows]
        items += [1.0] if value in self.nowhere else []
        return sum(items) / len(items) if items else 0.0

    def empty(self, leaf: Leaf) -> bool:
        """Is it bare among leaves with shares or error rates?"""
        return (
            self.release.publish.leaves != "labels"
            and not any((leaf.counts or {}).values())
            and (leaf.shares is None and leaf.error_rate is None)
        )

    def class_row(self, leaf: Leaf) -> list[float] | None:
        classes = self.release.classes
        counts = leaf.counts if leaf.counts is not None else leaf.shares
        if counts is not None:
            return [float(counts[name]) for name in classes]
        if leaf.error_rate is not None:
            wrong = leaf.error_rate / (len(classes) - 1)
            return [1 - leaf.error_rate if name == leaf.label else wrong for name in classes]
        if self.empty(leaf) or leaf.label not in self.accuracies:
            return None
        right = self.accuracies[str(leaf.label)]
        prior = self.prior if self.secret.name == self.target.name else [1 / len(classes)] * len(classes)
        rest = sum(p for p, name in zip(prior, classes, strict=True) if name != leaf.label)
        others = [(1 - right) * p / rest if rest else (1 - right) / (len(classes) - 1) for p in prior]
        return [right if name == leaf.label else p for name, p in zip(classes, others, strict=True)]
