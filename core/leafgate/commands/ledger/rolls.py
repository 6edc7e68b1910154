"""Making the roll of a release that is added to a ledger, and finding people in one by their keys."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from leafgate.algorithms.leaf_statements import contradicted_leaves, unsupported_reason
from leafgate.commands.ledger.entry import relative_path
from leafgate.disclosure.stored import read_report
from leafgate.engine.rolls import leaves_by_id, leaves_of_trees, unsuitable_reason
from leafgate.errors import DataError, InvalidError, LedgerError, PolicyError, ReleaseError
from leafgate.io.files import read_bounded
from leafgate.io.json import JsonDocument
from leafgate.io.ledger import keyed_digest
from leafgate.io.roll import Roll, keyed_id, make_roll, write_roll
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.options import digest
from leafgate.kernel.table import Table
from leafgate.models.load import load_release
from leafgate.session.results import RELEASE
from leafgate.session.run import open_session

MAX_CELLS_BYTES = 2**27
"""A file of more bytes does not list the keys of people."""


@dataclass(frozen=True)
class WantedRoll:
    """A roll that somebody asks for on the command line.

    Attributes:
        path: where it is written.
        key: its key.
        policy: the policy of the audit, by which the table is read.
        purpose: why it is kept.
        controller: who is responsible for it.
        expires: the last day on which it may be used.
        org: the policies that this one was held to.
    """

    path: Path
    key: bytes
    policy: Path
    purpose: str
    controller: str
    expires: date
    org: tuple[Path, ...] = ()


@contextmanager
def with_roll(
    wanted: WantedRoll, ledger: Path, report: Path, release: Path | None, data: Path, key: bytes
) -> Iterator[JsonDocument]:
    """Write the roll of a release, and delete it again where no line is added.

    Args:
        wanted: the roll.
        ledger: the file of the ledger.
        report: the report of the audit.
        release: the file that left; `release.json` beside the report when left out.
        data: the table of its people.
        key: the key of the ledger.

    Yields:
        What the line has in `roll`.

    Raises:
        InvalidError: the release or its table allows no roll, or does not fit the policy.
    """
    path = report.parent / RELEASE if release is None else release
    roll = _roll(wanted, report, path, data)
    write_roll(wanted.path, roll)
    try:
        folder = Path(os.path.realpath(ledger)).parent
        yield {"path": relative_path(wanted.path, folder), "keyed_sha256": keyed_digest(key, "roll", roll.head_sha256)}
    except BaseException:
        wanted.path.unlink(missing_ok=True)
        raise


def _roll(wanted: WantedRoll, report: Path, path: Path, data: Path) -> Roll:
    session = open_session(wanted.policy, data, org=wanted.org)
    table, policy = session.tables.people, session.policy
    if policy.sha256 != read_report(report)["policy"]["sha256"]:
        remedy = "name the policy of the audit: --policy FILE"
        raise PolicyError("is not the policy of the report", place=str(wanted.policy), remedy=remedy)
    if isinstance(table, LargeTable):
        raise DataError("does not fit into memory", place=str(data), remedy="leave out --roll")
    encoding = getattr(policy.build, "encoding", None) or None
    loaded = load_release(path, table.schema, encoding, table.people, session.plugins.readers).release
    if reason := unsuitable_reason(loaded, table.schema) or _table_problem(table):
        raise InvalidError(f"cannot be made: {reason}", place="--roll", remedy="leave out --roll, and keep the table")
    if not unsupported_reason(loaded) and contradicted_leaves(loaded, table):
        remedy = "name the table that the release was learned from: --data FILE"
        raise ReleaseError("is not of this table", place=str(path), remedy=remedy)
    people = leaves_by_id(loaded, table, wanted.key)
    if len(people) < len(table):
        raise DataError("two people have the same key", place=str(data), remedy="give everybody a key of her own")
    return make_roll(
        people,
        leaves_of_trees(loaded),
        key=wanted.key,
        release=digest(path),
        purpose=wanted.purpose,
        controller=wanted.controller,
        expires=wanted.expires,
    )


def _table_problem(table: Table) -> str:
    """Why a table allows no roll; empty where it does."""
    if table.weighted or (table.persons != 1).any():
        return "a row of the table stands for several people, or has a weight"
    return "" if len(table) else "the table has no people"


def ids_of_cells(path: Path, key: bytes) -> set[str]:
    """The keyed ids of the people whose keys a file lists, one a line; empty lines are left out."""
    content = read_bounded(path, MAX_CELLS_BYTES, LedgerError, str(path))
    try:
        cells = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise LedgerError("is no text in UTF-8", place=str(path), remedy="list keys, one a line") from None
    return {keyed_id(key, cell.removesuffix("\r")) for cell in cells if cell.removesuffix("\r")}
