"""Metrics of a model's structure: small leaves, classes that leaves rule out, parameters, settings, overfitting."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=2,<3"


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "class_disclosure": "leafgate_structure.metrics:ClassDisclosure []",
        "generalisation_gap": "leafgate_structure.metrics:GeneralisationGap []",
        "residual_degrees_of_freedom": "leafgate_structure.metrics:ResidualDegreesOfFreedom []",
        "risky_settings": "leafgate_structure.metrics:RiskySettings []",
        "smallest_leaf": "leafgate_structure.metrics:SmallestLeaf []",
    }
