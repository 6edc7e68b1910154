"""Attacks that reconstruct a table: the originals of numbers shared with noise, and the records behind a tree.

`attacks` uses the `posterior` of each column by itself, or the `estimators` of all columns together; `metrics` measures
what the noise leaves unknown, and how far estimates are off. `leaf_records` writes down records that a tree counts,
and `rebuild` the table that all trees of a `forest` count (`rebuilt_records`), with what is proved of it;
`table_metric` measures how many of their cells are right beyond a baseline.
"""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def attack_models() -> dict[str, str]:
    return {
        "posterior": "leafgate_plugins.reconstruction.attacks:Posterior",
        "spectral_filter": "leafgate_plugins.reconstruction.attacks:SpectralFilter",
        "pca_dr": "leafgate_plugins.reconstruction.attacks:PcaDr",
        "be_dr": "leafgate_plugins.reconstruction.attacks:BeDr",
        "rebuild": "leafgate_plugins.reconstruction.rebuild:Rebuild",
        "table_reconstruction": "leafgate_plugins.reconstruction.leaf_records:TableReconstruction",
    }


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "interval_privacy": "leafgate_plugins.reconstruction.metrics:IntervalPrivacy []",
        "privacy_loss": "leafgate_plugins.reconstruction.metrics:PrivacyLoss []",
        "normalised_rmse": "leafgate_plugins.reconstruction.metrics:NormalisedRmse []",
        "reconstructed_cells": "leafgate_plugins.reconstruction.table_metric:ReconstructedCells []",
    }
