"""What someone who knows nobody believes, and how much the truth would surprise them."""

from __future__ import annotations

from typing import Literal

from leafgate.api import (
    AdversaryKnowledge,
    AtLeast,
    AttackModel,
    Belief,
    Example,
    InconclusiveError,
    Metric,
    Release,
    Score,
    ScoringContext,
    SecretBelief,
    hookimpl,
    leaves,
)

leafgate_api = ">=3,<4"


class Majority(AttackModel):
    """Believe of everyone what the leaves say of all people together."""

    use: Literal["majority"] = "majority"

    reads = frozenset({"exact"})
    threat_model = "The adversary has the release and knows nobody: everyone is in one group."
    formula = "P(class = v) = people of class v in all leaves / people in all leaves"
    source = "the shares at the root of the tree"

    def infer(self, release: Release, known: AdversaryKnowledge) -> list[Belief]:
        import numpy as np
        import pandas as pd

        counts_of_leaves = [leaf.counts or {} for tree in release.trees for leaf in leaves(tree)]
        counts = pd.DataFrame(counts_of_leaves, columns=list(release.classes)).sum()
        if not counts.sum():
            raise InconclusiveError("no counts are published")
        posterior = pd.DataFrame([counts / counts.sum()] * len(known.records))
        return [SecretBelief(release.target, posterior, equivalence_class=np.zeros(len(posterior), dtype=int))]


class Surprise(AtLeast):
    """How unlikely the adversary thought the truth."""

    use: Literal["surprise"] = "surprise"

    threat_model = "Whatever the attack it judges assumes."
    formula = "1 - P(secret = truth | x)"
    source = "elementary"
    examples = (Example({"flu": 4}, {"flu": 5, "cold": 5}, 0.25, believed={"flu": 0.75, "cold": 0.25}),)

    def score(self, case: ScoringContext) -> Score:
        import pandas as pd

        rows = zip(case.posterior.to_dict("records"), case.truth, strict=True)
        return Score(people=pd.Series([1 - posterior[truth] for posterior, truth in rows]))


@hookimpl
def attack_models() -> list[type[AttackModel]]:
    return [Majority]


@hookimpl
def privacy_metrics() -> list[type[Metric]]:
    return [Surprise]
