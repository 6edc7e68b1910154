"""`python -m leafgate`: the command line, by the interpreter that leafgate is installed for."""

from leafgate.cli import main

if __name__ == "__main__":
    main()
