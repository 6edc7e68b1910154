"""Group metrics: how much the people of one equivalence class still have one secret in common."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=2,<3"


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "alpha_k_anonymity": "leafgate_diversity.metrics:AlphaKAnonymity []",
        "beta_likeness": "leafgate_diversity.metrics:BetaLikeness []",
        "delta_disclosure": "leafgate_diversity.metrics:DeltaDisclosure [delta_disclosure]",
        "k_map": "leafgate_diversity.metrics:KMap []",
        "l_diversity": "leafgate_diversity.metrics:LDiversity [l_diversity]",
        "reidentification_risk": "leafgate_diversity.metrics:ReidentificationRisk []",
        "t_closeness": "leafgate_diversity.metrics:TCloseness [t_closeness]",
        "uniques": "leafgate_diversity.metrics:Uniques []",
    }
