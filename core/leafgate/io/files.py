"""Reading files up to a bound, and writing them whole or not at all: to a temporary file, which is then renamed.

Who writes holds a lock on each temporary file until it has its name. One that nobody holds is of a process that was
killed, and the next that writes into the folder deletes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from leafgate.errors import LeafgateError, OutputError
from leafgate.interruptions import interrupts_deferred
from leafgate.io.locks import PATIENCE_SECONDS, lock, locked_file

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
OWNER_ONLY, EVERYONE = 0o600, 0o644
TEMPORARY = ".leafgate-"
"""What the name of a temporary file begins with."""
MIN_KEY_BYTES = 16
"""Keys of fewer bytes can be found by trying."""
MAX_KEY_BYTES = 4096
"""A file of more bytes is no key but something else."""


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


def read_key(path: Path, error: type[LeafgateError], place: str) -> bytes:
    """The secret key in a file, all of its bytes; `error`, located at `place`, where it cannot be one."""
    try:
        with path.open("rb") as file:
            key = file.read(MAX_KEY_BYTES + 1)
    except OSError as reason:
        raise error(f"cannot be read: {reason.strerror}", place=place, remedy="make one, and keep it") from None
    if not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
        message = f"is no key: it has fewer than {MIN_KEY_BYTES} bytes, or more than {MAX_KEY_BYTES}"
        raise error(message, place=place, remedy="for example: head -c 32 /dev/urandom > FILE")
    return key


def make_folder(folder: Path) -> None:
    """The folder exists and can be written to, or OutputError says why not. Abandoned temporary files are deleted."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(prefix=TEMPORARY, dir=folder):
            pass
        remove_abandoned(folder)
    except OSError as error:
        raise trouble(error, str(folder)) from None


def remove_abandoned(folder: Path) -> None:
    """Delete the temporary files of processes that were killed while they wrote into the folder."""
    for name in _temporary_names(folder):
        with contextlib.suppress(OSError):
            handle = os.open(folder / name, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                if lock(handle):
                    os.unlink(folder / name)
            finally:
                os.close(handle)


def _temporary_names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.name.startswith(TEMPORARY)]
    except OSError:  # a folder may be written to, and yet not listed
        return []


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
    An interruption waits until all of them are written.
    """
    waiting: list[tuple[_Temporary, Path]] = []
    with interrupts_deferred():
        try:
            for name, content in contents.items():
                waiting.append((_Temporary(folder), folder / name))
                waiting[-1][0].write(content, OWNER_ONLY if name in private else mode)
            for temporary, target in waiting:
                os.replace(temporary.path, target)
        except OSError as error:
            raise trouble(error, str(folder)) from None
        finally:
            for temporary, _ in waiting:
                temporary.discard()


class _Temporary:
    """A new file that is locked while it is open."""

    def __init__(self, folder: Path) -> None:
        while True:
            self.path = folder / f"{TEMPORARY}{os.urandom(8).hex()}"
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
            locked = lock(self._handle)
            if locked is None or (locked and os.fstat(self._handle).st_nlink):
                break
            os.close(self._handle)  # another process took it for an abandoned one before it was locked

    def write(self, content: bytes, mode: int) -> None:
        """Write everything, and see that it reaches the disk."""
        os.fchmod(self._handle, mode)
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self._handle, rest) :]
        os.fsync(self._handle)

    def discard(self) -> None:
        """Close the file, and delete it where it has not got another name."""
        with contextlib.suppress(OSError):
            os.close(self._handle)
        self.path.unlink(missing_ok=True)


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


@contextlib.contextmanager
def shared_file(path: Path) -> Iterator[Path]:
    """The file that a path leads to, which no other process replaces meanwhile; what was written reaches the disk.

    Args:
        path: a file that processes replace as a whole, or a link to one; it and its folder need not be there.

    Raises:
        OutputError: it is no file, it or its folder cannot be written, or another process holds it all the time.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OutputError("is no file that can be written", place=str(path), remedy="name a file")
    make_folder(target.parent)
    try:
        with locked_file(target, PATIENCE_SECONDS) as locked:
            if not locked:
                remedy = "run again when it has ended"
                raise OutputError("another process is writing it", place=str(path), remedy=remedy)
            yield target
            _flush_folder(target.parent)
    except OSError as error:
        raise trouble(error, str(path)) from None


def _flush_folder(folder: Path) -> None:
    """See that the new name of a file reaches the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
