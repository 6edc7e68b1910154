"""A gzip, bzip2 or xz file of strangers, decompressed in memory within bounds."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import PurePath
from typing import Any

from leafgate.errors import ReleaseError

MAX_BYTES = 256 * 2**20
"""Bytes that a file may decompress to; no more are ever decompressed."""

MAX_MEMORY = 128 * 2**20
"""Bytes that decompressing an xz file may take; the largest preset of xz takes half of them."""

GZIP = b"\x1f\x8b\x08"
"""What a gzip file begins with: its two magic bytes and the method `deflate`."""

HEADER_BYTES = 10
"""The fixed part at the beginning of a gzip file: `GZIP`, flags (byte 3), a time and the system."""

NAME_FLAG = 8
"""The flag of a file name, which is the only part that may follow the fixed one."""

WINDOW_BITS = 31
"""zlib's `wbits` for gzip files with the largest window."""

DECOMPRESSORS: Mapping[bytes, Callable[[], Any]] = {
    GZIP: partial(zlib.decompressobj, WINDOW_BITS),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, MAX_MEMORY),
}
"""What decompresses a file, by what it begins with."""

DAMAGED = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)

COMPRESS_AGAIN = "compress it again with `gzip -n`, or name the file that was compressed"


def is_compressed(head: bytes) -> bool:
    """Is a file that begins so a gzip, bzip2 or xz file?"""
    return head.startswith((*DECOMPRESSORS,))


def decompressed_head(content: bytes, limit: int) -> bytes:
    """The first bytes of what a compressed file holds, at most `limit`; empty for other files, and damaged ones.

    Of a bzip2 file there are none before its first block has ended, which may be 900 kB long.
    """
    decompressor = _decompressor(content)
    try:
        return b"" if decompressor is None else bytes(decompressor.decompress(content, limit))
    except DAMAGED:
        return b""


def decompressed(content: bytes, place: str) -> bytes:
    """What a compressed file holds; other files as they are.

    Args:
        content: the file.
        place: the file's name.

    Raises:
        ReleaseError: it is damaged, decompresses to too much, goes on after its end, or is a gzip file with a comment
            or another name than its own, which nobody would audit.
    """
    decompressor = _decompressor(content)
    if decompressor is None:
        return content
    if content.startswith(GZIP):
        _refuse_notes(content, place)
    try:
        found = bytes(decompressor.decompress(content, MAX_BYTES + 1))
    except DAMAGED:
        why = f"is a compressed file that is damaged, or takes more than {MAX_MEMORY / 2**20:.0f} MB to decompress"
        raise ReleaseError(why, place=place, remedy=COMPRESS_AGAIN) from None
    if len(found) > MAX_BYTES:
        raise ReleaseError(f"decompresses to more than {MAX_BYTES / 2**20:.0f} MB", place=place)
    if not decompressor.eof or decompressor.unused_data:
        raise ReleaseError(
            "is a compressed file that ends too early, or goes on after its end", place=place, remedy=COMPRESS_AGAIN
        )
    return found


def _decompressor(content: bytes) -> Any:
    return next((kind() for head, kind in DECOMPRESSORS.items() if content.startswith(head)), None)


def _refuse_notes(content: bytes, place: str) -> None:
    """Refuse a gzip file that holds a comment, or another name than its own."""
    flags, name = content[3:4], b""
    if flags == bytes([NAME_FLAG]):
        name = content[HEADER_BYTES:].partition(b"\x00")[0][:256]
    if flags not in {b"\x00", bytes([NAME_FLAG])} or name not in {b"", PurePath(place).stem.encode()}:
        raise ReleaseError(
            "is compressed, with a comment or the name of another file", place=place, remedy=COMPRESS_AGAIN
        )
