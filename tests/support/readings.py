"""What the leaves of one tree say of a person's secret, by trying every private value."""

from __future__ import annotations

from collections.abc import Sequence

from leafgate.known import Known
from leafgate.release import Release
from leafgate.schema import Column
from leafgate.tree import Leaf
from oracles import Path, Person, leaf_at, lives, path_of


class Reading:
    """What one public record's leaves say about a secret, by trying every private value."""

    def __init__(self, public: Person, release: Release, known: Known, secret: Column) -> None:
        self.release, self.secret, self.target = release, secret, known.schema.target
        granted = known.distribution.get(secret.name)
        self.prior = [1 / len(secret.domain) if granted is None else granted[str(v)] for v in secret.domain]
        self.own_class = str(public[self.target.name]) if self.target.public else None
        self.in_reach: dict[Path, set[object]] = {}
        for life in lives(public, release.trees, known.schema):
            values = [life[secret.name]] if secret.name in life else secret.domain
            self.in_reach.setdefault(path_of(release.trees[0], life), set()).update(values)
        self.in_reach.pop(None, None)

    @property
    def belief(self) -> Sequence[float]:
        told = [self.row(self.leaf(path), values) for path, values in self.in_reach.items()]
        known = [row for row in told if row is not None]
        if self.secret.name != self.target.name and len(known) < len(told):
            return self.prior
        total = [sum(column) for column in zip(*known, strict=True)]
        return [share / sum(total) for share in total] if sum(total) > 0 else self.prior

    def leaf(self, path: Path) -> Leaf:
        found = leaf_at(self.release.trees[0], path)
        assert found is not None
        return found

    def row(self, leaf: Leaf, values: set[object]) -> list[float] | None:
        """How much a leaf adds to each value; None if it says nothing."""
        if self.secret.name == self.target.name:
            return self.class_row(leaf)
        if leaf.counts is None:
            return None
        people = sum(leaf.counts.values()) if self.own_class is None else leaf.counts[self.own_class]
        share = [p if v in values else 0 for v, p in zip(self.secret.domain, self.prior, strict=True)]
        share = share if sum(share) > 0 else [float(v in values) for v in self.secret.domain]
        return [people * each / sum(share) for each in share]

    def class_row(self, leaf: Leaf) -> list[float] | None:
        classes = self.release.classes
        told = leaf.counts if leaf.counts is not None else leaf.shares
        if told is not None:
            return [float(told[name]) for name in classes]
        if leaf.error_rate is None:
            return None
        wrong = leaf.error_rate / (len(classes) - 1)
        return [1 - leaf.error_rate if name == leaf.label else wrong for name in classes]
