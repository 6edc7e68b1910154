"""Signed statements about a report, which outlive the run: `leafgate attest` writes and `leafgate verify` reads them.

`predicate` has what an audit found, from the public report alone; `statements` derives three in-toto statements from
it; `envelope` is the file of signed lines; `keys` reads keys, and `ed25519` signs.
`verification` goes the other way: from the lines to the predicate, from which it derives all statements again.
"""
