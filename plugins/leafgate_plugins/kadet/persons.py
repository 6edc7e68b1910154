"""Groups of persons with several rows: tests that part them too far, and subtrees that become leaves after growth.

Numbers of persons do not add up over tests, so each test is judged by the persons on both sides. What holds for a group
holds for a union of groups, but for certainty, which may follow from rows in several groups: it is asked of the grown
tree, and again after each subtree that becomes a leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leafgate.algorithms import person_certainty
from leafgate.algorithms.induction.encoding import EncodedTable
from leafgate.algorithms.induction.growth import GrowingNode
from leafgate.api import Codes, Column, Floats, Ids, Mask, NoReleaseError, Table
from leafgate.kernel.arrays import CompactIds
from leafgate.kernel.findings import lenient
from leafgate.kernel.persons import PersonRows
from leafgate_plugins.kadet.requirements import Exposure, MaxConfidence, Required, Requirement, requirements_by_column
from leafgate_plugins.kadet.spans import Span, merge_spans


@dataclass(frozen=True)
class PersonGroups:
    """What is required of the persons of every group.

    Attributes:
        table: the people.
        persons: whose its rows are.
        coded: the table as trees are grown of it.
        k: the persons that every group must have.
        wanted: what is required besides.
    """

    table: Table
    persons: PersonRows
    coded: EncodedTable
    k: int
    wanted: Sequence[Required]

    @cached_property
    def record(self) -> Ids:
        """The record of each row that spans hold: shape (n_rows,)."""
        records = np.arange(len(self.table))
        return records if len(self.coded.classes) == len(records) else np.repeat(records, self.table.weight)

    @cached_property
    def codes(self) -> Codes:
        """The features of each record: shape (n_records, n_features)."""
        codes = np.zeros((len(self.table), self.coded.codes.shape[1]), dtype=np.int64)
        codes[self.record] = self.coded.codes
        return codes

    @cached_property
    def requirements(self) -> dict[str, list[Requirement]]:
        """What is required, by the column that it is about."""
        return requirements_by_column(self.table.schema, self.k, self.wanted, self._persons_with)

    def forbidden(self, rows: CompactIds) -> Iterator[tuple[Mask, Codes, Codes, Codes]]:
        """The tests of public features that part the persons of a span too far: the fields of `InadmissibleSplits`.

        Args:
            rows: the rows of the span.
        """
        inside = np.zeros(len(self.table), dtype=bool)
        inside[self.record[rows]] = True
        entries = inside[self.persons.record]
        person, record = self.persons.person[entries], self.persons.record[entries]
        fans = np.ones((len(self.coded.level_groups), len(self.coded.features)), dtype=bool)
        stretches: list[tuple[int, int, int]] = []
        for position, feature in enumerate(self.coded.features):
            if not feature.column.public:
                continue
            code = self.codes[record, position]
            if self.coded.numeric[position]:
                stretches += [(position, *each) for each in self._bad_cuts(person, record, code)]
            for level, (has, start, groups) in enumerate(self.coded.level_groups):
                if has[position]:
                    fans[level, position] = self._is_fine_fan(person, record, groups[start[position] + code])
        bad = np.array(stretches, dtype=np.int64).reshape(-1, 3)
        yield fans, bad[:, 0], bad[:, 1], bad[:, 2]

    def _is_fine_fan(self, person: Ids, record: Ids, branch: Ids) -> bool:
        """Do the persons of every branch have what is required?"""
        number, size = np.unique(branch, return_inverse=True)[1].reshape(-1), len(np.unique(branch))
        persons = _different(person, number, size)
        counts = {
            name: _different(person, number * len(column.domain) + self.table.codes(name)[record], size, column)
            for name, column in self._columns.items()
        }
        return bool(self._holds(persons, counts).all())

    def _bad_cuts(self, person: Ids, record: Ids, code: Ids) -> list[tuple[int, int]]:
        """Between which codes that follow each other no cut may be: each with its next one."""
        codes, place = np.unique(code, return_inverse=True)
        sides: list[Mask] = []
        for lower in (True, False):
            persons = _beside_cuts(person, place.reshape(-1), len(codes), lower=lower)
            counts = {
                name: np.stack(
                    [
                        _beside_cuts(person[own], place.reshape(-1)[own], len(codes), lower=lower)
                        for own in (self.table.codes(name)[record] == value for value in range(len(column.domain)))
                    ],
                    axis=1,
                )
                for name, column in self._columns.items()
            }
            sides.append(self._holds(persons, counts))
        bad = np.flatnonzero(~(sides[0] & sides[1]))
        return list(zip(codes[bad].tolist(), codes[bad + 1].tolist(), strict=True))

    @cached_property
    def _columns(self) -> dict[str, Column]:
        return {name: self.table.schema[name] for name in self.requirements}

    def _holds(self, persons: Ids, counts: Mapping[str, Ids]) -> Mask:
        """Which groups have what is required of the numbers of their persons, in all and by their values.

        Args:
            persons: shape (n_groups,).
            counts: by the name of a column, shape (n_groups, n_values); a person with several values counts for each.
        """
        fine, there = persons >= self.k, persons > 0
        for name, required in self.requirements.items():
            people = np.where(there[:, None], counts[name], 1).astype(np.float64)
            for each in required:
                if isinstance(each, MaxConfidence):
                    judged = people if each.judged is None else people[:, each.judged]
                    fine &= judged.max(axis=1) <= lenient(each.at_most) * np.maximum(persons, 1)
                else:
                    fine &= each.holds(people)
        return np.asarray(fine)

    def keep(self, root: GrowingNode, spans: Sequence[Span]) -> None:
        """Put leaves in the place of subtrees, as few people as possible from each group that lacks something.

        Args:
            root: the tree, which is changed.
            spans: the groups of the tree as it was grown.

        Raises:
            NoReleaseError: not even a single leaf has what is required.
        """
        for lacking in (self._lacking_persons, self._certain):
            while True:
                groups = merge_spans(spans)
                bad = np.flatnonzero(lacking(self._group_of(groups), len(groups)))
                if not len(bad):
                    break
                if not root.children:
                    raise NoReleaseError(
                        "no group of persons, not even of all of them, has what `k` and `require` ask for",
                        remedy="lower `k`, or require less",
                    )
                for node in {node for i in bad.tolist() for node in self._deepest_tests(groups[i])}:
                    node.children, node.choice = [], None

    def _persons_with(self, column: Column) -> Floats:
        """Everybody by the values of a column: a person with several values is counted for each."""
        counts = self.table.people_by(self.table.codes(column.name), len(column.domain))
        return counts.astype(np.float64)

    def _group_of(self, groups: Sequence[Span]) -> Ids:
        """The group of each record."""
        group = np.full(len(self.table), -1)
        for number, span in enumerate(groups):
            group[self.record[span.rows]] = number
        return group

    def _lacking_persons(self, group: Ids, size: int) -> Mask:
        """Which groups have too few persons, or a distribution of a secret over persons that is not allowed."""
        counts = {
            name: self.table.people_by(
                np.where(group >= 0, group * len(column.domain) + self.table.codes(name), -1), size * len(column.domain)
            ).reshape(size, -1)
            for name, column in self._columns.items()
        }
        return ~self._holds(self.table.people_by(group, size), counts)

    def _certain(self, group: Ids, size: int) -> Mask:
        """Which groups have rows of a person whose value is certain, or may be for all that is known."""
        bad, persons = np.zeros(size, dtype=bool), self.persons.with_strangers(self.table.weight)
        for name, each in ((name, each) for name, some in self.requirements.items() for each in some):
            if not isinstance(each, Exposure):
                continue
            column, values = self.table.schema[name], self.table.codes(name)
            found = person_certainty.certain_of_persons(
                persons, group, values, len(column.domain), insiders=each.insiders, varies=column.varies
            )
            doubtful = found.certain | found.open
            if each.judged is not None:
                doubtful[:, np.setdiff1d(np.arange(len(column.domain)), each.judged)] = False
            bad[group[persons.record[doubtful[persons.person, values[persons.record]]]]] = True
        return bad

    def _deepest_tests(self, span: Span) -> Iterator[GrowingNode]:
        parents = [leaf.parent for leaf in span.nodes if leaf.parent is not None]
        deepest = max((node.depth for node in parents), default=0)
        yield from (node for node in parents if node.depth == deepest)


def _different(person: Ids, group: Ids, size: int, column: Column | None = None) -> Ids:
    """The different persons of each group; of each group and value of a column where one is given."""
    width = 1 if column is None else len(column.domain)
    pairs = np.unique(group * (int(person.max(initial=0)) + 1) + person)
    counts = np.bincount(pairs // (int(person.max(initial=0)) + 1), minlength=size * width)
    return counts if column is None else counts.reshape(size, width)


def _beside_cuts(person: Ids, place: Ids, size: int, *, lower: bool) -> Ids:
    """The different persons below, or above, each cut between two of some ordered places: shape (size - 1,).

    Somebody is below a cut where the lowest of her places is.
    """
    outermost = np.full(int(person.max(initial=-1)) + 1, size if lower else -1)
    (np.minimum if lower else np.maximum).at(outermost, person, place)
    there = outermost[(outermost >= 0) & (outermost < size)]
    running = np.bincount(there, minlength=size).cumsum()
    return running[:-1] if lower else len(there) - running[:-1]
