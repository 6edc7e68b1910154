"""The files about people that an audit reads, compared with those that its policy names.

A policy's digest covers no file about people, so a report of the policy may be about other people than the policy's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from leafgate.kernel.options import digest_of, people_files
from leafgate.kernel.origin import GivenFile
from leafgate.kernel.policy import LedgerRelease, Policy

if TYPE_CHECKING:
    from leafgate.session.run import Session

TABLE, TEST = "data.path", "data.test"
DIGEST_KEY = "report.digest_key"
"""The one file of these that is about nobody."""


def named_files(policy: Policy) -> dict[str, Path]:
    """The files about people that a policy names, without those of a ledger, by their keys (`data.path`)."""
    own = tuple(each for each in policy.releases if not isinstance(each, LedgerRelease))
    files = people_files(policy.model_copy(update={"releases": own}))
    return {key: path for key, path in files.items() if key != DIGEST_KEY}


def given_files(named: Policy | None, read: Policy) -> dict[str, GivenFile]:
    """The files that the command line gave in place of those that the policy names, by their keys.

    Args:
        named: the policy without anything else of the command line; None where it cannot be read so.
        read: the policy with the files that are read.

    Returns:
        `other` where the policy names a file that is there and has other bytes, or whose bytes came through a pipe;
        `given` where there is nothing to compare with. A file with the bytes of the one that is named is left out.
    """
    files = {} if named is None else named_files(named)
    given: dict[str, GivenFile] = {}
    for key, path in named_files(read).items():
        there = files.get(key)
        if there != path:
            expected = digest_of(there)
            if expected is None:
                given[key] = "given"
            elif expected != digest_of(path):
                given[key] = "other"
    return given


def read_digests(session: Session) -> dict[str, str]:
    """The SHA-256 of every file about people that a session has read, by its key."""
    tables = session.tables
    read = {
        TABLE: tables.people,
        TEST: tables.test,
        "data.control": tables.control,
        "data.population": tables.population,
    }
    digests = {key: digest_of(path) or "" for key, path in named_files(session.policy).items()}
    digests |= {key: table.sha256 for key, table in read.items() if table is not None and key in digests}
    return {key: sha256 for key, sha256 in digests.items() if sha256}
