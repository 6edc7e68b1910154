"""A case in a folder: its file, compared with the report, the release and the policy as they are now, and decisions."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from leafgate.commands.attest.keys import Signer
from leafgate.commands.case.record import (
    CASE,
    MAX_BYTES,
    Answered,
    CaseRecord,
    CaseState,
    Choice,
    Request,
    Subject,
    parse_case,
    problems_of_author,
    state_of,
    with_decision,
)
from leafgate.commands.ledger import LeftRelease, audited_head
from leafgate.disclosure.questions import answers
from leafgate.disclosure.stored import parse_report, report_bytes
from leafgate.errors import InvalidError, LeafgateError, LedgerError, OutputError, ReportError
from leafgate.folders import content_digest
from leafgate.io.files import OWNER_ONLY, read_bounded, write_files
from leafgate.io.json import JsonDocument
from leafgate.io.ledger import append_line, read_ledger
from leafgate.io.locks import PATIENCE_SECONDS, locked_folder
from leafgate.kernel.options import digest_of
from leafgate.kernel.policy import Policy
from leafgate.kernel.waivers import MOST_DECISIONS, utc_today
from leafgate.reports.sheet import SheetFacts
from leafgate.session.expected_run import ExpectedRun, judge_waivers_again
from leafgate.session.given_files import TABLE, named_files
from leafgate.session.results import RELEASE, REPORT

NO_POLICY = "nobody has decided yet, so that it is not known which policy the report is of"


@dataclass(frozen=True)
class CaseFiles:
    """Where the files are that a case is about.

    Attributes:
        policy: the policy; it names the audited file where the release was read from one.
        org: the policies that it was held to.
        root: the folder of its data files.
        release: the release where it does not stand beside the report.
    """

    policy: Path
    org: tuple[Path, ...] = ()
    root: Path | None = None
    release: Path | None = None


@dataclass(frozen=True)
class Case:
    """A case as its folder has it.

    Attributes:
        report_path: the report; the file of the case stands beside it.
        report: its document, with its waivers judged today.
        expected: the run that the report must be of, by the policy that the case names.
        policy: what the policy's file says; None where it cannot be read.
        record: the request and the decisions; without decisions before the first one.
        subject: what decisions are compared with.
        state: what the case comes to.
    """

    report_path: Path
    report: JsonDocument
    expected: ExpectedRun
    policy: Policy | None
    record: CaseRecord
    subject: Subject
    state: CaseState

    @property
    def leaving_file(self) -> Path:
        """The file that leaves: the audited one, or the release that was built."""
        audited = audited_file(self.policy) if "file" in self.report["release"] else None
        return audited or self.report_path.parent / (self.record.request.release or RELEASE)

    @property
    def open_questions(self) -> Mapping[str, str]:
        """The questions that nobody examined by their names, which a decision answers."""
        return _open_questions(self.report)


def case_path(given: Path) -> Path:
    """The file of a case whose folder or report is given."""
    return report_path(given).parent / CASE


def report_path(given: Path) -> Path:
    """The report of a case whose folder or report is given."""
    return given / REPORT if given.is_dir() else given


def open_case(
    given: Path,
    files: CaseFiles | None = None,
    facts: SheetFacts | None = None,
    trusted: Collection[str] | None = None,
) -> Case:
    """The case in a folder, judged as its files are now.

    Args:
        given: the folder with `report.json`, or another report.
        files: where its files are; None for those that the first decision named.
        facts: who asks for the release, and what for, where nobody decided yet.
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
    record = _stored(path.parent)
    if record is None:
        if files is None:
            raise InvalidError(NO_POLICY, place=str(path), remedy="name it: --policy FILE")
        record = CaseRecord(request=_request(files, facts or SheetFacts(), path.parent))
    elif facts is not None:
        raise InvalidError("are in the case already", place="--facts", remedy="leave them out")
    files = files or _files_of(record.request, path.parent)
    expected = ExpectedRun(policy=str(files.policy), org=files.org, root=files.root)
    policy, digests = _digests(expected, files.release or path.parent / RELEASE, report)
    wanted = MOST_DECISIONS if policy is None else policy.approvals.decisions if policy.approvals else 1
    subject = Subject(
        digests={**digests, "report": content_digest(content)},
        verdict=report["verdict"],
        not_examined=frozenset(_open_questions(report)),
        wanted=wanted,
    )
    return Case(path, report, expected, policy, record, subject, state_of(record, subject, trusted))


def decide(
    given: Path,
    choice: Choice,
    *,
    reason: str,
    by: str,
    signer: Signer,
    questions: Sequence[Answered] = (),
    files: CaseFiles | None = None,
    facts: SheetFacts | None = None,
    ledger: Path | None = None,
    ledger_key: bytes | None = None,
) -> Case:
    """Add a signed decision to the case in a folder; the release of an approved case is added to the ledger first.

    Args:
        given: the folder with `report.json`, or another report.
        choice: the decision.
        reason: why.
        by: who decides.
        signer: her private key.
        questions: what she says about questions that nobody examined; all of them where she approves.
        files: where the files are; must be given for the first decision.
        facts: who asks for the release, and what for; with the first decision alone.
        ledger: the ledger of releases that left.
        ledger_key: its key.

    Returns:
        The case with the decision.

    Raises:
        InvalidError: the decision is not possible, or incomplete; nothing is written.
        LedgerError: the ledger is not as it was when the release was audited; nothing is written.
    """
    folder = report_path(given).parent
    with _turn(folder):
        case = open_case(given, files, facts)
        problems = [*problems_of_author(case.record, case.state, by, signer.public)]
        if problems:
            raise InvalidError.listing(problems)
        _refuse_other_files(case)
        about = {part: digest for part, digest in case.subject.digests.items() if digest is not None}
        decided = {"decision": choice, "reason": reason, "by": by, "about": about}
        answered = [each.model_dump() for each in questions]
        record = with_decision(case.record, {**decided, "questions": answered}, signer)
        state = state_of(record, case.subject)
        if state.decisions[-1].void:
            raise InvalidError("; ".join(state.decisions[-1].void), place=f"--{choice}", remedy=_remedy(case))
        if choice == "approve" and state.name != "waiting":
            _refuse_missing_ledger(case, ledger, ledger_key)
        if state.name == "approved" and ledger is not None and ledger_key is not None:
            _add_to_ledger(case, ledger, ledger_key)
        path = folder / CASE
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else OWNER_ONLY
        write_files(folder, {CASE: record.content}, mode)
    return replace(case, record=record, state=state)


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Keep everybody else who decides, and every audit, away from a folder meanwhile."""
    with locked_folder(folder, PATIENCE_SECONDS) as locked:
        if not locked:
            message = "another process is writing there"
            raise OutputError(message, place=str(folder), remedy="run again when it has ended")
        yield


def _stored(folder: Path) -> CaseRecord | None:
    path = folder / CASE
    if not path.exists() and not path.is_symlink():
        return None
    return parse_case(read_bounded(path, MAX_BYTES, InvalidError, str(path)), str(path))


def _request(files: CaseFiles, facts: SheetFacts, folder: Path) -> Request:
    return Request(
        facts=facts,
        policy=_relative(files.policy, folder),
        org=tuple(_relative(each, folder) for each in files.org),
        root=None if files.root is None else _relative(files.root, folder),
        release=None if files.release is None else _relative(files.release, folder),
    )


def _relative(path: Path, folder: Path) -> str:
    """The path of a file from the folder of the case, with forward slashes."""
    try:
        relative = Path(os.path.relpath(os.path.realpath(path), os.path.realpath(folder))).as_posix()
        relative.encode()
    except ValueError:  # another drive, or a name that is no text
        message = "has no path from the folder of the report that a case can hold"
        raise InvalidError(message, place=str(path), remedy="copy it to a folder beside the report") from None
    return relative


def _files_of(request: Request, folder: Path) -> CaseFiles:
    return CaseFiles(
        policy=folder / request.policy,
        org=tuple(folder / each for each in request.org),
        root=None if request.root is None else folder / request.root,
        release=None if request.release is None else folder / request.release,
    )


def _digests(expected: ExpectedRun, release: Path, report: JsonDocument) -> tuple[Policy | None, dict[str, str | None]]:
    """The policy as it is now, and the digests of everything but the report that decisions are about."""
    policy, digests = None, dict[str, str | None](policy=None, waivers=None)
    try:
        policy = expected.policy_of_file
        stated = expected.policy_digests(report)
        digests = {"policy": stated["sha256"], "waivers": stated["waivers_sha256"]}
    except LeafgateError:  # whatever is wrong with it, it is not the policy of the report
        pass
    is_of_file = "file" in report["release"]
    # where a file is what leaves, the release in the columns of the policy need not be kept
    is_kept = not is_of_file or release.exists()
    digests["release"] = digest_of(release) if is_kept else report["release"]["sha256"]
    return policy, {**digests, "file": digest_of(audited_file(policy)) if is_of_file else None}


def audited_file(policy: Policy | None) -> Path | None:
    """The file that the policy's builder reads; None where it reads none."""
    file = None if policy is None or policy.build is None else getattr(policy.build, policy.build.audited_option, None)
    return file if isinstance(file, Path) else None


def _open_questions(report: JsonDocument) -> dict[str, str]:
    return {each.question.name: each.question.asks for each in answers(report) if each.state == "not examined"}


def _refuse_other_files(case: Case) -> None:
    """Raise InvalidError where the report is not of the policy, the release and the file as they are now."""
    case.expected.judged(case.report, case.report_path)
    described = case.report["release"]
    for part, stated in (("release", described["sha256"]), ("file", described.get("file", {}).get("sha256"))):
        if case.subject.digests[part] != stated:
            message = f"the {part} is not the one that the report is about"
            raise InvalidError(message, place=str(case.report_path), remedy="audit it as it is now")


def _remedy(case: Case) -> str:
    if case.report["verdict"] != "pass":
        return "waivers are in the policy"
    return "say of each why that is acceptable here: --question ID=TEXT"


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
    left = LeftRelease(ledger, case.report_path, case.leaving_file, table, key).line(utc_today())
    stated = {name: left[name] for name in ("release", "report")}
    if any({**line.model_dump(include={*stated}, exclude_none=True)} == stated for line in lines):
        return  # a decision was interrupted when the release had been added
    if head is None and lines:
        message = f"has {len(lines)} releases, and the release was audited without a ledger"
        raise LedgerError(message, place=str(ledger), remedy="audit again, with the ledger: --ledger")
    append_line(ledger, left, key, head)
