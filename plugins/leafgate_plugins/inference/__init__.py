"""Inference about people: who is in the table that a model was learned from, and what it discloses about an input.

Both are one game with people of the table and others, of whom the attacks are not told who is who: `game` asks the
model about them, `power` whether an attack would have seen a leak. The folder `membership`
has the attacks that infer who is in the table, `attributes` those that infer a column, and each the metrics that a
policy limits them by. The confidence intervals of all of them are in `leafgate.algorithms.intervals`.
"""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def attack_models() -> dict[str, str]:
    return {
        "csmia": "leafgate_plugins.inference.attributes.query_attacks:Csmia",
        "fredrikson": "leafgate_plugins.inference.attributes.white_box:Fredrikson",
        "leaf_constraints": "leafgate_plugins.inference.attributes.leaf_constraints:LeafConstraints",
        "leaf_exclusion": "leafgate_plugins.inference.membership.exclusion:LeafExclusion",
        "likelihood": "leafgate_plugins.inference.attributes.query_attacks:Likelihood",
        "lira": "leafgate_plugins.inference.membership.likelihood_ratios:LiRA",
        "lomia": "leafgate_plugins.inference.attributes.query_attacks:Lomia",
        "loss_threshold": "leafgate_plugins.inference.membership.score_attacks:LossThreshold",
        "quantile": "leafgate_plugins.inference.membership.learned_attacks:Quantile",
        "rmia": "leafgate_plugins.inference.membership.likelihood_ratios:RMIA",
        "worst_case": "leafgate_plugins.inference.membership.learned_attacks:WorstCase",
    }


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "attribute_certain": "leafgate_plugins.inference.attributes.metrics:AttributeCertain []",
        "attribute_leak": "leafgate_plugins.inference.attributes.metrics:AttributeLeak []",
        "leave_one_out": "leafgate_plugins.inference.membership.leave_one_out:LeaveOneOut []",
        "membership_advantage": "leafgate_plugins.inference.membership.metrics:MembershipAdvantage []",
        "membership_auc": "leafgate_plugins.inference.membership.metrics:MembershipAuc []",
        "membership_excluded": "leafgate_plugins.inference.membership.metrics:MembershipExcluded []",
        "membership_identified": "leafgate_plugins.inference.membership.metrics:MembershipIdentified []",
        "membership_tpr": "leafgate_plugins.inference.membership.metrics:MembershipTpr []",
    }
