"""A zip of strangers: looked at entry by entry, in memory, within bounds; nothing is unpacked to disk."""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass

import numpy as np

from leafgate.errors import ReleaseError

MAX_ENTRIES = 50_000
MAX_ENTRY = 96 * 2**20
MAX_TOTAL = 256 * 2**20
"""Bytes of all entries together, as the zip itself says; an entry that turns out longer is refused as it is read."""


@dataclass(frozen=True)
class Parts:
    """The entries of a zip, by name."""

    archive: zipfile.ZipFile
    sizes: dict[str, int]
    place: str

    def read(self, name: str) -> bytes:
        """One entry's bytes, never more than the zip says it has."""
        if name not in self.sizes:
            raise ReleaseError("speaks of an entry that there is not", place=self.place)
        try:
            with self.archive.open(name) as entry:
                content = entry.read(self.sizes[name] + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError):
            raise ReleaseError("has an entry that cannot be read", place=self.place) from None
        if len(content) != self.sizes[name]:
            raise ReleaseError("has an entry of another length than it says", place=self.place)
        return content

    def array(self, name: str) -> np.ndarray:
        """One entry as the NumPy array it must be."""
        return npy(self.read(name), self.place)


def parts_of(content: bytes, place: str) -> Parts:
    """The zip's entries; ReleaseError where there are too many, too large, or unfit ones."""
    if content.count(b"PK\x01\x02") > MAX_ENTRIES:
        raise ReleaseError(f"has more than {MAX_ENTRIES:,} entries", place=place)
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, UnicodeDecodeError):
        raise ReleaseError("is no zip that can be read", place=place) from None
    sizes = {info.filename: info.file_size for info in infos}
    if len(sizes) != len(infos):
        raise ReleaseError("has two entries of one name", place=place)
    if any(
        info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or info.flag_bits & 1 for info in infos
    ):
        raise ReleaseError("is encrypted, or compressed in a way that is not read here", place=place)
    if any(size > MAX_ENTRY for size in sizes.values()) or sum(sizes.values()) > MAX_TOTAL:
        raise ReleaseError(
            f"would unpack to more than {MAX_ENTRY / 2**20:.0f} MB, or {MAX_TOTAL / 2**20:.0f} MB in all", place=place
        )
    return Parts(archive, sizes, place)


def npy(content: bytes, place: str) -> np.ndarray:
    """The array in a .npy file: its header first, then just as many bytes as that says; no Python objects."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, in_columns, kind = read(stream)
    except (ValueError, KeyError, EOFError, SyntaxError, TypeError, RecursionError, MemoryError, OverflowError):
        raise ReleaseError("holds an array whose header cannot be read", place=place) from None
    if kind.hasobject:
        raise ReleaseError("holds an array of Python objects, that is a pickle", place=place)
    count = 1
    for length in shape:
        count *= int(length)
    if count < 0 or kind.itemsize == 0 or count * kind.itemsize != len(content) - stream.tell():
        raise ReleaseError("holds an array whose header says another size than it has", place=place)
    flat = np.frombuffer(content, dtype=kind, count=count, offset=stream.tell())
    return flat.reshape(shape, order="F" if in_columns else "C")
