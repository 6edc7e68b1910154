"""What plugins print is dropped while they run, and nothing of it afterwards, however many threads there are."""

from __future__ import annotations

import logging
import sys
import threading
import warnings

import pytest

from leafgate.plugin_output import plugin_output_dropped
from patience import SECONDS


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
