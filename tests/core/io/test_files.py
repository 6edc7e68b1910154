"""Files are written whole or not at all, and a folder is written to by one process at a time."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import leafgate.io.locks
from leafgate import LeafgateError
from leafgate.app import write_file
from leafgate.errors import OutputError
from leafgate.io.files import EVERYONE, OWNER_ONLY, make_folder, refuse_same, write_files
from leafgate.io.locks import locked_folder, turn_in_folder
from leafgate.session.results import results_folder

NEEDS_LOCKS = pytest.mark.skipif(find_spec("fcntl") is None, reason="this system locks no files")
CONTENTS = {"one": b"1", "two": b"22", "three": b"333"}


def failing(call: Callable[..., Any], number: int, code: int) -> Callable[..., Any]:
    """`call`, which the `number`th time fails."""
    left = [number]

    def instead(*words: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(code, os.strerror(code))
        return call(*words, **options)

    return instead


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_are_written_whole(tmp_path: Path) -> None:
    write_files(tmp_path, CONTENTS, EVERYONE)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == CONTENTS


@pytest.mark.parametrize("mode", [OWNER_ONLY, EVERYONE])
def test_the_mode_holds_whatever_the_umask_is_and_whatever_was_there(tmp_path: Path, mode: int) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o666)
    before = os.umask(0o077)
    try:
        write_file(tmp_path / "file", b"new", mode)
    finally:
        os.umask(before)
    assert ((tmp_path / "file").read_bytes(), mode_of(tmp_path / "file")) == (b"new", mode)


def test_a_private_file_is_never_readable_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    fsync = os.fsync

    def look(handle: int) -> None:
        seen.extend(mode_of(path) for path in tmp_path.iterdir())
        fsync(handle)

    monkeypatch.setattr(os, "fsync", look)
    write_file(tmp_path / "file", b"x", OWNER_ONLY)
    assert seen == [OWNER_ONLY]


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod"])
def test_a_full_disk_leaves_no_new_file_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    monkeypatch.setattr(os, call, failing(getattr(os, call), number, errno.ENOSPC))
    with pytest.raises(LeafgateError, match="make room") as refused:
        write_files(tmp_path, CONTENTS, EVERYONE)
    assert refused.value.exit_code == 4
    assert all(path.read_bytes() == CONTENTS[path.name] for path in tmp_path.iterdir())


def test_a_full_disk_leaves_the_old_files_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", failing(os.fsync, 3, errno.ENOSPC))
    with pytest.raises(LeafgateError):
        write_files(tmp_path, CONTENTS, EVERYONE)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("one", b"old")]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_no_room_is_our_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr(os, "fsync", failing(os.fsync, 1, code))
    with pytest.raises(LeafgateError) as refused:
        write_file(tmp_path / "file", b"x", EVERYONE)
    assert refused.value.exit_code == 4


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_place_that_cannot_be_written_is_the_callers_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(os, "replace", failing(os.replace, 1, code))
    with pytest.raises(OutputError, match="name another place") as refused:
        write_file(tmp_path / "file", b"x", EVERYONE)
    assert refused.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, CONTENTS, EVERYONE)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_made_with_those_above_it_and_left_empty(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize("place", ["file", "file/below", "file/below/deeper"])
def test_a_folder_cannot_stand_where_a_file_is(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(OutputError):
        make_folder(tmp_path / place)
    assert (tmp_path / "file").read_bytes() == b"x"


def test_a_file_cannot_stand_where_a_folder_is(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError):
        write_file(tmp_path / "folder", b"x", EVERYONE)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_link_is_replaced_and_what_it_led_to_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    write_file(tmp_path / "link", b"new", EVERYONE)
    assert ((tmp_path / "target").read_bytes(), (tmp_path / "link").is_symlink()) == (b"old", False)


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to a device", "-"])
def test_what_is_no_file_is_never_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("-" if kind == "-" else "out")
    make: dict[str, Callable[[], object]] = {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "link to a device": lambda: path.symlink_to("/dev/null"),
        "-": lambda: None,
    }
    make[kind]()
    before = path.exists(), path.is_symlink()
    with pytest.raises(OutputError, match="is no file that can be written") as caught:
        write_file(path, b"1", EVERYONE)
    assert str(path) in str(caught.value)
    assert (path.exists(), path.is_symlink()) == before


@pytest.mark.parametrize("kind", ["itself", "a link", "a second name"])
def test_the_file_that_is_read_is_not_written(tmp_path: Path, kind: str) -> None:
    given, out = tmp_path / "given", tmp_path / ("given" if kind == "itself" else "out")
    given.write_bytes(b"1")
    if kind != "itself":
        (out.symlink_to if kind == "a link" else out.hardlink_to)(given)
    with pytest.raises(OutputError, match="is a file that this command reads"):
        refuse_same(given, out)
    refuse_same(given, tmp_path / "other")


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


@NEEDS_LOCKS
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


@NEEDS_LOCKS
def test_whoever_waits_for_a_folder_goes_on_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leafgate.io.locks, "PATIENCE_SECONDS", 0.05)
    with Elsewhere(tmp_path), turn_in_folder(tmp_path):
        write_file(tmp_path / "file", b"1", EVERYONE)
    assert (tmp_path / "file").read_bytes() == b"1"


@NEEDS_LOCKS
def test_temporary_files_of_killed_processes_are_deleted_and_those_in_use_are_not(tmp_path: Path) -> None:
    for name in (".leafgate-0123", ".leafgate-in-use", "leafgate-mine"):
        (tmp_path / name).write_bytes(b"1")
    with (tmp_path / ".leafgate-in-use").open("rb") as file:
        assert leafgate.io.locks.lock(file.fileno())
        make_folder(tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {".leafgate-in-use", "leafgate-mine"}
    make_folder(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"leafgate-mine"}
