"""Nothing that a sweep started outlives it, not even where it is killed and can clean up nothing."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
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
    import leafgate.commands.sweep.pool as pool
    def stay(*given):
        with socket.create_connection(("127.0.0.1", {port})) as told:
            time.sleep(600)
    pool._audit_point = stay
"""

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing is killed so here")


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(SECONDS)
        yield server


@pytest.mark.thorough
def test_workers_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    """It is killed once its workers have said that they are at work."""
    with listening() as server:
        (tmp_path / "sitecustomize.py").write_text(STAY_AT_WORK.format(port=server.getsockname()[1]))
        words = ["--over", "build.k=1,2,3,4", "--out", tmp_path / "swept", "--workers", WORKERS]
        running = start("sweep", survey(tmp_path), *words, path=tmp_path, start_new_session=True)
        connections = [server.accept()[0] for _ in range(WORKERS)]
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
