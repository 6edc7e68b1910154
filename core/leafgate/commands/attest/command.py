"""The commands attest and verify."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.console.options import AsOf, DataRoot, Org
from leafgate.console.output import say
from leafgate.errors import InvalidError
from leafgate.session.results import FILES, REPORT, STATEMENTS

if TYPE_CHECKING:
    from leafgate.commands.attest.ed25519 import Signed
    from leafgate.io.json import JsonDocument
    from leafgate.session.run import Session

NO_FILES: Mapping[str, str] = MappingProxyType({})
WITHOUT_DIGESTS = "statements of what is no pass have no digests unless they are attested with --with-digests"


def attest(
    stored: Annotated[Path, typer.Argument(metavar="REPORT", help="The public report.json of an audit.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help=f"The folder for {STATEMENTS}.")],
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The private key, in PEM.")] = None,
    key_command: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Instead, a command that prints the key; no shell reads it.")
    ] = None,
    release: Annotated[
        str | None, typer.Option(metavar="SHA256|FILE", help="Refuse a report of another release.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="SHA256|FILE", help="Refuse a report of another model file.")
    ] = None,
    with_digests: Annotated[
        bool, typer.Option("--with-digests", help="State the digests of release and file without a pass, too.")
    ] = False,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="When the audit ended, 2026-11-22T08:00:00Z; default: the report's own time."
        ),
    ] = None,
) -> int:
    """Write signed statements about a public report, and end as its verdict says."""
    from leafgate.commands.attest import ed25519
    from leafgate.commands.attest.keys import private_key
    from leafgate.commands.attest.statements import is_time, time_of
    from leafgate.disclosure.stored import parse_report, report_bytes
    from leafgate.io.files import clear_file
    from leafgate.kernel.findings import EXIT_CODES
    from leafgate.session.expected_run import ExpectedRun

    read = [stored, *([] if key is None else [key]), *(Path(each) for each in (release, file) if each)]
    for name in (STATEMENTS, FILES):
        clear_file(out / name, read)
    if time is not None and not is_time(time):
        raise InvalidError("is no time", place="--time", remedy="write a second in UTC: 2026-11-22T08:00:00Z")
    content = report_bytes(stored)
    report = parse_report(content, str(stored))
    _, lapsed = ExpectedRun(release=release, file=file, option_prefix="--").judged(report, stored)
    if lapsed:
        raise InvalidError(lapsed[0], place=str(stored), remedy="audit again, and attest the new report")
    sign = partial(ed25519.sign, private_key=private_key(key, key_command))
    ended = time_of(stored.stat().st_mtime) if time is None else time
    written = write_statements(out, report, content, sign, ended, place=str(stored), with_digests=with_digests)
    say(written)
    return EXIT_CODES[report["verdict"]]


def write_statements(
    folder: Path,
    report: JsonDocument,
    content: bytes,
    sign: Callable[[bytes], Signed],
    time: str,
    *,
    place: str,
    with_digests: bool = False,
    files: Mapping[str, str] = NO_FILES,
) -> str:
    """Write the statements about a report that was checked.

    Args:
        folder: where they go.
        report: its document.
        content: its bytes.
        sign: signs with the owner's key.
        time: when the audit ended.
        place: what errors call the report.
        with_digests: whether statements of what is no pass have the digests of release and file.
        files: the digests of the files about people that the audit read, by their keys. They go to a file for the owner
            alone, of which the statements have the digest; a random number in it keeps that from confirming a guess.

    Returns:
        A line that says what was written, and who may read it.

    Raises:
        InvalidError: the report is for auditors.
    """
    from leafgate.commands.attest.envelope import seal
    from leafgate.commands.attest.inputs import files_content
    from leafgate.commands.attest.predicate import audit_predicate
    from leafgate.commands.attest.statements import NAMES, payload, statements
    from leafgate.io.files import EVERYONE, OWNER_ONLY, write_file

    if report["audience"] != "public":
        remedy = "audit with --audience public, and name that report"
        raise InvalidError("is an auditor's report, and statements are made of public ones", place=place, remedy=remedy)
    passed = report["verdict"] == "pass"
    sha256 = hashlib.sha256(content).hexdigest()
    listed = files_content(files) if files else None
    files_sha256 = None if listed is None else hashlib.sha256(listed).hexdigest()
    predicate = audit_predicate(report, sha256, files_sha256, with_digests=passed or with_digests)
    made = statements(predicate, time)
    envelopes = [seal(payload(each), sign) for each in made]
    if listed is not None:
        write_file(folder / FILES, listed, OWNER_ONLY)
    write_file(folder / STATEMENTS, b"".join(each.line() for each in envelopes), EVERYONE if passed else OWNER_ONLY)
    names = ", ".join(NAMES[each["predicateType"]] for each in made)
    line = f"{folder / STATEMENTS}: {names}, signed by {envelopes[0].signed.keyid[:16]}"
    if passed:
        return line
    kept = "" if with_digests else ", without the digests of release and file"
    return f"{line}; the verdict is {report['verdict']}: for its owner's eyes only{kept}"


def signing(key: Path, out: Path | None, *, public: bool) -> Callable[[bytes], Signed]:
    """A function that signs with the key of `leafgate audit --attest`, which is tried at once: an audit may take hours.

    Raises:
        InvalidError: it is no private key, or there will be no public report in a folder.
    """
    from leafgate.commands.attest import ed25519
    from leafgate.commands.attest.keys import private_key

    if out is None or not public:
        message = "statements are made of a public report in a folder"
        raise InvalidError(message, place="--attest", remedy="add --out, and leave out --audience auditor")
    sign = partial(ed25519.sign, private_key=private_key(key, None))
    sign(b"")
    return sign


def attested(folder: Path, sign: Callable[[bytes], Signed], session: Session) -> str:
    """Write statements about the report that the audit of a session just wrote into a folder; a line that says so."""
    from leafgate.commands.attest.statements import time_of
    from leafgate.disclosure.stored import parse_report, report_bytes
    from leafgate.session.given_files import read_digests

    path = folder / REPORT
    content = report_bytes(path)
    time = time_of(path.stat().st_mtime)
    report = parse_report(content, str(path))
    return write_statements(folder, report, content, sign, time, place=str(path), files=read_digests(session))


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
    least_version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Refuse audits of an older version of leafgate.")
    ] = None,
    as_of: AsOf = None,
) -> int:
    """Verify signed statements without the data, and end as their verdict says on this day."""
    from leafgate.commands.attest.inputs import ExpectedInputs
    from leafgate.commands.attest.keys import key_of_file
    from leafgate.commands.attest.verification import verify_statements
    from leafgate.disclosure.text import quoted_name
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
    public = key_of_file(key, "--key")
    verified = verify_statements(folder, public, expected, least_version, inputs)
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
    say(f"{folder}: {state} ({about}; signed by {verified.keyid[:16]})")
    return EXIT_CODES[verified.verdict]  # type: ignore[index]  # a verdict is one of its keys
