"""Processes that work side by side and end with the process that started them, however that one ends."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def worker_pool(
    workers: int, initializer: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> ProcessPoolExecutor:
    """A pool of spawned processes; each calls `initializer(*arguments)` first, and ends when this process is gone.

    An executor alone does not see to that: a process that is killed (SIGKILL, out of memory) runs no clean-up, and
    its workers wait for work for ever. Whatever they were doing is lost with it.
    """
    context = multiprocessing.get_context("spawn")  # a forked worker holds its siblings' pipes open
    return ProcessPoolExecutor(workers, context, _initialize, (initializer, arguments))


def _initialize(initializer: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    if initializer is not None:
        initializer(*arguments)


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
