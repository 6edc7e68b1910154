"""A case in a folder: its file, compared with the report, the release and the policy as they are now, and decisions."""

from __future__ import annotations

import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from leafgate.commands.attest.keys import Signer
from leafgate.commands.case import record as case_record
from leafgate.commands.ledger import LeftRelease, audited_head, relative_path
from leafgate.disclosure.questions import answers
from leafgate.disclosure.stored import parse_report, report_bytes
from leafgate.errors import InvalidError, LeafgateError, LedgerError, OutputError, ReportError
from leafgate.folders import content_digest
from leafgate.io.files import OWNER_ONLY, read_bounded, write_files
from leafgate.io.json import JsonDocument, JsonObject
from leafgate.io.ledger import append_line, read_ledger
from leafgate.io.locks import PATIENCE_SECONDS, locked_folder
from leafgate.kernel.options import digest_of
from leafgate.kernel.policy import Policy
from leafgate.kernel.waivers import MOST_DECISIONS, utc_today
from leafgate.reports.sheet import SheetFacts
from leafgate.session.expected_run import ExpectedRun, judge_waivers_again
from leafgate.session.given_files import TABLE, named_files
from leafgate.session.results import RELEASE, REPORT

NEEDED = "only what passed is approved, and with an answer to each of these: --question ID=TEXT"
NO_POLICY = "nobody has decided yet, so that it is not known which policy the report is of"


@dataclass(frozen=True)
class Case:
    """A case as its folder has it.

    Attributes:
        report_path: the report; the file of the case stands beside it.
        report: its document, with its waivers judged today.
        expected: the run that the report must be of, by the policy that the case names.
        policy: what the policy's file states; None where it cannot be read.
        record: the request and the decisions; without decisions before the first one.
        subject: what decisions are compared with.
        state: what the case comes to.
    """

    report_path: Path
    report: JsonDocument
    expected: ExpectedRun
    policy: Policy | None
    record: case_record.CaseRecord
    subject: case_record.Subject
    state: case_record.CaseState


def report_path(given: Path) -> Path:
    """The report of a case whose folder or report is given."""
    return given / REPORT if given.is_dir() else given


def release_path(folder: Path) -> Path:
    """The release of a report in a folder: beside it, or in `results`, where the desk has it."""
    beside, below = folder / RELEASE, folder / "results" / RELEASE
    return below if below.exists() and not beside.exists() else beside


def request_for(
    given: Path, policy: Path, org: Sequence[Path] = (), root: Path | None = None, facts: SheetFacts | None = None
) -> case_record.Request:
    """What is asked for, with the files that decisions are about.

    Args:
        given: the folder with `report.json`, or another report.
        policy: the policy; it names the audited file where the release was read from one.
        org: the policies that it was held to.
        root: the folder of its data files.
        facts: who asks, and what for.

    Raises:
        InvalidError: a file has no path that a case can hold.
    """
    folder = report_path(given).parent
    return case_record.Request(
        facts=facts or SheetFacts(),
        policy=relative_path(policy, folder, "case"),
        org=tuple(relative_path(each, folder, "case") for each in org),
        root=None if root is None else relative_path(root, folder, "case"),
    )


def open_case(given: Path, request: case_record.Request | None = None, trusted: Collection[str] | None = None) -> Case:
    """The case in a folder, judged as its files are now.

    Args:
        given: the folder with `report.json`, or another report.
        request: what is asked for; None for what the case has. Where it has something, its files alone are taken.
        trusted: the public keys of those who may decide; None counts everybody.

    Raises:
        InvalidError: the report or the case was changed, or nobody says of which policy the report is. What decisions
            are about may be changed or gone: these decisions are void then, and nothing is raised.
    """
    path = report_path(given)
    content = report_bytes(path)
    report = parse_report(content, str(path))
    if report["release"] is None:
        raise ReportError("is of no release: none could be built, so there is nothing to decide", place=str(path))
    if report.get("waivers"):
        report, _ = judge_waivers_again(report, ExpectedRun().day(report.get("judged_on")))
    file, folder = path.parent / case_record.CASE, path.parent
    if file.exists():
        record = case_record.parse_case(read_bounded(file, case_record.MAX_BYTES, InvalidError, str(file)), str(file))
        if request is not None and request.facts not in {SheetFacts(), record.request.facts}:
            raise InvalidError("are in the case already", place="--facts", remedy="leave them out")
    elif request is None:
        raise InvalidError(NO_POLICY, place=str(path), remedy="name it: --policy FILE")
    else:
        record = case_record.CaseRecord(request=request)
    named = request or record.request
    org, root = tuple(folder / each for each in named.org), None if named.root is None else folder / named.root
    expected = ExpectedRun(policy=str(folder / named.policy), org=org, root=root)
    policy, digests = _digests(expected, release_path(folder), report)
    subject = case_record.Subject(
        digests={**digests, "report": content_digest(content)},
        verdict=report["verdict"],
        not_examined={each.question.name: each.question.asks for each in answers(report) if not each.findings},
        wanted=MOST_DECISIONS if policy is None else policy.approvals.decisions if policy.approvals else 1,
    )
    return Case(path, report, expected, policy, record, subject, case_record.state_of(record, subject, trusted))


def decide(
    given: Path,
    choice: case_record.Choice,
    *,
    reason: str,
    by: str,
    signer: Signer,
    questions: Sequence[JsonObject] = (),
    request: case_record.Request | None = None,
    ledger: Path | None = None,
    ledger_key: bytes | None = None,
    is_written: bool = True,
) -> Case:
    """Add a signed decision to the case in a folder; the release of an approved case is added to the ledger first.

    Args:
        given: the folder with `report.json`, or another report.
        choice: the decision.
        reason: why.
        by: who decides.
        signer: her private key.
        questions: an `Answered` for each question that nobody examined; for all of them where she approves.
        request: what is asked for; with the first decision.
        ledger: the ledger of releases that left.
        ledger_key: its key.
        is_written: False sees whether it is possible, and writes nothing.

    Returns:
        The case with the decision.

    Raises:
        InvalidError: the decision is not possible, or incomplete; nothing is written.
        LedgerError: the ledger is not as it was when the release was audited; nothing is written.
    """
    folder = report_path(given).parent
    with locked_folder(folder, PATIENCE_SECONDS) as locked:
        if not locked:
            message = "an audit, or somebody else who decides, is writing there"
            raise OutputError(message, place=str(folder), remedy="run again when it has ended")
        case = open_case(given, request)
        problems = [*case_record.problems_of_author(case.record, case.state, by, signer.public)]
        if problems:
            raise InvalidError.listing(problems)
        _refuse_other_files(case)
        about = {part: digest for part, digest in case.subject.digests.items() if digest is not None}
        decided = {"decision": choice, "reason": reason, "by": by, "about": about, "questions": [*questions]}
        record = case_record.with_decision(case.record, decided, signer)
        state = case_record.state_of(record, case.subject)
        if state.decisions[-1].void:
            raise InvalidError("; ".join(state.decisions[-1].void), place=f"--{choice}", remedy=NEEDED)
        if choice == "approve" and state.name != "waiting":
            _refuse_missing_ledger(case, ledger, ledger_key)
        if not is_written:
            return replace(case, record=record, state=state)
        if state.name == "approved" and ledger is not None and ledger_key is not None:
            _add_to_ledger(case, ledger, ledger_key)
        path = folder / case_record.CASE
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else OWNER_ONLY
        write_files(folder, {case_record.CASE: record.content}, mode)
    return replace(case, record=record, state=state)


def _digests(expected: ExpectedRun, release: Path, report: JsonDocument) -> tuple[Policy | None, dict[str, str | None]]:
    """The policy as it is now, and the digests of everything but the report that decisions are about."""
    policy, digests = None, dict[str, str | None](policy=None, waivers=None)
    try:
        policy = expected.policy_of_file
        if policy is not None:
            stated = expected.policy_digests(report)
            digests = {"policy": stated["sha256"], "waivers": stated["waivers_sha256"]}
    except LeafgateError:  # whatever is wrong with it, it is not the policy of the report
        pass
    is_of_file = "file" in report["release"]
    # where a file is what leaves, the release in the columns of the policy need not be kept
    is_kept = not is_of_file or release.exists()
    digests["release"] = digest_of(release) if is_kept else report["release"]["sha256"]
    return policy, {**digests, "file": digest_of(_audited_file(policy)) if is_of_file else None}


def _audited_file(policy: Policy | None) -> Path | None:
    """The file that the policy's builder reads; None where it reads none."""
    file = None if policy is None else getattr(policy.build, policy.build.audited_option, None)
    return file if isinstance(file, Path) else None


def _refuse_other_files(case: Case) -> None:
    """Raise InvalidError where the report is not of the policy, the release and the file as they are now."""
    case.expected.judged(case.report, case.report_path)
    described = case.report["release"]
    for part, stated in (("release", described["sha256"]), ("file", described.get("file", {}).get("sha256"))):
        if case.subject.digests[part] != stated:
            message = f"the {part} is not the one that the report is about"
            raise InvalidError(message, place=str(case.report_path), remedy="audit it as it is now")


def _refuse_missing_ledger(case: Case, ledger: Path | None, key: bytes | None) -> None:
    """Raise InvalidError where the policy requires a ledger and none is given, or one without its key."""
    required = case.policy is not None and case.policy.ledger == "required"
    if (ledger is None and required) or (ledger is None) != (key is None):
        message = "is missing: an approved release is added to the ledger"
        raise InvalidError(message, place="--ledger" if ledger is None else "--ledger-key", remedy="name both")


def _add_to_ledger(case: Case, ledger: Path, key: bytes) -> None:
    """Add the release to the ledger; LedgerError where it was audited at another head."""
    lines, head = read_ledger(ledger, key).lines if ledger.exists() else (), audited_head(case.report_path)
    is_given = TABLE in case.report["policy"].get("given_files", ())
    table = None if case.policy is None or is_given else named_files(case.policy).get(TABLE)
    is_of_file = "file" in case.report["release"]
    file = _audited_file(case.policy) if is_of_file else release_path(case.report_path.parent)
    left = LeftRelease(ledger, case.report_path, file, table, key).line(utc_today())
    stated = {name: left[name] for name in ("release", "report")}
    if any({**line.model_dump(include={*stated}, exclude_none=True)} == stated for line in lines):
        return  # a decision was interrupted when the release had been added
    if head is None and lines:
        message = f"has {len(lines)} releases, and the release was audited without a ledger"
        raise LedgerError(message, place=str(ledger), remedy="audit again, with the ledger: --ledger")
    append_line(ledger, left, key, head)
