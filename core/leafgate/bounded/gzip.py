"""A gzip, bzip2 or xz file of strangers, decompressed in memory within bounds."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from leafgate.errors import ReleaseError

MAX_BYTES = 256 * 2**20
"""Bytes that a file may decompress to; no more are ever decompressed."""

HEAD = b"\x1f\x8b\x08"
"""What a gzip file begins with: its two magic bytes and the method `deflate`."""

HEADER_BYTES = 10
"""The fixed part at the beginning: `HEAD`, flags (byte 3), a time and the system."""

NAME_FLAG = 8
"""The flag of a file name, which is the only part that may follow the fixed one."""

WINDOW_BITS = 31
"""zlib's `wbits` for gzip files with the largest window."""

COMPRESS_AGAIN = "compress it again with `gzip -n`, or name the file that was compressed"


def is_gzip(head: bytes) -> bool:
    """Is a file that begins so one that gzip compressed?"""
    return head.startswith(HEAD)


def gzip_head(head: bytes, limit: int) -> bytes:
    """The first bytes of what a gzip file holds, at most `limit`, from its own first ones; empty if it is damaged."""
    try:
        return zlib.decompressobj(WINDOW_BITS).decompress(head, limit)
    except zlib.error:
        return b""


def refuse_gzip_notes(content: bytes, place: str) -> None:
    """Refuse a gzip file that holds a comment, or another name than its own: nobody would audit them.

    Args:
        content: the file.
        place: the file's name.

    Raises:
        ReleaseError: it has one.
    """
    flags, name = content[3:4], b""
    if flags == bytes([NAME_FLAG]):
        name = content[HEADER_BYTES:].partition(b"\x00")[0][:256]
    if flags not in {b"\x00", bytes([NAME_FLAG])} or name not in {b"", PurePath(place).stem.encode()}:
        raise ReleaseError(
            "is compressed, with a comment or the name of another file", place=place, remedy=COMPRESS_AGAIN
        )


def parse_bounded_gzip(content: bytes, place: str) -> bytes:
    """What a gzip file holds.

    Raises:
        ReleaseError: it is damaged, decompresses to too much, or goes on after its end.
    """
    decompressor = zlib.decompressobj(WINDOW_BITS)
    try:
        found = decompressor.decompress(content, MAX_BYTES + 1)
    except zlib.error:
        raise ReleaseError("is a gzip file that is damaged", place=place, remedy=COMPRESS_AGAIN) from None
    if len(found) > MAX_BYTES:
        raise ReleaseError(f"decompresses to more than {MAX_BYTES / 2**20:.0f} MB", place=place)
    if not decompressor.eof or decompressor.unused_data:
        raise ReleaseError(
            "is a gzip file that ends too early, or goes on after its end", place=place, remedy=COMPRESS_AGAIN
        )
    return found


OTHERS: Mapping[bytes, Callable[[], Any]] = {b"BZh": bz2.BZ2Decompressor, b"\xfd7zXZ\x00": lzma.LZMADecompressor}
"""What decompresses bzip2 and xz files, by what these begin with; R writes both, and joblib writes pickles so."""

DAMAGED = (OSError, EOFError, ValueError, lzma.LZMAError)


def _other(content: bytes) -> Any:
    """What decompresses a bzip2 or an xz file; None for other files."""
    return next((kind() for head, kind in OTHERS.items() if content.startswith(head)), None)


def other_head(content: bytes, limit: int) -> bytes:
    """The first bytes of what a bzip2 or an xz file holds, at most `limit`; empty for others, and damaged ones.

    Of a bzip2 file there are none before its first block has ended, which may be 900 kB long.
    """
    decompressor = _other(content)
    try:
        found = b"" if decompressor is None else decompressor.decompress(content, limit)
    except DAMAGED:
        return b""
    return bytes(found)


def parse_bounded_other(content: bytes, place: str) -> bytes:
    """What a bzip2 or an xz file holds; other files as they are.

    Raises:
        ReleaseError: it is damaged, decompresses to too much, or goes on after its end.
    """
    decompressor = _other(content)
    if decompressor is None:
        return content
    try:
        found = bytes(decompressor.decompress(content, MAX_BYTES + 1))
    except DAMAGED:
        raise ReleaseError("is compressed, and damaged", place=place) from None
    if len(found) > MAX_BYTES:
        raise ReleaseError(f"decompresses to more than {MAX_BYTES / 2**20:.0f} MB", place=place)
    if not decompressor.eof or decompressor.unused_data:
        raise ReleaseError("is compressed, and ends too early or goes on after its end", place=place)
    return found
