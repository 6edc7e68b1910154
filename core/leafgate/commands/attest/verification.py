"""Statements verified without the data: signatures, what they say of each other, and what they must be about.

Only statements with a valid signature are believed. All of them are derived again from that of the audit, so that a
line that was dropped, added, moved or changed is named with what is otherwise in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from leafgate.commands.attest import ed25519
from leafgate.commands.attest.ed25519 import VerificationKey
from leafgate.commands.attest.envelope import (
    MAX_BYTES,
    Envelope,
    lines_of,
    parse_envelope,
    pre_authentication_encoding,
)
from leafgate.commands.attest.inputs import ExpectedInputs, input_problems
from leafgate.commands.attest.predicate import PREDICATE_TYPE, AuditPredicate, audit_predicate
from leafgate.commands.attest.statements import NAMES, SVR, is_time, payload, statements
from leafgate.disclosure.stored import parse_report, report_bytes
from leafgate.errors import DocumentPath, InvalidError, Problem, ReportError, format_path, plain
from leafgate.io.files import read_bounded
from leafgate.io.json import JsonDocument, canonical, parse_json
from leafgate.session.expected_run import ExpectedRun
from leafgate.session.results import REPORT, STATEMENTS

ATTEST_AGAIN = "do not rely on it: let the owner of the report attest it again"


@dataclass(frozen=True)
class Verified:
    """Statements that are as they were signed, and what they are about.

    Attributes:
        predicate: what the audit found.
        verdict: on the day of the verification: a waiver may have expired since.
        lapsed: a line for each waiver that has.
        keyid: of the key that signed them.
    """

    predicate: AuditPredicate
    verdict: str
    lapsed: Sequence[str]
    keyid: str


@dataclass(frozen=True)
class Line:
    """A line of the file: where it is, and its envelope; `problem` says why it is not believed."""

    place: str
    envelope: Envelope | None
    problem: Problem | None = None

    @cached_property
    def statement(self) -> JsonDocument:
        """The statement, believed or not; empty where there is none."""
        try:
            document = None if self.envelope is None else parse_json(self.envelope.payload, ReportError, self.place)
        except ReportError:
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def named(self) -> str:
        """The place, with the name of the statement where it has a known one."""
        kind = self.statement.get("predicateType")
        return f"{self.place} ({NAMES[kind]})" if isinstance(kind, str) and kind in NAMES else self.place


def verify_statements(
    folder: Path,
    public_key: bytes,
    expected: ExpectedRun,
    least_version: str | None,
    inputs: ExpectedInputs,
) -> Verified:
    """Verify the statements in a folder.

    Args:
        folder: has the statements; a public report beside them must be the one that they are made of.
        public_key: of the one who must have signed them.
        expected: what they must be about, and the day on which waivers and the key must be valid.
        least_version: of leafgate, by which the audit was made.
        inputs: what the audit must have read.

    Raises:
        InvalidError: something was changed, is missing, is expired, or is about something else; each is named.
    """
    path = folder / STATEMENTS
    content = read_bounded(path, MAX_BYTES, ReportError, str(path))
    if len(content) > MAX_BYTES:
        raise ReportError(f"is larger than {MAX_BYTES // 1024**2} MB", place=str(path))
    key = ed25519.public_key(public_key)
    lines = [_line(line, place, key, public_key) for place, line in lines_of(content, str(path))]
    predicate = _agreeing(lines, str(path))
    problems = [
        *_key_problems(key, expected.day(predicate.judged_on)),
        *_version_problems(predicate, least_version, path),
    ]
    problems += _report_problems(folder / REPORT, predicate)
    problems += input_problems(folder, predicate, expected, inputs)
    try:
        judged, lapsed = expected.judged(_as_report(predicate), path)
    except InvalidError as error:
        raise InvalidError.listing([*problems, *error.problems]) from None
    if problems:
        raise InvalidError.listing(problems)
    return Verified(predicate, judged["verdict"], lapsed, key.keyid)


def _line(line: bytes, place: str, key: VerificationKey, public_key: bytes) -> Line:
    try:
        envelope = parse_envelope(line, place)
    except ReportError as error:
        return Line(place, None, error.problems[0])
    message, signed = pre_authentication_encoding(envelope.payload), envelope.signed
    valid = ed25519.verify(message, signed.signature, public_key)
    if signed.keyid != key.keyid:
        text = "was changed" if valid else f"is of another key; the given one is {key.keyid[:16]}"
        return Line(place, envelope, Problem(f"{place}: signatures[0].keyid", text, ATTEST_AGAIN))
    if not valid:
        text = "was changed, or signatures[0].sig was: the signature is not of this payload"
        return Line(place, envelope, Problem(f"{place}: payload", text, ATTEST_AGAIN))
    return Line(place, envelope)


def _agreeing(lines: Sequence[Line], place: str) -> AuditPredicate:
    """What the audit found, where every line is believed and says what follows from it; InvalidError otherwise."""
    audits = [each for each in lines if each.problem is None and each.statement.get("predicateType") == PREDICATE_TYPE]
    if not audits:
        problems = [each.problem for each in lines if each.problem is not None]
        problems += [] if problems else [Problem(place, "has no statement of an audit", ATTEST_AGAIN)]
        raise InvalidError.listing(problems)
    predicate = _predicate(audits[0])
    problems = list(_disagreements(lines, predicate, place))
    if problems:
        raise InvalidError.listing(problems)
    return predicate


def _predicate(line: Line) -> AuditPredicate:
    try:
        return AuditPredicate.model_validate_json(canonical(line.statement.get("predicate")))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        message = f"cannot be read by this version: {plain(problem['msg'])}"
        raise InvalidError(message, place=f"{line.named}: predicate", remedy=ATTEST_AGAIN) from None


def _disagreements(lines: Sequence[Line], predicate: AuditPredicate, place: str) -> Iterator[Problem]:
    """What is otherwise than it follows from the statement of the audit."""
    times = [_time(each.statement) for each in lines if each.statement.get("predicateType") == SVR]
    wanted = statements(predicate, next((time for time in times if is_time(time)), ""))
    for line, statement in zip(lines, wanted, strict=False):
        yield from _line_problems(line, statement)
    for line in lines[len(wanted) :]:
        yield line.problem or Problem(line.named, "is one line too many", ATTEST_AGAIN)
    for statement in wanted[len(lines) :]:
        yield Problem(place, f"lacks the statement {NAMES[statement['predicateType']]}", ATTEST_AGAIN)


def _time(statement: JsonDocument) -> Any:
    content = statement.get("predicate")
    return content.get("timeCreated") if isinstance(content, dict) else None


def _line_problems(line: Line, wanted: JsonDocument) -> Iterator[Problem]:
    """What is wrong with one line, as exactly as the statement that belongs there tells it."""
    if line.envelope is None and line.problem is not None:
        yield line.problem
    elif line.envelope is not None and line.envelope.payload != payload(wanted):
        kind = NAMES[wanted["predicateType"]]
        claimed = line.statement.get("predicateType")
        if claimed != wanted["predicateType"] and (line.problem is None or line.named != line.place):
            yield Problem(line.named, f"is not the statement {kind}, which belongs there", ATTEST_AGAIN)
        else:
            path = first_differing_path(line.statement, wanted)
            where = "payload" if path is None else f"payload: {format_path(path)}"
            yield Problem(f"{line.named}: {where}", "is not what follows from the statement of the audit", ATTEST_AGAIN)
    elif line.problem is not None:
        keyid = line.problem.location.endswith("keyid")
        problem = Problem(f"{line.named}: signatures[0].sig", "was changed", ATTEST_AGAIN)
        yield line.problem if keyid else problem


def first_differing_path(ours: Any, theirs: Any, path: DocumentPath = ()) -> DocumentPath | None:
    """The path of the first value that two documents do not have in common; None where they are alike.

    >>> first_differing_path({"a": [1, 2]}, {"a": [1, 2.0]})
    ('a', 1)
    """
    if type(ours) is not type(theirs):
        return path
    if isinstance(ours, Mapping):
        steps: Sequence[Any] = sorted({*ours, *theirs})
    elif isinstance(ours, list):
        steps = range(max(len(ours), len(theirs)))
    else:
        return None if ours == theirs else path
    for step in steps:
        if not _has(ours, step) or not _has(theirs, step):
            return (*path, step)
        if (found := first_differing_path(ours[step], theirs[step], (*path, step))) is not None:
            return found
    return None


def _has(document: Any, step: Any) -> bool:
    return step in document if isinstance(document, Mapping) else step < len(document)


def _key_problems(key: VerificationKey, day: date) -> Iterator[Problem]:
    if key.last_day is not None and day > key.last_day:
        yield Problem(
            "--key", f"the key expired on {key.last_day}, and this is {day}", "let it be attested by a valid key"
        )
    if key.first_day is not None and day < key.first_day:
        yield Problem("--key", f"the key is valid from {key.first_day} on, and this is {day}", "name a valid key")


def _version_problems(predicate: AuditPredicate, least: str | None, path: Path) -> Iterator[Problem]:
    if least is None:
        return
    from packaging.version import InvalidVersion, Version

    try:
        wanted = Version(least)
    except InvalidVersion:
        raise InvalidError("is no version", place="--least-version", remedy="write it as 1.2.3") from None
    stated = predicate.versions.get("leafgate")
    try:
        enough = stated is not None and Version(stated) >= wanted
    except InvalidVersion:
        enough = False
    if not enough:
        text = f"is {stated or 'not stated'}, and at least {wanted} is asked for"
        yield Problem(f"{path}: versions.leafgate", text, "audit again with a newer version")


def _report_problems(path: Path, predicate: AuditPredicate) -> Iterator[Problem]:
    """What is wrong with a report beside the statements; nothing where there is none."""
    if not path.exists():
        return
    try:
        content = report_bytes(path)
        sha256 = hashlib.sha256(content).hexdigest()
        stated = None if predicate.report is None else predicate.report.sha256
        if sha256 == stated:
            return
        document = parse_report(content, str(path))
    except ReportError as error:
        yield from error.problems
        return
    files = predicate.data.files_sha256
    made = audit_predicate(document, stated or sha256, files, with_digests=stated is not None).json_document()
    if document["audience"] != "public":
        yield Problem(str(path), "is an auditor's report, and statements are made of public ones", "take it away")
    elif (difference := first_differing_path(made, predicate.json_document())) is not None:
        where = f"{path}: {format_path(difference)}"
        yield Problem(where, "is not what the statements say of the report", ATTEST_AGAIN)
    elif stated is not None:
        yield Problem(str(path), "was changed in what no statement repeats", ATTEST_AGAIN)


def _as_report(predicate: AuditPredicate) -> dict[str, Any]:
    """The predicate in the shape in which reports are compared with an expected run, and judged again."""
    document = predicate.json_document()
    return {**document, "findings": document["criteria"]}
