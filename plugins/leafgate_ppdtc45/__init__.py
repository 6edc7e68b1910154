"""PPDTC4.5: trees learned from records whose numbers carry additive noise.

`party` perturbs the rows of one party and pools the files of several, `shared` holds the perturbed records and their
file format. `builder` learns the model: `split_methods` (quantile matching, threshold, weights), `growing` (random or
weighted paths) and `deconvolved_c45` with the mixture densities of `em`. `scoring` classifies perturbed records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from leafgate.api import (
    BuildResult,
    InconclusiveError,
    Metric,
    ReleaseAtLeast,
    Score,
    ScoringContext,
    TreeBuilder,
    hookimpl,
    lazy,
)
from leafgate_ppdtc45.options import Ppdtc45Options

if TYPE_CHECKING:
    import numpy as np
    import typer

    from leafgate.api import Table
    from leafgate_ppdtc45 import builder, scoring
else:
    np, builder, scoring = lazy("numpy"), lazy("leafgate_ppdtc45.builder"), lazy("leafgate_ppdtc45.scoring")


leafgate_api = ">=2,<3"


class Ppdtc45(Ppdtc45Options):
    """Share everybody's numbers with noise on them, and learn from these a classifier for original numbers.

    The release holds the model, the noise laws, and the shared records: they are what is really published.
    """

    def build(self, table: Table, rng: np.random.Generator) -> BuildResult:
        return builder.build(self, table, rng)


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

    def score(self, case: ScoringContext) -> Score:
        """People predicted rightly over people; where the test table is original, noise is drawn by the policy's seed.

        Raises InconclusiveError without a test table, without noise, and without a model of the kind asked for.
        """
        table, release = case.require_test(), case.release
        if not release.noise:
            raise InconclusiveError(
                "the release publishes no noise law", remedy="this is for releases of shared numbers"
            )
        rng = np.random.default_rng(case.known.seed)
        test = table if case.noisy_test else scoring.perturb_test_table(table, release, rng)
        right = scoring.predict_perturbed(release, test, self.paths, rng) == test.codes(release.target)
        return Score(float(test.weight[right].sum() / test.people))


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
