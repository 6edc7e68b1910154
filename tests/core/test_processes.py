"""Pools of workers whose work is given up: by an interruption, and where a worker is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import process
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from leafgate.api import report_progress
from leafgate.app import progress_watched_by
from leafgate.processes import limited_call, worker_pool
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


def test_progress_of_a_limited_attack_is_reported() -> None:
    class Watcher:
        def __init__(self) -> None:
            self.reports: list[tuple[int, int, str]] = []

        def begin(self, step: str) -> None: ...

        def end(self) -> None: ...

        def report(self, done: int, total: int, parts: str) -> None:
            self.reports.append((done, total, parts))

    watcher = Watcher()

    def works() -> int:
        for done in range(3):
            report_progress(done, 2, "rooms")
        return os.getpid()

    with progress_watched_by(watcher):
        assert limited_call(works, 3600.0) != os.getpid()
    assert watcher.reports == [(0, 2, "rooms"), (1, 2, "rooms"), (2, 2, "rooms")]


@pytest.mark.thorough
def test_what_an_ended_attack_has_started_ends_with_it_and_it_may_clean_up_before(tmp_path: Path) -> None:
    def works() -> None:
        child = os.fork()
        if child == 0:
            time.sleep(3600.0)
        (tmp_path / "child").write_text(str(child))
        try:
            time.sleep(3600.0)
        finally:
            (tmp_path / "cleaned").touch()

    with pytest.raises(TimeoutError):
        limited_call(works, 0.5)
    assert (tmp_path / "cleaned").exists()
    deadline = time.monotonic() + SECONDS
    while is_running(int((tmp_path / "child").read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(process: int) -> bool:
    """Does the process run? One that has ended and that its new parent has not waited for does not."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.thorough
def test_an_attack_that_ignores_signals_is_killed_and_leaves_no_zombie(tmp_path: Path) -> None:
    def works() -> None:
        (tmp_path / "process").write_text(str(os.getpid()))
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(3600.0)

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        limited_call(works, 0.5)
    assert time.monotonic() - began < SECONDS
    with pytest.raises(ChildProcessError):
        os.waitpid(int((tmp_path / "process").read_text()), os.WNOHANG)


def test_a_limit_may_be_longer_than_any_wait_of_the_system() -> None:
    assert limited_call(lambda: 7, 1e300) == 7


@pytest.mark.thorough
def test_an_attack_that_reports_progress_all_the_time_is_ended() -> None:
    def reports() -> None:
        while True:
            report_progress(1, 2, "rooms")

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        limited_call(reports, 0.3)
    assert time.monotonic() - began < SECONDS
