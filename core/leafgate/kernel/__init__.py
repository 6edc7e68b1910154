"""What everybody exchanges: values, the interface of plugins, the models of policies, findings and the verdict.

A `Schema` describes the columns of a `Table` of people. A builder makes a `Release` of trees and records from it. An
attack computes a `Belief` from the release and the `AdversaryKnowledge`. A metric scores the belief in a
`ScoringContext`; `Finding` and `Report` hold the score, the `Limit` and the evidence, whose private parts are wrapped
in the types of `evidence`. Nothing here imports anything of leafgate but errors, folders and lazy imports.
"""
