"""A zip of strangers: looked at entry by entry, in memory, within bounds; nothing is unpacked to disk."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from leafgate.errors import ReleaseError

MAX_ENTRIES = 50_000
MAX_ENTRY = 96 * 2**20
MAX_TOTAL = 256 * 2**20
"""Bytes of all entries together, as the zip itself says; an entry that turns out longer is refused as it is read."""


@dataclass(frozen=True)
class ZipParts:
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


def parse_bounded_zip(content: bytes, place: str) -> ZipParts:
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
    return ZipParts(archive, sizes, place)


LOCAL_HEADER, DIRECTORY_ENTRY, DIRECTORY_END, DIRECTORY_END_64 = 30, 46, 22, 76
"""Bytes of the fixed parts of a zip; the last is the record and the locator that zips of more than 4 GB have."""
EXTRA_FIELDS = {0x0001: 28, 0x5455: 13, 0x7875: 15}
"""Extra fields of an entry that programs write, with the most bytes each has: sizes, times and owners."""
HAS_DESCRIPTOR = 8
"""The flag of an entry whose sizes stand behind its data."""
DESCRIPTORS = (24, 20, 16, 12)
"""How many bytes these sizes may have."""


def stray_bytes(archive: zipfile.ZipFile, content: bytes) -> int:
    """The bytes of a zip that are neither an entry's data nor what describes one, and so are read by nobody.

    Comments are not among them. Entries that lie in one another count as stray as a whole.
    """
    spans, stray = [], 0
    for info in archive.infolist():
        start = info.header_offset
        names, extras = struct.unpack("<HH", content[start + 26 : start + LOCAL_HEADER].ljust(4, b"\0"))
        data = start + LOCAL_HEADER + names + extras
        end = data + info.compress_size
        stray += _strange_extras(content[data - extras : data]) + _strange_extras(info.extra)
        stray += _behind_data(info, content[data:end])
        spans.append((start, end, info))
    spans.sort(key=lambda span: span[0])
    starts = [*(start for start, _, _ in spans[1:]), archive.start_dir]
    position = spans[0][0] if spans else archive.start_dir
    for (_, end, info), following in zip(spans, starts, strict=True):
        gap = following - end
        if info.flag_bits & HAS_DESCRIPTOR and gap in DESCRIPTORS:
            gap = 0
        stray += gap if gap >= 0 else info.compress_size
    directory = sum(
        DIRECTORY_ENTRY + len(info.orig_filename.encode()) + len(info.extra) + len(info.comment)
        for info in archive.infolist()
    )
    behind = len(content) - archive.start_dir - directory - DIRECTORY_END - len(archive.comment)
    return position + stray + (0 if behind in {0, DIRECTORY_END_64} else abs(behind))


def _strange_extras(extra: bytes) -> int:
    """The bytes of an entry's extra fields that are not those of `EXTRA_FIELDS`."""
    return sum(len(field) for kind, field in _extra_fields(extra) if len(field) > EXTRA_FIELDS.get(kind, 0))


def _extra_fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        yield kind, extra[4 : 4 + size]
        extra = extra[4 + size :]
    yield -1, extra


def _behind_data(info: zipfile.ZipInfo, packed: bytes) -> int:
    """The bytes between the end of an entry's content and the end of the space that the zip gives it."""
    if info.compress_type == zipfile.ZIP_STORED:
        return abs(info.compress_size - info.file_size)
    inflated = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        inflated.decompress(packed, info.file_size + 1)
    except zlib.error:
        return len(packed)
    return len(inflated.unused_data) if inflated.eof else len(packed)


MAX_PADDING = 128
"""Spaces that NumPy may put behind an array's header, so that the numbers begin at a round place."""


def _is_written_by_numpy(header: bytes, shape: tuple[int, ...], in_columns: bool, kind: np.dtype) -> bool:
    """Is it the header that NumPy writes for such an array? The syntax of headers is Python's, with comments."""
    facts = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": in_columns, "shape": shape}
    text = "{" + "".join(f"'{key}': {value!r}, " for key, value in facts.items()) + "}"
    written = text.encode("latin1", "replace")
    padding = header[len(written) :]
    return header.startswith(written) and len(padding) <= MAX_PADDING and not padding.strip(b" \n")


def npy(content: bytes, place: str) -> np.ndarray:
    """The array in a .npy file: its header first, then just as many bytes as that says; no Python objects."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, in_columns, kind = read(stream)
    except (ValueError, KeyError, EOFError, SyntaxError, TypeError, RecursionError, MemoryError, OverflowError):
        raise ReleaseError("holds an array whose header cannot be read", place=place) from None
    length_bytes = 2 if version == (1, 0) else 4
    header = content[8 + length_bytes : stream.tell()]
    if kind.hasobject:
        raise ReleaseError("holds an array of Python objects, that is a pickle", place=place)
    if not _is_written_by_numpy(header, shape, in_columns, kind):
        raise ReleaseError("holds an array whose header has more in it than NumPy writes", place=place)
    count = 1
    for length in shape:
        count *= int(length)
    if count < 0 or kind.itemsize == 0 or count * kind.itemsize != len(content) - stream.tell():
        raise ReleaseError("holds an array whose header says another size than it has", place=place)
    flat = np.frombuffer(content, dtype=kind, count=count, offset=stream.tell())
    return flat.reshape(shape, order="F" if in_columns else "C")
