"""Membership inference: who of some candidates is in the table that a model was trained on?

`shadows` has the models that the adversary trains itself, `score_attacks` the attacks on scores and what they share,
`planted` the leaks on which they are repeated, `exclusion` the attack on leaves that count nobody of a class, `metrics`
what a policy limits, `leave_one_out` a metric without an attack. Attacks on membership are stronger on trees than on
most models, because a leaf may be made of very few people.
"""
