"""Auditing every point of a sweep, side by side in processes."""

from __future__ import annotations

import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from leafgate.api import InconclusiveError, report_progress
from leafgate.commands.sweep.axes import Point
from leafgate.commands.sweep.worker import Auditor, Result, Task
from leafgate.processes import worker_pool


def run_points(points: Sequence[Point], task: Task, workers: int) -> list[Result]:
    """Each point's result, in order, whoever computed it; after each, progress is reported.

    Raises InconclusiveError when a worker was killed; what is finished stays.
    """
    named = list(zip(points, folders_of(points), strict=True))
    if workers <= 1 or len(points) <= 1:
        return list(_each_reported(map(Auditor(task), named), len(points)))
    with worker_pool(workers, _start_worker, (task,)) as pool:
        try:
            with _interrupts_ignored():
                results = pool.map(_audit_point, named)
            return list(_each_reported(results, len(points)))
        except BrokenProcessPool:
            raise InconclusiveError(
                "a worker was killed; was the memory used up?", remedy="run it again, finished points are kept"
            ) from None


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes that are started meanwhile ignore interrupts, which this process handles: it ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _each_reported(results: Iterator[Result], total: int) -> Iterator[Result]:
    report_progress(0, total, "points")
    for done, result in enumerate(results, 1):
        report_progress(done, total, "points")
        yield result


def folders_of(points: Sequence[Point]) -> list[str]:
    """A folder's name for each point: its options in words, a number added where two would be the same."""
    seen: Counter[str] = Counter()
    names = []
    for point in points:
        words = re.sub(r"[^A-Za-z0-9=.-]+", "_", point.label).strip("_.")[:80]
        seen[words] += 1
        names.append(words if seen[words] == 1 else f"{words}~{seen[words]}")
    return names


_worker: list[Auditor] = []


def _start_worker(task: Task) -> None:
    _worker[:] = [Auditor(task)]


def _audit_point(named: tuple[Point, str]) -> Result:
    return _worker[0](named)
