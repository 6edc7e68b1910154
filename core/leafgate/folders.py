"""A folder of files as one value: read within bounds, packed into bytes, and with a digest that anybody can compute."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from leafgate.errors import ReleaseError

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

    The list is sorted by path, and names files by these; docs/how-to/reports.md has a command.
    """
    files = folder_files(content)
    if files is None:
        return hashlib.sha256(content).hexdigest()
    listed = sorted(files, key=str.encode)
    lines = [f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in listed]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


MODEL_FILE = "MLmodel"
"""A file that is in every folder of a model that MLflow saves."""

MAX_BYTES = 512 * 2**20
"""Bytes of all files of a folder together."""

MAX_FILES = 1_000
MAX_DEPTH = 20
NAME = re.compile(r"[\w.+@=-][\w.+@= -]*(/[\w.+@=-][\w.+@= -]*)*")
"""The path of a file in a folder: `sha256sum` prints such names as they are."""


def is_model_folder(path: Path) -> bool:
    """Is it a folder that MLflow saved?"""
    return (path / MODEL_FILE).is_file()


def read_folder(path: Path, limit: int = MAX_BYTES) -> bytes:
    """All files below a folder as one value.

    Args:
        path: the folder.
        limit: the largest number of bytes of all files together.

    Raises:
        OSError: a file cannot be read.
        ReleaseError: something is a link or no file, has an unusual name, or there are too many files.
    """
    files, size = dict[str, bytes](), 0
    for name, entry in _entries(path, path.name):
        if not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            raise ReleaseError("holds a link, or something that is no file", place=path.name, remedy="copy the file")
        if not NAME.fullmatch(name):
            raise ReleaseError("holds a file with unusual signs in its name", place=path.name, remedy="rename it")
        if len(files) == MAX_FILES:
            raise ReleaseError(f"holds more than {MAX_FILES:,} files", place=path.name)
        with open(entry.path, "rb", opener=lambda name, flags: os.open(name, flags | NO_FOLLOW)) as file:
            files[name] = file.read(limit - size + 1)
        size += len(files[name])
        if size > limit:
            raise ReleaseError(f"is larger than {limit / 2**20:.0f} MB", place=path.name)
    return pack_folder(files)


NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def _entries(folder: Path, place: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Everything below a folder that is no folder, by its path."""
    waiting: list[tuple[str, str]] = [("", str(folder))]
    while waiting:
        prefix, path = waiting.pop()
        if prefix.count("/") > MAX_DEPTH:
            raise ReleaseError("holds folders too deep", place=place)
        for entry in sorted(os.scandir(path), key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False):
                waiting.append((f"{prefix}{entry.name}/", entry.path))
            else:
                yield f"{prefix}{entry.name}", entry
