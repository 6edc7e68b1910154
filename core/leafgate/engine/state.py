"""Everything that findings are computed from, once the attacks have run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.consistency import Consistency
from leafgate.algorithms.derivable import columns_spoken_of
from leafgate.api.registry import Plugins
from leafgate.engine.attack import AttackResult
from leafgate.engine.knowledge import Adversaries, secret_inputs
from leafgate.errors import InconclusiveError, UnreadableError
from leafgate.kernel.belief import AttributeBelief, Belief, CellBelief, MembershipBelief, PosteriorBelief, TableBelief
from leafgate.kernel.components import Distribution, TreeBuilder
from leafgate.kernel.context import NamedRelease, ScoringContext
from leafgate.kernel.knowledge import AdversaryKnowledge, defensive_copy
from leafgate.kernel.metrics import PersonMetric, ReleaseMetric
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import Release
from leafgate.kernel.table import Table


@dataclass(frozen=True)
class AuditState:
    """Everything that findings are computed from.

    `known` is what the policy's `knows` grants, by which metrics of the release are scored; each of `attack_results`
    has what its attack was granted. `verified_claims` names the claims that this audit has verified. `private_total` is
    the limit that the verified claims of all releases together keep (`verified_total`); empty where there is none.
    `comparisons` is how many limits on beliefs of each kind are judged by samples of people, each for one attack.
    `mapped_classes` are those of the artifact. `other_releases` reads those that the policy names.
    """

    table: Table
    test: Table | None
    release: Release
    known: AdversaryKnowledge
    attack_results: Sequence[AttackResult]
    plugins: Plugins
    consistency: Consistency
    origins: Sequence[int] | None = None
    verified_claims: frozenset[str] = frozenset()
    private_total: str = ""
    builder: TreeBuilder | None = None
    comparisons: Mapping[type[Belief], int] = field(default_factory=dict)
    smallest_cell: int = 10
    mapped_classes: Mapping[str, str] = field(default_factory=dict)
    other_releases: Callable[[], Sequence[NamedRelease]] = tuple

    def case(
        self, result: AttackResult | None, belief: Belief | None, scored: Distribution = "derived"
    ) -> ScoringContext:
        """The context in which a metric scores a belief, or the release: copies, with an empty record of reads.

        Args:
            result: of the attack whose belief it is: its knowledge decides what follows from granted knowledge.
            belief: what is scored; None, with the result None, for the release.
            scored: the distribution that the context's `posterior` holds.
        """
        test = None if self.test is None else self.test.defensive_copy()
        table = self.table
        if belief is not None:
            if isinstance(belief, CellBelief):
                belief, table = align_to_records(belief, self.release, self.origins, table.without_key)
            if isinstance(belief, PosteriorBelief):
                prior = None if belief.prior is None else belief.prior.copy(deep=False)
                belief = replace(belief, posterior=belief.posterior.copy(deep=False), prior=prior)
            if isinstance(belief, TableBelief):
                belief = replace(belief, records=belief.records.copy(deep=False))
        return ScoringContext(
            table.defensive_copy(),
            test,
            self.release,
            defensive_copy(self.known if result is None else result.known),
            belief,
            scored,
            self.origins,
            bool(self.inconsistency),
            self.builder,
            smallest_cell=self.smallest_cell,
            comparisons=1 if belief is None else self.comparisons.get(type(belief), 1),
            _membership=None if result is None else result.membership,
            _other_releases=self.other_releases,
        )

    @property
    def inconsistency(self) -> str:
        """Why the release or the model's file does not count this table's people; empty where it does."""
        contradiction = self.consistency.contradiction
        if self.consistency.release_mismatch or contradiction is None:
            return self.consistency.release_mismatch
        said = (
            "the model was given other rows or cells than the policy reads, or its file is not of this table's people"
        )
        return f"{said}: {contradiction.words} sends there"

    @cached_property
    def columns_spoken_of(self) -> frozenset[str]:
        """The columns that the release discloses something about."""
        return columns_spoken_of(self.release)


def state_of(adversaries: Adversaries, results: Sequence[AttackResult], plugins: Plugins) -> AuditState:
    """What findings are computed from once these adversaries' attacks have run; no claim is verified yet."""
    policy, table, artifact = adversaries.policy, adversaries.table, adversaries.artifact
    return AuditState(
        table,
        adversaries.tables.test,
        artifact.release,
        adversaries.default,
        results,
        plugins,
        Consistency(table, artifact.release, artifact.provenance.node_numbers),
        artifact.origins,
        builder=policy.build if artifact.built else None,
        smallest_cell=policy.report.smallest_cell,
        comparisons=_comparisons(policy, len(secret_inputs(artifact.release, table.schema))),
        mapped_classes=artifact.provenance.mapped_classes,
        other_releases=adversaries.named_releases,
    )


def _comparisons(policy: Policy, secrets: int) -> dict[type[Belief], int]:
    """How many findings the policy's metrics give that are judged by samples of people, by kinds of belief.

    Args:
        policy: with the metrics and the attacks.
        secrets: of how many columns attacks with targets return a belief, at most.

    Returns:
        From 1, for MembershipBelief and AttributeBelief.
    """

    def count(kind: type[Belief], beliefs: int) -> int:
        attacks = [attack.called for attack in policy.attacks if DRAWN[kind] in attack.needs]
        judging = [metric for metric in policy.metrics if kind in metric.judges]
        of = [metric.of if isinstance(metric, PersonMetric | ReleaseMetric) else None for metric in judging]
        return max(1, beliefs * sum(name is None or name == called for name in of for called in attacks))

    return {MembershipBelief: count(MembershipBelief, 1), AttributeBelief: count(AttributeBelief, secrets)}


DRAWN: dict[type[Belief], str] = {MembershipBelief: "candidates", AttributeBelief: "targets"}
"""The kinds of belief that are judged by samples of people, and what attacks that return them declare in `needs`."""


def align_to_records(
    belief: CellBelief, release: Release, origins: Sequence[int] | None, table: Table
) -> tuple[CellBelief, Table]:
    """The part of a belief about hidden cells that is scored, and the people behind its cells.

    `table` is the one that the release was built from.
    """
    scored = _part_about_secrets(belief, origins, table)
    return scored, records_of_cells(scored.record_positions, release, origins, table)


def _part_about_secrets(belief: CellBelief, origins: Sequence[int] | None, table: Table) -> CellBelief:
    """The belief about the cells that are secret: all of a sensitive column, else those that are protected.

    UnreadableError where none of the cells is protected: a cell that is withheld only to protect another cell need not
    stay unknown.
    """
    if origins is None or "sensitive" in table.schema[belief.secret].roles:
        return belief
    marks = table.protected.get(belief.secret)
    if marks is None:
        raise UnreadableError("no cell of this column is protected")
    positions = np.flatnonzero(marks[np.asarray(origins, dtype=np.int64)[belief.record_positions]])
    if not len(positions):
        raise UnreadableError("none of the cells is protected")
    return replace(
        belief,
        record_positions=belief.record_positions[positions],
        posterior=belief.posterior.iloc[positions].reset_index(drop=True),
        prior=None if belief.prior is None else belief.prior.iloc[positions].reset_index(drop=True),
        estimates=None if belief.estimates is None else np.asarray(belief.estimates)[positions],
    )


def records_of_cells(cells: NDArray[Any], release: Release, origins: Sequence[int] | None, table: Table) -> Table:
    """The people whose published records hold the cells: a row for each, in their order, as they are in the table.

    `table` is the one the release was built from; InconclusiveError where it is not known who they are.
    """
    if origins is None or release.records is None:
        raise InconclusiveError(
            "whose the published records are is known only where the release is built",
            remedy="audit the policy that builds it, or name its `origins`",
        )
    rows = np.asarray(origins, dtype=np.int64)[cells]
    weight = np.array(release.records.weight, dtype=np.int64)[cells]
    first = np.unique(rows, return_index=True)[1]
    counted = None if table.rows is None else np.where(np.isin(np.arange(len(rows)), first), table.rows[rows], 0)
    frame = table.frame.iloc[rows].reset_index(drop=True)
    return Table(table.schema, frame, weight, rows=counted, counts_people=table.counts_people)
