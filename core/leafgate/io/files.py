"""Reading files up to a bound, and writing them whole or not at all: to a temporary file, which is then renamed."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from leafgate.errors import LeafgateError, OutputError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
OWNER_ONLY, EVERYONE = 0o600, 0o644


def trouble(error: OSError, place: str) -> LeafgateError:
    """The error to raise for a failed write: a full disk is ours to report (4), a bad place the caller's (2)."""
    if error.errno in FULL:
        return LeafgateError(f"could not be written: {error.strerror}", place=place, remedy="make room, run again")
    return OutputError(f"cannot be written: {error.strerror}", place=place, remedy="name another place")


def read_bounded(path: Path, limit: int, error: type[LeafgateError], place: str) -> bytes:
    """The first `limit` + 1 bytes of a file: its reader refuses a file that is larger than `limit` by their number.

    Raises `error`, located at `place`, where the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(limit + 1)
    except OSError as reason:
        raise error(f"cannot be read: {reason.strerror}", place=place) from None


def make_folder(folder: Path) -> None:
    """The folder exists and can be written to, or OutputError says why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise trouble(error, str(folder)) from None


def remove_files(folder: Path, names: Iterable[str]) -> None:
    """Delete files of an earlier run, so that no stale file lies among new results."""
    try:
        for name in names:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise trouble(error, str(folder)) from None


def write_files(folder: Path, contents: Mapping[str, bytes], mode: int, private: Collection[str] = ()) -> None:
    """Write each file whole; when one fails, none of them is left half written.

    Each goes to a temporary file in the same folder, reaches the disk, and takes its name in one
    step. `mode` holds from the first byte on; files named in `private` are for their owner only.
    """
    waiting: list[tuple[Path, Path]] = []
    try:
        for name, content in contents.items():
            temporary = _write_temporary(folder, content, OWNER_ONLY if name in private else mode)
            waiting.append((temporary, folder / name))
        for written, target in waiting:
            os.replace(written, target)
    except OSError as error:
        raise trouble(error, str(folder)) from None
    finally:
        for written, _ in waiting:
            written.unlink(missing_ok=True)


def _write_temporary(folder: Path, content: bytes, mode: int) -> Path:
    handle, name = tempfile.mkstemp(prefix=".leafgate-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def write_file(path: Path, content: bytes, mode: int) -> None:
    """Write one file whole, making its folder where needed; a link to a file is replaced.

    Raises OutputError for what is there and is no file: folders, devices, pipes.
    """
    if path.name == "-" or (path.exists() and not path.is_file()):
        raise OutputError("is no file that can be written", place=str(path), remedy="name a file")
    make_folder(path.parent)
    write_files(path.parent, {path.name: content}, mode)


def refuse_same(given: Path, out: Path) -> None:
    """Raise OutputError where the file to write is the one that was given, whatever its name."""
    if given.resolve() == out.resolve() or (given.exists() and out.exists() and given.samefile(out)):
        raise OutputError(
            "is a file that this command reads, and would be overwritten", place=str(out), remedy="name another file"
        )


def clear_file(out: Path, given: Iterable[Path]) -> None:
    """Delete an older result, so that none is left whatever happens; OutputError where it is a file that was given."""
    for path in given:
        refuse_same(path, out)
    if out.is_file():
        remove_files(out.parent, [out.name])
