"""The releases of a ledger beside those that a policy names: found by their paths, and compared with their digests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafgate.errors import LedgerError, PolicyError
from leafgate.io.files import read_key
from leafgate.io.ledger import LedgerLine, RollFile, TableFile, keyed_digest, read_ledger
from leafgate.io.roll import Roll, read_roll
from leafgate.kernel.options import digest_of
from leafgate.kernel.policy import LedgerRelease, Policy
from leafgate.kernel.waivers import utc_today

NO_RELEASE = "the release is gone, or is not the file that left"
NO_TABLE = "the table of its people is gone, or is not what it was"
UNKNOWN_TABLE = "nobody said which people it was learned from: add it again with --data"


ROLL = "the table of its people is gone, and its roll"
"""How a sentence about a roll begins that cannot be used."""
NEW_ROLL = "put the table or the roll back, or add the release again with a new roll"
ADD_JOINT = (
    "add `{use: joint}` to `attacks`, and give the column that names people the role `key`; or leave the ledger out"
)
GIVE_ROLL_KEY = "give the file with its key: --roll-key"


@dataclass(frozen=True)
class GivenLedger:
    """A ledger on a command line, the file with its key, and those with the keys of rolls."""

    path: Path
    key: Path
    roll_keys: tuple[Path, ...] = ()


def with_ledger(policy: Policy, given: GivenLedger) -> Policy:
    """The policy with the releases of a ledger before those that it names itself.

    Each release file is there once, however many lines have it; the file that is audited is no other one.
    A line whose release or table is not there any more stays, with the reason, so that what uses it is inconclusive.
    Where the table is gone, a roll that has not expired replaces it.

    Args:
        policy: with the table that is audited.
        given: the ledger, and its key.

    Raises:
        PolicyError: nothing in the policy uses other releases.
        LedgerError: the ledger or a key cannot be read, a line was changed, or the policy requires another ledger.
    """
    if not policy.reads_releases:
        message = "no attack and no limit of the policy uses the releases of a ledger"
        raise PolicyError(message, place="--ledger", remedy=ADD_JOINT)
    key = read_key(given.key, LedgerError, str(given.key))
    ledger = read_ledger(given.path, key)
    if policy.ledger == "required" and not ledger.is_begun:
        message = "was not begun by `leafgate ledger new`, and the policy requires a ledger that was"
        raise LedgerError(
            message, place=str(given.path), remedy="name that ledger; or begin one, and add releases again"
        )
    audited = keyed_digest(key, "data", digest_of(policy.data.path) or "")
    own_files = {digest_of(path) for _, path in policy.build if isinstance(path, Path)}
    named = {(digest_of(each.path), each.data) for each in policy.releases}
    folder = given.path.resolve().parent
    roll_keys = {path: read_key(path, LedgerError, str(path)) for path in given.roll_keys}
    files = _Files(folder, key, audited, _tables(ledger.lines, policy, folder, key), roll_keys)
    found: dict[tuple[str, str], LedgerRelease] = {}
    for line in _with_their_tables(ledger.lines):
        release = files.release_of(line)
        is_own_table = line.data is not None and line.data.keyed_sha256 == audited
        is_audited = is_own_table and line.release.sha256 in own_files
        if is_audited or (not release.problem and not release.roll and (line.release.sha256, release.data) in named):
            continue
        same = line.release.sha256, "" if line.data is None else line.data.keyed_sha256
        if same not in found or found[same].problem:
            found[same] = release
    releases = sorted(found.values(), key=lambda release: release.line)
    return policy.with_ledger(tuple(releases), ledger.head)


def release_paths(given: GivenLedger) -> list[Path]:
    """Where the lines of a ledger say that their releases are; LedgerError where it cannot be read."""
    folder = given.path.resolve().parent
    return [folder / line.release.path for line in read_ledger(given.path, None).lines]


def _with_their_tables(lines: Sequence[LedgerLine]) -> list[LedgerLine]:
    """The lines, without those that name no table where another line of the same report names one."""
    known = {line.report for line in lines if line.data is not None}
    return [line for line in lines if line.data is not None or line.report not in known]


def _tables(lines: Iterable[LedgerLine], policy: Policy, folder: Path, key: bytes) -> dict[Path, str]:
    """The keyed digests of the tables of releases that are there, where some line says it, or the policy."""
    named = [(folder / line.data.path).resolve() for line in lines if line.data is not None]
    paths = dict.fromkeys([*(each.table for each in policy.releases if each.table is not None), *named])
    digests = ((path, digest_of(path)) for path in paths)
    return {path: keyed_digest(key, "data", sha256) for path, sha256 in digests if sha256 is not None}


@dataclass(frozen=True)
class _Files:
    """Where the files of a ledger are.

    Attributes:
        folder: of the ledger.
        key: of the ledger.
        audited: the keyed digest of the table that is audited.
        tables: the keyed digests of the tables that are there.
        roll_keys: the keys of rolls, by their files.
    """

    folder: Path
    key: bytes
    audited: str
    tables: Mapping[Path, str]
    roll_keys: Mapping[Path, bytes]

    def release_of(self, line: LedgerLine) -> LedgerRelease:
        """The release of a line, with the table of its people or their roll."""
        path = (self.folder / line.release.path).resolve()
        given: dict[str, Any] = {"path": path, "counts": None, "line": line.number}
        if line.data is None:
            given["problem"] = UNKNOWN_TABLE
        elif line.data.keyed_sha256 == self.audited:
            given["data"] = "same"
        else:
            given |= self._people(line, line.data)
        if digest_of(path) != line.release.sha256:
            given |= {"problem": NO_RELEASE, "remedy": ""}
        return LedgerRelease.model_construct(**given)

    def _people(self, line: LedgerLine, data: TableFile) -> dict[str, Any]:
        """The table of a line, the roll in its place, or why there is neither."""
        table = (self.folder / data.path).resolve()
        copies = [path for path, digest in self.tables.items() if digest == data.keyed_sha256]
        if copies:
            return {"data": table if table in copies else copies[0]}
        if line.roll is None:
            return {"data": table, "problem": NO_TABLE}
        try:
            return {"people": data.keyed_sha256, **self._roll(line, line.roll)}
        except LedgerError as error:
            return {"problem": f"{ROLL} {error.problems[0].message}", "remedy": error.problems[0].hint or NEW_ROLL}

    def _roll(self, line: LedgerLine, named: RollFile) -> dict[str, Path]:
        """The roll of a line and the file with its key; LedgerError where it cannot be used."""
        path = (self.folder / named.path).resolve()
        if not path.is_file():
            raise LedgerError("is gone, too", remedy=NEW_ROLL)
        roll: Roll = read_roll(path)
        if keyed_digest(self.key, "roll", roll.head_sha256) != named.keyed_sha256:
            raise LedgerError("was changed, or is another one", remedy=NEW_ROLL)
        if roll.release != line.release.sha256:
            raise LedgerError("is of another release", remedy=NEW_ROLL)
        if roll.expires < utc_today():
            raise LedgerError(f"expired on {roll.expires.isoformat()}", remedy="put the table back, or keep no roll")
        if not self.roll_keys:
            raise LedgerError("cannot be used without its key", remedy=GIVE_ROLL_KEY)
        keys = [file for file, key in self.roll_keys.items() if roll.is_key(key)]
        if not keys:
            raise LedgerError("has another key", remedy=GIVE_ROLL_KEY)
        if not roll.is_unchanged(self.roll_keys[keys[0]]):
            raise LedgerError("was changed", remedy=NEW_ROLL)
        return {"roll": path, "roll_key": keys[0]}
