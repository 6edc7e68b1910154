from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from leafgate.interruptions import ENDING, interrupt_on_signals, interrupts_deferred
from leafgate.io.files import EVERYONE, write_files


def test_an_interruption_waits_until_the_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def interrupted(handle: int) -> None:
        signal.raise_signal(signal.SIGINT)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, {"one": b"1", "two": b"2"}, EVERYONE)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"one": b"1", "two": b"2"}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interruption_is_not_lost_where_writing_fails() -> None:
    def fail() -> None:
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            raise ValueError

    with pytest.raises(KeyboardInterrupt):
        fail()


def test_a_thread_defers_nothing_and_may_write() -> None:
    entered: list[bool] = []

    def enter() -> None:
        with interrupts_deferred():
            entered.append(signal.getsignal(signal.SIGINT) is signal.default_int_handler)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered == [True]


def test_ending_signals_interrupt_and_ignored_ones_stay_ignored() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    try:
        signal.signal(ENDING[-1], signal.SIG_IGN)
        signal.signal(ENDING[0], signal.SIG_DFL)
        received = interrupt_on_signals()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(ENDING[0])
        signal.raise_signal(ENDING[0])  # at once again: the same interruption
        assert received == [ENDING[0]]
        assert ENDING[0] == ENDING[-1] or signal.getsignal(ENDING[-1]) == signal.SIG_IGN
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
