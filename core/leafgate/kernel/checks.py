"""Audit checks: the base class of checks that no policy asks for, what a check reads, and what it returns."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from leafgate.errors import UnreadableError
from leafgate.kernel.components import Component
from leafgate.kernel.tree import map_leaves

if TYPE_CHECKING:
    from leafgate.kernel.belief import Belief
    from leafgate.kernel.knowledge import AdversaryKnowledge
    from leafgate.kernel.release import Release
    from leafgate.kernel.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class CheckedData:
    """What a check may read besides the release: the tables, what the policy grants, and each attack's beliefs."""

    table: Table
    test: Table | None
    known: AdversaryKnowledge
    beliefs: Mapping[str, Sequence[Belief]]


@dataclass(frozen=True, eq=False, repr=False)
class CheckContext:
    """Everything a check may read. It is a copy: what a check writes into it reaches nobody else.

    A check that declares `of_release` gets the release alone: reading anything else raises UnreadableError.
    """

    release: Release
    _data: CheckedData | None = None

    @staticmethod
    def copy_of(release: Release, data: CheckedData | None) -> CheckContext:
        """A context of copies. The mechanism that attacks may run is shared, because it holds no data.

        Trees are copied leaf by leaf: `deepcopy` alone exceeds Python's recursion limit in trees of 100 levels.
        """
        trees = (*release.trees, *release.alternatives.values())
        copies: dict[int, Any] = {id(tree): map_leaves(tree, copy.deepcopy) for tree in trees}
        mechanism = None if data is None else data.known.mechanism
        return copy.deepcopy(CheckContext(release, data), {**copies, id(mechanism): mechanism})

    @property
    def table(self) -> Table:
        """The people whom the release is about."""
        return self._read("the table").table

    @property
    def test(self) -> Table | None:
        """The test table, None if the policy has none."""
        return self._read("the test table").test

    @property
    def known(self) -> AdversaryKnowledge:
        """What the policy grants the adversary besides the release."""
        return self._read("the adversary's knowledge").known

    @property
    def beliefs(self) -> Mapping[str, Sequence[Belief]]:
        """The beliefs of each attack, by the attack's name in the policy; none of an attack that failed."""
        return self._read("the attacks' beliefs").beliefs

    def _read(self, what: str) -> CheckedData:
        if self._data is None:
            raise UnreadableError(f"the check declares `of_release`, and reads {what}")
        return self._data


@dataclass(frozen=True, kw_only=True)
class CheckFinding:
    """A reason against publishing, or a question that a check could not decide.

    Attributes:
        problem: why, in a sentence.
        fails: does the release fail because of it? Otherwise the audit is inconclusive because of it.
        column: the column of the schema that it is about; None where it is about the whole release. A check returns at
            most one finding for each column and one for the whole release.
        evidence: JSON beside the problem; AuditorOnly wraps what is about single people, PeopleCount counts of people.
    """

    problem: str
    fails: bool
    column: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


class AuditCheck(Component):
    """Adds failed or inconclusive findings to every audit, whatever the policy asks for.

    It can neither pass, change nor remove a finding. It has no required options, because no policy names it.
    `plain_failure` is a clause that says what its finding means to readers who know no metrics ("the release names a
    column that the organisation forbids"). `of_release` declares that its findings follow from the release alone: it
    then reads nothing else, and the public reads the problem and the evidence. The public reads of any other check
    only its name, the column, `plain_failure`, and that the release failed or that the check is inconclusive.
    """

    plain_failure: ClassVar[str] = ""
    of_release: ClassVar[bool] = False

    @abstractmethod
    def run(self, context: CheckContext) -> Iterable[CheckFinding]:
        """The findings of this check on a release; none where there is nothing against it."""
        raise NotImplementedError(type(self).__name__)
