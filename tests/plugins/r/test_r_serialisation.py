"""R's serialisation is read as R describes its objects; what is damaged or hostile is refused soon."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import numpy as np
import pytest

from installed_readers import is_foreign, read_foreign
from leafgate import ReleaseError
from leafgate.bounded.compressed import decompressed
from leafgate.models.reader import is_pickle
from leafgate_plugins.r.serialisation import NUMBERS, Kind, RObject, parse_r
from leafgate_plugins.r.vectors import numbers_in
from patience import ends_soon
from r_files import files
from refused_models import assert_refused_in_little_memory

FILES = sorted(name for name in files("objects") if name.startswith("objects.") and not name.endswith(".txt"))
TYPES = {Kind.LOGICAL: "logical", Kind.INTEGER: "integer", Kind.DOUBLE: "double"}


def content_of(name: str) -> bytes:
    return decompressed(files("objects")[name], name)


def numbers(found: np.ndarray, *, whole: bool) -> str:
    """Numbers as make_r_objects.R writes them; R's NA among doubles is one of many numbers that are none."""
    texts = [("NA" if whole or _is_na(each) else "nan") if each != each else f"{each:.17g}" for each in found]
    return ",".join({"inf": "Inf", "-inf": "-Inf"}.get(text, text) for text in texts)


def _is_na(number: np.float64) -> bool:
    return struct.pack(">d", number)[4:] == (1954).to_bytes(4, "big")


def described(thing: RObject) -> str:
    """An object as make_r_objects.R describes it."""
    if thing.kind == Kind.NULL:
        return "other"
    if thing.kind == Kind.ENVIRONMENT:
        return "environment"
    if thing.kind in {Kind.CLOSURE, Kind.BUILTIN, Kind.SPECIAL}:
        return "function"
    if thing.kind == Kind.LIST:
        return f"list({'|'.join(map(described, thing.value))})"
    if thing.kind == Kind.TEXTS:
        return f"texts({','.join('NA' if each is None else each for each in thing.value)})"
    if thing.kind == Kind.RAW:
        return f"raw({','.join(map(str, thing.value))})"
    if thing.kind == Kind.COMPLEX:
        return f"complex({numbers(thing.value.real, whole=False)};{numbers(thing.value.imag, whole=False)})"
    if thing.kind in TYPES:
        return f"{TYPES[thing.kind]}({numbers(numbers_in(thing), whole=thing.kind != Kind.DOUBLE)})"
    return "other"


@pytest.mark.parametrize("name", FILES)
def test_objects_of_every_type_are_as_r_describes_them(name: str) -> None:
    whole = parse_r(content_of(name), name)
    theirs = dict(line.split("\t") for line in files("objects")["objects.txt"].decode().splitlines())
    assert {key: described(each) for key, each in zip(whole.names, whole.value, strict=True)} == theirs
    cycle = whole.get("cycle")
    assert cycle is not None
    assert cycle.get("self") is cycle
    assert whole.get("again") is cycle
    many = cycle.get("many")
    assert many is not None
    assert len(many.elements) == 600


@pytest.mark.parametrize("name", ["refused.ascii.rds", "refused.native.rds"])
def test_other_forms_of_such_files_are_refused_by_name(name: str) -> None:
    assert is_foreign(content_of(name)[:4096])
    with pytest.raises(ReleaseError, match=r"file of R's as text, or with numbers as the machine has them.*saveRDS"):
        read_foreign(content_of(name), name)


def test_a_file_of_several_objects_is_refused() -> None:
    with pytest.raises(ReleaseError, match="holds several objects"):
        read_foreign(files("objects")["refused.two.RData"], "m")


@pytest.mark.parametrize("name", ["objects.bzip2.rds", "objects.xz.rds"])
def test_what_r_compressed_otherwise_is_no_pickle(name: str) -> None:
    content = files("objects")[name]
    assert not is_pickle(content)
    with pytest.raises(ReleaseError, match="an object of another class; read are"):
        read_foreign(content, "m")
    with pytest.raises(ReleaseError, match=r"ends too early|is compressed|is a pickle"):
        read_foreign(content[: len(content) // 2], "m")


def test_rdata_reads_the_same_columns() -> None:
    """The library `rdata` reads what it can: forests of ranger, whose objects have no environments."""
    rdata = pytest.importorskip("rdata")
    name = next(name for name in sorted(files()) if name.startswith("ranger-"))
    theirs = rdata.conversion.convert(rdata.parser.parse_data(files()[name]))
    mine = parse_r(files()[name], name)
    values = mine.get("forest", "split.values")
    assert values is not None
    for own, other in zip(values.value, theirs["forest"]["split.values"], strict=True):
        np.testing.assert_array_equal(numbers_in(own), other)


HEAD = b"X\n" + struct.pack(">iii", 2, 0x40202, 0x20300)


def item(code: int, content: bytes = b"", flags: int = 0) -> bytes:
    return struct.pack(">i", code | flags) + content


def length(size: int) -> bytes:
    return struct.pack(">i", size)


SYMBOL = item(1, item(9, length(1) + b"a"))
NULL = item(254)
ENVIRONMENT = item(4, length(0))


def hostile() -> Iterator[bytes]:
    """Files that ask for much, or lead in circles."""
    for code in range(256):
        yield HEAD + item(code)
        yield HEAD + item(code, length(2**31 - 1) + b"abc" * 5)
        yield HEAD + item(code, length(-1) + struct.pack(">ii", 2**30, 0))
        yield HEAD + item(code, length(-7), flags=0x600)
        yield HEAD + item(19, length(3) + item(code, bytes(40), flags=0x600))
    yield HEAD + item(19, length(1)) * 1_000_000 + NULL  # a list within a list, and so on
    yield HEAD + item(2, NULL) * 1_000_000
    yield HEAD + item(6, SYMBOL + item(6, SYMBOL + NULL), flags=0) + NULL
    yield HEAD + ENVIRONMENT + item(255 | 1 << 8) + NULL * 3  # an environment around itself
    yield HEAD + ENVIRONMENT + NULL + item(2, SYMBOL + item(255 | 1 << 8), 0x400) + NULL * 3
    yield HEAD + item(5, ENVIRONMENT + NULL * 4 + item(255 | 1 << 8) + item(255 | 1 << 8), 0x400)  # a promise
    yield HEAD + item(255 | 77 << 8) + item(255, length(-3))
    yield (
        HEAD
        + item(238, item(2, item(1, item(9, length(14) + b"compact_intseq"))) + NULL)
        + item(14, length(3) + struct.pack(">ddd", 1e15, 1, 1))
        + NULL
    )
    yield HEAD + item(21, length(1) + item(13, length(0)) + length(2) + length(244) + length(0) + length(244)) * 99
    yield HEAD + item(21, length(1)) + (item(13, length(0)) + length(1) + length(21)) * 300_000
    yield HEAD + item(16, length(4_000_000)) + item(9, length(-1)) * 4_000_000
    yield HEAD + item(19, length(3_000_000)) + NULL * 3_000_000
    yield HEAD + item(14, length(25_000_000) + bytes(200_000_000))
    yield b"RDX3\nX\n" + length(3) + length(0) + length(0) + length(2**31 - 1)
    yield b"RDX2\n" + HEAD + item(2, SYMBOL + item(14, length(0)), 0x400) * 100_000 + NULL


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["some", "all"])
def test_hostile_files_are_refused_soon(thorough: bool) -> None:
    for i, content in enumerate(hostile()):
        if thorough or i % 20 == 0:
            with ends_soon(), pytest.raises(ReleaseError):
                read_foreign(content, "m")


@pytest.mark.thorough
@pytest.mark.parametrize("which", range(-12, 0))
def test_large_hostile_files_are_refused_in_little_memory(which: int, tmp_path: object) -> None:
    assert_refused_in_little_memory(tmp_path, list(hostile())[which])  # type: ignore[arg-type]


def read_or_refused(content: bytes) -> None:
    with ends_soon():
        try:
            read_foreign(content, "m")
        except ReleaseError:
            return


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["some", "all"])
def test_a_file_that_ends_anywhere_is_refused(thorough: bool) -> None:
    content = files()["held-inbag.rds"]
    for end in range(0, len(content) - 1, 10 if thorough else 400):
        with pytest.raises(ReleaseError):
            read_foreign(content[:end], "m")


@pytest.mark.parametrize("mutations", [40, pytest.param(1000, marks=pytest.mark.thorough)])
def test_a_damaged_file_is_read_or_refused(mutations: int) -> None:
    rng = random.Random(1)
    names = [name for name in sorted(files()) if name.endswith(".rds") and len(files()[name]) < 40_000]
    for _ in range(mutations):
        content = bytearray(files()[rng.choice(names)])
        for _ in range(rng.choice([1, 1, 2, 8])):
            at = rng.randrange(len(content))
            content[at] = rng.choice([rng.randrange(256), 0, 255, content[at] ^ 1 << rng.randrange(8)])
        read_or_refused(bytes(content))


def test_numbers_have_a_form_each() -> None:
    assert set(NUMBERS) == {Kind.LOGICAL, Kind.INTEGER, Kind.DOUBLE, Kind.COMPLEX, Kind.RAW}
