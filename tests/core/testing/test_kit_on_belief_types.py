"""The conformance kit on attacks that return beliefs of each type about people, and on metrics that judge them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from broken_plugins.attacks import ByLeaves
from broken_plugins.metrics import ShownEpsilon
from leafgate.api import (
    AdversaryKnowledge,
    AtLeast,
    AttackModel,
    GroupBelief,
    MembershipBelief,
    Metric,
    Release,
    ReleaseAtMost,
    Score,
    ScoringContext,
    SecretBelief,
    TableBelief,
)
from leafgate.testing import DoesNotApply, NonConformance, conformance
from leafgate.testing.scenarios.contexts import SHOWN_CASES
from leafgate.testing.subjects import MetricSubject
from leafgate_plugins.reconstruction.leaf_records import TableReconstruction
from leafgate_plugins.reconstruction.table_metric import ReconstructedCells


class GroupsAlone(ByLeaves):
    """Groups people by the leaf they reach, and believes nothing of a secret."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[Any]:
        return [GroupBelief(self.read(release, known)[0])]


class OneGroupAlone(ByLeaves):
    """Takes all for alike."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[Any]:
        return [GroupBelief(0 * self.read(release, known)[0])]


class WithoutClasses(ByLeaves):
    """Believes what the leaf says, and divides nobody."""

    def believed(self, known: AdversaryKnowledge, groups: np.ndarray, chances: np.ndarray) -> SecretBelief:
        belief = super().believed(known, groups, chances)
        return SecretBelief(belief.secret, belief.posterior)


class NoBelief(ByLeaves):
    """Returns what no metric could judge."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[Any]:
        return [self.read(release, known)[0]]


def run(attack: AttackModel, name: str) -> None:
    next(check for check in conformance(attack) if check.name == name)()


@pytest.mark.parametrize("name", ["believes", "any_row_order", "knows_nothing_from_nothing"])
def test_an_attack_without_classes_conforms(name: str) -> None:
    run(WithoutClasses(), name)


def test_an_attack_without_classes_is_asked_whether_it_believes_the_truth() -> None:
    run(WithoutClasses(), "catches_a_leak")


def test_groups_alone_must_isolate_those_whom_a_release_isolates() -> None:
    run(GroupsAlone(), "believes")
    run(GroupsAlone(), "any_row_order")
    with pytest.raises(DoesNotApply):
        run(GroupsAlone(), "catches_a_leak")
    with pytest.raises(NonConformance, match="groups them with others"):
        run(OneGroupAlone(), "catches_a_leak")


def test_what_is_no_belief_is_refused_with_the_types_that_there_are() -> None:
    with pytest.raises(NonConformance, match="where a GroupBelief, SecretBelief, CellBelief"):
        run(NoBelief(), "believes")


class WithoutRelease(TableReconstruction):
    """Has the commonest class of everybody, whatever the release says."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> list[TableBelief]:
        (belief,) = super().infer(release, known)
        target = known.schema.target.name
        return [TableBelief(belief.records[[target]].assign(**{target: str(belief.records[target].mode()[0])}))]


class CopiesPublic(TableReconstruction):
    """Adds a public column as it is known of people."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> list[TableBelief]:
        (belief,) = super().infer(release, known)
        ages = np.repeat(known.records["age"].to_numpy(), known.weight)
        return [TableBelief(belief.records.assign(age=ages[: len(belief.records)]))]


class ByPosition(TableReconstruction):
    """Gives the class that the policy names first to one person more."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> list[TableBelief]:
        (belief,) = super().infer(release, known)
        records = belief.records.copy()
        records.loc[records.index[-1], known.schema.target.name] = known.schema.target.domain[0]
        return [TableBelief(records)]


@pytest.mark.parametrize(
    ("attack", "name", "reason"),
    [
        (WithoutRelease(), "catches_a_leak", "discloses all records"),
        (CopiesPublic(), "knows_nothing_from_nothing", "other public cells"),
        (ByPosition(), "any_label_order", "reconstructs other records"),
    ],
    ids=["catches_a_leak", "knows_nothing_from_nothing", "any_label_order"],
)
def test_an_attack_that_reconstructs_records_must_keep_to_what_others_keep_to(
    attack: AttackModel, name: str, reason: str
) -> None:
    run(TableReconstruction(), name)
    with pytest.raises(NonConformance, match=reason):
        run(attack, name)


class CellsWrong(ReconstructedCells):
    """Takes a good reconstruction for a bad one."""

    def score(self, case: ScoringContext) -> Score:
        return Score(1 - (super().score(case).value or 0.0))


def test_a_metric_of_reconstructed_records_must_see_that_they_are_right() -> None:
    with pytest.raises(NonConformance, match="no worse"):
        next(check for check in conformance(CellsWrong(at_most=0.1)) if check.name == "sees_a_leak")()


class GroupSizes(AtLeast):
    """People in each group."""

    use: str = "group_sizes"

    judges = frozenset({GroupBelief, SecretBelief})

    def score(self, case: ScoringContext) -> Score:
        return Score(people=case.sizes)


class Best(AtLeast):
    """The largest chance."""

    use: str = "best"

    def score(self, case: ScoringContext) -> Score:
        return Score(people=case.posterior.max(axis=1))


class Guessed(ReleaseAtMost):
    """The area under the curve of an attack's scores of candidates."""

    use: str = "guessed"

    judges = frozenset({MembershipBelief})
    threat_model = "Whatever the attack it judges assumes."

    def score(self, case: ScoringContext) -> Score:
        inside, scores = case.membership.in_table, case.require_belief(MembershipBelief).scores
        above = np.sign(scores[inside][:, None] - scores[~inside][None, :])
        return Score(float((above.mean() + 1) / 2))


class GuessedReversed(Guessed):
    """Takes a good guess for a bad one."""

    def score(self, case: ScoringContext) -> Score:
        return Score(1 - (super().score(case).value or 0.0))


METRIC_CHECKS = ["scores", "sees_a_leak", "any_row_order", "leaves_inputs_alone", "repeats"]


@pytest.mark.parametrize("name", METRIC_CHECKS)
def test_a_metric_of_candidates_conforms(name: str) -> None:
    next(check for check in conformance(Guessed(at_most=1)) if check.name == name)()


def test_a_metric_of_candidates_must_see_who_is_guessed() -> None:
    with pytest.raises(NonConformance, match="no worse"):
        next(check for check in conformance(GuessedReversed(at_most=1)) if check.name == "sees_a_leak")()


@pytest.mark.parametrize(
    "metric",
    [
        Guessed(at_most=1),
        GroupSizes(at_least=0),
        Best(at_least=0),
        ShownEpsilon(at_most=1),
        ReconstructedCells(at_most=0.1),
    ],
    ids=lambda metric: metric.use,
)
def test_a_metric_is_run_on_the_types_it_judges_alone(metric: Metric) -> None:
    judged = {kind.belief for kind in SHOWN_CASES if kind.name in dict(MetricSubject(metric).instances())}
    assert judged == cast(Any, metric.judges)
