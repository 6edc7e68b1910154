"""Downgrading: withhold a few more cells of a table, so that its secret cells cannot be inferred from the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from leafgate.api import ReleaseAtMost, Score, ScoringContext, lazy
from leafgate.errors import nearest_name
from leafgate_plugins.downgrading.options import (
    PAPER,
    CellAttack,
    Conditioning,
    Downgrading,
    NaiveBayes,
    Restoration,
    TreeInference,
)

if TYPE_CHECKING:
    from leafgate.api import Policy
    from leafgate_plugins.downgrading import metrics
else:
    metrics = lazy("leafgate_plugins.downgrading.metrics")


__all__ = [
    "CellAttack",
    "CellsWithheld",
    "Conditioning",
    "Downgrading",
    "Functionality",
    "NaiveBayes",
    "Restoration",
    "TreeInference",
]


class CellsWithheld(ReleaseAtMost):
    """How many cells the published records withhold beyond the protected ones."""

    use: Literal["cells_withheld"] = "cells_withheld"
    among: Literal["threatened", "all", "count"] = Field(
        "threatened",
        description="Their share of the other cells of records with protected cells (`threatened`), or of all records"
        " (`all`); or their number (`count`).",
    )

    policy_example = "at_most: 0.33"
    public = "verdict"
    measures = "cost"
    threat_model = "None: it measures what protection costs."
    formula = (
        "withheld cells that are not secret / cells that are not secret (of records with a secret cell, or of all)"
    )
    plain_failure = "too many cells are withheld"
    scale = "a share from 0 to 1, or a number of cells"
    interpretation = "0: only the secret cells are withheld"
    source = "the modified values of Chang and Moskowitz 1998"

    def score(self, case: ScoringContext) -> Score:
        return Score(metrics.cells_withheld(case, self.among))


class Functionality(ReleaseAtMost):
    """How much more often models learned from the published records err than models learned from the table."""

    use: Literal["functionality"] = "functionality"
    columns: tuple[str, ...] | None = Field(
        None, min_length=1, description="Classes to learn; by default every column."
    )

    policy_example = "at_most: 0.05"
    measures = "cost"
    public = "verdict"
    threat_model = "None: it measures what protection costs."
    formula = (
        "mean over classes of error(tree learned from the records) - error(tree learned from the table), on the table"
    )
    plain_failure = "too much of the use is lost"
    scale = "from -1 to 1; 0: models are as good as from the whole table"
    interpretation = "the usefulness that is lost"
    source = f"{PAPER}, section 4 (F)"

    def missing_requirements(self, policy: Policy) -> str:
        strange = [name for name in self.columns or () if name not in policy.data.columns]
        if not strange:
            return ""
        meant = nearest_name(strange[0], policy.data.columns, "")
        return f"`columns` names {strange[0]!r}, which is no column{meant and f'; {meant}'}"

    def score(self, case: ScoringContext) -> Score:
        rises = metrics.functionality(case, self.columns)
        evidence = {"rise": {name: round(rise, 6) for name, rise in rises.items()}}
        return Score(sum(rises.values()) / len(rises), evidence=evidence)
