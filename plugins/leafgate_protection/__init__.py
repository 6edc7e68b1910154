"""Metrics of each person's protection: k-anonymity, confidence and exposure."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=2,<3"


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "k_anonymity": "leafgate_protection.metrics:KAnonymity [k]",
        "confidence": "leafgate_protection.metrics:Confidence [confidence]",
        "exposure": "leafgate_protection.metrics:Exposure [exposure]",
    }
