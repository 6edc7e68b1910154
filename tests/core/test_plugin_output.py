"""What plugins print is dropped while they run, and nothing of it afterwards, however many threads there are."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import warnings

import pytest

from leafgate.plugin_output import TRACEBACK, plugin_output_dropped
from patience import SECONDS

PRINTED = """
import ctypes, os, subprocess, sys
from leafgate.plugin_output import plugin_output_dropped
print("before")
with plugin_output_dropped(), plugin_output_dropped():
    print("cell")
    os.write(1, b"cell ")
    ctypes.CDLL(None).printf(b"cell ")
    subprocess.run([sys.executable, "-c", "print('cell')"], check=True)
os.write(1, b"between ")
print("after")
"""
"""Prints by Python, by the descriptor, by the C library and by a program that it starts."""

CLOSED = """
import os
from leafgate.plugin_output import plugin_output_dropped
os.close(1)
with plugin_output_dropped():
    pass
"""


def ran(source: str, traceback: str) -> subprocess.CompletedProcess[str]:
    """A program with this value of LEAFGATE_TRACEBACK."""
    environment = {**os.environ, TRACEBACK: traceback}
    return subprocess.run([sys.executable, "-c", source], check=True, capture_output=True, text=True, env=environment)


def test_output_is_back_when_the_last_of_several_threads_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    before = (sys.stdout, sys.stderr, warnings.showwarning, logging.root.manager.disable)
    entered, left = threading.Event(), threading.Event()

    def longer() -> None:
        with plugin_output_dropped():
            entered.set()
            left.wait(SECONDS)
            print("37")

    other = threading.Thread(target=longer)
    with plugin_output_dropped():
        other.start()
        entered.wait(SECONDS)
        print("37", file=sys.stderr)
    assert sys.stdout is not before[0]
    left.set()
    other.join()
    assert (sys.stdout, sys.stderr, warnings.showwarning, logging.root.manager.disable) == before
    print("afterwards")
    assert capsys.readouterr() == ("afterwards\n", "")


def test_output_is_back_after_an_error_within_another_drop() -> None:
    before = sys.stdout

    def fails() -> None:
        with plugin_output_dropped():
            with plugin_output_dropped():
                pass
            assert sys.stdout is not before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert sys.stdout is before


@pytest.mark.skipif(sys.platform == "win32", reason="the C library of Windows has another name")
@pytest.mark.parametrize(("traceback", "shown"), [("0", 0), ("1", 4)])
def test_what_plugins_print_reaches_stdout_by_no_way(traceback: str, shown: int) -> None:
    ended = ran(PRINTED, traceback)
    assert sorted(ended.stdout.split()) == ["after", "before", "between"]
    assert ended.stderr.count("cell") == shown


def test_a_closed_stdout_is_left_closed() -> None:
    assert ran(CLOSED, "0").stdout == ""
