"""Pools of workers whose work is given up: by an interruption, and where a worker is killed."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import process
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest

from leafgate.processes import worker_pool
from patience import SECONDS


@pytest.fixture
def tracebacks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The errors that threads print a traceback of."""
    printed: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", printed.append)
    return printed


def kill_workers(manager: threading.Thread) -> None:
    """Kill the workers, and wait until the thread that manages them has ended."""
    for worker in multiprocessing.active_children():
        worker.kill()
    manager.join(SECONDS)
    assert not manager.is_alive()


def manager_of_workers() -> threading.Thread:
    """The thread of the executor: the only one that this process waits for at its end."""
    (manager,) = {thread for thread in threading.enumerate() if not thread.daemon} - {threading.main_thread()}
    return manager


def test_results_come_in_the_order_of_the_work() -> None:
    with worker_pool(2) as pool:
        assert list(pool.map(pow, [2, 3, 4, 5], [3, 2, 1, 0])) == [8, 9, 4, 1]


def test_workers_that_die_after_work_was_given_up_print_no_traceback(tracebacks: list[Any]) -> None:
    """Python 3.11 prints one where a task that waits for a worker was cancelled before a worker ends."""
    with worker_pool(1) as pool:
        results = pool.map(time.sleep, [0, *[SECONDS] * 5])
        assert next(results) is None
        del results  # as an interruption gives them up, in the frame that it ends
        kill_workers(manager_of_workers())
    assert not tracebacks


def test_all_work_that_is_left_fails_where_a_worker_is_killed(tracebacks: list[Any]) -> None:
    with worker_pool(1) as pool:
        results = pool.map(time.sleep, [0, *[SECONDS] * 500])
        assert next(results) is None
        kill_workers(manager_of_workers())
        with pytest.raises(BrokenProcessPool):
            next(results)
    assert not tracebacks
    assert not multiprocessing.active_children()


def test_a_pool_is_left_after_its_thread_has_closed_its_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exit that finds the thread between its flag and its pipe writes to a closed pipe, and prints a traceback."""
    close = process._ThreadWakeup.close

    def slowly(wakeup: Any) -> None:
        time.sleep(0.3)
        close(wakeup)

    def broken() -> None:
        with worker_pool(1) as pool:
            results = pool.map(time.sleep, [0, *[SECONDS] * 5])
            assert next(results) is None
            managers.append(manager_of_workers())
            for worker in multiprocessing.active_children():
                worker.kill()
            next(results)

    managers: list[threading.Thread] = []
    monkeypatch.setattr(process._ThreadWakeup, "close", slowly)
    with pytest.raises(BrokenProcessPool):
        broken()
    assert not managers[0].is_alive()


def test_an_interruption_while_work_is_handed_out_waits_until_all_is() -> None:
    handed_out: list[float] = []

    def interrupted() -> Iterator[float]:
        for number in range(3):
            if number == 1:
                signal.raise_signal(signal.SIGINT)
            handed_out.append(number)
            yield 0.0

    with pytest.raises(KeyboardInterrupt), worker_pool(1) as pool:
        pool.map(time.sleep, interrupted())
    assert handed_out == [0, 1, 2]
