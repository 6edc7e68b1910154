"""Attribute inference: what does a model disclose about an input that the adversary does not know of a person?

`targets` has what the adversary sees of the targets and asks the model about them, `imputation` what it would believe
without the model, `leaf_constraints` the proof by leaves, `query_attacks` the attacks on answers, `white_box` the one
on counts, `metrics` what a policy limits. Every attack is run on people of the table and on people of the control, and
is compared with imputation on both.
"""
