"""The container of a skops file: what stands in it beside the model is told, however short, and honest writers pass."""

import io
import struct
import zipfile
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier

from installed_readers import read_foreign
from leafgate import ReleaseError

SECRET = b"Jane Doe has flu"


@cache
def honest() -> bytes:
    ages = [[age] for age in range(20, 60)]
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(ages, [age[0] // 10 % 2 for age in ages])
    return bytes(skops.io.dumps(tree))


class Unseekable(io.RawIOBase):
    """A stream in which a zip's writer cannot go back, so that sizes stand behind the data."""

    def __init__(self) -> None:
        self.written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        part = bytes(content)
        self.written += part
        return len(part)


Change = Callable[[zipfile.ZipInfo, bytes], bytes]


def rewritten(change: Change = lambda info, content: content, packing: int = zipfile.ZIP_STORED) -> bytes:
    """The file with each entry written anew, as `change` makes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(honest())) as old, zipfile.ZipFile(file, "w", packing) as new:
        for info in old.infolist():
            fresh = zipfile.ZipInfo(info.filename, info.date_time)
            fresh.compress_type = packing
            new.writestr(fresh, change(fresh, old.read(info)))
    return file.getvalue()


def streamed() -> bytes:
    stream = Unseekable()
    with zipfile.ZipFile(io.BytesIO(honest())) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info.filename, old.read(info))
    return bytes(stream.written)


def with_extra_field(kind: int, field: bytes) -> bytes:
    def change(info: zipfile.ZipInfo, content: bytes) -> bytes:
        info.extra = struct.pack("<HH", kind, len(field)) + field if info.filename == "schema.json" else b""
        return content

    return rewritten(change)


def with_gap() -> bytes:
    """Text between the last entry and the directory."""
    content = honest()
    end = content.rfind(b"PK\x05\x06")
    start = struct.unpack("<L", content[end + 16 : end + 20])[0]
    moved = struct.pack("<L", start + len(SECRET))
    return content[:start] + SECRET + content[start : end + 16] + moved + content[end + 20 :]


def with_text_behind_packed_data() -> bytes:
    """Text in the space of the last entry, behind the end of its packed content."""
    content = bytearray(rewritten(packing=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        last, start = max(archive.infolist(), key=lambda info: info.header_offset), archive.start_dir
    entry = content.rfind(last.filename.encode()) - 46
    longer = struct.pack("<L", last.compress_size + len(SECRET))
    content[entry + 20 : entry + 24] = longer
    content[last.header_offset + 18 : last.header_offset + 22] = longer
    end = content.rfind(b"PK\x05\x06")
    content[end + 16 : end + 20] = struct.pack("<L", start + len(SECRET))
    return bytes(content[:start] + SECRET + content[start:])


def with_array_header(text: bytes) -> bytes:
    """Text in the place of the spaces that NumPy puts behind an array's header."""

    def change(info: zipfile.ZipInfo, content: bytes) -> bytes:
        return content.replace(b" " * len(text), text, 1) if info.filename.endswith(".npy") else content

    return rewritten(change)


def other_content(content: bytes) -> list[str]:
    return [item.severity for item in read_foreign(content, "model.skops").discloses if item.kind == "other_content"]


HONEST: dict[str, Callable[[], bytes]] = {
    "skops": honest,
    "written anew": rewritten,
    "packed": lambda: rewritten(packing=zipfile.ZIP_DEFLATED),
    "streamed": streamed,
    "times of entries": lambda: with_extra_field(0x5455, b"\x03" + b"\x00" * 8),
}


@pytest.mark.parametrize("writer", HONEST)
def test_what_honest_writers_of_zips_leave_is_no_other_content(writer: str) -> None:
    assert other_content(HONEST[writer]()) == []


HIDDEN: dict[str, Callable[[], bytes]] = {
    "behind the zip": lambda: honest() + SECRET,
    "one byte behind the zip": lambda: honest() + b"J",
    "behind a streamed zip": lambda: streamed() + SECRET,
    "between entries and directory": with_gap,
    "behind an entry's packed data": with_text_behind_packed_data,
    "an extra field of its own": lambda: with_extra_field(0xCAFE, SECRET),
    "an extra field that is too long": lambda: with_extra_field(0x5455, SECRET),
}


@pytest.mark.parametrize("place", HIDDEN)
def test_text_in_the_container_is_other_content(place: str) -> None:
    assert other_content(HIDDEN[place]()) == ["high"]


def test_text_in_an_arrays_header_is_refused() -> None:
    assert other_content(with_array_header(b"    ")) == []
    with pytest.raises(ReleaseError, match="header"):
        read_foreign(with_array_header(b"#Jan"), "model.skops")
