"""Membership inference: who of some candidates is in the table that a model was trained on?

`game` has what the adversary sees of the candidates, `shadows` the models that it trains itself, `score_attacks` the
attacks on scores and what they share, `exclusion` the attack on leaves that count nobody of a class, `metrics` what a
policy limits. Attacks on membership are stronger on trees than on most models, because a leaf may be made of very few
people.
"""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=2,<3"


@hookimpl
def attack_models() -> dict[str, str]:
    return {
        "leaf_exclusion": "leafgate_membership.exclusion:LeafExclusion",
        "loss_threshold": "leafgate_membership.score_attacks:LossThreshold",
    }


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "leave_one_out": "leafgate_membership.leave_one_out:LeaveOneOut",
    }
