"""What commands share; those of plugins import it, and leafgate.cli assembles them all.

options      options and arguments that several commands take
output       prints lines and documents safely
describe     says what plugins state about themselves
exit_codes   ends a command in one of the exit codes, whatever happens
"""
