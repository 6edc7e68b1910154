"""What a policy can set for the builders of random trees and for the attack `distinguish`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from leafgate import api
from leafgate.kernel.components import Neighbours

if TYPE_CHECKING:
    import numpy as np

    from leafgate_plugins.dp_random_trees import builder, claim_check, composition
    from leafgate_plugins.dp_random_trees.distinguish import attack
else:
    builder, claim_check, composition, attack = (
        api.lazy(f"leafgate_plugins.dp_random_trees.{name}")
        for name in ("builder", "claim_check", "composition", "distinguish.attack")
    )


Combine = Literal["evidence", "normalised", "sum"]
Structure = Literal["balanced", "random"]
Delta = Annotated[float, Field(ge=0, lt=1)]
Many = Annotated[int, Field(ge=1, le=10_000)]
STRUCTURE = "`balanced`: every pair of columns about equally often; `random`: at every node a column drawn anew."
DEPTH = "Columns on every path; where the structure is random, tests."
COMBINE = "How the leaves' numbers are put together; nothing else is used."


class RandomTrees(api.TreeBuilder):
    """Random trees with exact counts of everybody, without sampling and noise: a baseline that protects nobody."""

    use: Literal["random_trees"] = "random_trees"
    trees: Many = Field(128, description="How many trees.")
    depth: Annotated[int, Field(ge=0, le=50)] = Field(2, description=DEPTH)
    structure: Structure = Field("balanced", description=STRUCTURE)
    combine: Combine = Field("evidence", description=COMBINE)

    randomness = "seed"
    needs_class = True
    threat_model = "None: this builder protects nobody."
    formula = "each tree asks columns drawn from the declared domains; the leaves count everybody"
    source = 'Fan, Wang, Yu, Ma, "Is Random Model Better? On Its Accuracy and Efficiency", ICDM 2003'

    def builds_large(self, schema: api.Schema) -> bool:
        """From every table: no more than the people of each leaf and class are counted."""
        return True

    def build(self, table: api.Table, rng: np.random.Generator) -> api.Release:
        return builder.random_trees(self, table, rng)


class PrivateOptions(api.TreeBuilder):
    """What the private builders share: how trees are drawn and put together, and which promise they make."""

    depth: Annotated[int, Field(ge=0, le=50)] = Field(2, description=DEPTH)
    structure: Structure = Field("balanced", description=STRUCTURE)
    combine: Combine = Field("evidence", description=COMBINE)
    neighbours: Neighbours = Field(
        "add_remove", description="Tables that differ by one person more, or by one person changed."
    )
    rehearsal: bool = Field(
        False, description="Draw from the policy's seed, for trying out; such a release must not be published."
    )

    randomness = "system"
    needs_class = True
    guarantees = frozenset({"epsilon"})
    counts_persons = True

    def refuse_persons(self, table: api.Table) -> None:
        """Raise InconclusiveError where a person may have any number of rows: noise hides a known number of them."""
        builder.most_rows_of_person(table)

    @property
    def mechanism_only(self) -> api.TreeBuilder:
        return self.model_copy(update={"combine": "sum"})

    def builds_large(self, schema: api.Schema) -> bool:
        """From every table: no more than the people of each leaf and class are counted."""
        return True


class DpRandomTrees(PrivateOptions):
    """Random trees on samples, with numbers below a threshold shown as 0: differential privacy without added noise."""

    use: Literal["dp_random_trees"] = "dp_random_trees"
    epsilon: Annotated[api.PositiveFloat | None, api.LESS] = Field(
        None, description="The epsilon to keep at `delta`; it determines the number of trees and the sampling rate."
    )
    trees: Many | None = Field(None, description="How many trees; 128 without `epsilon`.")
    k: Annotated[int, Field(ge=1, le=1_000)] = Field(20, description="Numbers of fewer people are shown as 0.")
    beta: api.OpenProbability | None = Field(
        None, description="The chance of each person to be in a tree's sample; 0.075 without `epsilon`."
    )
    delta: Annotated[api.OpenProbability, api.LESS] = Field(
        1e-6, description="The delta of the wanted and claimed epsilon."
    )

    policy_example = "epsilon: 1.0, delta: 1.0e-6"
    threat_model = "Anyone, whatever they know of everybody else: was this person in the table, and with which class?"
    formula = (
        "each tree: structure from the declared domains, a sample of the people, each with chance beta; a leaf's "
        "number of a class is shown if it is at least k, else as 0. (epsilon, delta) by the privacy-loss distribution"
    )
    source = "Waseda, Nojima, Wang; corrected and made tight: docs/explanation/dp-random-trees.md"

    @model_validator(mode="after")
    def _not_too_rare(self) -> Self:
        if self.beta is not None and self.k / self.beta > 100_000:
            raise ValueError("k / beta is above 100,000: nobody could say what so rare samples promise")
        return self

    def account(self, release: api.Release, delta: float, neighbours: Neighbours) -> float:
        return claim_check.epsilon_of(claim_check.options_of(release), release, delta, neighbours)

    def build(self, table: api.Table, rng: np.random.Generator) -> api.Release:
        return builder.dp_random_trees(self, table, rng)


class DpLaplaceTrees(PrivateOptions):
    """Random trees with discrete Laplace noise on every number: the usual differential privacy, as a baseline."""

    use: Literal["dp_laplace_trees"] = "dp_laplace_trees"
    trees: Many = Field(10, description="How many trees.")
    scale: Annotated[float, api.MORE, Field(ge=1e-3, le=1e6, allow_inf_nan=False)] = Field(
        10.0, description="The scale of the noise: a tree costs at most 1/scale of epsilon."
    )
    delta: Annotated[Delta, api.LESS] = Field(1e-6, description="The delta of the claimed epsilon; 0 is possible.")

    threat_model = DpRandomTrees.threat_model
    formula = "each tree: structure from the declared domains; to every number whole noise z, chance ~ exp(-|z|/scale)"
    source = (
        'Jagannathan, Pillaipakkamnatt, Wright, "A Practical Differentially Private Random Decision Tree Classifier", '
        "Trans. Data Privacy 5(1), 2012"
    )

    def account(self, release: api.Release, delta: float, neighbours: Neighbours) -> float:
        return claim_check.epsilon_of(claim_check.options_of(release), release, delta, neighbours)

    def build(self, table: api.Table, rng: np.random.Generator) -> api.Release:
        return builder.dp_laplace_trees(self, table, rng)


BUILDERS: dict[object, type[DpRandomTrees | DpLaplaceTrees]] = {
    "dp_random_trees": DpRandomTrees,
    "dp_laplace_trees": DpLaplaceTrees,
}
"""The builders with an account of leafgate's own, by the names of policies; their noise is drawn for each number."""


class Distinguish(api.AttackModel):
    """Run the builder on tables with and without one person, and test whether the results refute its claim."""

    use: Literal["distinguish"] = "distinguish"
    method: Literal["many_runs", "one_run"] = Field(
        "many_runs",
        description="Tables with and without one person (`many_runs`), or with and without many at once (`one_run`).",
    )
    runs: Annotated[int, Field(ge=20, le=1_000_000)] | None = Field(
        None, description="Releases with, and as many without; by default 100, or as many as could refute the claim."
    )
    seconds: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)] = Field(
        45.0,
        description="Seconds of work, as forecast and not by the clock: fewer runs are done where they would take "
        "longer.",
    )
    confidence: api.OpenProbability = Field(0.95, description="The confidence of the lower bound on epsilon.")

    reads = frozenset({"sampled", "noisy"})
    parts = frozenset({"trees"})
    needs = frozenset({"mechanism"})
    threat_model = "The worst case that is promised: someone who made up everybody else asks whether you are there."
    formula = "epsilon >= ln((1 - delta - miss) / false alarm), with the errors' Clopper-Pearson bounds"
    source = (
        'Jagielski, Ullman, Oprea, NeurIPS 2020; one run: Steinke, Nasr, Jagielski, "Privacy Auditing with One (1) '
        'Training Run", NeurIPS 2023'
    )

    def forecast(self, release: api.Release, known: api.AdversaryKnowledge) -> str:
        return attack.forecast(self, release, known)

    def infer(self, release: api.Release, known: api.AdversaryKnowledge) -> list[api.MechanismBelief]:
        return [attack.distinguish(self, release, known)]


BESIDE_LIMIT = frozenset({"theorem", "rows_at_most"})
"""What a claim states besides the limit: it is compared with what is expected of the builder and the policy."""


class DifferentialPrivacy(api.ReleaseAtMost):
    """The epsilon of a release, computed again from its own numbers and the options of its builder.

    Where the policy names other `releases` of these people, the epsilons add up (basic composition), and `delta` is
    divided in the proportions of their claims. A release without a claim breaks the limit; a claim that cannot be
    verified makes it inconclusive, unless the others break it.
    """

    use: Literal["differential_privacy"] = "differential_privacy"
    delta: Annotated[Delta, api.LESS] = Field(1e-6, description="The delta at which epsilon is computed.")
    neighbours: Neighbours = Field(
        "add_remove", description="Tables that differ by one person more, or by one person changed."
    )
    over: Literal["releases", "release"] = Field(
        "releases", description="The total of this release and those under `releases`, or this release alone."
    )

    counts_persons = True
    policy_example = "at_most: 1.0"
    public = "number"
    checks = "epsilon"
    plain_failure = "the promise of differential privacy is weaker than what is asked for"
    scale = "nats; infinite where a condition of the account does not hold"
    interpretation = "1 is strong; 10 says little"
    threat_model = DpRandomTrees.threat_model
    formula = "the smallest e with P(release | with you) <= exp(e) P(release | without you) + delta, both ways round"
    source = "Dwork, McSherry, Nissim, Smith, TCC 2006; the accounts: docs/explanation/dp-random-trees.md"

    @property
    def reads_releases(self) -> bool:
        return self.over == "releases"

    def refuse_persons(self, table: api.Table) -> None:
        """Raise InconclusiveError where a person may have any number of rows."""
        builder.most_rows_of_person(table)

    def score(self, case: api.ScoringContext) -> api.Score:
        """The epsilon, which follows from the release: whether its people are the table's decides the verdict alone."""
        case = case.with_own_record()
        if self.reads_releases and case.other_releases:
            return composition.total_score(case, self.delta, self.neighbours)
        return claim_check.score(case, self.delta, self.neighbours)

    @classmethod
    def from_claim(cls, claim: Any) -> api.Metric:
        """The claim of this release alone, without what stands in it to be compared: the printed theorem's epsilon."""
        fields = (
            {key: value for key, value in claim.items() if key not in BESIDE_LIMIT}
            if isinstance(claim, dict)
            else claim
        )
        return super().from_claim(fields).model_copy(update={"over": "release"})
