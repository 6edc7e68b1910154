"""Ledgers of made-up releases, and a Python script that appends lines in a process of its own."""

from __future__ import annotations

import hashlib
import hmac
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leafgate.io import roll
from leafgate.io.ledger import append_line
from leafgate.kernel.origin import LedgerHead

KEY = bytes(range(32))
PREPARED = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from ledgers import KEY, content
from leafgate.errors import LeafgateError
from leafgate.io.ledger import append_line
"""
"""The first lines of a script that calls `append_line`."""


def keyed_digest(key: bytes, kind: str, sha256: str) -> str:
    """The code of the digest of a file under the key of a ledger, as the page on formats has it."""
    return hmac.new(key, f"leafgate/ledger/1 {kind} {sha256}".encode(), hashlib.sha256).hexdigest()


def keyed_id(key: bytes, cell: str) -> str:
    """The id of a person in a roll, as the page on formats has it."""
    return hmac.new(key, f"leafgate/roll/1 cell {cell}".encode(), hashlib.sha256).hexdigest()


def read_roll(path: Path, key: bytes | None = None) -> roll.Roll:
    """The roll in a file."""
    return roll.read_roll(path, key)


def content(number: int, **changes: Any) -> dict[str, Any]:
    """The content of a line about a release; another number is another release."""
    digests = [hashlib.sha256(f"{what} {number}".encode()).hexdigest() for what in ("release", "report", "policy")]
    return {
        "date": "2026-11-02",
        "release": {"path": f"{number}/release.json", "sha256": digests[0], "release_sha256": digests[0]},
        "data": {"path": f"{number}.csv", "keyed_sha256": keyed_digest(KEY, "data", digests[1])},
        "report": {"audience": "public", "sha256": digests[1]},
        "policy": {"name": "nächtlich", "sha256": digests[2]},
        "publishes": "counts",
        "claims": {"k": 5, "epsilon": {"at_most": 0.25, "delta": 1e-6}},
        "verdict": "pass",
        "waived": 0,
        **changes,
    }


def written(path: Path, lines: int) -> list[LedgerHead]:
    """Write a ledger of so many lines; the heads after each of them."""
    return [append_line(path, content(number), KEY) for number in range(1, lines + 1)]


def random_change(original: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A change of a ledger at random, and its kind."""
    lines = original.splitlines(keepends=True)
    at, line, other = rng.randrange(len(original)), rng.randrange(len(lines)), rng.randrange(len(lines))
    byte = bytes([rng.randrange(256)])
    moved = [*lines[:line], *lines[line + 1 :]]
    moved.insert(other, lines[line])
    swapped = [*lines]
    swapped[line], swapped[other] = lines[other], lines[line]
    digits = [i for i, sign in enumerate(lines[line]) if chr(sign).isdigit()]
    digit = rng.choice(digits)
    changed = bytes([*lines[line][:digit], ord(rng.choice("0123456789")), *lines[line][digit + 1 :]])
    changes = {
        "a byte": original[:at] + byte + original[at + 1 :],
        "a byte less": original[:at] + original[at + 1 :],
        "a byte more": original[:at] + byte + original[at:],
        "a bit": original[:at] + bytes([original[at] ^ (1 << rng.randrange(8))]) + original[at + 1 :],
        "a digit": b"".join([*lines[:line], changed, *lines[line + 1 :]]),
        "a line less": b"".join([*lines[:line], *lines[line + 1 :]]),
        "a line twice": b"".join([*lines[:other], lines[line], *lines[other:]]),
        "a line moved": b"".join(moved),
        "two lines swapped": b"".join(swapped),
        "cut": original[:at],
        "cut after a line": b"".join(lines[:line]),
        "the beginning cut": original[at:],
        "an empty line": b"".join([*lines[:line], b"\n", *lines[line:]]),
    }
    return rng.choice([*changes.items()])


def first_difference(original: bytes, changed: bytes) -> int:
    """The number of the first line that differs."""
    pairs = zip(_ended(original), _ended(changed), strict=True)
    return next(i for i, (one, other) in enumerate(pairs, 1) if one != other)


def _ended(content: bytes) -> Iterator[bytes | None]:
    """The lines, each with its end, and then nothing for ever."""
    *lines, rest = content.split(b"\n")
    yield from (line + b"\n" for line in lines)
    if rest:
        yield rest
    while True:
        yield None
