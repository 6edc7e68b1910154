"""Repairing: the most useful model in place of a given one that keeps every limit of a policy.

`command` reads the arguments and prints the outcome, `wording` puts it into sentences that disclose no more than a
public report. `plan` has the order of the steps: `ladder` makes candidates, `trials` writes each as a file and
audits these bytes, `choice` chooses one of them.

The rungs: `pruning` turns subtrees into leaves, `exact` solves one tree over public columns by a dynamic programme over
its subtrees, `search` tries prunings of everything else, `tuning` cross-validates plain trees, `distil` has builders
grow trees that keep limits on groups, also for the given model's scores (`teacher`), `refit` fits its estimator anew.
"""
