"""Processes that work side by side and end with the process that started them, however that one ends."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from leafgate.interruptions import wait_for_files


@contextmanager
def worker_pool(
    workers: int, initializer: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """A pool of spawned processes; each calls `initializer(*arguments)` first, and ends when this process is gone.

    An executor alone does not see to that: a process that is killed (SIGKILL, out of memory) runs no clean-up, and
    its workers wait for work for ever. Whatever they were doing is lost with it. So it is where this process is
    interrupted, or leaves the pool by another error: an executor alone would wait for what its workers are doing.
    """
    context = multiprocessing.get_context("spawn")  # a forked worker holds its siblings' pipes open
    pool = ProcessPoolExecutor(workers, context, _initialize, (initializer, arguments))
    try:
        yield pool
    except BaseException:
        processes = list(pool._processes.values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        raise
    pool.shutdown()


def _initialize(initializer: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it decides what an interrupt ends
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    if initializer is not None:
        initializer(*arguments)


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        wait_for_files()
        os._exit(1)
