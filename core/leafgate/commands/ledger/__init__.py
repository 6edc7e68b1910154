"""`leafgate ledger` keeps a ledger of the releases that left, and verifies it.

`command` has the commands; `entry` makes a line of a report and of the files that it is about, `rolls` a
roll. The format of ledgers, their chain and how they are written is in `leafgate.io.ledger`, that of rolls in
`leafgate.io.roll`; `leafgate.session.ledger_releases` gives an audit the releases of a ledger.
"""
