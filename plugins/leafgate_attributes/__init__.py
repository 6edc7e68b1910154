"""Attribute inference: what does a model disclose about an input that the adversary does not know of a person?

`game` has what the adversary sees of the targets and asks the model about them, `imputation` what it would believe
without the model, `leaf_constraints` the proof by leaves, `query_attacks` the attacks on answers, `white_box` the one
on counts, `peers` those of other libraries, `metrics` what a policy limits. Every attack is run on people of the table
and on people of the control, and is held against imputation on both.
"""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=2,<3"


@hookimpl
def attack_models() -> dict[str, str]:
    return {
        "art_attribute": "leafgate_attributes.peers:ArtAttribute",
        "csmia": "leafgate_attributes.query_attacks:Csmia",
        "fredrikson": "leafgate_attributes.white_box:Fredrikson",
        "leaf_constraints": "leafgate_attributes.leaf_constraints:LeafConstraints",
        "likelihood": "leafgate_attributes.query_attacks:Likelihood",
        "lomia": "leafgate_attributes.query_attacks:Lomia",
        "sacroml_attribute": "leafgate_attributes.peers:SacroMlAttribute",
    }


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {
        "attribute_certain": "leafgate_attributes.metrics:AttributeCertain []",
        "attribute_leak": "leafgate_attributes.metrics:AttributeLeak []",
    }
