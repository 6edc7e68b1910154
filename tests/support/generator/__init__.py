"""Random tables, models and policies, which seeds decide, and adversaries who read what is published of them.

`people` draws data frames with what their owner says of them, `tables` tables that a policy declares. `trees` makes
releases that no builder would grow, `models` fits models of the libraries, and `formats` has files of producers, in
which `changes` changes one thing. `policies` audits in this process. `published` reads what is published, `adversary`
and `outsider` say who is exposed by it; these, `changes` and `formats` share no code with leafgate. The properties
`dominance`, `mutations` and `first_policy_cases` stand over them. Hypothesis draws, and shrinks, by `random_tables` and
`random_trees`.
"""
