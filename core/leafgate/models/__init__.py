"""Models that other programs trained: read, checked, lowered to releases.

A file flows through `reader` (chooses one of the readers that plugins offer) to a `ModelIR`, which is checked.
`exposure/` adds what the file discloses beyond its predictions, `lowering/` turns the model into a `Release` over the
policy's columns. `load` reads any release file that way; `writer` writes a `ModelIR` as a file of another format;
`origins` and `checks` serve audits of release files.
"""
