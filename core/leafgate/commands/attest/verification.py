"""A statement verified without the data: its signature, what follows from it, and what it must be about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import ValidationError

from leafgate.commands.attest.inputs import ExpectedInputs, ReadFiles, input_problems
from leafgate.commands.attest.keys import PublicKey
from leafgate.commands.attest.statement import PREDICATE_TYPE, AuditPredicate, CasePart, audit_predicate
from leafgate.commands.case.record import CASE, CaseState, Subject, parse_case, state_of
from leafgate.commands.case.record import MAX_BYTES as MAX_CASE_BYTES
from leafgate.disclosure.stored import parse_report, report_bytes
from leafgate.errors import InvalidError, LeafgateError, Problem, ReportError, plain
from leafgate.folders import content_digest
from leafgate.io.files import read_bounded
from leafgate.io.json import canonical, parse_json
from leafgate.kernel.findings import Verdict
from leafgate.session.expected_run import ExpectedRun
from leafgate.session.results import FILES, REPORT, STATEMENTS

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
        case: what people decided, on that day; None where the statement has no case.
    """

    predicate: AuditPredicate
    verdict: str
    lapsed: Sequence[str]
    case: CaseState | None


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
        case = _case_state(folder / CASE, predicate, judged["verdict"], _decisions_of(expected))
    except InvalidError as error:
        problems += error.problems
    if problems:
        raise InvalidError.listing(problems)
    return Verified(predicate, judged["verdict"], lapsed, case)


@dataclass(frozen=True)
class EarlierStatement:
    """What `leafgate audit --attest` left beside its report: a statement, and the owner's file of digests; or none."""

    statement: bytes
    files: bytes

    @classmethod
    def read_from(cls, folder: Path) -> EarlierStatement:
        """What the folder of a report has of it; empty where a file is missing or cannot be read."""
        content = {STATEMENTS: b"", FILES: b""}
        for name in content:
            with suppress(ReportError):
                content[name] = read_bounded(folder / name, MAX_BYTES, ReportError, name)
        return cls(content[STATEMENTS], content[FILES])

    def files_about(self, report: bytes, key: PublicKey) -> dict[str, str]:
        """The digests of the files about people that were read for a report, if this key signed so; none otherwise."""
        try:
            predicate = _predicate(key.payload(self.statement, STATEMENTS), STATEMENTS)
            read = ReadFiles.model_validate_json(self.files)
        except (LeafgateError, ValidationError):
            return {}
        signed = (predicate.report, predicate.data.files_sha256)
        return read.files if signed == (content_digest(report), content_digest(self.files)) else {}


def _decisions_of(expected: ExpectedRun) -> int:
    """How many people must decide by the expected policy."""
    policy = expected.policy_of_file
    return 1 if policy is None or policy.approvals is None else policy.approvals.decisions


def _case_state(path: Path, predicate: AuditPredicate, verdict: Verdict, wanted: int) -> CaseState | None:
    """What the case beside a statement comes to, by the digests that the statement has; None where it has none.

    Raises:
        InvalidError: it is not the case of the statement, or the policy asks for one, and there is none.
    """
    part: CasePart | None = predicate.case
    if part is None:
        if wanted > 1 and verdict == "pass":
            remedy = "let them decide, and attest the report again: leafgate case decide"
            raise InvalidError(f"the policy asks {wanted} people to decide", place=str(path), remedy=remedy)
        return None
    content = read_bounded(path, MAX_CASE_BYTES, InvalidError, str(path))
    if content_digest(content) != part.sha256:
        raise InvalidError("is not the case of the statements", place=str(path), remedy=ATTEST_AGAIN)
    digests: dict[str, str | None] = {"policy": predicate.policy.sha256, "waivers": predicate.policy.waivers_sha256}
    if predicate.report is not None and predicate.release is not None:
        file = predicate.release.file
        digests |= {"report": predicate.report, "release": predicate.release.sha256}
        digests["file"] = None if file is None else file.sha256
    subject = Subject(digests, verdict, dict.fromkeys(part.not_examined, ""), max(wanted, part.decisions))
    return state_of(parse_case(content, str(path)), subject)


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
    files, case = predicate.data.files_sha256, predicate.case
    if document is None:
        is_same = sha256 == predicate.report
    else:
        is_same = audit_predicate(document, sha256, files, with_digests=False, case=case) == predicate
    if not is_same:
        yield Problem(str(path), "is not the report that the statement is about", ATTEST_AGAIN)
