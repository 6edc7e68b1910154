"""The attack `distinguish`: run the builder on two neighbouring tables many times, and bound epsilon from what differs.

`neighbours` makes the worst tables and the person who is in one of them only, `features` reads numbers off a release
that tell the two apart, and `attack` runs the builder and turns errors into a lower bound on epsilon.
"""
