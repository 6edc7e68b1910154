"""What commands share; those of plugins import it, and leafgate.cli assembles them all.

options      options and arguments that several commands take
output       prints lines and documents safely
progress     shows on a terminal how far a command has come
describe     says what plugins state about themselves
exit_codes   ends a command in one of the exit codes, whatever happens
"""
