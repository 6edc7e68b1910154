"""Groups of persons with several rows: subtrees become leaves until every group keeps what is required of persons.

Growth counts rows, because numbers of persons do not add up over tests. What holds for a group holds for a union of
groups, but for certainty, which may follow from rows in several groups: it is asked again after each change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from leafgate.algorithms import person_certainty
from leafgate.algorithms.induction.growth import GrowingNode
from leafgate.api import Column, Ids, Mask, NoReleaseError, Table
from leafgate_plugins.kadet.requirements import Exposure, MaxConfidence, Required, Requirement, requirements_by_column
from leafgate_plugins.kadet.spans import Span, merge_spans


@dataclass(frozen=True)
class PersonGroups:
    """What is required of the persons of every group.

    Attributes:
        table: the people.
        record: shape (n_rows,), the record of each row that spans hold.
        k: the persons that every group must have.
        wanted: what is required besides.
    """

    table: Table
    record: Ids
    k: int
    wanted: Sequence[Required]

    def keep(self, root: GrowingNode, spans: Sequence[Span]) -> None:
        """Put leaves in the place of subtrees, as few people as possible from each group that lacks something.

        Args:
            root: the tree, which is changed.
            spans: the groups of the tree as it was grown.

        Raises:
            NoReleaseError: not even a single leaf has what is required.
        """
        requirements = requirements_by_column(self.table.schema, self.k, self.wanted, self._persons_with)
        for lacking in (self._lacking_persons, self._certain):
            while True:
                groups = merge_spans(spans)
                bad = np.flatnonzero(lacking(self._group_of(groups), len(groups), requirements))
                if not len(bad):
                    break
                if not root.children:
                    raise NoReleaseError(
                        "no group of persons, not even of all of them, has what `k` and `require` ask for",
                        remedy="lower `k`, or require less",
                    )
                self._become_leaves([groups[i] for i in bad.tolist()])

    def _persons_with(self, column: Column) -> np.ndarray:
        """Everybody by the values of a column: a person with several values is counted for each."""
        counts = self.table.people_by(self.table.codes(column.name), len(column.domain))
        return counts.astype(np.float64)

    def _group_of(self, groups: Sequence[Span]) -> Ids:
        """The group of each record."""
        group = np.full(len(self.table), -1)
        for number, span in enumerate(groups):
            group[self.record[span.rows]] = number
        return group

    def _lacking_persons(self, group: Ids, size: int, requirements: dict[str, list[Requirement]]) -> Mask:
        """Which groups have too few persons, or a distribution of a secret over persons that is not allowed."""
        persons = self.table.people_by(group, size)
        bad = persons < self.k
        for name, required in requirements.items():
            column = self.table.schema[name]
            cell = np.where(group >= 0, group * len(column.domain) + self.table.codes(name), -1)
            counts = self.table.people_by(cell, size * len(column.domain)).reshape(size, -1).astype(np.float64)
            there = persons > 0
            for each in required:
                if isinstance(each, MaxConfidence):
                    judged = counts if each.judged is None else counts[:, each.judged]
                    bad |= there & (judged.max(axis=1) > each.at_most * persons)
                elif not isinstance(each, Exposure):
                    bad |= there & ~each.holds(np.where(there[:, None], counts, 1.0))
        return np.asarray(bad)

    def _certain(self, group: Ids, size: int, requirements: dict[str, list[Requirement]]) -> Mask:
        """Which groups have rows of a person whose value is certain, or may be for all that is known."""
        bad = np.zeros(size, dtype=bool)
        persons = self.table.person_rows
        if persons is None:
            return bad
        for name, each in ((name, each) for name, some in requirements.items() for each in some):
            if not isinstance(each, Exposure):
                continue
            column, values = self.table.schema[name], self.table.codes(name)
            rows = person_certainty.PersonRows(
                person=persons.person,
                leaf=group[persons.record][None, :],
                value=values[persons.record],
                rows=persons.rows,
                n_persons=persons.size,
                n_values=len(column.domain),
            )
            for certain_of in self._readings(column):
                found = certain_of(rows, rows.composition, insiders=each.insiders)
                doubtful = found.certain | found.open
                if each.judged is not None:
                    doubtful[:, np.setdiff1d(np.arange(len(column.domain)), each.judged)] = False
                bad[group[persons.record[doubtful[persons.person, values[persons.record]]]]] = True
        return bad

    def _readings(self, column: Column) -> Iterator[Callable[..., person_certainty.PersonCertainty]]:
        """How the secret may be read: as one that varies, and as a fixed one unless the policy says that it varies."""
        yield person_certainty.certain_of_varying
        if not column.varies:
            yield person_certainty.certain_of_fixed

    def _become_leaves(self, groups: Sequence[Span]) -> None:
        """Put a leaf in the place of the deepest test above the leaves of each group."""
        above = {node for span in groups for node in self._deepest_tests(span)}
        for node in above:
            node.children, node.choice = [], None

    def _deepest_tests(self, span: Span) -> Iterator[GrowingNode]:
        parents = [leaf.parent for leaf in span.nodes if leaf.parent is not None]
        deepest = max((node.depth for node in parents), default=0)
        yield from (node for node in parents if node.depth == deepest)
