"""All starts of a search, side by side in processes where that pays."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator

from leafgate.worker_processes import worker_pool
from leafgate_maxent.outcome import Outcome, Settings
from leafgate_maxent.posing import Search

LARGE = 20_000
"""Cells from which on starting processes costs less than it saves."""


def all_starts(
    one_start: Callable[[Search, int, int], Outcome], search: Search, settings: Settings
) -> Iterator[Outcome]:
    """Every start's outcome, in order; the same ones however many processes there are."""
    numbers = range(settings.starts)
    processes = min(len(numbers), os.cpu_count() or 1)
    if processes < 2 or search.start.size < LARGE or multiprocessing.current_process().daemon:
        yield from (one_start(search, number, settings.seed) for number in numbers)
        return
    with worker_pool(processes) as pool:
        yield from pool.map(one_start, [search] * len(numbers), numbers, [settings.seed] * len(numbers))
