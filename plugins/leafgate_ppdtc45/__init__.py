"""PPDTC4.5: trees learned from numbers that everybody shares with noise on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from leafgate import Metric, Release, ReleaseAtLeast, ScoringContext, TreeBuilder, hookimpl
from leafgate_ppdtc45.options import NoiseOptions, Theta

if TYPE_CHECKING:
    import numpy as np
    import typer

    from leafgate import Table


class Ppdtc45(TreeBuilder):
    """Share everybody's numbers with noise on them, and learn from these a classifier for original numbers.

    The release holds the model, the noise laws, and the shared records: they are what is really published.
    """

    use: Literal["ppdtc45"] = "ppdtc45"
    noise: NoiseOptions = Field(description="The law of the noise, and how much.")
    model: Literal["trees", "naive_bayes"] = Field("trees", description="What is learned.")
    split: Literal["deconvolved", "matched", "threshold", "random_path", "weighted"] = Field(
        "deconvolved",
        description="How noise is allowed for: by distributions, quantiles, one threshold, chance paths, or weights.",
    )
    groups: Literal["auto", 1, 2] = Field(
        "auto", description="Of deconvolved: groups a class is made of, within which columns are independent."
    )
    theta: Theta | None = Field(
        None, description="Of `threshold`: how sure a person must be below a cut; auto (default): by held-out people."
    )
    average_gain: bool = Field(True, description="Only tests of at least the node's mean gain compete.")
    min_leaf: Annotated[int, Field(ge=1)] = Field(2, description="People that both sides of a cut must have.")
    penalty: bool = Field(
        True, description="Release 8's, of threshold and matched: columns pay for many cuts, and no side is small."
    )
    prune: bool = Field(True, description="Error-based pruning by subtree replacement.")
    confidence: Annotated[float, Field(gt=0, le=0.5)] = Field(0.25, description="Of pruning; smaller prunes more.")
    test: Literal["original", "perturbed"] = Field(
        "original", description="Are the numbers of `data.test` original, or shared ones with noise on them?"
    )
    rehearsal: bool = Field(False, description="Draw the noise from the seed: for trying out, never to be shared.")

    randomness = "system"
    measure_options = frozenset(
        {"split", "groups", "theta", "average_gain", "penalty", "min_leaf", "prune", "confidence"}
    )
    threat_model = (
        "The miner sees every shared record and knows the noise laws; the attacks posterior, spectral_filter, pca_dr "
        "and be_dr estimate the original numbers."
    )
    formula = (
        "w = x + R is shared; C4.5 on people expected by f_X|class (deconvolved), or on w with each cut c at t(c): "
        "F_X^-1(F_W(c)) (matched), c - F_R^-1(1 - theta) (threshold); or on people weighed by 1 - F_R(w - t)"
    )
    source = (
        'L. Liu, M. Kantarcioglu, B. Thuraisingham, "Privacy Preserving Decision Tree Mining from Perturbed Data", '
        "HICSS 2009; departures: docs/sources.md"
    )

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        model_fields_set = self.model_fields_set
        if self.theta is not None and self.split != "threshold":
            raise ValueError("`theta` is for `split: threshold`")
        if "groups" in model_fields_set and self.split != "deconvolved":
            raise ValueError("`groups` is for `split: deconvolved`")
        if "penalty" in model_fields_set and self.split not in {"threshold", "matched"}:
            raise ValueError("`penalty` is for `split: threshold` and `split: matched`")
        idle = sorted(model_fields_set & self.measure_options) if self.model == "naive_bayes" else []
        if idle:
            raise ValueError(f"`{idle[0]}` is for trees, not for naive Bayes")
        return self

    @property
    def noisy_test(self) -> bool:
        return self.test == "perturbed"

    def described(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        from leafgate_ppdtc45.builder import build

        return build(self, table, rng)


class AccuracyOnPerturbed(ReleaseAtLeast):
    """The share of the people in `data.test` whose class is predicted from their shared numbers."""

    use: Literal["accuracy_on_perturbed"] = "accuracy_on_perturbed"
    paths: Literal["cuts", "random"] = Field(
        "cuts", description="By the tree for shared numbers, or by the first tree along random paths."
    )

    threat_model = "None: this is what the release is good for."
    plain_failure = "the release predicts from shared numbers too badly"
    formula = "people of the test table predicted rightly / people of the test table, from 0 to 1"
    source = "L. Liu, M. Kantarcioglu, B. Thuraisingham, HICSS 2009, section 6.6 and Table 7"

    def sensitivity(self, case: ScoringContext) -> float:
        return 0.0 if case.test is None else 1 / case.test.people

    def score(self, case: ScoringContext) -> float:
        from leafgate_ppdtc45.scoring import accuracy_on_perturbed

        return accuracy_on_perturbed(case, self.paths)


@hookimpl
def tree_builders() -> list[type[TreeBuilder]]:
    return [Ppdtc45]


@hookimpl
def privacy_metrics() -> list[type[Metric]]:
    return [AccuracyOnPerturbed]


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_ppdtc45.command import app

    return [app]
