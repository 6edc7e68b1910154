"""Files whose model is known in advance, with content added, with other numbers, or with damaged bytes."""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leafgate.kernel.schema import Schema

PLANTED_TEXT = "planted-7319-cell"
"""A text that no message and no disclosure may repeat."""
PLANTED_NUMBER = 73190210.5
MAX_PLACES = 60
"""So many places of one file are changed; of more, that many chosen at random."""
NUMBER = re.compile(rb"(?<![\w.])-?\d+(\.\d+)?([eE][+-]?\d+)?(?![\w.])")
HUGE = (b"1" + b"0" * 400, b"999999999999", b"-1", b"1e999")
DEEP = 50_000
"""How deep nested content is nested."""


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """A file of a reader's format, and what its model predicts of some people.

    Attributes:
        name: What messages call the file.
        content: The bytes of the file.
        schema: The columns, as a policy declares them; its class is what the model predicts.
        rows: A cell for each column but the class, by the names of columns; None where it is missing.
        predictions: What the model predicts of each row: a class, or a number.
        planted: Further files, by what the author put into them that nobody needs to predict: each must be refused, or
            have a disclosure that `content` has not.
    """

    name: str
    content: bytes
    schema: Schema
    rows: Sequence[Mapping[str, Any]]
    predictions: Sequence[Any]
    planted: Mapping[str, bytes] = field(default_factory=dict)


def with_added_content(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Copies with a number and a text that nobody needs, one at each place where the kit can put them.

    Into objects of JSON a key, into elements of XML an attribute, into a zip an entry, between lines of a text a line;
    behind any other file some bytes.
    """
    text = _text(content)
    if content.startswith(b"PK\x03\x04"):
        yield "an entry of the zip", _with_entry(content)
    elif text is None:
        yield "bytes behind the end", content + f"{PLANTED_TEXT} {PLANTED_NUMBER}".encode()
    elif (document := _json(text)) is not None:
        for path in _some(list(_objects(document))):
            yield f"a key of the object at {_place(path)}", _with_key(text, path)
    elif text.lstrip().startswith("<"):
        tags = [found.end() for found in re.finditer(r"<[A-Za-z][\w:.-]*", text)]
        for end in _some(tags):
            added = f' planted="{PLANTED_TEXT} {PLANTED_NUMBER}"'
            yield f"an attribute at character {end}", (text[:end] + added + text[end:]).encode()
    else:
        lines = text.splitlines(keepends=True)
        for number in _some(list(range(len(lines) // 2, len(lines) + 1))):
            added = f"planted={PLANTED_TEXT} {PLANTED_NUMBER}\n"
            yield f"a line before line {number + 1}", "".join([*lines[:number], added, *lines[number:]]).encode()


def with_changed_numbers(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Copies of a text with another number in one place; none of a binary file."""
    if _text(content) is None:
        return
    for found in _some(list(NUMBER.finditer(content))):
        number = found[0]
        other = b"%d" % (2 * int(number) + 1) if number.lstrip(b"-").isdigit() else repr(float(number) * 2 + 1).encode()
        yield f"the number at byte {found.start()}", content[: found.start()] + other + content[found.end() :]


def numbers_by_key(content: bytes) -> Mapping[str, int]:
    """How many numbers stand under each key of the objects of a JSON file, in lists too; of other files nothing."""
    document = _json(_text(content) or "")
    found: Counter[str] = Counter()
    for path in _objects(document):
        for key, value in _at(document, path).items():
            found[key] += len(_numbers(value))
    return found


def with_changed_key(content: bytes, key: str) -> bytes:
    """The JSON file with another number for each that stands under the key, in any object."""
    document = json.loads(content)
    for path in list(_objects(document)):
        here = _at(document, path)
        if key in here:
            here[key] = _with_other_numbers(here[key])
    return json.dumps(document).encode()


def without_keys(content: bytes, keys: Collection[str]) -> bytes:
    """The JSON file without these keys of its objects."""
    document = _json(_text(content) or "")
    if document is None:
        return content
    for path in reversed(list(_objects(document))):
        here = _at(document, path)
        for key in [key for key in here if key in keys and _numbers(here[key])]:
            del here[key]
    return json.dumps(document).encode()


def _numbers(value: Any) -> list[float]:
    """The numbers of a value that is one, or a list of them, however deep; none of objects."""
    if isinstance(value, list):
        return [number for each in value for number in _numbers(each)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _with_other_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_other_numbers(each) for each in value]
    return 2 * value + 1 if _numbers(value) else value


def damaged(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Copies that are cut off, have other bytes, huge numbers, or are nested deeply; always the same ones."""
    chance = random.Random(7319)  # noqa: S311  the same files every time
    for i in range(12):
        yield f"cut off after {i}/12", content[: len(content) * i // 12]
    for i in range(40):
        changed = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        yield f"with other bytes ({i})", bytes(changed)
    for i in range(10):
        at = chance.randrange(len(content))
        yield f"with eight bytes of ones ({i})", content[:at] + b"\xff" * 8 + content[at + 8 :]
    numbers = list(NUMBER.finditer(content)) if _text(content) is not None else []
    for found in _some(numbers, 15):
        for huge in HUGE:
            yield (
                f"with {huge[:14].decode()} at byte {found.start()}",
                (content[: found.start()] + huge + content[found.end() :]),
            )
    for opening in (b"[", b'{"a":', b"<a>", b"(", b"\n|   "):
        for found in _some(numbers, 2):
            deep = opening * DEEP
            yield (
                f"nested with {opening!r} at byte {found.start()}",
                (content[: found.start()] + deep + content[found.end() :]),
            )
    yield "twice", content + content


def _some(places: list[Any], most: int = MAX_PLACES) -> list[Any]:
    """All places, or so many of them, always the same ones, in their order."""
    chosen = random.Random(7319).sample(range(len(places)), min(most, len(places)))  # noqa: S311  the same every time
    return [places[i] for i in sorted(chosen)]


def _text(content: bytes) -> str | None:
    try:
        return None if b"\0" in content else content.decode()
    except UnicodeDecodeError:
        return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _objects(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each object."""
    if isinstance(document, dict):
        yield path
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in items:
        yield from _objects(value, (*path, key))


def _with_key(text: str, path: tuple[Any, ...]) -> bytes:
    document = json.loads(text)
    _at(document, path)["planted"] = [PLANTED_TEXT, PLANTED_NUMBER]
    return json.dumps(document).encode()


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def _place(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path)) or "the top"


def _with_entry(content: bytes) -> bytes:
    changed = io.BytesIO(content)
    with zipfile.ZipFile(changed, "a") as archive:
        archive.writestr("planted.txt", f"{PLANTED_TEXT} {PLANTED_NUMBER}")
    return changed.getvalue()
