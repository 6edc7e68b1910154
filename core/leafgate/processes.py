"""Processes that work side by side and end with the process that started them, however that one ends."""

from __future__ import annotations

import marshal
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import _lru_cache_wrapper, lru_cache
from importlib import import_module
from io import BytesIO
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import CellType, FunctionType
from typing import Any, TypeVar, cast

from leafgate.errors import InconclusiveError
from leafgate.interruptions import interrupts_deferred, wait_for_files
from leafgate.plugin_output import is_output_shown, null_stream
from leafgate.progress import progress_watched_by, report_progress

Result = TypeVar("Result")
MAX_WAIT_SECONDS = 3600.0
"""So long at most a process is waited for at once: the system takes no waits of any length."""
GRACE_SECONDS = 2.0
"""How long a process that is asked to end may take to clean up."""


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


def limited_call(function: Callable[[], Result], seconds: float) -> Result:
    """What a function returns, called in a forked process that is ended, with all that it started, when time is over.

    The process sees all that this one has, so that nothing but the result must be pickled, which may have functions
    that enclose something. What the function writes into objects is lost. Progress that it reports is reported here.

    Raises:
        TimeoutError: the time is over.
        InconclusiveError: the process ended without an answer, its answer cannot be pickled, or there is no fork.
        KeyboardInterrupt: this process was interrupted, or the function raised it.
        Exception: what the function raised.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        raise InconclusiveError("a time limit needs a process that is forked", remedy="leave it out on Windows")
    deadline = time.monotonic() + seconds
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(function, reader, writer))
    try:
        with interrupts_deferred():
            process.start()
        writer.close()
        with suppress(OSError):  # the process does so itself; whoever comes first
            os.setpgid(process.pid or 0, process.pid or 0)
        return cast(Result, _received(reader, deadline))
    finally:
        with interrupts_deferred():
            _end(process)
        reader.close()


def _received(reader: Connection, deadline: float) -> object:
    """The answer of a process; raises what it sends."""
    while (left := deadline - time.monotonic()) > 0:
        if not reader.poll(min(left, MAX_WAIT_SECONDS)):
            continue
        try:
            message = reader.recv_bytes()
        except EOFError:
            problem = "its process ended without an answer: it was killed, or the memory was used up"
            raise InconclusiveError(problem) from None
        try:
            kind, content = pickle.loads(message)  # noqa: S301  of code that could as well run here
        except Exception as error:
            raise _not_picklable(error) from None
        if kind == "progress":
            report_progress(*content)
        elif kind == "raised":
            raise content
        else:
            return content
    raise TimeoutError


def _not_picklable(error: Exception) -> InconclusiveError:
    message = f"it cannot be limited in time, because its result cannot be pickled ({type(error).__name__})"
    return InconclusiveError(message, remedy="leave out `time_limit`, or return beliefs that `pickle` takes")


def _answer(function: Callable[[], object], reader: Connection, writer: Connection) -> None:
    """Send what a function returns or raises, and end this process without any clean-up of what its parent has."""
    lock = threading.Lock()

    def send(kind: str, content: object) -> None:
        message = BytesIO()
        _Pickler(message).dump((kind, content))
        with lock:
            writer.send_bytes(message.getvalue())

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it decides what an interrupt ends
        signal.signal(signal.SIGTERM, interrupt)
        os.setpgid(0, 0)  # a signal then ends what the function starts, too, and Ctrl-C ends what waits for it
        reader.close()
        threading.Thread(target=_exit_with_parent, daemon=True).start()
        if "threadpoolctl" in sys.modules:  # threads of OpenMP that the parent has are not there, and waited for
            sys.modules["threadpoolctl"].threadpool_limits(1, user_api="openmp")
        try:
            with progress_watched_by(_Relay(send)):
                answer = ("returned", function())
        except (Exception, KeyboardInterrupt) as error:
            answer = ("raised", error)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # there is nothing left to clean up
        try:
            send(*answer)
        except Exception as error:
            send("raised", _not_picklable(error))
    finally:
        os._exit(0)


class _Pickler(pickle.Pickler):
    """Pickles functions that are defined within others, too, by their code and what they enclose.

    A forked process has the same code as its parent, and the same modules.
    """

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, FunctionType) and "<" in thing.__qualname__:
            values = tuple(cell.cell_contents for cell in thing.__closure__ or ())
            facts = thing.__name__, thing.__defaults__, thing.__kwdefaults__
            return _function, (marshal.dumps(thing.__code__), thing.__module__, facts, values)
        if isinstance(thing, _lru_cache_wrapper):
            return _cached, (thing.cache_parameters(), thing.__wrapped__)
        return NotImplemented


def _function(code: bytes, module: str, facts: tuple[Any, Any, Any], values: tuple[object, ...]) -> FunctionType:
    """The function with this code; `facts` are its name and its defaults, `values` what it encloses."""
    name, defaults, keyword_defaults = facts
    cells = tuple(map(CellType, values))
    made = FunctionType(marshal.loads(code), vars(import_module(module)), name, defaults, cells)  # noqa: S302
    made.__kwdefaults__ = keyword_defaults
    return made


def _cached(parameters: dict[str, Any], function: Callable[..., Any]) -> Callable[..., Any]:
    cached: Callable[..., Any] = lru_cache(**parameters)(function)
    return cached


class _Relay:
    """Sends the parts that are reported done to the parent; the steps within are not shown there."""

    def __init__(self, send: Callable[[str, object], None]) -> None:
        self._send = send

    def begin(self, step: str) -> None:
        """Nothing to send."""

    def end(self) -> None:
        """Nothing to send."""

    def report(self, done: int, total: int, parts: str) -> None:
        self._send("progress", (done, total, parts))


def _end(process: BaseProcess) -> None:
    """End a process and all of its group, and wait for it, so that nothing is left."""
    if process.pid is None:
        return
    if not multiprocessing.connection.wait([process.sentinel], 0):
        process.terminate()
        multiprocessing.connection.wait([process.sentinel], GRACE_SECONDS)
    with suppress(OSError):  # nobody is left
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    process.close()


def _initialize(initializer: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it decides what an interrupt ends
    if not is_output_shown():  # what a plugin prints in a process of its own may hold a cell, too
        sys.stdout = sys.stderr = null_stream()
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    if initializer is not None:
        initializer(*arguments)


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        wait_for_files()
        os._exit(1)
