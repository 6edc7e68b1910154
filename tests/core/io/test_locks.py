from __future__ import annotations

import threading
from pathlib import Path

import pytest

import leafgate.io.locks
from leafgate.app import write_file
from leafgate.errors import OutputError
from leafgate.io.files import EVERYONE, make_folder
from leafgate.io.locks import locked_folder, turn_in_folder
from leafgate.session.results import results_folder

pytest.importorskip("fcntl")


class Elsewhere:
    """A thread that locks a folder until it is told to let go, as another process would."""

    def __init__(self, folder: Path) -> None:
        self._claimed, self._done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._claim, args=(folder,))

    def _claim(self, folder: Path) -> None:
        with locked_folder(folder):
            self._claimed.set()
            self._done.wait()

    def __enter__(self) -> None:
        self._thread.start()
        self._claimed.wait()

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()


def test_a_claimed_folder_is_refused_to_others_until_it_is_let_go(tmp_path: Path) -> None:
    with (
        Elsewhere(tmp_path),
        pytest.raises(OutputError, match="another audit or sweep") as caught,
        results_folder(tmp_path),
    ):
        pass
    assert (caught.value.exit_code, str(tmp_path) in str(caught.value)) == (2, True)
    with results_folder(tmp_path):
        pass


@pytest.mark.parametrize("place", ["nowhere", "file"])
def test_what_cannot_be_locked_is_left_to_who_writes_there(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with locked_folder(tmp_path / place) as locked:
        assert locked


def test_whoever_waits_for_a_folder_goes_on_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leafgate.io.locks, "PATIENCE_SECONDS", 0.05)
    with Elsewhere(tmp_path), turn_in_folder(tmp_path):
        write_file(tmp_path / "file", b"1", EVERYONE)
    assert (tmp_path / "file").read_bytes() == b"1"


def test_temporary_files_of_killed_processes_are_deleted_and_those_in_use_are_not(tmp_path: Path) -> None:
    for name in (".leafgate-0123", ".leafgate-in-use", "leafgate-mine"):
        (tmp_path / name).write_bytes(b"1")
    with (tmp_path / ".leafgate-in-use").open("rb") as file:
        assert leafgate.io.locks.lock(file.fileno())
        make_folder(tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {".leafgate-in-use", "leafgate-mine"}
    make_folder(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"leafgate-mine"}
