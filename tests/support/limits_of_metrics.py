"""Limits of the bundled metrics that audit any table, by what is derived and by the composition too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

LIMITS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "at_least": [
        {"use": "k_anonymity", "at_least": 2},
        {"use": "k_anonymity", "average": True, "at_least": 2},
        {"use": "alpha_k_anonymity", "alpha": 0.8, "at_least": 2},
        *({"use": "l_diversity", "form": form, "at_least": 1.5} for form in ("distinct", "entropy")),
        {"use": "l_diversity", "form": "recursive", "c": 2, "at_least": 1},
        {"use": "smallest_leaf", "at_least": 2},
        *(
            {"use": "smallest_leaf", "groups": groups, "by": "features", "at_least": 2}
            for groups in ("each_tree", "all_trees")
        ),
        {"use": "smallest_leaf", "groups": "outputs", "at_least": 2},
        {"use": "residual_degrees_of_freedom", "at_least": 0},
        {"use": "divergence", "at_least": 0.1},
    ],
    "at_most": [
        *({"use": use, "at_most": 0.6} for use in ("confidence", "exposure", "t_closeness", "beta_likeness")),
        *({"use": use, "at_most": 0.6, "average": True} for use in ("confidence", "exposure", "t_closeness")),
        {"use": "exposure", "at_most": 0, "allow": 0.5},
        {"use": "beta_likeness", "form": "enhanced", "at_most": 2},
        *({"use": use, "at_most": 0.6} for use in ("delta_disclosure", "reidentification_risk", "uniques", "gain")),
        *({"use": "class_disclosure", "form": form, "at_most": 0.5} for form in ("single", "ruled_out")),
        *(
            {"use": "class_disclosure", "form": form, "by": "features", "at_most": 0.5}
            for form in ("single", "ruled_out")
        ),
        {"use": "class_disclosure", "form": "few", "k": 3, "by": "features", "groups": "each_tree", "at_most": 0.5},
        {"use": "class_disclosure", "scored": "derived", "at_most": 0.5},
        {"use": "risky_settings", "at_most": 0},
    ],
}
ONLY_DERIVED = {"k_anonymity", "reidentification_risk", "uniques", "divergence", "gain"}
OF_RELEASE = {"smallest_leaf", "residual_degrees_of_freedom", "class_disclosure", "risky_settings"}


def every_metric() -> Iterator[dict[str, Any]]:
    """Every limit by its default and, where it is one on the worse of both, on what is derived and the composition."""
    for metric in (*LIMITS["at_least"], *LIMITS["at_most"]):
        yield dict(metric)
        if metric["use"] not in ONLY_DERIVED | OF_RELEASE:
            yield from ({**metric, "scored": scored} for scored in ("derived", "composition"))


METRICS = [{**metric, "name": f"m{i}"} for i, metric in enumerate(every_metric())]
