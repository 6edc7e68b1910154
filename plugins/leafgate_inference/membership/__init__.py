"""Membership inference: who of some candidates is in the table that a model was trained on?

`game` has what the adversary sees of the candidates, `shadows` the models that it trains itself, `score_attacks` the
attacks on scores and what they share, `exclusion` the attack on leaves that count nobody of a class, `peers` those of
other libraries, `metrics` what a policy limits. Attacks on membership are stronger on trees than on most models,
because a leaf may be made of very few people.
"""
