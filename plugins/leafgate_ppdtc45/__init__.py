"""PPDTC4.5: trees learned from records whose numbers carry additive noise.

`party` perturbs the rows of one party and pools the files of several, `shared` holds the perturbed records and their
file format. `builder` learns the model: `split_methods` (quantile matching, threshold, weights), `growing` (random or
weighted paths) and `deconvolved_c45` with the mixture densities of `em`. `scoring` classifies perturbed records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from leafgate import BuildResult, Metric, ReleaseAtLeast, ScoringContext, TreeBuilder, hookimpl
from leafgate_ppdtc45.options import Ppdtc45Options

if TYPE_CHECKING:
    import numpy as np
    import typer

    from leafgate import Table


class Ppdtc45(Ppdtc45Options):
    """Share everybody's numbers with noise on them, and learn from these a classifier for original numbers.

    The release holds the model, the noise laws, and the shared records: they are what is really published.
    """

    def build(self, table: Table, rng: np.random.Generator) -> BuildResult:
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
