"""The releases of a ledger beside those that a policy names: found by their paths, and compared with their digests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from leafgate.errors import LedgerError, PolicyError, ReleaseError
from leafgate.io.files import read_key
from leafgate.io.ledger import LedgerLine, keyed_digest, read_ledger
from leafgate.kernel.options import digest
from leafgate.kernel.policy import LedgerRelease, Policy

NO_RELEASE = "the release is gone, or is not the file that left"
NO_TABLE = "the table of its people is gone, or is not what it was"
UNKNOWN_TABLE = "nobody said which people it was learned from: add it again with --data"


@dataclass(frozen=True)
class GivenLedger:
    """A ledger on a command line, and the file with its key."""

    path: Path
    key: Path


def with_ledger(policy: Policy, given: GivenLedger) -> Policy:
    """The policy with the releases of a ledger before those that it names itself.

    Each release is there once, however many lines have it; the release that the policy audits is no other one. A line
    whose release or table is not there any more stays, with the reason, so that what uses it is inconclusive.

    Args:
        policy: with the table that is audited.
        given: the ledger, and its key.

    Raises:
        PolicyError: nothing in the policy uses other releases.
        LedgerError: the ledger or its key cannot be read, or a line was changed.
    """
    if not policy.reads_releases:
        message = "no attack and no limit of the policy uses the releases of a ledger"
        raise PolicyError(message, place="--ledger", remedy="add the attack `joint`, or leave it out")
    key = read_key(given.key, LedgerError, str(given.key))
    ledger = read_ledger(given.path, key)
    audited = keyed_digest(key, "data", _digest(policy.data.path) or "")
    own_files = {_digest(path) for _, path in policy.build if isinstance(path, Path)}
    named = {(_digest(each.path), each.data) for each in policy.releases}
    files = _Files(given.path.resolve().parent, key, audited)
    found: dict[tuple[str, str], LedgerRelease] = {}
    for line in _with_their_tables(ledger.lines):
        release = files.release_of(line)
        is_own_table = line.data is None or line.data.keyed_sha256 == audited
        is_audited = is_own_table and line.release.sha256 in own_files
        if is_audited or (not release.problem and (line.release.sha256, release.data) in named):
            continue
        same = line.release.sha256, "" if line.data is None else line.data.keyed_sha256
        if same not in found or found[same].problem:
            found[same] = release
    releases = sorted(found.values(), key=lambda release: release.line)
    return policy.with_ledger(tuple(releases), ledger.head)


def _with_their_tables(lines: Iterable[LedgerLine]) -> list[LedgerLine]:
    """The lines, without those that name no table of a release for which another line names one."""
    listed = [*lines]
    known = {line.release.sha256 for line in listed if line.data is not None}
    return [line for line in listed if line.data is not None or line.release.sha256 not in known]


@dataclass(frozen=True)
class _Files:
    """Where the files of a ledger are, and the keyed digest of the table that is audited."""

    folder: Path
    key: bytes
    audited: str

    def release_of(self, line: LedgerLine) -> LedgerRelease:
        """The release of a line, with the table of its people; none where it is the audited table."""
        path, table = (self.folder / line.release.path).resolve(), None
        problem = "" if _digest(path) == line.release.sha256 else NO_RELEASE
        if line.data is None:
            problem = problem or UNKNOWN_TABLE
        elif line.data.keyed_sha256 != self.audited:
            table = (self.folder / line.data.path).resolve()
            sha256 = _digest(table)
            is_there = sha256 is not None and keyed_digest(self.key, "data", sha256) == line.data.keyed_sha256
            problem = problem or ("" if is_there else NO_TABLE)
        return LedgerRelease.model_construct(path=path, counts=None, data=table, line=line.number, problem=problem)


def _digest(path: Path | None) -> str | None:
    """The digest of a file; None where it cannot be read."""
    try:
        return None if path is None else digest(path)
    except (OSError, ReleaseError):
        return None
