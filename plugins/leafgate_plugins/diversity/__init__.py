"""Group metrics: how much the people of one equivalence class still have one secret in common."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "alpha_k_anonymity": "leafgate_plugins.diversity.metrics:AlphaKAnonymity []",
        "beta_likeness": "leafgate_plugins.diversity.metrics:BetaLikeness []",
        "delta_disclosure": "leafgate_plugins.diversity.metrics:DeltaDisclosure [delta_disclosure]",
        "k_map": "leafgate_plugins.diversity.metrics:KMap []",
        "l_diversity": "leafgate_plugins.diversity.metrics:LDiversity [l_diversity]",
        "reidentification_risk": "leafgate_plugins.diversity.metrics:ReidentificationRisk []",
        "t_closeness": "leafgate_plugins.diversity.metrics:TCloseness [t_closeness]",
        "uniques": "leafgate_plugins.diversity.metrics:Uniques []",
    }
