"""`leafgate demo`: two audits of made-up people, one that fails and one that passes.

`people` makes the data up, `audits` runs the two audits and compares them, `command` is the command.
"""
