"""Differentially private random trees: builders, the check of their claim, and an attack that tries to refute it.

`builder` draws the `structure` of the trees, counts with the `mechanisms` and scores with `leaf_scores`. `accounting`
computes (epsilon, delta) without any data; the command `leafgate privacy` prints it. `claim_check` verifies that a
release satisfies the conditions of its account (`randomness` tests its counts), and `distinguish` attacks the claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    MechanismBelief,
    Metric,
    Release,
    ReleaseAtMost,
    Score,
    ScoringContext,
    TreeBuilder,
    hookimpl,
    lazy,
)
from leafgate_dp_random_trees.options import (
    Delta,
    DistinguishOptions,
    DpLaplaceTreesOptions,
    DpRandomTreesOptions,
    Neighbours,
    RandomTreesOptions,
)

if TYPE_CHECKING:
    import numpy as np
    import typer

    from leafgate.api import Table
    from leafgate_dp_random_trees import builder, claim_check
    from leafgate_dp_random_trees.distinguish import attack
else:
    builder, claim_check, attack = (
        lazy(f"leafgate_dp_random_trees.{name}") for name in ("builder", "claim_check", "distinguish.attack")
    )


leafgate_api = ">=2,<3"


class RandomTrees(RandomTreesOptions):
    """Random trees with everybody's counts: no sampling, no threshold, no promise. To compare with."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        return builder.random_trees(self, table, rng)


class DpRandomTrees(DpRandomTreesOptions):
    """Random trees from samples that show no small number: differential privacy without noise."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        return builder.dp_random_trees(self, table, rng)


class DpLaplaceTrees(DpLaplaceTreesOptions):
    """Random trees with noise on every number: the usual way to differential privacy, to compare with."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        return builder.dp_laplace_trees(self, table, rng)


class DifferentialPrivacy(ReleaseAtMost):
    """The epsilon that a release's own numbers and their builder's options come to, accounted anew."""

    use: Literal["differential_privacy"] = "differential_privacy"
    delta: Delta = Field(1e-6, description="At which epsilon is accounted.")
    neighbours: Neighbours = Field("add_remove", description="Tables that differ by a person more, or by one changed.")

    stricter_less = frozenset({"delta"})
    of_release = True
    checks = "epsilon"
    plain_failure = "the promise of differential privacy is weaker than what is asked for"
    scale = "nats; infinite where a condition of the account does not hold"
    interpretation = "1 is strong; 10 says little"
    threat_model = DpRandomTrees.threat_model
    formula = "the smallest e with P(release | with you) <= exp(e) P(release | without you) + delta, both ways round"
    source = "Dwork, McSherry, Nissim, Smith, TCC 2006; the accounts: docs/privacy-accounting.md"

    def score(self, case: ScoringContext) -> Score:
        return claim_check.score(case, self.delta, self.neighbours)

    @classmethod
    def from_claim(cls, claim: Any) -> Metric:
        """The claim without what stands in it to be compared: the printed theorem's epsilon."""
        fields = {key: value for key, value in claim.items() if key != "theorem"} if isinstance(claim, dict) else claim
        return super().from_claim(fields)


class Distinguish(DistinguishOptions):
    """Runs the builder on tables of its own, with a person and without, and tries to refute what it promises."""

    def forecast(self, release: Release, known: AdversaryKnowledge) -> str:
        return attack.forecast(self, release, known)

    def infer(self, release: Release, known: AdversaryKnowledge) -> list[MechanismBelief]:
        return [attack.distinguish(self, release, known)]


@hookimpl
def tree_builders() -> list[type[TreeBuilder]]:
    return [DpRandomTrees, DpLaplaceTrees, RandomTrees]


@hookimpl
def attack_models() -> list[type[AttackModel]]:
    return [Distinguish]


@hookimpl
def privacy_metrics() -> list[type[Metric]]:
    return [DifferentialPrivacy]


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_dp_random_trees.command import app

    return [app]
