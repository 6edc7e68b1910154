"""Processes that work side by side and end with the process that started them, however that one ends."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from leafgate.interruptions import interrupts_deferred, wait_for_files
from leafgate.plugin_output import is_output_shown, nowhere

Result = TypeVar("Result")


class WorkerPool:
    """Worker processes that share out the calls of a function."""

    def __init__(self, executor: ProcessPoolExecutor) -> None:
        self._executor = executor

    def map(self, function: Callable[..., Result], *arguments: Iterable[Any]) -> Iterator[Result]:
        """The results of all calls, in their order; the workers begin with them at once.

        The `map` of an executor cancels the calls that have not begun once its results are given up, as an
        interruption does. Where a worker ends at the same time, the executor's thread finds cancelled calls that it is
        about to fail, and ends with a traceback (CPython before 3.12.1 and 3.13). Here calls are given up with the
        pool, by that thread alone.

        Args:
            function: a function of a module, so that processes can be told which it is.
            arguments: for each of its arguments the values in all calls, equally many.

        Raises:
            ValueError: there are not equally many values.
            BrokenProcessPool: a worker was killed.
            Exception: what a call raised, in its turn.
        """
        with interrupts_deferred():  # an interrupted `submit` may keep a lock that the executor's thread waits for
            calls = deque(self._executor.submit(function, *values) for values in zip(*arguments, strict=True))
        return _results(calls)


def _results(calls: deque[Future[Result]]) -> Iterator[Result]:
    while calls:
        yield calls.popleft().result()


@contextmanager
def worker_pool(
    workers: int, initializer: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[WorkerPool]:
    """A pool of spawned processes; each calls `initializer(*arguments)` first, and ends when this process is gone.

    An executor alone does not see to that: a process that is killed (SIGKILL, out of memory) runs no clean-up, and
    its workers wait for work for ever. Whatever they were doing is lost with it. So it is where this process is
    interrupted, or leaves the pool by another error: an executor alone would wait for what its workers are doing.
    """
    context = multiprocessing.get_context("spawn")  # a forked worker holds its siblings' pipes open
    executor = ProcessPoolExecutor(workers, context, _initialize, (initializer, arguments))
    try:
        yield WorkerPool(executor)
    except BaseException:
        processes = list(executor._processes.values())
        manager: Any = executor._executor_manager_thread
        executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        if manager is not None:
            manager.join()  # an exit while it closes its pipes would end in a traceback
        raise
    executor.shutdown()


def _initialize(initializer: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it decides what an interrupt ends
    if not is_output_shown():  # what a plugin prints in a process of its own may hold a cell, too
        sys.stdout = sys.stderr = nowhere()
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    if initializer is not None:
        initializer(*arguments)


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        wait_for_files()
        os._exit(1)
