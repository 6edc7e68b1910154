"""Objects in files of R's `saveRDS` and `save`, read without R; nothing in them is evaluated.

The format is a stream of items, each with flags that say its type and whether attributes and a tag follow. Items are
read with a stack of generators in place of recursion, so that no file is nested too deep for Python. Byte code is
skipped by its structure; environments, symbols and namespaces may be referred to later, also from within themselves.

Source: R 4.2, src/main/serialize.c, `ReadItem_Recursive`, `ReadBC1` and `ReadBCLang`; "R Internals", section 1.8.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from leafgate.api import ReleaseError

MAX_ITEMS = 500_000
"""Items beside texts in vectors; each takes some microseconds and up to half a kilobyte."""

MAX_TEXTS = 1_000_000
"""Texts in vectors: names of rows, cells and categories."""

MAX_NESTED = 20_000
"""How deep items may be within one another; formulas of a thousand columns are as deep as their columns."""

HEADS = (b"X\n\x00\x00\x00", b"RDX2\n", b"RDX3\n")
"""What files begin with that are read here, once they are decompressed."""

OTHER_HEADS = (b"A\n2\n", b"A\n3\n", b"B\n\x02\x00", b"B\n\x03\x00", b"RDA2\n", b"RDA3\n", b"RDB2\n", b"RDB3\n")
"""Heads of the other forms of such files: text, and numbers as the machine has them."""

SAVE_AGAIN = "save it again in R with `saveRDS(model, 'model.rds')`"
MISSING_INTEGER = -(2**31)
"""R's NA among whole numbers and truth values."""


class Kind(IntEnum):
    """The types of R's objects that may have contents here, by the numbers that R gives them."""

    NULL = 0
    SYMBOL = 1
    PAIRLIST = 2
    CLOSURE = 3
    ENVIRONMENT = 4
    PROMISE = 5
    CALL = 6
    SPECIAL = 7
    BUILTIN = 8
    TEXT = 9
    LOGICAL = 10
    INTEGER = 13
    DOUBLE = 14
    COMPLEX = 15
    TEXTS = 16
    DOTS = 17
    LIST = 19
    EXPRESSION = 20
    BYTE_CODE = 21
    POINTER = 22
    WEAK_REFERENCE = 23
    RAW = 24
    S4 = 25
    ALTREP = 238
    """A vector in another form than its own, which could not be turned into that."""


NO_ATTRIBUTES: Mapping[str, RObject] = {}


@dataclass(slots=True, eq=False, repr=False)
class RObject:
    """One object.

    `value` is an array of a vector of numbers, truth values or bytes; a list of texts, None where one is missing; a
    list of objects; of calls and pairlists a list of pairs of a tag and an object; the name of a symbol, a namespace or
    an environment; of other environments their variables by name. `enclosure` is the environment around another, and
    that of a closure or a promise.
    """

    kind: Kind
    value: Any = None
    attributes: Mapping[str, RObject] = field(default_factory=lambda: NO_ATTRIBUTES)
    enclosure: RObject | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of its classes; none where it has no attribute `class`."""
        named = self.attributes.get("class")
        return tuple(each or "" for each in named.value) if named is not None and named.kind == Kind.TEXTS else ()

    @property
    def names(self) -> list[str]:
        """The names of its elements, "" for one without; empty where it has none."""
        if self.kind in PAIRS:
            return [tag for tag, _ in self.value]
        named = self.attributes.get("names")
        return [each or "" for each in named.value] if named is not None and named.kind == Kind.TEXTS else []

    @property
    def elements(self) -> dict[str, RObject]:
        """The elements of a list or a pairlist, or an environment's variables, by name; empty for anything else."""
        if self.kind == Kind.ENVIRONMENT and isinstance(self.value, dict):
            return self.value
        if self.kind in PAIRS:
            return {tag: each for tag, each in reversed(self.value) if tag}
        if self.kind not in {Kind.LIST, Kind.EXPRESSION}:
            return {}
        return {name: each for name, each in zip(self.names[::-1], self.value[::-1], strict=False) if name}

    def get(self, *path: str) -> RObject | None:
        """The element of an element, by names."""
        found: RObject | None = self
        for name in path:
            found = None if found is None else found.elements.get(name)
        return found


PAIRS = frozenset({Kind.PAIRLIST, Kind.CALL, Kind.DOTS})
NUMBERS: Mapping[int, tuple[np.dtype[Any], int]] = {
    **{kind: (np.dtype(">i4"), 4) for kind in (Kind.LOGICAL, Kind.INTEGER)},
    **{Kind.DOUBLE: (np.dtype(">f8"), 8), Kind.COMPLEX: (np.dtype(">c16"), 16), Kind.RAW: (np.dtype("u1"), 1)},
}
"""The types of vectors of numbers, the form of each number, and its bytes."""

NULL = RObject(Kind.NULL)
FIXED = {
    **{254: NULL, 253: RObject(Kind.ENVIRONMENT, "R_GlobalEnv"), 252: RObject(Kind.SYMBOL, "R_UnboundValue")},
    **{251: RObject(Kind.SYMBOL, ""), 250: RObject(Kind.ENVIRONMENT, "namespace:base")},
    **{242: RObject(Kind.ENVIRONMENT, "R_EmptyEnv"), 241: RObject(Kind.ENVIRONMENT, "base")},
}
"""Objects that an item is by its type alone."""

INDICES = frozenset({"expressionsIndex", "srcrefsIndex"})
"""Constants of byte code that say from which expression each instruction was made."""

REFERENCE, NAMESPACE, PACKAGE, PERSISTENT = 255, 249, 248, 247
CODE_DEFINED, CODE_REFERENCE, CALL_WITH_ATTRIBUTES, LIST_WITH_ATTRIBUTES = 244, 243, 240, 239
"""Parts of byte code: an expression that is referred to, such a reference, and expressions with attributes."""

HAS_ATTRIBUTES, HAS_TAG = 0x200, 0x400
LATIN_1, UTF_8, BYTES = 1 << 14, 1 << 15, 1 << 13
"""Flags of a text that say how its bytes are to be read."""

Step = Generator["Step", Any, Any]
"""What reads one item: it yields what reads an item within it, and is sent that item."""


def parse_r(content: bytes, place: str) -> RObject:
    """The object in a file of `saveRDS`, or the one object in a file of `save`.

    Raises:
        ReleaseError: it is damaged, too large, another form of such files, or holds several objects.
    """
    if content.startswith(OTHER_HEADS):
        what = "is a file of R's as text, or with numbers as the machine has them (`ascii = ` is no FALSE)"
        raise ReleaseError(what, place=place, remedy=SAVE_AGAIN)
    if not content.startswith(HEADS):
        raise ReleaseError("is no file that R's `saveRDS` or `save` writes", place=place, remedy=SAVE_AGAIN)
    saved = content.startswith(b"RDX")
    found = _Stream(content, 5 if saved else 0, place).read()
    if not saved:
        return found
    if found.kind != Kind.PAIRLIST or len(found.value) != 1:
        what = "holds several objects, or none: it must hold the model alone"
        raise ReleaseError(what, place=place, remedy=SAVE_AGAIN)
    variable: str = found.value[0][0]
    of_file: RObject = found.value[0][1]
    of_file.attributes = {**of_file.attributes, "variable": RObject(Kind.TEXTS, [variable])}
    return of_file


class _Stream:
    """The items of one file, one after another."""

    def __init__(self, content: bytes, start: int, place: str) -> None:
        self.content, self.at, self.place = content, start, place
        self.references: list[RObject] = []
        self.items = self.texts = self.expanded = 0
        self.encoding = "ascii"

    def refuse(self, why: str) -> ReleaseError:
        return ReleaseError(f"{why} (byte {self.at:,})", place=self.place, remedy=SAVE_AGAIN)

    def read(self) -> RObject:
        """The one object of the stream."""
        if self.take(2) != b"X\n":
            raise self.refuse("is a file of R's as text, or with numbers as the machine has them")
        version, _, _ = self.integer(), self.integer(), self.integer()
        if version not in {2, 3}:
            raise self.refuse("has a version of R's format that is not 2 or 3")
        if version == 3:
            encoding = self.take(self.integer())
            if len(encoding) > MAX_ENCODING:
                raise self.refuse("names an encoding that there is not")
            self.encoding = ENCODINGS.get(encoding.upper(), "ascii")
        found = self.run(self.item())
        if self.at != len(self.content):
            raise self.refuse("goes on after its end")
        return found

    def run(self, first: Step) -> RObject:
        """What the steps come to, and those that they ask for."""
        steps, result = [first], None
        while steps:
            try:
                steps.append(steps[-1].send(result))
                result = None
            except StopIteration as ended:
                steps.pop()
                result = ended.value
            if len(steps) > MAX_NESTED:
                raise self.refuse(f"has more than {MAX_NESTED:,} objects within one another")
        assert isinstance(result, RObject)
        return result

    def take(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self.content):
            raise self.refuse("ends too early, or has a length that is not possible")
        found = self.content[self.at : end]
        self.at = end
        return found

    def integer(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def length(self, least: int) -> int:
        """The length of a vector, each of whose elements takes at least some bytes."""
        size = self.integer()
        if size == -1:
            size = (self.integer() << 32) + (self.integer() & 0xFFFF_FFFF)
        if size < 0 or size * least > len(self.content) - self.at:
            raise self.refuse("ends too early, or has a length that is not possible")
        return size

    def item(self, flags: int | None = None) -> Step:
        """Read the next item, whose flags may have been read before."""
        flags = self.integer() if flags is None else flags
        code = flags & 0xFF
        if (found := self.simple(flags)) is not None:
            return found
        if code in {NAMESPACE, PACKAGE, PERSISTENT}:
            return self.refer_to(RObject(Kind.ENVIRONMENT, f"namespace:{self.strings()}"))
        if code == Kind.ENVIRONMENT:
            return (yield self.environment())
        if code in {Kind.PAIRLIST, Kind.CALL, Kind.DOTS}:
            return (yield self.pairs(flags))
        if code in {Kind.CLOSURE, Kind.PROMISE}:
            return (yield self.function(flags))
        if code == Kind.ALTREP:
            return (yield self.alternative())
        found = yield self.vector(code)
        if flags & HAS_ATTRIBUTES:
            found.attributes = self.by_name((yield self.item()))
        return found

    def count(self) -> None:
        self.items += 1
        if self.items > MAX_ITEMS:
            raise self.refuse(f"has more than {MAX_ITEMS:,} objects")

    def simple(self, flags: int) -> RObject | None:
        """An item that no other one is part of; None for others, of which nothing is read."""
        self.count()
        code = flags & 0xFF
        if code in FIXED:
            return FIXED[code]
        if code in NUMBERS and not flags & HAS_ATTRIBUTES:
            return self.numbers(code)
        if code == REFERENCE:
            return self.referred((flags >> 8) or self.integer())
        if code == Kind.SYMBOL:
            return self.refer_to(RObject(Kind.SYMBOL, self.text(self.integer()) or "NA"))
        return RObject(Kind.TEXT, self.text(flags)) if code == Kind.TEXT else None

    def numbers(self, code: int) -> RObject:
        """A vector of numbers; they stay where they are in memory."""
        form, number_bytes = NUMBERS[code]
        size = self.length(number_bytes)
        found = RObject(Kind(code), np.frombuffer(self.content, form, size, self.at))
        self.at += size * number_bytes
        return found

    def referred(self, number: int) -> RObject:
        if not 0 < number <= len(self.references):
            raise self.refuse("refers to an object that there is not")
        return self.references[number - 1]

    def refer_to(self, thing: RObject) -> RObject:
        self.references.append(thing)
        return thing

    def strings(self) -> str:
        """The texts of a namespace's name and version, joined."""
        if self.integer() != 0:
            raise self.refuse("has a name of a namespace that is not possible")
        return " ".join(self.text(self.integer()) or "" for _ in range(self.length(8)))

    def text(self, flags: int) -> str | None:
        """A text after its flags; None where it is missing."""
        self.texts += 1
        if flags & 0xFF != Kind.TEXT or self.texts > MAX_TEXTS:
            raise self.refuse(f"has something else than a text where one belongs, or more than {MAX_TEXTS:,} texts")
        size = self.integer()
        if size == -1:
            return None
        content = self.take(size)
        if flags & BYTES:
            return content.decode("latin-1")
        encoding = "utf-8" if flags & UTF_8 else "latin-1" if flags & LATIN_1 else self.encoding
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            raise self.refuse("has a text that is not in the encoding that the file names") from None

    def environment(self) -> Step:
        """An environment: its frame is a pairlist of variables, its table a list of such."""
        found = self.refer_to(RObject(Kind.ENVIRONMENT, {}))
        self.integer()  # whether it is locked
        found.enclosure = yield self.item()
        frame, table = (yield self.item()), (yield self.item())
        found.attributes = self.by_name((yield self.item()))
        for each in (frame, *(table.value if table.kind == Kind.LIST else [table])):
            found.value.update(self.by_name(each, found.value))
        return found

    def by_name(self, pairs: RObject, others: Collection[str] = ()) -> dict[str, RObject]:
        """The attributes or variables in a pairlist by name; `others` are names that are there already."""
        found = dict(pairs.value) if pairs.kind == Kind.PAIRLIST else {}
        single = pairs.kind == Kind.NULL or (len(found) == len(pairs.value) and "" not in found)
        if not single or pairs.attributes or (found and not found.keys().isdisjoint(others)):
            raise self.refuse("has attributes or variables without a name, or of the same name")
        return found

    def tag(self, flags: int = HAS_TAG) -> Step:
        """The name of a part; empty where it has none."""
        found = (yield self.item()) if flags & HAS_TAG else NULL
        if found.kind not in {Kind.NULL, Kind.SYMBOL}:
            raise self.refuse("has a name that is no symbol")
        return name_of(found)

    def pairs(self, flags: int) -> Step:
        """A pairlist or a call: a chain of pairs, each with a tag and an object, up to NULL."""
        found = RObject(Kind(flags & 0xFF), [])
        while True:
            attributes = (yield self.item()) if flags & HAS_ATTRIBUTES else NULL
            found.attributes = {**found.attributes, **self.by_name(attributes, found.attributes)}
            tag = yield self.tag(flags)
            of_part = self.integer()
            found.value.append((tag, self.simple(of_part) or (yield self.item(of_part))))
            flags = self.integer()
            if flags & 0xFF not in {Kind.PAIRLIST, Kind.CALL}:
                break
            self.count()
        last = yield self.item(flags)
        if last.kind != Kind.NULL:
            found.value.append(("", last))
        return found

    def function(self, flags: int) -> Step:
        """A closure or a promise: its environment, then arguments and body, or value and expression."""
        found = RObject(Kind(flags & 0xFF), [])
        if flags & HAS_ATTRIBUTES:
            found.attributes = self.by_name((yield self.item()))
        found.enclosure = (yield self.item()) if flags & HAS_TAG else None
        found.value = [(yield self.item()), (yield self.item())]
        return found

    def vector(self, code: int) -> Step:
        """An object that has its content before its attributes."""
        if code in NUMBERS:
            return self.numbers(code)
        if code == Kind.TEXTS:
            return RObject(Kind.TEXTS, [self.text(self.integer()) for _ in range(self.length(8))])
        if code in {Kind.LIST, Kind.EXPRESSION}:
            found = RObject(Kind(code), [])
            for _ in range(self.length(4)):
                flags = self.integer()
                found.value.append(self.simple(flags) or (yield self.item(flags)))
            return found
        if code in {Kind.SPECIAL, Kind.BUILTIN}:
            return RObject(Kind(code), self.take(self.integer()).decode("latin-1"))
        if code == Kind.POINTER:
            found = self.refer_to(RObject(Kind.POINTER))
            found.value = [(yield self.item()), (yield self.item())]
            return found
        if code == Kind.WEAK_REFERENCE:
            return self.refer_to(RObject(Kind.WEAK_REFERENCE))
        if code == Kind.S4:
            return RObject(Kind.S4)
        if code == Kind.BYTE_CODE:
            self.length(4)  # how many expressions it refers to
            return (yield self.byte_code())
        raise self.refuse("has an object of a type that R does not write")

    def byte_code(self) -> Step:
        """Byte code, of which the constants are kept: its instructions, then each constant after its type."""
        found = RObject(Kind.BYTE_CODE, [])
        instructions = yield self.item()
        if instructions.kind != Kind.INTEGER:
            raise self.refuse("has byte code without instructions")
        n_constants = self.length(4)
        for _ in range(n_constants):
            code = self.integer()
            constant = yield self.byte_code() if code == Kind.BYTE_CODE else self.expression(code)
            is_index = constant.kind == Kind.INTEGER and {*constant.attributes} == {"class"}
            if not (is_index and INDICES & {*constant.classes} and (constant.value < n_constants).all()):
                found.value.append(constant)
        return found

    def expression(self, code: int) -> Step:
        """A constant of byte code; an expression that others refer to has a number before its type."""
        parts = RObject(Kind.PAIRLIST, [])
        while True:
            self.count()
            if code == CODE_REFERENCE:
                self.integer()
                return parts
            if code == CODE_DEFINED:
                self.integer()
                code = self.integer()
            if code not in {Kind.CALL, Kind.PAIRLIST, CALL_WITH_ATTRIBUTES, LIST_WITH_ATTRIBUTES}:
                last = yield self.item()
                parts.value.append(("", last))
                return last if len(parts.value) == 1 else parts
            if code in {CALL_WITH_ATTRIBUTES, LIST_WITH_ATTRIBUTES}:
                more = self.by_name((yield self.item()), parts.attributes)
                parts.attributes = {**parts.attributes, **more}
            tag = yield self.tag()
            parts.value.append((tag, (yield self.expression(self.integer()))))
            code = self.integer()

    def alternative(self) -> Step:
        """A vector in another form: its class, its state, and its attributes."""
        information, state, own = (yield self.item()), (yield self.item()), self.by_name((yield self.item()))
        first = information.value[0][1] if information.kind == Kind.PAIRLIST and information.value else NULL
        found = expanded(name_of(first), state, MAX_EXPANDED - self.expanded)
        if found is None or _has_more(information, state) or not _agree(found.attributes, own):
            found = RObject(Kind.ALTREP, [information, state])
        self.expanded += len(found.value)
        found.attributes = {**found.attributes, **own}
        return found


ENCODINGS = {b"UTF-8": "utf-8", b"ISO-8859-1": "latin-1", b"ISO8859-1": "latin-1", b"CP1252": "cp1252"}
"""Encodings of texts that have no flag of their own, as R calls them."""

MAX_ENCODING = 20
"""Letters of the longest name of an encoding."""

MAX_EXPANDED = 2_000_000
"""Elements of vectors that are written in another form, such as a sequence by its beginning and its step."""


def name_of(tag: RObject) -> str:
    return str(tag.value) if tag.kind == Kind.SYMBOL else ""


def _has_more(information: RObject, state: RObject) -> bool:
    """Is there more than the names of a class, its package and its type, and a vector with two numbers about it?"""
    parts = [each for _, each in state.value] if state.kind == Kind.PAIRLIST else state.value
    more = [each for _, each in information.value] + (list(parts[1:]) if isinstance(parts, list) else [])
    small = [each.kind == Kind.SYMBOL or (each.kind == Kind.INTEGER and len(each.value) <= 2) for each in more]
    attributes = [each.attributes for each in (information, state, *more)]
    return len(more) > 4 or not all(small) or any(attributes)


def _agree(attributes: Mapping[str, RObject], own: Mapping[str, RObject]) -> bool:
    """Are the attributes of a vector the same texts as those of the other form that it is in?"""
    both = [(each, own[name]) for name, each in attributes.items() if name in own]
    return all(each.kind == other.kind == Kind.TEXTS and each.value == other.value for each, other in both)


def expanded(name: str, state: RObject, most: int) -> RObject | None:
    """The vector that a state of R's own classes stands for; None for other classes and states, and longer ones."""
    if name in {"compact_intseq", "compact_realseq"} and state.kind == Kind.DOUBLE and len(state.value) == 3:
        size, start, step = state.value.tolist()
        if not (0 <= size <= most and step in {-1, 1} and abs(start) < 2**53):
            return None
        numbers = np.arange(int(size)) * step + start
        whole = name == "compact_intseq"
        return RObject(Kind.INTEGER, numbers.astype(np.int32)) if whole else RObject(Kind.DOUBLE, numbers)
    parts = [each for _, each in state.value] if state.kind == Kind.PAIRLIST else state.value
    first = parts[0] if isinstance(parts, list) and parts and isinstance(parts[0], RObject) else None
    if first is None:
        return None
    if name.startswith("wrap_") and (first.kind in NUMBERS or first.kind in {Kind.TEXTS, Kind.LIST}):
        return RObject(first.kind, first.value, dict(first.attributes))
    if name == "deferred_string" and first.kind == Kind.INTEGER and len(first.value) <= most:
        return RObject(Kind.TEXTS, [None if each == MISSING_INTEGER else str(each) for each in first.value.tolist()])
    return None


def contained(thing: RObject) -> Iterator[tuple[str, RObject]]:
    """The objects directly within another, each with its name; the name is empty where it has none."""
    yield from thing.attributes.items()
    if thing.enclosure is not None:
        yield "environment", thing.enclosure
    if isinstance(thing.value, dict):
        yield from thing.value.items()
    elif thing.kind in PAIRS:
        yield from thing.value
    elif isinstance(thing.value, list) and thing.kind != Kind.TEXTS:
        names = thing.names
        yield from ((names[i] if i < len(names) else "", each) for i, each in enumerate(thing.value))
