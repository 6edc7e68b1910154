"""Mathematics that the engine and plugins share; it reads no file and knows no option.

`routing` sends rows down trees, `prediction` combines the leaves they reach, `publication` cuts leaves down to a level.
`feasible` has the domains that remain on a path, from which `equivalence` computes equivalence classes. `consistency`
and `node_counts` compare published numbers with the table, `derivable` states which numbers follow from a release,
`exclusion` what a leaf that counts nobody of a class says of people. `near_copies` tests whether a control has copies
of people of the table, `table_matching` says how many cells of reconstructed records are right. `joint_classes` has
what several releases state of the same people, `joint_proofs` what follows. `sampling`, `deconvolution` and
`induction` serve background knowledge, noisy data and builders.
"""
