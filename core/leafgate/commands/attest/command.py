"""The commands attest and verify."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.console.options import AsOf, DataRoot, Org
from leafgate.console.output import say
from leafgate.errors import InvalidError
from leafgate.io.files import EVERYONE, OWNER_ONLY, clear_file, write_file
from leafgate.io.json import JsonDocument, canonical
from leafgate.session.results import FILES, REPORT, STATEMENTS

if TYPE_CHECKING:
    from leafgate.commands.attest.statement import CasePart
    from leafgate.commands.case.record import CaseState
    from leafgate.session.run import Session

NO_FILES: Mapping[str, str] = MappingProxyType({})
WITHOUT_DIGESTS = "statements of what is no pass have no digests unless they are attested with --with-digests"


def attest(
    stored: Annotated[Path, typer.Argument(metavar="REPORT", help="The public report.json of an audit.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help=f"The folder for {STATEMENTS}.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="The private key, in PEM.")],
    release: Annotated[
        str | None, typer.Option(metavar="SHA256|FILE", help="Refuse a report of another release.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="SHA256|FILE", help="Refuse a report of another model file.")
    ] = None,
    with_digests: Annotated[
        bool, typer.Option("--with-digests", help="State the digests of release and file without a pass, too.")
    ] = False,
) -> int:
    """Sign a statement about a public report, and the case of its release if there is one, and end as they say."""
    from leafgate.commands.attest.keys import key_of_file, public_of, sealing
    from leafgate.commands.attest.verification import EarlierStatement
    from leafgate.disclosure.stored import parse_report, report_bytes
    from leafgate.kernel.findings import EXIT_CODES
    from leafgate.session.expected_run import ExpectedRun

    read = [stored, key, *(Path(each) for each in (release, file) if each)]
    earlier = EarlierStatement.read_from(stored.parent)
    for name in (STATEMENTS, FILES):
        clear_file(out / name, read)
    content = report_bytes(stored)
    report = parse_report(content, str(stored))
    _, lapsed = ExpectedRun(release=release, file=file, option_prefix="--").judged(report, stored)
    if lapsed:
        raise InvalidError(lapsed[0], place=str(stored), remedy="audit again, and attest the new report")
    private = key_of_file(key)
    sealed = sealing(private)
    files = earlier.files_about(content, public_of(private))
    case = _attested_case(stored, out)
    part = None if case is None else case[0]
    line = write_statement(
        out, report, content, sealed, place=str(stored), with_digests=with_digests, files=files, case=part
    )
    say(line)
    if case is not None:
        say(f"{stored.parent}: {case[1].words}")
    return EXIT_CODES[report["verdict"]] or (0 if case is None else case[1].exit_code)


def _attested_case(report: Path, folder: Path) -> tuple[CasePart, CaseState] | None:
    """What a statement has of the case beside a report, and what it comes to; its file is copied beside the statement.

    Raises:
        InvalidError: all that was decided is void.
    """
    from leafgate.commands.attest.statement import CasePart
    from leafgate.commands.case.folder import open_case
    from leafgate.commands.case.record import CASE
    from leafgate.folders import content_digest

    path = report.parent / CASE
    if not path.exists():
        return None
    case = open_case(report)
    if case.state.name == "void":
        reason = case.state.decisions[-1].void[0]
        remedy = "decide again: leafgate case decide; or set the file aside"
        raise InvalidError(f"every decision is void: {reason}", place=str(path), remedy=remedy)
    content = case.record.content
    if folder.resolve() != report.parent.resolve():
        write_file(folder / CASE, content, OWNER_ONLY)
    questions = tuple(sorted(case.subject.not_examined))
    part = CasePart(sha256=content_digest(content), decisions=case.subject.wanted, not_examined=questions)
    return part, case.state


def write_statement(
    folder: Path,
    report: JsonDocument,
    content: bytes,
    sealed: Callable[[bytes], bytes],
    *,
    place: str,
    with_digests: bool = False,
    files: Mapping[str, str] = NO_FILES,
    case: CasePart | None = None,
) -> str:
    """Write the statement about a report that was checked.

    Args:
        folder: where it goes.
        report: its document.
        content: its bytes.
        sealed: puts a payload into an envelope that the owner's key signs.
        place: what errors call the report.
        with_digests: whether a statement of what is no pass has the digests of release and file.
        files: the digests of the files about people that the audit read, by their keys. They go to a file for the owner
            alone, of which the statement has the digest; a random number in it keeps that from confirming a guess.
        case: the case of the release; None without one.

    Returns:
        A line that states what was written, and who may read it.

    Raises:
        InvalidError: the report is for auditors.
    """
    from leafgate.commands.attest.inputs import files_content
    from leafgate.commands.attest.statement import audit_predicate
    from leafgate.folders import content_digest

    if report["audience"] != "public":
        remedy = "audit with --audience public, and name that report"
        raise InvalidError("is an auditor's report, and statements are made of public ones", place=place, remedy=remedy)
    passed = report["verdict"] == "pass"
    listed = files_content(files) if files else None
    sha256, files_sha256 = (None if each is None else content_digest(each) for each in (content, listed))
    stated = passed or with_digests
    predicate = audit_predicate(report, str(sha256), files_sha256, with_digests=stated, case=case)
    if listed is not None:
        write_file(folder / FILES, listed, OWNER_ONLY)
    write_file(folder / STATEMENTS, sealed(canonical(predicate.statement)), EVERYONE if passed else OWNER_ONLY)
    line = f"{folder / STATEMENTS}: signed"
    if passed:
        return line
    kept = "" if with_digests else ", without the digests of release and file"
    return f"{line}; the verdict is {report['verdict']}: for its owner's eyes only{kept}"


def signing(key: Path, out: Path | None, *, public: bool) -> Callable[[bytes], bytes]:
    """What signs with the key of `leafgate audit --attest`, which is read at once: an audit may take hours.

    Raises:
        InvalidError: it is no private key, or there will be no public report in a folder.
    """
    from leafgate.commands.attest.keys import key_of_file, sealing

    if out is None or not public:
        message = "statements are made of a public report in a folder"
        raise InvalidError(message, place="--attest", remedy="add --out, and leave out --audience auditor")
    return sealing(key_of_file(key))


def attested(folder: Path, sealed: Callable[[bytes], bytes], session: Session) -> str:
    """Write the statement about the report that a session just wrote into a folder; a line that says so."""
    from leafgate.disclosure.stored import parse_report, report_bytes
    from leafgate.session.given_files import read_digests

    path = folder / REPORT
    content = report_bytes(path)
    report = parse_report(content, str(path))
    return write_statement(folder, report, content, sealed, place=str(path), files=read_digests(session))


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help=f"The folder with {STATEMENTS}.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="The public key, or a certificate of it, in PEM.")],
    release: Annotated[
        str | None, typer.Option(metavar="SHA256|FILE", help="Refuse statements of another release.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="SHA256|FILE", help="Refuse statements of another model file.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="SHA256|POLICY", help="Refuse statements of another policy, or other waivers.")
    ] = None,
    org: Org = None,
    root: DataRoot = None,
    data: Annotated[
        str | None, typer.Option(metavar="SHA256|FILE", help="Refuse statements about another table.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="SHA256|FILE", help="Refuse statements about another test table.")
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(metavar="SHA256|LEDGER", help="Refuse audits that did not see all releases of this ledger."),
    ] = None,
    as_of: AsOf = None,
) -> int:
    """Verify a signed statement without the data, and end as it says."""
    from leafgate.commands.attest.inputs import ExpectedInputs
    from leafgate.commands.attest.keys import public_key
    from leafgate.commands.attest.verification import verify_statement
    from leafgate.disclosure.wording import quoted_name
    from leafgate.kernel.findings import EXIT_CODES
    from leafgate.session.expected_run import ExpectedRun

    expected = ExpectedRun(
        policy=policy,
        org=tuple(org or ()),
        root=root,
        release=release,
        file=file,
        as_of=as_of,
        option_prefix="--",
        where_missing=WITHOUT_DIGESTS,
    )
    inputs = ExpectedInputs(data=data, test=test, ledger=ledger)
    public = public_key(key)
    verified = verify_statement(folder, public, expected, inputs)
    for line in verified.lapsed:
        say(f"leafgate: {line}", err=True)
    if policy is None or (release is None and file is None):
        say("note: name --policy, and --file or --release: otherwise a pass may be of another one", err=True)
    predicate = verified.predicate
    if predicate.ledger is not None and ledger is None:
        say("note: name --ledger: otherwise a release that left after the audit was not taken into account", err=True)
    about = f"policy {quoted_name(predicate.policy.name)} {predicate.policy.sha256[:16]}"
    if predicate.release is not None and predicate.release.sha256 is not None:
        about += f", release {predicate.release.sha256[:16]}"
        about += "" if predicate.release.file is None else f", file {predicate.release.file.sha256[:16]}"
    state = "verified: pass" if verified.verdict == "pass" else f"as signed, and no pass: {verified.verdict}"
    case = verified.case
    decided = "" if case is None else f", {case.words}"
    say(f"{folder}: {state}{decided} ({about}; signed by {public.key.keyid[:16]})")
    code = EXIT_CODES[verified.verdict]  # type: ignore[index]  # a verdict is one of its keys
    return code if case is None else code or case.exit_code
