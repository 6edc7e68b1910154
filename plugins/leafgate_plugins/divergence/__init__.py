"""How close an attack's posterior is to the truth: its Kullback-Leibler divergence, and its gain over a prior."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "divergence": "leafgate_plugins.divergence.metrics:Divergence []",
        "gain": "leafgate_plugins.divergence.metrics:Gain []",
    }
