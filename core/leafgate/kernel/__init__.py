"""Values that all layers exchange, without files or plugins.

A `Schema` describes the columns of a `Table` of people. A builder makes a `Release` of trees and records from it. An
attack computes a `Belief` from the release and the `AdversaryKnowledge`. A metric scores the belief; `Finding` and
`Report` hold the score, the `Limit` and the evidence, whose private parts are wrapped in the types of `evidence`.
"""
