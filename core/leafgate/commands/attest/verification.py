"""A statement verified without the data: its signature, what follows from it, and what it must be about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import ValidationError

from leafgate.commands.attest.inputs import ExpectedInputs, input_problems
from leafgate.commands.attest.keys import PublicKey
from leafgate.commands.attest.statement import PREDICATE_TYPE, AuditPredicate, audit_predicate
from leafgate.disclosure.stored import parse_report, report_bytes
from leafgate.errors import InvalidError, Problem, ReportError, plain
from leafgate.folders import content_digest
from leafgate.io.files import read_bounded
from leafgate.io.json import canonical, parse_json
from leafgate.session.expected_run import ExpectedRun
from leafgate.session.results import REPORT, STATEMENTS

MAX_BYTES = 64 * 1024 * 1024
"""Of a file with a statement."""
ATTEST_AGAIN = "do not rely on it: let the owner of the report attest it again"


@dataclass(frozen=True)
class Verified:
    """A statement that is as it was signed, and what it is about.

    Attributes:
        predicate: what the audit found.
        verdict: on the day of the verification: a waiver may have expired since.
        lapsed: a line for each waiver that has.
    """

    predicate: AuditPredicate
    verdict: str
    lapsed: Sequence[str]


def verify_statement(folder: Path, key: PublicKey, expected: ExpectedRun, inputs: ExpectedInputs) -> Verified:
    """Verify the statement in a folder.

    Args:
        folder: has the statement; a public report beside it must be the one that it is made of.
        key: of the one who must have signed it.
        expected: what it must be about, and the day on which waivers and the key must be valid.
        inputs: what the audit must have read.

    Raises:
        InvalidError: something was changed, is missing, is expired, or is about something else; each is named.
    """
    path = folder / STATEMENTS
    content = read_bounded(path, MAX_BYTES, ReportError, str(path))
    predicate = _predicate(key.payload(content, str(path)), str(path))
    problems = [
        *_key_problems(key, expected.day(predicate.judged_on)),
        *_report_problems(folder / REPORT, predicate),
        *input_problems(folder, predicate, expected, inputs),
    ]
    document = predicate.json_document()
    try:
        judged, lapsed = expected.judged({**document, "findings": document["limits"]}, path)
    except InvalidError as error:
        problems += error.problems
    if problems:
        raise InvalidError.listing(problems)
    return Verified(predicate, judged["verdict"], lapsed)


def _predicate(payload: bytes, place: str) -> AuditPredicate:
    """What the audit found; InvalidError where the signed statement is none of this version."""
    statement = parse_json(payload, ReportError, place)
    if not isinstance(statement, dict) or statement.get("predicateType") != PREDICATE_TYPE:
        raise InvalidError(f"has no statement of type {PREDICATE_TYPE}", place=place, remedy=ATTEST_AGAIN)
    try:
        predicate = AuditPredicate.model_validate_json(canonical(statement.get("predicate")))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        message = f"cannot be read by this version: {plain(problem['msg'])}"
        raise InvalidError(message, place=f"{place}: predicate", remedy=ATTEST_AGAIN) from None
    if predicate.statement != statement:
        raise InvalidError("its subjects are not what the audit was about", place=place, remedy=ATTEST_AGAIN)
    return predicate


def _key_problems(key: PublicKey, day: date) -> Iterator[Problem]:
    if key.last_day is not None and day > key.last_day:
        message = f"the key expired on {key.last_day}, and this is {day}"
        yield Problem("--key", message, "let it be attested by a valid key")
    if key.first_day is not None and day < key.first_day:
        yield Problem("--key", f"the key is valid from {key.first_day} on, and this is {day}", "name a valid key")


def _report_problems(path: Path, predicate: AuditPredicate) -> Iterator[Problem]:
    """What is wrong with a report beside the statement; nothing where there is none."""
    if not path.exists():
        return
    try:
        content = report_bytes(path)
        sha256 = content_digest(content)
        document = None if predicate.report is not None else parse_report(content, str(path))
    except ReportError as error:
        yield from error.problems
        return
    files = predicate.data.files_sha256
    if document is None:
        is_same = sha256 == predicate.report
    else:
        is_same = audit_predicate(document, sha256, files, with_digests=False) == predicate
    if not is_same:
        yield Problem(str(path), "is not the report that the statement is about", ATTEST_AGAIN)
