"""Lowering a checked `ModelIR` to a `Release` over the columns of a policy.

`encoding` combines what a file and a policy say about features, `tests` lowers one test, `release` the whole model.
"""
