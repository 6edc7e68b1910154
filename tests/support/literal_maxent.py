"""The whole maximum entropy problem of a release, written out: every cell a variable, nothing merged or solved away.

Zhu, Du, "Understanding Privacy Risk of Publishing Decision Trees", DBSec 2010; all numbers are in people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leafgate import Release, Table
from leafgate.api import AdversaryKnowledge, Leaf, Node, columns_asked
from literal_candidates import Comparison, Rows, comparisons
from literal_gains import excess
from oracles import leaf_at, path_of, persons

Floats = NDArray[np.float64]
Extra = tuple[Floats, Literal["=", ">="], float]
"""More that is known: coefficients (records x values) of p(x|q), in people, a sense and a number of people."""


@dataclass(frozen=True)
class Linear:
    """coefficients . p = (or >=) people."""

    kind: str
    coefficients: Floats
    sense: Literal["=", ">="]
    people: float


@dataclass(frozen=True)
class Model:
    """Records x values, with everything known of p(x|q); `closed` is each record's mean leaf distribution."""

    weight: Floats
    values: tuple[str, ...]
    linear: tuple[Linear, ...]
    comparisons: tuple[Comparison, ...]
    closed: Floats
    convex: bool

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.weight), len(self.values)


def model_of(release: Release, known: AdversaryKnowledge, internal: bool = True, extra: Sequence[Extra] = ()) -> Model:
    """The problem of an adversary who knows `known`; with `internal`, that each test beat its rivals, too."""
    assert release.count_semantics == "exact"
    assert all(release.schema[name].public for tree in release.trees for name in columns_asked(tree))
    weight = known.weight.astype(np.float64)
    shape = len(weight), len(release.classes)
    people = persons(known.records)
    compared = comparisons(release, people, known.weight.tolist()) if internal else []
    linear = [Linear("row", _cells(shape, (row,), weight), "=", float(weight[row])) for row in range(shape[0])]
    closed = np.zeros(shape)
    for tree in release.trees:
        for leaf, rows in reached(tree, known):
            linear += _told(leaf, rows, weight, release.classes)
            closed[list(rows)] += _closed(leaf, release.classes) / len(release.trees)
    for x, value in enumerate(release.classes if release.target in known.distribution else ()):
        share = known.distribution[release.target][value]
        linear.append(Linear("SA", _cells(shape, range(shape[0]), weight, x), "=", share * float(weight.sum())))
    linear += [Linear("extra", *each) for each in extra]
    pinned = all(_pinned(leaf, shape[1]) for tree in release.trees for leaf, _ in reached(tree, known))
    return Model(weight, release.classes, tuple(linear), tuple(compared), closed, pinned or not compared)


def reached(tree: Node, known: AdversaryKnowledge) -> Iterator[tuple[Leaf, Rows]]:
    """Every leaf that somebody reaches, with the records that do."""
    paths = [path_of(tree, person) for person in persons(known.records)]
    for path in dict.fromkeys(paths):
        leaf = leaf_at(tree, path)
        if leaf is not None:
            yield leaf, tuple(row for row, other in enumerate(paths) if other == path)


def _cells(shape: tuple[int, int], rows: Sequence[int], weight: Floats, value: int | None = None) -> Floats:
    """The people of some records, of one value or of all."""
    found = np.zeros(shape)
    for row in rows:
        found[row, slice(None) if value is None else value] = weight[row]
    return found


def _told(leaf: Leaf, rows: Rows, weight: Floats, classes: Sequence[str]) -> Iterator[Linear]:
    """What a leaf says of its people."""
    shape = len(weight), len(classes)
    size = float(weight[list(rows)].sum())
    of = {name: _cells(shape, rows, weight, x) for x, name in enumerate(classes)}
    if leaf.counts is not None:
        yield from (Linear("counts", of[name], "=", float(leaf.counts.get(name, 0))) for name in classes)
        return
    if leaf.shares is not None:
        yield from (Linear("counts", of[name], "=", size * leaf.shares.get(name, 0)) for name in classes)
        return
    assert leaf.label is not None
    if leaf.error_rate is not None:
        yield Linear("rate", of[leaf.label], "=", (1 - leaf.error_rate) * size)
    yield from (Linear("label", of[leaf.label] - of[name], ">=", 0.0) for name in classes if name != leaf.label)


def _closed(leaf: Leaf, classes: Sequence[str]) -> Floats:
    """The leaf's distribution as far as it is told, the rest uniform."""
    counts = leaf.counts if leaf.counts is not None else leaf.shares
    if counts is not None:
        return np.array([float(counts.get(name, 0)) for name in classes]) / sum(counts.values())
    if leaf.error_rate is None:
        return np.full(len(classes), 1 / len(classes))
    rest = leaf.error_rate / (len(classes) - 1)
    return np.array([1 - leaf.error_rate if name == leaf.label else rest for name in classes])


def _pinned(leaf: Leaf, n_classes: int) -> bool:
    """Are its people per class known?"""
    return leaf.counts is not None or leaf.shares is not None or (leaf.error_rate is not None and n_classes == 2)


def truth_of(table: Table) -> Floats:
    """The true p(x|q), a row for each public record."""
    public, where = table.public
    counts = np.zeros((len(public), len(table.schema.classes)))
    np.add.at(counts, (where, table.codes(table.schema.target.name)), table.weight)
    return counts / public.weight[:, None]


def entropy(model: Model, p: Floats) -> float:
    """How much is left to learn: nats a person."""
    log = np.log(p, where=p > 0, out=np.zeros_like(p))
    return float(-(model.weight[:, None] * p * log).sum() / model.weight.sum())


def violation(model: Model, p: Floats) -> dict[str, float]:
    """By how many people (x nats) each kind of constraint is violated at worst; 0 where none is."""
    worst = {"sign": max(0.0, float((-p * model.weight[:, None]).max()))}
    for each in model.linear:
        slack = float((each.coefficients * p).sum()) - each.people
        worst[each.kind] = max(worst.get(each.kind, 0.0), abs(slack) if each.sense == "=" else -slack)
    for one in model.comparisons:
        worst["internal"] = max(worst.get("internal", 0.0), excess(one, p * model.weight[:, None]))
    return worst
