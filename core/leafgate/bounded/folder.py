"""A folder of strangers, read into memory within bounds; nothing outside it is read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from leafgate.errors import ReleaseError
from leafgate.kernel.folders import pack_folder

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
