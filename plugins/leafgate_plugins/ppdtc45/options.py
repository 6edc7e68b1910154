"""What a policy can set: the noise and the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, model_validator

from leafgate import api
from leafgate.kernel.noise import Law
from leafgate.kernel.options import PruningConfidence

if TYPE_CHECKING:
    import numpy as np

    from leafgate_plugins.ppdtc45 import builder, scoring
else:
    np, builder, scoring = (
        api.lazy("numpy"),
        api.lazy("leafgate_plugins.ppdtc45.builder"),
        api.lazy("leafgate_plugins.ppdtc45.scoring"),
    )


TINY = 1e-100
"""Smallest amount of noise that is accepted: squares of smaller numbers underflow."""
HUGE = 1e100
"""Largest amount of noise that is accepted: squares of larger numbers overflow."""


def _above_0(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and TINY < number < HUGE


def _per_column(document: Any) -> Any:
    """One mistake for whatever is wrong, where a union would list what every member wants."""
    if _above_0(document) or (isinstance(document, dict) and document and all(map(_above_0, document.values()))):
        return {name: float(n) for name, n in document.items()} if isinstance(document, dict) else float(document)
    raise ValueError("must be a number above 0, or a mapping with one for each column")


def _theta(document: Any) -> Any:
    if document == "auto" or (_above_0(document) and document < 1):
        return document
    raise ValueError("must be a number between 0 and 1, or auto")


PerColumn = Annotated[
    float | dict[str, float],
    PlainValidator(_per_column, json_schema_input_type=api.PositiveFloat | dict[str, api.PositiveFloat]),
]
Theta = Annotated[
    float | Literal["auto"],
    PlainValidator(_theta, json_schema_input_type=api.OpenProbability | Literal["auto"]),
]
KINDS = ("snr", "deviation", "half_width", "privacy")


class NoiseOptions(api.Strict):
    """Which law, and how much: one number for every column of numbers, or a number for each of them."""

    law: Law = Field("gaussian", description="Gaussian, or uniform between -a and a.")
    snr: PerColumn | None = Field(None, description="Variance of the column over variance of its noise.")
    deviation: PerColumn | None = Field(None, description="The noise's standard deviation, in the column's unit.")
    half_width: PerColumn | None = Field(None, description="Of uniform noise: a, in the column's unit.")
    privacy: PerColumn | None = Field(
        None, description="2^h of the noise, in the column's unit: the most that can be left of a number's privacy."
    )

    @model_validator(mode="after")
    def _one_measure(self) -> NoiseOptions:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError("say how much noise, by one of `snr`, `deviation`, `half_width`, `privacy`")
        if given == ["half_width"] and self.law != "uniform":
            raise ValueError("`half_width` is of uniform noise; gaussian noise has a `deviation`")
        return self

    @property
    def kind(self) -> str:
        """How the amount is given."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    def amount(self, column: str) -> float | None:
        """The number given for a column; None where others are named and this one is not."""
        given: float | dict[str, float] = getattr(self, self.kind)
        return given.get(column) if isinstance(given, dict) else given

    @property
    def named(self) -> frozenset[str]:
        """The columns that are named one by one."""
        given = getattr(self, self.kind)
        return frozenset(given) if isinstance(given, dict) else frozenset()


class Ppdtc45(api.TreeBuilder):
    """Share records whose numbers have noise on them, and learn from these a classifier of records without noise.

    The release contains the model, the noise laws, and the shared records: they are what is really published.
    """

    use: Literal["ppdtc45"] = "ppdtc45"
    noise: NoiseOptions = Field(description="The law of the noise, and how much.")
    model: Literal["trees", "naive_bayes"] = Field("trees", description="What is learned.")
    split: Literal["deconvolved", "matched", "threshold", "random_path", "weighted"] = Field(
        "deconvolved",
        description="How noise is corrected: by distributions, quantiles, one threshold, random paths, or weights.",
    )
    groups: Literal["auto", 1, 2] = Field(
        "auto", description="Of `deconvolved`: the groups of each class within which columns are independent."
    )
    theta: Theta | None = Field(
        None,
        description="Of `threshold`: how sure a person must be below a cut; by default `auto`, by held-out people.",
    )
    average_gain: bool = Field(True, description="Only tests of at least the node's mean gain compete.")
    min_leaf: api.PositiveInt = Field(2, description="People that both sides of a cut must have.")
    penalty: bool = Field(
        True,
        description="Of `threshold` and `matched`, as in release 8: columns pay for many cuts, and no side is small.",
    )
    prune: bool = Field(True, description="Error-based pruning by subtree replacement.")
    confidence: PruningConfidence = Field(0.25, description="Confidence of pruning; smaller prunes more.")
    test: Literal["original", "perturbed"] = Field(
        "original", description="Whether the numbers of `data.test` are original, or shared ones with noise."
    )
    rehearsal: bool = Field(
        False, description="Draw from the policy's seed, for trying out; such a release must not be published."
    )

    policy_example = "noise: {law: gaussian, snr: 1.0}"
    randomness = "system"
    needs_class = True
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
        "HICSS 2009; departures: docs/explanation/ppdtc45.md"
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

    def build(self, table: api.Table, rng: np.random.Generator) -> api.BuildResult:
        return builder.build(self, table, rng)


class AccuracyOnPerturbed(api.ReleaseAtLeast):
    """The share of the people in `data.test` whose class is predicted from their shared numbers."""

    use: Literal["accuracy_on_perturbed"] = "accuracy_on_perturbed"
    paths: Literal["cuts", "random"] = Field(
        "cuts", description="By the tree for shared numbers, or by the first tree along random paths."
    )

    policy_example = "at_least: 0.8"
    measures = "use"
    threat_model = "None: this is what the release is good for."
    plain_failure = "the release predicts from shared numbers too badly"
    score_range = (0, 1)
    formula = "people of the test table predicted rightly / people of the test table, from 0 to 1"
    source = "L. Liu, M. Kantarcioglu, B. Thuraisingham, HICSS 2009, section 6.6 and Table 7"

    def score(self, case: api.ScoringContext) -> api.Score:
        """People predicted rightly over people; where the test table is original, noise is drawn by the policy's seed.

        Raises InconclusiveError without a test table, without noise, and without a model of the kind asked for.
        """
        table, release = case.require_test(), case.release
        if not release.noise:
            raise api.InconclusiveError(
                "the release publishes no noise law", remedy="this is for releases of shared numbers"
            )
        rng = np.random.default_rng(case.known.seed)
        test = table if case.noisy_test else scoring.perturb_test_table(table, release, rng)
        right = scoring.predict_perturbed(release, test, self.paths, rng) == test.codes(release.target)
        return api.Score(float(test.weight[right].sum() / test.total_weight), sensitivity=1 / test.total_weight)
