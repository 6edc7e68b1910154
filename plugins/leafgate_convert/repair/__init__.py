"""Repairing: the most accurate model below a given one that keeps every limit of a policy.

`command` reads the arguments and prints the outcome. `pruning` turns subtrees into leaves and knows which training
people are at each node; `trials` writes a candidate as a file and audits these bytes. `exact` solves one tree over
public columns by a dynamic programme over its subtrees (`fronts`), `search` tries nested prunings of everything else.
`expansion` makes one tree of several. `plan` chooses between them, and `wording` puts the outcome into sentences that
disclose no more than a public report.
"""
