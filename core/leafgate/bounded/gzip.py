"""A gzip file of strangers, decompressed in memory within bounds."""

from __future__ import annotations

import zlib
from pathlib import PurePath

from leafgate.errors import ReleaseError

MAX_BYTES = 256 * 2**20
"""Bytes that a file may decompress to; no more are ever decompressed."""

HEAD = b"\x1f\x8b\x08"
HEAD_BYTES = 10
"""The fixed part at the beginning: this head, flags (byte 3), a time and the system."""

NAME = 8
"""The flag of a file name, which is the only part that may follow the fixed one."""

GZIP = 31
"""zlib's number of gzip files, with their largest window."""


def is_gzip(head: bytes) -> bool:
    """Does a file that begins so hold one compressed by gzip?"""
    return head.startswith(HEAD)


def gzip_head(head: bytes, limit: int) -> bytes:
    """The first bytes of what a gzip file holds, at most `limit`, from its own first ones; empty if it is damaged."""
    try:
        return zlib.decompressobj(GZIP).decompress(head, limit)
    except zlib.error:
        return b""


AGAIN = "compress it again with `gzip -n`, or name the file that was compressed"


def refuse_gzip_notes(content: bytes, place: str) -> None:
    """Refuse a gzip file that holds a comment, or another name than its own: nobody would audit them.

    Args:
        content: the file.
        place: the file's name.

    Raises:
        ReleaseError: it has one.
    """
    flags, name = content[3:4], b""
    if flags == bytes([NAME]):
        name = content[HEAD_BYTES:].partition(b"\x00")[0][:256]
    if flags not in {b"\x00", bytes([NAME])} or name not in {b"", PurePath(place).stem.encode()}:
        raise ReleaseError("is compressed, with a comment or the name of another file", place=place, remedy=AGAIN)


def parse_bounded_gzip(content: bytes, place: str) -> bytes:
    """What a gzip file holds.

    Raises:
        ReleaseError: it is damaged, decompresses to too much, or goes on after its end.
    """
    decompressor = zlib.decompressobj(GZIP)
    try:
        found = decompressor.decompress(content, MAX_BYTES + 1)
    except zlib.error:
        raise ReleaseError("is a gzip file that is damaged", place=place, remedy=AGAIN) from None
    if len(found) > MAX_BYTES:
        raise ReleaseError(f"decompresses to more than {MAX_BYTES / 2**20:.0f} MB", place=place)
    if not decompressor.eof or decompressor.unused_data:
        raise ReleaseError("is a gzip file that ends too early, or goes on after its end", place=place, remedy=AGAIN)
    return found
