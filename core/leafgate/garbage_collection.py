"""Python's search for unused cycles, paused while many objects are made that are in no cycle."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Do not look for unused cycles within the block: of what it makes, all is used or freed at once.

    Python looks again whenever there are a quarter more objects than the last time, at all of them. While the nodes of
    a large forest are read this takes most of the time.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
