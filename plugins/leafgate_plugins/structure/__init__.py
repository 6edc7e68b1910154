"""Metrics of a model's structure: small leaves, classes that leaves rule out, parameters, settings, overfitting."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "class_disclosure": "leafgate_plugins.structure.metrics:ClassDisclosure []",
        "generalisation_gap": "leafgate_plugins.structure.metrics:GeneralisationGap []",
        "residual_degrees_of_freedom": "leafgate_plugins.structure.metrics:ResidualDegreesOfFreedom []",
        "risky_settings": "leafgate_plugins.structure.metrics:RiskySettings []",
        "smallest_leaf": "leafgate_plugins.structure.metrics:SmallestLeaf []",
    }
