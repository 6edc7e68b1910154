"""Model files with one thing changed, and what leafgate makes of them.

`changes` changes one number, text, entry or key of a parsed document; `formats` says how each format is parsed, written
and evaluated; `points` makes the rows on which answers are compared, and `outcomes` compares them. Nothing but
`outcomes` uses leafgate.
"""
