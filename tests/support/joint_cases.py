"""Random releases of the same few people, and all tables that agree with them, found by trying every table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate import Release, Table
from leafgate.algorithms.joint_classes import ReleasedTable
from leafgate.algorithms.publication import at_level
from leafgate.algorithms.routing import leaf_numbers
from leafgate.api import Branch, CategoricalSplit, Column, FileDisclosure, Leaf, Node, NumericSplit, Schema, make_table
from leafgate.kernel.knowledge import LeafRoll, SecretChange
from leafgate.kernel.release import Counted, Level, ModelFile, Publish
from oracles import filled, leaf_number, nodes

QI, PRIVATE = frozenset({"quasi_identifier"}), frozenset({"private"})
CLASS = frozenset({"class", "sensitive"})
PUBLIC_CLASS = frozenset({"class", "quasi_identifier"})
LEVELS: tuple[Level, ...] = ("labels", "error_rates", "shares", "counts")
PUBLIC_CELLS = ("p", "q")
PRIVATE_CELLS = ("m", "w")
Tables = NDArray[np.int64]
Forgotten = Mapping[int, tuple[int, ...]]
"""For versions whose tables are gone the people who were erased from their rolls."""


@dataclass(frozen=True)
class Version:
    """One release: its people (positions), their public cells, its trees without numbers, and how it is published.

    `drawn` has for each of its people how often she was drawn, where its numbers count those who were. A report says
    that no class has a larger share of a leaf than `largest_share`.
    """

    people: NDArray[np.int64]
    x: NDArray[np.int64]
    z: NDArray[np.int64]
    shapes: tuple[Node, ...]
    level: Level
    units: int | None
    counted: Counted = "exact"
    drawn: NDArray[np.int64] | None = None
    largest_share: float = 1.0


@dataclass(frozen=True)
class Case:
    """Some people, what is true of them, and the releases that were learned from some of them.

    `label` and `private` have each person's class and private cell; `n_private` is 1 without a private column, and 3
    where it is a number. Everybody's class may be public. Versions are listed from the latest to the oldest; `history`
    has each person's class in each of them, shape (n_versions, n_people), where that may have changed. `known` are
    people of the latest version whose class is known.
    """

    label: NDArray[np.int64]
    private: NDArray[np.int64]
    n_labels: int
    n_private: int
    versions: tuple[Version, ...]
    class_is_public: bool = False
    history: Tables | None = None
    change: SecretChange = field(default_factory=SecretChange)
    known: tuple[int, ...] = ()

    @property
    def schema(self) -> Schema:
        number = Column("g", PRIVATE, bounds=(0.0, 2.0))
        private = {1: (), 2: (Column("g", PRIVATE, values=PRIVATE_CELLS),), 3: (number,)}[self.n_private]
        classes = tuple("abc"[: self.n_labels])
        return Schema(
            (
                Column("x", QI, bounds=(0.0, 3.0)),
                Column("z", QI, values=PUBLIC_CELLS),
                *private,
                Column("y", PUBLIC_CLASS if self.class_is_public else CLASS, values=classes),
            )
        )

    def sources(self) -> list[ReleasedTable]:
        """The releases as an adversary has them, made from the true table."""
        return [self._source(number) for number in range(len(self.versions))]

    def known_people(self) -> Table | None:
        """The people whose class is known; None without any."""
        if not self.known:
            return None
        latest, schema = self.versions[0], self.schema
        at = [latest.people.tolist().index(person) for person in self.known]
        frame = pd.DataFrame(
            {
                "x": latest.x[at].astype(float),
                "z": pd.Categorical([PUBLIC_CELLS[code] for code in latest.z[at]], categories=PUBLIC_CELLS),
                "y": pd.Categorical([schema.classes[self.label[i]] for i in self.known], categories=[*schema.classes]),
            }
        )
        columns = tuple(column for column in schema.columns if column.name != "g")
        return Table(Schema(columns), frame, np.ones(len(frame), dtype=np.int64))

    def label_in(self, number: int) -> NDArray[np.int64]:
        """Each person's class in a version."""
        return self.label if self.history is None else self.history[number]

    def _source(self, number: int) -> ReleasedTable:
        schema, version = self.schema, self.versions[number]
        public = Schema(schema.public)
        frame = pd.DataFrame(
            {
                "x": version.x.astype(float),
                "z": pd.Categorical([PUBLIC_CELLS[code] for code in version.z], categories=PUBLIC_CELLS),
            }
        )
        if self.class_is_public:
            label = [schema.classes[code] for code in self.label_in(number)[version.people]]
            frame["y"] = pd.Categorical(label, categories=list(schema.classes))
        table = make_table(public, frame)
        names = [column.name for column in public.columns]
        _, row = Table(public, frame, np.ones(len(frame), dtype=np.int64)).project(names)
        record = np.full(len(self.label), -1)
        record[version.people] = row
        truth = (self.label_in(number) * self.n_private + self.private)[None]
        trees = tuple(self._published(version, shape, truth) for shape in version.shapes)
        file = None
        if version.units is not None:
            words = f"shares of classes, rounded to steps of {1 / version.units:g}"
            file = ModelFile("test", "", (FileDisclosure("ratios", "medium", words),))
        combine = "one" if len(trees) == 1 else "vote"
        publish = Publish(leaves=version.level)
        options = {"combine": combine, "file": file, "count_semantics": version.counted}
        release = Release({"use": "test"}, schema, trees, publish, **options)  # type: ignore[arg-type]
        return ReleasedTable(
            release=release, public=table, record=record, table=-number, largest_share=version.largest_share
        )

    def _published(self, version: Version, shape: Node, truth: Tables) -> Node:
        counts = self._counts(version, shape, truth, version.drawn)[0]
        return filled(shape, (self._leaf(version, row) for row in counts))

    def _leaf(self, version: Version, row: NDArray[np.int64]) -> Leaf:
        classes = self.schema.classes
        full = Leaf(classes[int(row.argmax())], {name: int(n) for name, n in zip(classes, row, strict=True)})
        leaf = at_level(full, version.level)
        if leaf.shares is not None and version.units is not None:
            units = version.units
            return replace(leaf, shares={name: round(share * units) / units for name, share in leaf.shares.items()})
        return leaf

    def _counts(
        self, version: Version, shape: Node, tables: Tables, drawn: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """People of each leaf and label for each table: shape (n_tables, n_leaves, n_labels)."""
        label, private = np.divmod(tables[:, version.people], self.n_private)
        n_leaves = sum(isinstance(each, Leaf) for each in nodes(shape))
        times = np.ones(len(version.people), dtype=np.int64) if drawn is None else drawn
        counts = np.zeros((len(tables), n_leaves, self.n_labels), dtype=np.int64)
        for i, (x, z) in enumerate(zip(version.x.tolist(), version.z.tolist(), strict=True)):
            reached = np.array(self._reached(shape, x, z))
            np.add.at(counts, (np.arange(len(tables)), reached[private[:, i]], label[:, i]), times[i])
        return counts

    def _reached(self, shape: Node, x: int, z: int) -> list[int]:
        """The leaf that somebody with these public cells reaches with each private cell."""
        private: Sequence[float | str] = PRIVATE_CELLS if self.n_private == 2 else range(self.n_private)
        return [leaf_number(shape, {"x": x, "z": PUBLIC_CELLS[z], "g": cell}) for cell in private]

    def all_states(self) -> Tables:
        """Every state of everybody that agrees with all releases: shape (n_tables, n_people, n_parts).

        A state is what a person knows of herself: her class and private cell, or her classes in all versions.
        """
        if self.history is not None:
            return self._agreeing_histories().transpose(0, 2, 1)
        return np.stack(np.divmod(self.all_tables(), self.n_private), axis=2)

    def all_tables(self, at: int | None = None) -> Tables:
        """Every table that agrees with all releases: shape (n_tables, n_people), label * n_private + private cell.

        Where classes may have changed, they are those of the version `at` for its people, and else the latest ones.
        """
        if self.history is not None:
            return self._all_histories(at)
        n_states = self.n_labels * self.n_private
        every = np.array([*itertools.product(range(n_states), repeat=len(self.label))])
        truth = (self.label * self.n_private + self.private)[None]
        agrees = np.ones(len(every), dtype=bool)
        if self.class_is_public:
            agrees &= (every // self.n_private == self.label).all(axis=1)
        for version in self.versions:
            for shape in version.shapes:
                seen = self._counts(version, shape, truth, version.drawn)[0]
                agrees &= self._agree(version, seen, self._counts(version, shape, every))
        return every[agrees & self._known_fit(every // self.n_private)]

    def rolled_sources(self, forgotten: Forgotten) -> list[ReleasedTable]:
        """The releases, with rolls in place of these versions' tables, from which these people were erased."""
        sources = self.sources()
        for number, people in forgotten.items():
            source = sources[number]
            leaf = np.stack([leaf_numbers(tree, source.public) for tree in source.release.trees]).astype(np.int64)
            record = source.record.copy()
            record[list(people)] = -1
            roll = LeafRoll(leaf, len(people))
            sources[number] = replace(source, public=source.public.without_rows, record=record, roll=roll)
        return sources

    def all_tables_but(self, forgotten: Forgotten) -> Tables:
        """Every table that agrees with all releases, where these people of versions may have been in any leaf."""
        assert self.n_private == 1
        every = np.array([*itertools.product(range(self.n_labels), repeat=len(self.label))])
        agrees = np.ones(len(every), dtype=bool)
        for number, version in enumerate(self.versions):
            erased = forgotten.get(number, ())
            kept = ~np.isin(version.people, list(erased))
            rest = replace(version, people=version.people[kept], x=version.x[kept], z=version.z[kept])
            possible = np.zeros(len(every), dtype=bool)
            for labels in itertools.product(range(self.n_labels), repeat=len(erased)):
                fits = np.ones(len(every), dtype=bool)
                for shape in version.shapes:
                    seen, known = self._counts(version, shape, self.label[None])[0], self._counts(rest, shape, every)
                    some = np.zeros(len(every), dtype=bool)
                    for reached in itertools.product(range(len(seen)), repeat=len(erased)):
                        more = np.zeros_like(seen)
                        np.add.at(more, (list(reached), list(labels)), 1)
                        some |= self._agree(version, seen, known + more)
                    fits &= some
                possible |= fits
            agrees &= possible
        return every[agrees]

    def _known_fit(self, label: Tables) -> NDArray[np.bool_]:
        """Of which tables the people with the cells of known people have the classes that are known of these."""
        fits: NDArray[np.bool_] = np.ones(len(label), dtype=bool)
        latest = self.versions[0]
        cells = dict(zip(latest.people.tolist(), zip(latest.x.tolist(), latest.z.tolist(), strict=True), strict=True))
        for person in self.known:
            alike = [other for other in cells if cells[other] == cells[person]]
            for value in range(self.n_labels):
                least = sum(self.label[other] == value for other in self.known if other in alike)
                fits &= np.asarray((label[:, alike] == value).sum(axis=1) >= least)
        return fits

    def _all_histories(self, at: int | None) -> Tables:
        """Every class of everybody in one version for which classes in the other tables agree with all releases."""
        asked = self.latest
        if at is not None:
            asked = np.where(np.isin(np.arange(len(self.label)), self.versions[at].people), at, asked)
        return np.unique(self._agreeing_histories()[:, asked, np.arange(len(self.label))], axis=0)

    @property
    def latest(self) -> NDArray[np.int64]:
        """For each person the latest version with her; the first one for people who are in none."""
        there = np.array([np.isin(np.arange(len(self.label)), version.people) for version in self.versions])
        return np.where(there.any(axis=0), there.argmax(axis=0), 0)

    def _agreeing_histories(self) -> Tables:
        """All classes of everybody in all versions that agree with all releases: shape (n_tables, n_versions, n)."""
        assert self.n_private == 1
        assert self.history is not None
        n_versions, n = len(self.versions), len(self.label)
        there = [[person in version.people for version in self.versions] for person in range(n)]
        ways = [
            [way for way in itertools.product(range(self.n_labels), repeat=n_versions) if self._may_be(way, there[i])]
            for i in range(n)
        ]
        every = np.array([*itertools.product(*ways)]).transpose(0, 2, 1)  # tables, versions, people
        agrees = np.ones(len(every), dtype=bool)
        for number, version in enumerate(self.versions):
            for shape in version.shapes:
                seen = self._counts(version, shape, self.history[number][None], version.drawn)[0]
                agrees &= self._agree(version, seen, self._counts(version, shape, every[:, number]))
        if self.change.at_most is not None:
            is_in = np.array(there).T[None]
            differ = np.where(is_in, every, 99).min(axis=1) != np.where(is_in, every, -1).max(axis=1)
            agrees &= (differ & is_in.any(axis=1)).sum(axis=1) <= self.change.at_most
        return every[agrees & self._known_fit(every[:, 0])]

    def _may_be(self, way: tuple[int, ...], there: list[bool]) -> bool:
        """May somebody who is in these versions have had these classes? Where she is not, 0 stands for any."""
        if not any(there):
            return not any(way[1:])
        if any(label for label, is_in in zip(way, there, strict=True) if not is_in):
            return False
        times = [label for label, is_in in zip(way, there, strict=True) if is_in][::-1]
        return all(self._follows(older, newer) for older, newer in itertools.pairwise(times))

    def _follows(self, older: int, newer: int) -> bool:
        if self.change.directions is None or older == newer:
            return True
        classes, reached, waiting = self.schema.classes, {older}, [older]
        while waiting:
            now = classes[waiting.pop()]
            more = {classes.index(to) for start, to in self.change.directions if start == now} - reached
            reached |= more
            waiting += more
        return newer in reached

    def _agree(self, version: Version, seen: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which tables' leaves are published as those that were seen, with the label of most of their people."""
        same = np.ones(len(counts), dtype=bool)
        if version.counted != "exact":
            if version.level == "counts" and version.counted == "sampled":
                return np.asarray((counts >= seen).all(axis=(1, 2)))
            has_classes = version.level in {"counts", "shares"}
            return np.asarray(((counts > 0) | (seen == 0)).all(axis=(1, 2))) if has_classes else same
        for leaf, row in enumerate(seen):
            there, size = counts[:, leaf], counts[:, leaf].sum(axis=1)
            people = np.maximum(size, 1)
            same &= (there.max(axis=1) <= version.largest_share * size + 1e-9) | (size == 0)
            label = int(row.argmax())
            if version.units is None:
                same &= (size == 0) | (there.argmax(axis=1) == label)
            else:
                same &= (size == 0) | (there[:, label] == there.max(axis=1))
            if version.level == "counts":
                same &= (there == row).all(axis=1)
            elif version.level != "labels":
                same &= (size > 0) == (row.sum() > 0)
                own = row / max(row.sum(), 1)
                if version.level == "error_rates":
                    same &= np.abs(there[:, label] / people - own[label]) < 1e-9
                elif version.units is None:
                    same &= (np.abs(there / people[:, None] - own) < 1e-9).all(axis=1)
                else:
                    shown = np.array([round(share * version.units) for share in own]) / version.units
                    half = 0.5 / version.units + 1e-12
                    same &= (size == 0) | (np.abs(there / people[:, None] - shown) <= half).all(axis=1)
        return same

    def joint_classes(self, forgotten: Forgotten | None = None) -> list[tuple[object, ...]]:
        """For each person where she is known to be, and which leaves she can reach."""
        erased = forgotten or {}
        keys: list[list[object]] = [[] for _ in self.label]
        for person in {person for version in self.versions for person in version.people.tolist()}:
            keys[person] += [int(self.label[person])] if self.class_is_public else []
        for number, version in enumerate(self.versions):
            at = {person: i for i, person in enumerate(version.people.tolist()) if person not in erased.get(number, ())}
            for person, key in enumerate(keys):
                if person not in at:
                    key.append(None)
                    continue
                x, z = int(version.x[at[person]]), int(version.z[at[person]])
                key.append(tuple(leaf for shape in version.shapes for leaf in self._reached(shape, x, z)))
        return [tuple(key) for key in keys]


def random_case(
    rng: np.random.Generator,
    *,
    most_people: int = 8,
    n_labels: int = 2,
    n_private: int = 1,
    class_is_public: bool = False,
    releases: int = 3,
) -> Case:
    """Some people in up to so many releases; some of them join, leave or have another row in a later one."""
    n = int(rng.integers(1, most_people + 1))
    common = rng.random(n_labels) + 0.2
    label = rng.choice(n_labels, n, p=common / common.sum())
    x, z = rng.integers(0, 4, n), rng.integers(0, 2, n)
    versions, moves = [], rng.random() < 0.5
    for _ in range(int(rng.integers(1, releases + 1))):
        there = np.flatnonzero(rng.random(n) < (0.8 if moves else 1.1))
        there = np.array([0]) if not len(there) else there
        changed = rng.random(n) < (0.2 if moves else 0)
        x = np.where(changed, rng.integers(0, 4, n), x)
        level = LEVELS[int(rng.integers(4))]
        units = int(rng.choice([4, 10, 100])) if level == "shares" and rng.random() < 0.5 else None
        shapes = tuple(_shape(rng, 2, n_private) for _ in range(int(rng.integers(1, 3))))
        versions.append(Version(there, x[there], z[there], shapes, level, units))
    return Case(label, rng.integers(0, n_private, n), n_labels, n_private, tuple(versions), class_is_public)


def _shape(rng: np.random.Generator, depth: int, n_private: int) -> Node:
    if depth == 0 or rng.random() < 0.15:
        return Leaf()
    column = rng.choice(["x", "z", "g"] if n_private > 1 else ["x", "x", "z"])
    parts = [_shape(rng, depth - 1, n_private) for _ in range(2)]
    if column == "x":
        return NumericSplit("x", float(rng.choice([0.5, 1.5, 2.0])), parts[0], parts[1])
    if column == "g" and n_private == 3:
        return NumericSplit("g", float(rng.choice([0.5, 1.5])), parts[0], parts[1])
    values = PUBLIC_CELLS if column == "z" else PRIVATE_CELLS
    return CategoricalSplit(str(column), tuple(Branch((v,), p) for v, p in zip(values, parts, strict=True)))


def random_rolls(case: Case, rng: np.random.Generator, *, most_forgotten: int) -> dict[int, tuple[int, ...]]:
    """Versions of a case whose tables are gone, and up to so many people of each who were erased from the roll."""
    found = {}
    for number, version in enumerate(case.versions):
        if rng.random() < 0.7:
            n = int(rng.integers(0, min(most_forgotten, len(version.people)) + 1))
            found[number] = tuple(rng.permutation(version.people)[:n].tolist())
    return found


def drawn_case(rng: np.random.Generator) -> Case:
    """Some people of whom releases count some who were drawn; shares are not rounded."""
    case = random_case(rng, most_people=7)
    versions = []
    for version in case.versions:
        n = len(version.people)
        counted = COUNTED[int(rng.integers(3))]
        bags = {
            "exact": None,
            "sampled": (rng.random(n) < 0.7).astype(np.int64),
            "bootstrap": np.bincount(rng.integers(0, n, n), minlength=n),
        }
        units = version.units if counted == "exact" else None
        versions.append(replace(version, counted=counted, drawn=bags[counted], units=units))
    return replace(case, versions=tuple(versions))


def reported_case(rng: np.random.Generator) -> Case:
    """Some people of whom a report says how large the largest share of a class in a leaf may be."""
    case = random_case(rng, most_people=8)
    versions, truth = [], (case.label * case.n_private + case.private)[None]
    for version in case.versions:
        counts = [case._counts(version, shape, truth)[0] for shape in version.shapes]
        shares = [(each.max(axis=1) / np.maximum(each.sum(axis=1), 1)).max() for each in counts]
        largest = min(1.0, math.ceil(20 * max(shares) - 1e-9) / 20)
        versions.append(
            replace(version, largest_share=largest, level="labels" if rng.random() < 0.7 else version.level)
        )
    return replace(case, versions=tuple(replace(v, units=v.units if v.level == "shares" else None) for v in versions))


COUNTED: tuple[Counted, ...] = ("exact", "sampled", "bootstrap")


def known_case(rng: np.random.Generator, *, n_private: int = 1) -> Case:
    """Some people, of whom the classes of some are known."""
    case = random_case(rng, most_people=8 if n_private == 1 else 5, n_private=n_private)
    latest = case.versions[0].people
    return replace(case, known=tuple(latest[rng.random(len(latest)) < 0.4].tolist()))


def changing_known_case(rng: np.random.Generator) -> Case:
    """Some people whose class may have changed, of whom the classes of some in the latest version are known."""
    case = changing_case(rng)
    latest = case.versions[0].people
    return replace(case, known=tuple(latest[rng.random(len(latest)) < 0.4].tolist()))


def changing_case(rng: np.random.Generator) -> Case:
    """Some people whose class may have changed between the releases, in the allowed directions, or so many of them."""
    n_labels = int(rng.integers(2, 4))
    most, releases = (5, 3) if n_labels == 2 else (3, 2)
    case = random_case(rng, most_people=most, n_labels=n_labels, releases=releases)
    n, classes = len(case.label), case.schema.classes
    pairs = [(a, b) for a in classes for b in classes if a != b]
    kinds = [
        SecretChange(frozenset(pairs[i] for i in np.flatnonzero(rng.random(len(pairs)) < 0.4))),
        SecretChange(None, int(rng.integers(0, 3))),
        SecretChange(None),
    ]
    change = kinds[int(rng.integers(3))]
    case = replace(case, change=change)
    history = [case.label]
    for _ in case.versions[1:]:
        older = history[-1].copy()
        for person in range(n):
            choices = [label for label in range(n_labels) if case._follows(label, int(history[-1][person]))]
            older[person] = rng.choice(choices) if rng.random() < 0.4 else older[person]
        if change.at_most is not None:
            allowed = rng.permutation(n)[: change.at_most]
            older = np.where(np.isin(np.arange(n), allowed), older, case.label) if len(history) == 1 else history[-1]
        history.append(older)
    history_of = np.array(history)
    return replace(case, history=history_of, label=history_of[case.latest, np.arange(n)])
