"""Find the distribution of largest entropy, with a certificate.

`active_set` is the entry: it imposes violated inequalities round by round and starts several times where the problem
is not convex. `engine` poses each subproblem to `interior_point` or `gekko` (in the form of `lifting`); `certificate`
bounds the optimum, `closed_form` solves trees without splits, and `infeasibility` names constraints in conflict.
"""
