"""Attacks that reconstruct the original numbers of a table shared with noise, and metrics of their uncertainty.

`attacks` uses the `posterior` of each column by itself, or the `estimators` of all columns together; `metrics` measures
what the noise leaves unknown, and how far estimates are off.
"""

from __future__ import annotations

from leafgate.api import AttackModel, Metric, hookimpl
from leafgate_reconstruction.attacks import BeDr, PcaDr, Posterior, SpectralFilter
from leafgate_reconstruction.metrics import IntervalPrivacy, NormalisedRmse, PrivacyLoss

leafgate_api = ">=2,<3"

__all__ = ["BeDr", "IntervalPrivacy", "NormalisedRmse", "PcaDr", "Posterior", "PrivacyLoss", "SpectralFilter"]


@hookimpl
def attack_models() -> list[type[AttackModel]]:
    return [Posterior, SpectralFilter, PcaDr, BeDr]


@hookimpl
def privacy_metrics() -> list[type[Metric]]:
    return [IntervalPrivacy, PrivacyLoss, NormalisedRmse]
