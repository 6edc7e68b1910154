"""A folder of files as one value: the bytes of all of them, and the digest by which anybody can compare the folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

FOLDER_HEAD = b"leafgate/folder/1\n"
"""What the bytes of a folder begin with."""


def pack_folder(files: Mapping[str, bytes]) -> bytes:
    """The files, by their paths below the folder, as one value: a list of paths and sizes, then all bytes."""
    listed = sorted(files)
    sizes = json.dumps([[name, len(files[name])] for name in listed]).encode()
    return b"".join([FOLDER_HEAD, sizes, b"\n", *(files[name] for name in listed)])


def folder_files(content: bytes) -> dict[str, bytes] | None:
    """The files of a folder by their paths; None for bytes that `pack_folder` did not make.

    >>> folder_files(pack_folder({"b/c": b"2", "a": b"1"}))
    {'a': b'1', 'b/c': b'2'}
    """
    if not content.startswith(FOLDER_HEAD):
        return None
    line, _, rest = content.removeprefix(FOLDER_HEAD).partition(b"\n")
    files, at = dict[str, bytes](), 0
    try:
        for name, size in json.loads(line):
            files[name] = rest[at : at + size]
            at += size
        return files if pack_folder(files) == content else None
    except (ValueError, TypeError, RecursionError, AttributeError):
        return None


def content_digest(content: bytes) -> str:
    """The SHA-256 of a file's bytes; of a folder that of the list that `sha256sum` prints of its files.

    The list is sorted by path, and names files by these; docs/how-to/which-run.md has a command.
    """
    files = folder_files(content)
    if files is None:
        return hashlib.sha256(content).hexdigest()
    listed = sorted(files, key=str.encode)
    lines = [f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in listed]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
