"""Ledgers of releases: a file with one line of JSON for each release that left, every line bound to the one before it.

A ledger that `leafgate ledger new` began has a first line of its own, so that no empty file stands for it. A line has
the SHA-256 of the line before it, and a code (HMAC-SHA256 under the owner's key) over everything else in it. Whoever
has the key notices a line that was changed, removed, inserted or moved. Whoever has the head, which is the SHA-256 of a
line, notices without the key whether that line and all lines before it are there. Nobody notices without the head of a
later line that the last lines were cut off.

Source: Schneier, Kelsey, Secure audit logs to support computer forensics, ACM TISSEC 2(2), 1999: codes over a chain of
hashes. doi:10.1145/317087.317089
Departure: one key for all lines, which its owner keeps, and no keys that evolve. Whoever has the key can write all
lines anew; a head that was handed out before shows it.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import secrets
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, ValidationError

from leafgate.errors import LedgerError, Problem
from leafgate.folders import content_digest
from leafgate.io.files import OWNER_ONLY, read_bounded, shared_file, write_files
from leafgate.io.json import JsonDocument, JsonObject, canonical, parse_json
from leafgate.kernel.findings import Verdict
from leafgate.kernel.options import Strict
from leafgate.kernel.origin import EMPTY_LEDGER, LedgerHead

FORMAT = "leafgate/ledger/1"
MAX_LEDGER_BYTES = 64 * 2**20
"""A ledger of more bytes is refused; a line has about a thousand."""
MAX_PROBLEMS = 20
"""Lines that one error lists."""
CHANGED = "is not as leafgate wrote it: it was changed"
WRONG_CODE = "was changed, or was written with another key"
UNCONNECTED = "does not follow the line before it: lines were changed, removed, inserted or moved here"
INCOMPLETE = "is incomplete: a copy of the file was interrupted, or the file was cut"
RESTORE = "put back a copy of the ledger that `leafgate ledger verify` accepts"
BEGIN = "begin a ledger: leafgate ledger new LEDGER --key KEY"
UNCUT = "compare the lines before it with a copy or a head of the ledger, and then delete what is left of this line"

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class LedgerFile(Strict):
    """A file that a line names."""

    path: Annotated[str, Field(min_length=1)]
    """Where the file was, from the folder of the ledger."""


class ReleasedFile(LedgerFile):
    """The release file, or the file of the model."""

    sha256: Digest
    """The digest of its bytes."""
    release_sha256: Digest
    """The digest of the release in the columns of the policy; of a release file the same digest."""


class TableFile(LedgerFile):
    """The table of the people whom the release was learned from."""

    keyed_sha256: Digest
    """The digest of its bytes under the key of the ledger: whoever can guess the table confirms nothing by it."""


class RollFile(LedgerFile):
    """The roll of these people, which may be used where their table is gone."""

    keyed_sha256: Digest
    """The digest of what never changes in the roll, under the key of the ledger."""


class LedgerReport(Strict):
    """The report of the release."""

    audience: Literal["public", "auditor"]
    """Whom it is for."""
    sha256: Digest | None = None
    """The digest of its file; of a public report."""
    keyed_sha256: Digest | None = None
    """The digest of its file under the key of the ledger; of a report for auditors, whose numbers can be guessed."""


class LedgerPolicy(Strict):
    """The policy by which the release was audited."""

    name: str
    sha256: Digest


class LedgerBeginning(Strict):
    """The first line of a ledger that was begun before any release left."""

    format: Literal["leafgate/ledger/1"]
    number: Literal[0]
    id: Digest
    """Random digits, so that no two ledgers begin alike."""
    mac: Digest
    """HMAC-SHA256, under the key of the ledger, of the line without this entry."""


class LedgerLine(Strict):
    """One release that left."""

    format: Literal["leafgate/ledger/1"]
    number: Annotated[int, Field(ge=1)]
    """The number of the line, from 1."""
    date: datetime.date
    """The day on which it left, as its owner says."""
    release: ReleasedFile
    data: TableFile | None
    """The table; `null` where nobody named it."""
    roll: RollFile | None = None
    """The roll; left out where there is none."""
    report: LedgerReport
    policy: LedgerPolicy
    publishes: str
    """What the release says at its leaves, as the report has it."""
    claims: dict[str, JsonValue]
    """The guarantees that the release claims, as the report has them."""
    verdict: Verdict
    waived: Annotated[int, Field(ge=0)]
    """How many findings were waived."""
    previous: Digest
    """The SHA-256 of the line before it; of a first line 64 zeros."""
    mac: Digest
    """HMAC-SHA256, under the key of the ledger, of the line without this entry."""


AnyLine = LedgerLine | LedgerBeginning


@dataclass(frozen=True)
class Ledger:
    """The lines of a ledger about releases, and the SHA-256 of each; `start` is what the first of them follows."""

    lines: tuple[LedgerLine, ...] = ()
    digests: tuple[str, ...] = ()
    start: LedgerHead = EMPTY_LEDGER

    @property
    def head(self) -> LedgerHead:
        """The last line; without releases number 0."""
        return LedgerHead(len(self.lines), self.digests[-1]) if self.lines else self.start

    @property
    def heads(self) -> list[str]:
        """The digests of all heads that the ledger had, by their numbers."""
        return [self.start.sha256, *self.digests]

    @property
    def is_begun(self) -> bool:
        """Did `leafgate ledger new` begin it?"""
        return self.start != EMPTY_LEDGER


def read_ledger(path: Path, key: bytes | None) -> Ledger:
    """The ledger in a file, every line of it verified.

    Args:
        path: the file.
        key: the key by which it was written; without it only the order of the lines is verified.

    Raises:
        LedgerError: the file cannot be read, or some lines were changed; the error lists these lines.
    """
    return parse_ledger(_content(path), str(path), key)


def _content(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise LedgerError("is no file", place=str(path), remedy=BEGIN)
    content = read_bounded(path, MAX_LEDGER_BYTES, LedgerError, str(path))
    if len(content) > MAX_LEDGER_BYTES:
        raise LedgerError(f"is larger than {MAX_LEDGER_BYTES // 2**20} MB", place=str(path), remedy="begin another one")
    return content


def parse_ledger(content: bytes, place: str, key: bytes | None) -> Ledger:
    """The ledger in these bytes, as `read_ledger` reads it; `place` is its name in errors."""
    *complete, rest = content.split(b"\n")
    lines = [_parsed_line(raw) for raw in complete]
    if len(lines) > 1 and not any(lines):
        raise LedgerError("is no ledger: no line of it is one of a ledger", place=place, remedy="name a ledger")
    is_begun = bool(lines) and isinstance(lines[0], LedgerBeginning)
    first = 0 if is_begun else 1
    problems = [*_problems(complete, lines, first, place, key)]
    if rest:
        problems.append(Problem(_place(place, len(complete) + first), INCOMPLETE, UNCUT))
    if problems:
        more = len(problems) - MAX_PROBLEMS
        listed = problems[:MAX_PROBLEMS]
        raise LedgerError.listing([*listed, *([Problem(place, f"{more} more lines")] if more > 0 else [])])
    digests = tuple(map(content_digest, complete))
    releases = tuple(line for line in lines if isinstance(line, LedgerLine))
    return Ledger(releases, digests[1 - first :], LedgerHead(0, digests[0]) if is_begun else EMPTY_LEDGER)


def _place(ledger: str, number: int) -> str:
    return f"{ledger}: line {number}"


def _parsed_line(raw: bytes) -> AnyLine | None:
    """The line, if it is one, byte for byte as this module writes it."""
    try:
        document = parse_json(raw, LedgerError, "")
        if canonical(document) != raw:
            return None
        is_beginning = isinstance(document, dict) and document.get("number") == 0
        return (LedgerBeginning if is_beginning else LedgerLine).model_validate_json(raw)
    except (LedgerError, ValidationError):
        return None


def _problems(
    complete: Sequence[bytes], lines: Sequence[AnyLine | None], first: int, place: str, key: bytes | None
) -> Iterator[Problem]:
    """What is wrong with each line. Of a line after a changed one nobody knows what it should follow."""
    before: LedgerHead | None = EMPTY_LEDGER
    for number, (raw, line) in enumerate(zip(complete, lines, strict=True), first):
        if line is None:
            yield Problem(_place(place, number), CHANGED, RESTORE)
        elif key is not None and not hmac.compare_digest(line.mac, _mac(key, parse_json(raw, LedgerError, place))):
            yield Problem(_place(place, number), WRONG_CODE, f"name the key that it was written with, or {RESTORE}")
            line = None
        elif not _follows(line, before, is_first=number == first):
            yield Problem(_place(place, number), UNCONNECTED, RESTORE)
        before = None if line is None else LedgerHead(line.number, content_digest(raw))


def _follows(line: AnyLine, before: LedgerHead | None, *, is_first: bool) -> bool:
    if isinstance(line, LedgerBeginning):
        return is_first
    return before is None or (line.number, line.previous) == (before.number + 1, before.sha256)


def _mac(key: bytes, line: JsonObject) -> str:
    """The code of a line, which covers everything in it but the code."""
    covered = canonical({name: value for name, value in line.items() if name != "mac"})
    return hmac.new(key, covered, hashlib.sha256).hexdigest()


def keyed_digest(key: bytes, kind: Literal["data", "report", "roll"], sha256: str) -> str:
    """HMAC-SHA256, under the key of a ledger, of the digest of a file or a roll's head; no line has the same code."""
    return hmac.new(key, f"{FORMAT} {kind} {sha256}".encode(), hashlib.sha256).hexdigest()


def begin_ledger(path: Path, key: bytes) -> LedgerHead:
    """Begin a ledger with a line that has its identifier; its head, which is that of no other ledger.

    Raises:
        LedgerError: there is something in the file.
        OutputError: the ledger cannot be written.
    """
    line: JsonDocument = {"format": FORMAT, "number": 0, "id": secrets.token_hex(32)}
    raw = canonical({**line, "mac": _mac(key, line)})
    with shared_file(path) as target:
        if target.exists() and target.stat().st_size:
            raise LedgerError("is there already", place=str(path), remedy="use it, or name another file")
        write_files(target.parent, {target.name: raw + b"\n"}, OWNER_ONLY)
    return LedgerHead(0, content_digest(raw))


def append_line(path: Path, content: JsonObject, key: bytes, audited_at: LedgerHead | None = None) -> LedgerHead:
    """Append a line to a ledger, which begins with it if there is none.

    The whole ledger goes to a temporary file, reaches the disk, and takes the place of the old one in one step: whoever
    is killed meanwhile, or has no room, leaves the old one. Others who append wait for their turn.

    Args:
        path: the ledger; where it is a link, the file that it leads to is written.
        content: the entries of a LedgerLine but for `format`, `number`, `previous` and `mac`.
        key: the key by which the ledger is written.
        audited_at: the head of the ledger that the audit took into account; None where it took none. A release whose
            audit did not see all lines is refused, unless a line has it already: that one left before.

    Returns:
        The number and the digest of the new line.

    Raises:
        LedgerError: a line of the ledger was changed, one has this release, its table and this report, or the audit saw
            another head.
        OutputError: the ledger cannot be written, or another process does so all the time.
    """
    with shared_file(path) as target:
        before = _content(target) if target.exists() else b""
        ledger = parse_ledger(before, str(path), key)
        line, raw = _next_line(ledger, content, key)
        _refuse_second_line(ledger, line, str(path))
        _refuse_other_head(ledger, line, audited_at, str(path))
        mode = stat.S_IMODE(target.stat().st_mode) if before else OWNER_ONLY
        write_files(target.parent, {target.name: before + raw + b"\n"}, mode)
    return LedgerHead(line.number, content_digest(raw))


def _next_line(ledger: Ledger, content: JsonObject, key: bytes) -> tuple[LedgerLine, bytes]:
    head = ledger.head
    line: JsonDocument = {**content, "format": FORMAT, "number": head.number + 1, "previous": head.sha256}
    raw = canonical({**line, "mac": _mac(key, line)})
    return LedgerLine.model_validate_json(raw), raw


def _refuse_second_line(ledger: Ledger, line: LedgerLine, place: str) -> None:
    for other in ledger.lines:
        if all(getattr(other, name) == getattr(line, name) for name in ("release", "data", "report", "roll")):
            message = "has this release, its table and this report already, so nothing was added"
            raise LedgerError(message, place=_place(place, other.number), remedy="add each release once")


def _refuse_other_head(ledger: Ledger, line: LedgerLine, audited_at: LedgerHead | None, place: str) -> None:
    if audited_at is None:
        return
    has_left = any((other.release.sha256, other.report) == (line.release.sha256, line.report) for other in ledger.lines)
    if audited_at != ledger.head and not has_left:
        message = f"has head {ledger.head.number}, and the release was audited at head {audited_at.number}, another one"
        raise LedgerError(message, place=place, remedy="audit again, with the ledger as it is now")
