"""The dominance harness: random releases, and properties that every audit of them must have.

Data flows one way: `people` draws a table, `trees` makes releases of it, `audits` audits them in this process,
`adversary` reads the released document by itself, and `properties` compares the two. One integer seed decides a whole
case. `python -m dominance --cases 10000` (with `tests/support` on PYTHONPATH) runs many.
"""
