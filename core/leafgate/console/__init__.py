"""What every command shares: the options it takes, what it prints, the exit code it ends in.

Commands of plugins and of applications (sweep, diff) import this package; `leafgate.cli`, above all of them, assembles
the command line.
"""
