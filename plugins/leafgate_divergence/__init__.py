"""How near an attack comes to the truth: the divergence of what it believes, and what its reasoning gained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from leafgate import AtLeast, AtMost, Example, Metric, ScoringContext, hookimpl
from leafgate.api.components import ONLY_DERIVED

if TYPE_CHECKING:
    import pandas as pd

BELIEF = "Whatever the attack it judges assumes; P* is what it believes."
SOURCE = (
    'Z. Zhu, W. Du, "Understanding Privacy Risk of Publishing Decision Trees", DBSec 2010, LNCS 6166, section 5, '
    "doi:10.1007/978-3-642-13739-6_3"
)
Floor = Annotated[float, Field(gt=0, le=1e-3, allow_inf_nan=False)]
HALVES = {"<=50K": 0.5, ">50K": 0.5}
SIX = {"<=50K": 3, ">50K": 3}


class Divergence(AtLeast):
    """How far what is believed of each public record is from the truth; small: much is disclosed.

    A public record is everybody with the same quasi-identifiers. Its score is the paper's D_individual;
    with `average: true` the mean over people is judged, D_overall. Where something true is believed
    impossible the divergence would be infinite, so no chance counts as less than `floor`. Auditors are
    told how often that mattered (`floored`: pairs of a public record and a value) and, of an attack
    that tells its baseline, at which records its reasoning lowered the divergence most (`top`).
    """

    use: Literal["divergence"] = "divergence"
    floor: Floor = Field(1e-9, description="The least chance a value counts as having been given, up to 0.001.")
    top: Annotated[int, Field(ge=1)] = Field(10, description="How many records auditors are told of.")

    private = True
    scorable = ONLY_DERIVED
    threat_model = BELIEF
    formula = (
        "D(q) = sum over values x of P(x|q) ln(P(x|q) / max(P*(x|q), floor)), in nats; P(x|q) is the share of x among "
        "all people with the quasi-identifiers q, P* what is believed of them"
    )
    plain_failure = "what is believed of people comes too near the truth"
    scale = "from 0 to -ln(floor), which is 20.7 unless `floor` says otherwise"
    interpretation = "0: what is believed of a public record is what is true of it; more: further from the truth"
    source = f"{SOURCE} (D_individual, D_overall; KL1 and KL2 of Figure 7)"
    examples = (
        Example({"<=50K": 1}, SIX, 0.6931471805599453, believed=HALVES),
        Example({"<=50K": 2}, SIX, 0.0),
        Example({"<=50K": 1}, SIX, 6.907755278982137, {"floor": 1e-3}, believed={"<=50K": 0.0, ">50K": 1.0}),
    )

    def score(self, case: ScoringContext) -> pd.Series:
        from leafgate_divergence.metrics import divergence

        return divergence(case, self.floor)

    def evidence(self, case: ScoringContext, scores: pd.Series | float) -> Mapping[str, Any]:
        from leafgate_divergence.metrics import divergence_evidence

        return divergence_evidence(case, self.floor, self.top)


class Gain(AtMost):
    """How much more likely the attack's reasoning made each person's true secret.

    Compared with what the release says without it: the attack's baseline. An attack that tells none
    cannot be judged.
    """

    use: Literal["gain"] = "gain"

    private = True
    scorable = ONLY_DERIVED
    threat_model = BELIEF
    formula = "P*(truth) / P0(truth), P0 being the attack's baseline; 1 where both are 0"
    plain_failure = "the attack's reasoning brings too much"
    scale = "from 0 up; unbounded where the baseline rules the truth out and the attack does not"
    interpretation = (
        "1 or less: the reasoning brought nobody nearer to the truth; 2: it made somebody's secret twice as likely"
    )
    source = f"{SOURCE} (with and without implicit information); the ratio is ours"
    examples = (
        Example(
            {"flu": 2},
            {"flu": 5, "cold": 5},
            2.0,
            believed={"flu": 0.8, "cold": 0.2},
            prior={"flu": 0.4, "cold": 0.6},
        ),
    )

    def score(self, case: ScoringContext) -> pd.Series:
        from leafgate_divergence.metrics import gain

        return gain(case)


@hookimpl
def privacy_metrics() -> list[type[Metric]]:
    return [Divergence, Gain]
