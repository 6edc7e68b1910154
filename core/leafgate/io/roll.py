"""Rolls: registers of the pseudonymised people of a release, which outlive the table of these people.

A roll has for each person a keyed id, which is HMAC-SHA256 of her key under the roll's own key, and the leaf of each
tree that she reached. It has no secret and no public cell. A line of a ledger has the digest of the roll's head, which
never changes; a code under the roll's key covers the whole roll, so that people can be erased from it and nobody
without the key changes it. Whoever puts back an older copy, from which nobody was erased, is not noticed.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from leafgate.errors import LedgerError, OutputError
from leafgate.io.files import OWNER_ONLY, read_bounded, shared_file, write_file, write_files
from leafgate.io.json import JsonDocument, canonical, parse_json
from leafgate.kernel.options import Strict
from leafgate.kernel.spelling import same_form

FORMAT = "leafgate/roll/1"
MAX_ROLL_BYTES = 2**30
"""A roll of more bytes is refused; a person has about a hundred in a release of a few trees."""
CHANGED = "is not as leafgate wrote it: it was changed"
PUT_BACK = "put back a copy of the roll"

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, Field(min_length=1)]


class Roll(Strict):
    """The people of a release."""

    format: Literal["leafgate/roll/1"]
    purpose: Text
    """Why the register is kept."""
    controller: Text
    """Who is responsible for it."""
    expires: datetime.date
    """The last day on which it may be used."""
    release: Digest
    """The SHA-256 of the file that left."""
    leaves: tuple[Annotated[int, Field(ge=1)], ...]
    """The number of leaves of each tree."""
    people: Annotated[int, Field(ge=1)]
    """The people of the release, before any was forgotten."""
    key_check: Digest
    """A code by which the roll's key is recognised."""
    leaf: dict[Digest, tuple[Annotated[int, Field(ge=-1)], ...]]
    """For each keyed id the number of the leaf in each tree, from the left; -1 for none."""
    mac: Digest
    """HMAC-SHA256, under the roll's key, of everything else."""

    @property
    def head(self) -> JsonDocument:
        """What never changes."""
        return self.model_dump(mode="json", exclude={"leaf", "mac"})

    @property
    def head_sha256(self) -> str:
        """The digest of what never changes."""
        return hashlib.sha256(canonical(self.head)).hexdigest()

    @property
    def forgotten(self) -> int:
        """How many people were erased."""
        return self.people - len(self.leaf)

    def is_key(self, key: bytes) -> bool:
        """Is it the key of this roll?"""
        return hmac.compare_digest(self.key_check, _code(key, "key"))

    def is_unchanged(self, key: bytes) -> bool:
        """Did somebody who has this key write the whole roll?"""
        return hmac.compare_digest(self.mac, _mac(key, self.model_dump(mode="json")))


def keyed_id(key: bytes, cell: object) -> str:
    """The id of the person who has this cell as her key: HMAC-SHA256 of its `same_form` under the key of a roll."""
    return _code(key, f"cell {same_form(str(cell)) or cell}")


def _code(key: bytes, text: str) -> str:
    return hmac.new(key, f"{FORMAT} {text}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _mac(key: bytes, document: Mapping[str, Any]) -> str:
    covered = canonical({name: value for name, value in document.items() if name != "mac"})
    return hmac.new(key, covered, hashlib.sha256).hexdigest()


def make_roll(
    leaf: Mapping[str, Sequence[int]],
    leaves: Sequence[int],
    *,
    key: bytes,
    release: str,
    purpose: str,
    controller: str,
    expires: datetime.date,
) -> Roll:
    """The roll of a release, in the order of the ids.

    Args:
        leaf: for each person's keyed id the number of the leaf in each tree.
        leaves: the number of leaves of each tree.
        key: the roll's key.
        release: the SHA-256 of the file that left.
        purpose: why the register is kept.
        controller: who is responsible for it.
        expires: the last day on which it may be used.
    """
    document: JsonDocument = {
        "format": FORMAT,
        "purpose": purpose,
        "controller": controller,
        "expires": expires.isoformat(),
        "release": release,
        "leaves": [*leaves],
        "people": len(leaf),
        "key_check": _code(key, "key"),
        "leaf": {person: [*leaf[person]] for person in sorted(leaf)},
    }
    return _parsed(canonical({**document, "mac": _mac(key, document)}) + b"\n", "")


def write_roll(path: Path, roll: Roll) -> None:
    """Write a new roll, which its owner alone can read; OutputError where there is a file already."""
    if path.exists():
        raise OutputError("is there already", place=str(path), remedy="name a new file: no roll is written over")
    write_file(path, _bytes(roll), OWNER_ONLY)


def _bytes(roll: Roll) -> bytes:
    return canonical(roll.model_dump(mode="json")) + b"\n"


def read_roll(path: Path, key: bytes | None = None) -> Roll:
    """The roll in a file.

    Args:
        path: the file.
        key: the key of the roll; without it nobody knows whether it was changed.

    Raises:
        LedgerError: the file cannot be read or is no roll, the key is that of another roll, or the roll was changed.
    """
    return _verified(read_bounded(path, MAX_ROLL_BYTES, LedgerError, str(path)), str(path), key)


def _verified(content: bytes, place: str, key: bytes | None) -> Roll:
    roll = _parsed(content, place)
    if key is not None and not roll.is_key(key):
        raise LedgerError("has another key", place=place, remedy="name the key that the roll was written with")
    if key is not None and not roll.is_unchanged(key):
        raise LedgerError(CHANGED, place=place, remedy=PUT_BACK)
    return roll


def _parsed(content: bytes, place: str) -> Roll:
    if len(content) > MAX_ROLL_BYTES:
        raise LedgerError(f"is larger than {MAX_ROLL_BYTES // 2**20} MB", place=place, remedy="name a roll")
    try:
        if canonical(parse_json(content, LedgerError, place)) + b"\n" != content:
            raise LedgerError(CHANGED, place=place, remedy=PUT_BACK)
        roll = Roll.model_validate_json(content)
    except ValidationError:
        raise LedgerError("is no roll", place=place, remedy="name a file that `--roll` wrote") from None
    is_in_range = all(
        len(reached) == len(roll.leaves) and all(a < n for a, n in zip(reached, roll.leaves, strict=True))
        for reached in roll.leaf.values()
    )
    if roll.forgotten < 0 or not is_in_range:
        raise LedgerError(CHANGED, place=place, remedy=PUT_BACK)
    return roll


def forget(path: Path, ids: Collection[str], key: bytes) -> Roll:
    """Erase people from a roll, whose file is written anew; the roll without them.

    Args:
        path: the roll; where it is a link, the file that it leads to is written.
        ids: their keyed ids.
        key: the roll's key.

    Raises:
        LedgerError: the roll cannot be read or was changed, the key is that of another roll, or somebody is not in the
            roll; nothing is erased then.
        OutputError: the roll cannot be written, or another process does so all the time.
    """
    read_roll(path, key)
    with shared_file(path) as target:
        roll = read_roll(target, key)
        missing = len({*ids} - roll.leaf.keys())
        if missing:
            are = "id is" if missing == 1 else "ids are"
            remedy = "take out those who were forgotten already, and who never were in it"
            raise LedgerError(f"{missing} {are} not in the roll, so nobody was erased", place=str(path), remedy=remedy)
        document = roll.model_dump(mode="json", exclude={"mac"})
        document["leaf"] = {person: reached for person, reached in document["leaf"].items() if person not in ids}
        content = canonical({**document, "mac": _mac(key, document)}) + b"\n"
        write_files(target.parent, {target.name: content}, stat.S_IMODE(target.stat().st_mode) & OWNER_ONLY)
    return _parsed(content, str(path))
