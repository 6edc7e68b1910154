"""The maximum-entropy attack and the counting attack on published trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    GroupBelief,
    PositiveFloat,
    Release,
    SecretBelief,
    lazy,
)

if TYPE_CHECKING:
    from leafgate.api import Policy
    from leafgate_plugins.maxent import attack
    from leafgate_plugins.maxent.problem import problem as problems
else:
    attack, problems = lazy("leafgate_plugins.maxent.attack"), lazy("leafgate_plugins.maxent.problem.problem")


SOURCE = (
    'Z. Zhu, W. Du, "Understanding Privacy Risk of Publishing Decision Trees", DBSec 2010, LNCS 6166, 33-48, '
    "doi:10.1007/978-3-642-13739-6_3; departures: docs/explanation/maxent.md"
)
THREAT = (
    "The adversary has the release, the public columns of everyone in the table, and knows how the tree was "
    "grown: that a node asks one column and not another says something of the people there."
)


class _TreeConstraintsAttack(AttackModel):
    """What both attacks read: published trees, as constraints on the people who can be in each leaf."""

    internal: bool = Field(True, description="Use that the best test was chosen at every node, where that is public.")

    models = frozenset({"trees"})
    parts = frozenset({"trees"})
    needs = frozenset({"distribution", "people", "facts", "label_accuracies", "population"})
    source = SOURCE


class MaxEnt(_TreeConstraintsAttack):
    """Compute the posterior of maximum entropy that agrees with the leaves and with the choice of every test."""

    use: Literal["maxent"] = "maxent"
    members: Literal["all", "subset"] = Field(
        "all", description="`all`: the adversary knows who was in the training data; `subset`: only the population."
    )
    solver: Literal["auto", "structured", "gekko"] = Field(
        "auto", description="The engine; `auto`: structured, checked by GEKKO on a small part."
    )
    starts: Annotated[int, Field(ge=1, le=1000)] = Field(
        4, description="How many starts, where the problem has many optima."
    )
    time_limit: PositiveFloat = Field(600.0, description="Seconds; then the audit is inconclusive.")

    threat_model = THREAT
    formula = (
        "max -sum_q P(q) sum_x p(x|q) ln p(x|q) subject to what every leaf tells and to E(N, asked) <= E(N, other) "
        "for every other test that competed at a node N"
    )

    def missing_requirements(self, policy: Policy) -> str:
        stranded = self.members != "all" and policy.data.population is None
        return "`members: subset` needs `data.population`, of whom the adversary takes the people" if stranded else ""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[GroupBelief | SecretBelief]:
        settings = problems.SolveSettings(self.solver, self.starts, self.time_limit, known.seed)
        return attack.infer(release, known, settings, internal=self.internal, members=self.members == "all")


class Counting(_TreeConstraintsAttack):
    """Average over all data sets that agree with the release, in each of which every person has one value."""

    use: Literal["counting"] = "counting"
    most_states: Annotated[int, Field(ge=0)] = Field(
        200_000, description="Parts with more combinations than this are sampled, not listed."
    )
    time_limit: PositiveFloat = Field(600.0, description="Seconds; then the audit is inconclusive.")

    reads = frozenset({"exact"})
    threat_model = THREAT + " It takes every data set that agrees with all of this for equally likely."
    formula = "P(x | q) = the mean share of x among the people of q over all data sets that agree with everything told"

    def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[GroupBelief | SecretBelief]:
        return attack.infer_counting(
            release, known, internal=self.internal, most_states=self.most_states, time_limit=self.time_limit
        )
