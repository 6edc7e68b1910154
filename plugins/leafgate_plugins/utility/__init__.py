"""Metrics of a release's usefulness: accuracy, and the area under the ROC curve."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "accuracy": "leafgate_plugins.utility.metrics:Accuracy []",
        "area_under_curve": "leafgate_plugins.utility.metrics:AreaUnderCurve []",
    }
