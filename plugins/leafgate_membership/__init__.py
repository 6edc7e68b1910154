"""Membership inference: who of some candidates is in the table that a model was trained on?

`game` has what the adversary sees of the candidates, `shadows` the models that it trains itself, `score_attacks` the
attacks on scores and what they share, `exclusion` the attack on leaves that count nobody of a class, `peers` those of
other libraries, `metrics` what a policy limits. Attacks on membership are stronger on trees than on most models,
because a leaf may be made of very few people.
"""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=2,<3"


@hookimpl
def attack_models() -> dict[str, str]:
    return {
        "art": "leafgate_membership.peers:Art",
        "leaf_exclusion": "leafgate_membership.exclusion:LeafExclusion",
        "lira": "leafgate_membership.likelihood_ratios:LiRA",
        "loss_threshold": "leafgate_membership.score_attacks:LossThreshold",
        "quantile": "leafgate_membership.learned_attacks:Quantile",
        "rmia": "leafgate_membership.likelihood_ratios:RMIA",
        "sacroml": "leafgate_membership.peers:SacroMl",
        "worst_case": "leafgate_membership.learned_attacks:WorstCase",
    }


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "membership_advantage": "leafgate_membership.metrics:MembershipAdvantage []",
        "membership_auc": "leafgate_membership.metrics:MembershipAuc []",
        "membership_excluded": "leafgate_membership.metrics:MembershipExcluded []",
        "membership_identified": "leafgate_membership.metrics:MembershipIdentified []",
        "membership_tpr": "leafgate_membership.metrics:MembershipTpr []",
        "leave_one_out": "leafgate_membership.leave_one_out:LeaveOneOut []",
    }
