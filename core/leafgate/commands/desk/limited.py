"""Runs a module as a program with limits: python -P -m leafgate.commands.desk.limited MODULE WORDS..."""

from __future__ import annotations

import os
import runpy
import sys

MEMORY_BYTES = 8 * 2**30
"""The largest address space of a job: most of it is never used, since libraries reserve more than they need."""


def run_limited(words: list[str]) -> None:
    """Run the module that the first word names, with the other words, with limits that its processes inherit."""
    os.umask(0o077)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    sys.argv = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    run_limited(sys.argv[1:])
