"""Models that are trained side by side, each in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Generic, TypeVar

Result = TypeVar("Result")


def side_by_side(models: Iterator[int], train: Callable[[int], Result], jobs: int) -> Iterator[tuple[int, Result]]:
    """Each model with what comes of it, when it is trained; an error of a thread is raised here.

    The threads are daemons: they end with the process, however that ends, and after an error with the model at hand.

    Args:
        models: their numbers; each is asked for when a thread is free.
        train: trains the model of a number.
        jobs: how many are trained at once, from 1.
    """
    if jobs == 1:
        for model in models:
            yield model, train(model)
        return
    work = _SharedWork(models, train)
    for number in range(jobs):
        threading.Thread(target=work.run, name=f"models {number}", daemon=True).start()
    try:
        while jobs:
            match work.results.get():
                case None:
                    jobs -= 1
                case BaseException() as error:
                    raise error
                case result:
                    yield result
    finally:
        work.stopped.set()


@dataclass
class _SharedWork(Generic[Result]):
    """Models that several threads train, and what came of them; None for each thread that has ended."""

    models: Iterator[int]
    train: Callable[[int], Result]
    results: SimpleQueue[tuple[int, Result] | BaseException | None] = field(default_factory=SimpleQueue)
    stopped: threading.Event = field(default_factory=threading.Event)
    _next: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        """Train one model after another until there are no more."""
        try:
            while not self.stopped.is_set():
                with self._next:
                    model = next(self.models, None)
                if model is None:
                    break
                self.results.put((model, self.train(model)))
        except BaseException as error:  # raised again where the results are read
            self.results.put(error)
        finally:
            self.results.put(None)
