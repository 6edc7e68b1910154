"""The content of a line of a ledger, from a report, the file that left and the table of its people."""

from __future__ import annotations

import hashlib
import os
from datetime import date
from pathlib import Path

from leafgate.disclosure.stored import parse_report, read_report, report_bytes
from leafgate.errors import DataError, InvalidError, LeafgateError, ReleaseError, ReportError
from leafgate.io.json import JsonDocument
from leafgate.io.ledger import keyed_digest
from leafgate.kernel.options import digest
from leafgate.kernel.origin import LedgerHead
from leafgate.session.results import RELEASE

UTF_8 = "utf-8"


def line_content(
    ledger: Path, report: Path, release: Path | None, data: Path | None, day: date, key: bytes
) -> JsonDocument:
    """The entries of a line that do not depend on the lines before it.

    Args:
        ledger: the file of the ledger, from whose folder paths are given.
        report: the report.json of an audit of the release.
        release: the file that left; `release.json` beside the report when left out.
        data: the table of the people whom it was learned from; None where nobody says it.
        day: the day on which it left.
        key: the key of the ledger.

    Raises:
        ReportError: the report cannot be read, or is of no release.
        ReleaseError: the file is not the one that the report is about.
        DataError: the table cannot be read, or is not the one that the report is about.
    """
    content = report_bytes(report)
    document = parse_report(content, str(report))
    if document["release"] is None:
        raise ReportError("is of no release: none could be built, so none left", place=str(report))
    sha256 = hashlib.sha256(content).hexdigest()
    is_public = document["audience"] == "public"
    method = document.get("method") or {}
    folder = Path(os.path.realpath(ledger)).parent
    return {
        "date": day.isoformat(),
        "release": _released_file(folder, document, report, release),
        "data": None if data is None else _table_file(folder, document, data, key),
        "report": {
            "audience": document["audience"],
            **({"sha256": sha256} if is_public else {"keyed_sha256": keyed_digest(key, "report", sha256)}),
        },
        "policy": {name: document["policy"][name] for name in ("name", "sha256")},
        "publishes": method.get("publishes", ""),
        "claims": method.get("claims", {}),
        "verdict": document["verdict"],
        "waived": document["waived"],
    }


def audited_head(report: Path) -> LedgerHead | None:
    """The head of the ledger that an audit took into account, by its report; None where it took none."""
    stated = read_report(report).get("ledger")
    return None if stated is None else LedgerHead(**stated)


def _released_file(folder: Path, document: JsonDocument, report: Path, given: Path | None) -> JsonDocument:
    described = document["release"]
    audited = described.get("file")
    expected = str((audited or described)["sha256"])
    path = report.parent / RELEASE if given is None else given
    what = "the audited file" if audited else "the audited release"
    remedy = f"name {what}: --release FILE"
    if _digest(path, ReleaseError, remedy) != expected:
        raise ReleaseError(f"is not {what} of the report", place=str(path), remedy=remedy)
    return {"path": relative_path(path, folder), "sha256": expected, "release_sha256": described["sha256"]}


def _table_file(folder: Path, document: JsonDocument, path: Path, key: bytes) -> JsonDocument:
    sha256, audited = _digest(path, DataError, "name the table: --data FILE"), document["data"].get("sha256")
    if audited not in {None, sha256}:
        remedy = "name the table of the people whom the release was learned from"
        raise DataError("is not the table of the report", place=str(path), remedy=remedy)
    return {"path": relative_path(path, folder), "keyed_sha256": keyed_digest(key, "data", sha256)}


def _digest(path: Path, error: type[LeafgateError], remedy: str) -> str:
    try:
        return digest(path)
    except OSError as reason:
        raise error(f"cannot be read: {reason.strerror}", place=str(path), remedy=remedy) from None


def relative_path(path: Path, folder: Path) -> str:
    """The path of a file from the folder of the ledger, with forward slashes."""
    try:
        relative = Path(os.path.relpath(os.path.realpath(path), folder)).as_posix()
        relative.encode(UTF_8)
    except ValueError:  # another drive, or a name that is no text
        message = "has no path from the folder of the ledger that a ledger can hold"
        raise InvalidError(message, place=str(path), remedy="copy it to a folder beside the ledger") from None
    return relative
