"""The counting attack's estimator: every data set that agrees with the release is equally likely.

`posterior` is the entry. `constraints` turns a problem into integers and `components` divides it; each component is
solved by `closed_form`, by enumeration (`exact`), or by Markov chains (`mcmc`) that run until `diagnostics` pass.
"""
