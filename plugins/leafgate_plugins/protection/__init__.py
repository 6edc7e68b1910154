"""Metrics of each person's protection: k-anonymity, confidence and exposure."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "k_anonymity": "leafgate_plugins.protection.metrics:KAnonymity [k]",
        "confidence": "leafgate_plugins.protection.metrics:Confidence [confidence]",
        "exposure": "leafgate_plugins.protection.metrics:Exposure [exposure]",
    }
