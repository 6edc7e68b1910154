"""Keys that sign, and keys that verify: from a file, or a private one from a command that needs no shell."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from leafgate.errors import InvalidError
from leafgate.io.files import read_bounded

MAX_BYTES = 64 * 1024
"""Of a key, or of a chain of certificates."""
SECONDS = 300
"""How long a command for a key may take; it may have to ask a person."""


def key_of_file(path: Path, option: str) -> bytes:
    """The content of a key's file; InvalidError where it cannot be read."""
    return _checked(read_bounded(path, MAX_BYTES, InvalidError, option), option)


def private_key(path: Path | None, command: str | None) -> bytes:
    """The private key in a file, or what a command prints on stdout; no shell reads the command.

    Raises:
        InvalidError: neither or both are named, the file cannot be read, or the command fails. The text of the error
            has nothing that the command printed.
    """
    if (path is None) == (command is None):
        message = "name a file, or a command that prints the key"
        raise InvalidError(message, place="--key, --key-command", remedy="give one of the two")
    return key_of_file(path, "--key") if path is not None else _printed(str(command))


def _printed(command: str) -> bytes:
    place = "--key-command"
    try:
        words = shlex.split(command)
    except ValueError:
        raise InvalidError("has a quotation mark that is not closed", place=place) from None
    if not words:
        raise InvalidError("is empty", place=place, remedy="write the program and its arguments")
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, timeout=SECONDS, check=False)  # noqa: S603  the user names it
    except OSError as error:
        message = f"cannot be run: {error.strerror}"
        raise InvalidError(message, place=place, remedy="name a program; no shell reads the command") from None
    except subprocess.TimeoutExpired:
        raise InvalidError(f"was not done in {SECONDS} seconds", place=place) from None
    if done.returncode != 0:
        raise InvalidError(f"ended with {done.returncode}, and not with 0", place=place)
    return _checked(done.stdout, place)


def _checked(content: bytes, place: str) -> bytes:
    if not content.strip():
        raise InvalidError("is empty", place=place, remedy="name a key")
    if len(content) > MAX_BYTES:
        raise InvalidError(f"is larger than {MAX_BYTES // 1024} kB, and no key", place=place)
    return content
