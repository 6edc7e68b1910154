"""The convex problem: people by stratum and class, and what the release says of them.

`tree_index` and `strata` divide the people, `leaf_constraints` and `candidate_splits` with `split_constraints` state
what leaves and chosen tests imply, and `build` puts them together to the Problem of `problem`.
"""
