"""Nothing that an audit or a sweep started outlives it, not even where it is killed and can clean up nothing."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from command_line import start
from patience import SECONDS
from session_processes import PROC, running_in
from survey import survey

WORKERS = 2
STAY_AT_WORK = """
import os, socket, sys, time
if "--multiprocessing-fork" in sys.argv:
    import {module} as module
    def stay(*given):
        with socket.create_connection(("127.0.0.1", {port})) as told:
            time.sleep(600)
    module.{function} = stay
"""

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing is killed so here")


def people_of_three_classes() -> str:
    rng = random.Random(5)  # a tree whose MaxEnt problem has several optima
    rows = [",".join([*(rng.choice("xy") for _ in range(4)), rng.choice("pqr")]) for _ in range(60)]
    return "\n".join(["a,b,c,d,ill", *rows]) + "\n"


def audit_with_workers(folder: Path) -> list[object]:
    """An audit whose MaxEnt problem has many optima, so that several starts run side by side."""
    public = {name: {"role": "quasi_identifier", "values": ["x", "y"]} for name in "abcd"}
    secret = {"role": ["class", "sensitive"], "values": ["p", "q", "r"]}
    changes = {
        "data.columns": {**public, "ill": secret},
        "build": {"use": "id3", "measure": "gini", "min_split": 8},
        "publish": {"leaves": "error_rates", "measure": True},
        "attacks": [{"use": "maxent", "starts": WORKERS, "internal": True}],
        "metrics": [{"use": "confidence", "at_most": 1}],
    }
    return ["audit", survey(folder, changes, people_of_three_classes())]


def sweep_with_workers(folder: Path) -> list[object]:
    words = ["--over", "build.k=1,2,3,4", "--out", folder / "swept", "--workers", WORKERS]
    return ["sweep", survey(folder), *words]


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(SECONDS)
        yield server


def assert_nothing_outlives(running: subprocess.Popen[str], server: socket.socket, workers: int) -> None:
    """Kill a process, the leader of a session, once its workers have said that they are at work."""
    connections = [server.accept()[0] for _ in range(workers)]
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    for connection in connections:
        with connection:
            connection.settimeout(SECONDS)
            assert connection.recv(1) == b"", "the connection closes when the worker ends"
    deadline = time.monotonic() + SECONDS
    while PROC.exists() and running_in(running.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


FEW_STARTS = (
    "import os, leafgate_plugins.maxent.solve.active_set as s; s.MIN_CELLS_FOR_PROCESSES = 0; os.cpu_count = lambda: 2"
)


@pytest.mark.parametrize(
    ("command", "module", "function", "before"),
    [
        (audit_with_workers, "leafgate_plugins.maxent.solve.active_set", "one_start", FEW_STARTS),
        (sweep_with_workers, "leafgate.commands.sweep.pool", "_audit_point", ""),
    ],
    ids=["audit", "sweep"],
)
@pytest.mark.thorough
def test_workers_end_with_a_parent_that_was_killed(
    tmp_path: Path, command: Callable[[Path], list[object]], module: str, function: str, before: str
) -> None:
    with listening() as server:
        stay = STAY_AT_WORK.format(module=module, function=function, port=server.getsockname()[1])
        (tmp_path / "sitecustomize.py").write_text(stay)
        running = start(*command(tmp_path), before=before, path=tmp_path, start_new_session=True)
        assert_nothing_outlives(running, server, WORKERS)
