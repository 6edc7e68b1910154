"""The commands `leafgate ledger new`, `add`, `show`, `verify` and `forget`.

The format of ledgers, their chain and how they are written is in `leafgate.io.ledger`, that of rolls in
`leafgate.io.roll`; `leafgate.session.ledger_releases` gives an audit the releases of a ledger.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from leafgate.console.exit_codes import guarded
from leafgate.console.options import JsonOutput, Org
from leafgate.console.output import print_document, say
from leafgate.errors import DataError, InvalidError, LedgerError, PolicyError, ReleaseError, ReportError
from leafgate.io.json import JsonDocument, canonical, readable
from leafgate.kernel.options import digest
from leafgate.session.expected_run import SHA256

if TYPE_CHECKING:
    from datetime import date

    from leafgate.io.ledger import Ledger, LedgerLine
    from leafgate.io.roll import Roll
    from leafgate.kernel.origin import LedgerHead

LedgerPath = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger, a file of JSON lines.")]
KeyFile = Annotated[Path, typer.Option(metavar="FILE", help="The file with the secret key of the ledger.")]
OptionalKey = Annotated[Path | None, typer.Option(metavar="FILE", help="The file with the secret key of the ledger.")]

HEAD = "leafgate/head/1"
LINES = "leafgate/lines/1"
FORGOTTEN = "leafgate/forgotten/1"
MAX_CELLS_BYTES = 2**27
"""A file of more bytes does not list the keys of people."""
NO_DATA = "audits with this ledger cannot tell what the release discloses together with others: add --data"
NO_HEAD = "Whether lines were cut off at the end cannot be seen without --head."
NO_KEY = "Whether the owner wrote the lines after the head cannot be seen without --key."

ledger_app = typer.Typer(help="Keep a ledger of the releases that left, and verify it.", no_args_is_help=True)


def new(ledger: LedgerPath, key: KeyFile, as_json: JsonOutput = False) -> int:
    """Begin a ledger, and print its head. `ledger: required` in a policy wants one that was begun so."""
    from leafgate.io.files import read_key
    from leafgate.io.ledger import begin_ledger

    head = begin_ledger(ledger, read_key(key, LedgerError, str(key)))
    _print_head(ledger, head, [], as_json=as_json)
    return 0


def add(
    ledger: LedgerPath,
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="The report.json of the audit of the release.")],
    key: KeyFile,
    release: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file that left; default: release.json beside the report."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The table of the people whom it was learned from.")
    ] = None,
    day: Annotated[
        str | None,
        typer.Option("--date", metavar="YYYY-MM-DD", help="The day on which it left; default: today, in UTC."),
    ] = None,
    roll: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a register of the pseudonymised people of the release to this file."),
    ] = None,
    roll_key: Annotated[Path | None, typer.Option(metavar="FILE", help="The file with the roll's own key.")] = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The policy of the audit, by which a roll reads the table.")
    ] = None,
    org: Org = None,
    purpose: Annotated[str | None, typer.Option(metavar="TEXT", help="Why the roll is kept.")] = None,
    controller: Annotated[str | None, typer.Option(metavar="TEXT", help="Who is responsible for the roll.")] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="The last day on which the roll may be used.")
    ] = None,
    as_json: JsonOutput = False,
) -> int:
    """Add a line about a release that leaves, and print the number and the SHA-256 of the line."""
    from leafgate.io.files import read_key
    from leafgate.io.ledger import append_line
    from leafgate.kernel.waivers import day_of

    wanted = _wanted_roll(roll, roll_key, policy, purpose, controller, expires, org)
    if wanted is not None and data is None:
        raise InvalidError("is needed for a roll", place="--data", remedy="name the table of the release's people")
    secret = read_key(key, LedgerError, str(key))
    left = LeftRelease(ledger, report, release, data, secret)
    content = left.line(day_of(day, "--date")) | ({} if wanted is None else left.write_roll(wanted))
    try:
        head = append_line(ledger, content, secret, audited_head(report))
    except BaseException:
        if wanted is not None:
            wanted.path.unlink(missing_ok=True)
        raise
    _print_head(ledger, head, [], as_json=as_json)
    if data is None and not as_json:
        say(f"note: {NO_DATA}", err=True)
    return 0


def show(ledger: LedgerPath, key: OptionalKey = None, as_json: JsonOutput = False) -> int:
    """Print the lines of a ledger, and its head. Without the key only their order is verified."""
    found = _read(ledger, key)
    if as_json:
        lines = [line.model_dump(mode="json", exclude_unset=True) for line in found.lines]
        document = {"format": LINES, "head": asdict(found.head), "lines": lines}
        print_document(readable(document))
        return 0
    for line in found.lines:
        say(line_words(line))
    unverified = [] if key else ["Whether the owner wrote these lines cannot be seen without --key."]
    _print_head(ledger, found.head, unverified, as_json=False)
    return 0


def verify(
    ledger: LedgerPath,
    key: OptionalKey = None,
    head: Annotated[
        str | None,
        typer.Option(metavar="SHA256|REPORT", help="A digest that was handed out, or a report that has it."),
    ] = None,
    as_json: JsonOutput = False,
) -> int:
    """Find lines that were changed, removed, inserted or moved, and with --head whether lines were cut off."""
    if key is None and head is None:
        raise InvalidError("needs --key, or --head, or both", place="ledger verify")
    expected = None if head is None else _expected_head(head)
    found = _read(ledger, key)
    known = None if expected is None else _number_of(found, expected, str(ledger))
    if known == 0 and found.lines and key is None and not found.is_begun:
        problem = "is the head of an empty ledger, with which every ledger begins"
        raise InvalidError(problem, place="--head", remedy="give a later head, or --key")
    _print_head(ledger, found.head, coverage(len(found.lines), known, has_key=key is not None), as_json=as_json)
    return 0


def forget(
    roll: Annotated[Path, typer.Argument(metavar="ROLL", help="The roll.")],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="KEY-ID", help="The keyed id of a person, as the roll has it.")
    ] = None,
    *,
    roll_key: Annotated[Path, typer.Option(metavar="FILE", help="The file with the roll's own key.")],
    key_cell_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file with the keys of people, one a line, as tables have them."),
    ] = None,
    as_json: JsonOutput = False,
) -> int:
    """Erase people from a roll: nobody knows any more that they were among the people of the release."""
    from leafgate.io import roll as rolls
    from leafgate.io.files import read_key

    secret = read_key(roll_key, LedgerError, str(roll_key))
    if any(not SHA256.fullmatch(each) for each in ids or ()):
        raise InvalidError("is no keyed id", place="KEY-ID", remedy="give 64 hexadecimal digits")
    chosen = {each.lower() for each in ids or ()}
    chosen |= set() if key_cell_file is None else _ids_of_cells(key_cell_file, secret)
    if not chosen:
        raise InvalidError("names nobody", place="ledger forget", remedy="give keyed ids, or --key-cell-file")
    found = rolls.forget(roll, chosen, secret)
    if as_json:
        document = {"format": FORGOTTEN, "people": len(found.leaf), "forgotten": found.forgotten}
        print_document(readable(document))
    else:
        say(f"{roll}: {len(found.leaf)} people; {found.forgotten} of {found.people} forgotten")
    return 0


ledger_app.command("new")(guarded(new))
ledger_app.command("add")(guarded(add))
ledger_app.command("show")(guarded(show))
ledger_app.command("verify")(guarded(verify))
ledger_app.command("forget")(guarded(forget))


@dataclass(frozen=True, kw_only=True)
class WantedRoll:
    """A roll that the command line asks for.

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
    org: tuple[Path, ...]


@dataclass(frozen=True)
class LeftRelease:
    """A release that left, with the report of its audit and what a ledger says of both.

    Attributes:
        ledger: the file of the ledger, from whose folder paths are given.
        report: the report.json of an audit of the release.
        release: the file that left; `release.json` beside the report when left out.
        data: the table of the people whom it was learned from; None where nobody says it.
        key: the key of the ledger.
    """

    ledger: Path
    report: Path
    release: Path | None
    data: Path | None
    key: bytes

    def line(self, day: date) -> JsonDocument:
        """The entries of a line that do not depend on the lines before it; `day` is the day on which it left.

        Raises:
            ReportError: the report cannot be read, or is of no release.
            ReleaseError: the file is not the one that the report is about.
            DataError: the table cannot be read, or is not the one that the report is about.
        """
        from leafgate.disclosure.stored import parse_report, report_bytes
        from leafgate.folders import content_digest

        content = report_bytes(self.report)
        document = parse_report(content, str(self.report))
        if document["release"] is None:
            raise ReportError("is of no release: none could be built, so none left", place=str(self.report))
        sha256 = content_digest(content)
        is_public = document["audience"] == "public"
        method = document.get("method") or {}
        return {
            "date": day.isoformat(),
            "release": self._released_file(document),
            "data": None if self.data is None else self._table_file(document, self.data),
            "report": {
                "audience": document["audience"],
                **({"sha256": sha256} if is_public else {"keyed_sha256": self._keyed("report", sha256)}),
            },
            "policy": {name: document["policy"][name] for name in ("name", "sha256")},
            "publishes": method.get("publishes", ""),
            "claims": method.get("claims", {}),
            "verdict": document["verdict"],
            "waived": document["waived"],
        }

    @property
    def _file(self) -> Path:
        from leafgate.session.results import RELEASE

        return self.report.parent / RELEASE if self.release is None else self.release

    def _keyed(self, kind: Literal["data", "report", "roll"], sha256: str) -> str:
        from leafgate.io.ledger import keyed_digest

        return keyed_digest(self.key, kind, sha256)

    def _released_file(self, document: JsonDocument) -> JsonDocument:
        described = document["release"]
        audited = described.get("file")
        what = "the audited file" if audited else "the audited release"
        sha256 = digest(self._file, ReleaseError, remedy=f"name {what}: --release FILE")
        if sha256 != (audited or described)["sha256"]:
            raise ReleaseError(
                f"is not {what} of the report", place=str(self._file), remedy=f"name {what}: --release FILE"
            )
        return {"path": self._relative(self._file), "sha256": sha256, "release_sha256": described["sha256"]}

    def _table_file(self, document: JsonDocument, path: Path) -> JsonDocument:
        sha256, audited = digest(path, DataError, remedy="name the table: --data FILE"), document["data"].get("sha256")
        if audited not in {None, sha256}:
            remedy = "name the table of the people whom the release was learned from"
            raise DataError("is not the table of the report", place=str(path), remedy=remedy)
        return {"path": self._relative(path), "keyed_sha256": self._keyed("data", sha256)}

    def _relative(self, path: Path) -> str:
        return relative_path(path, Path(os.path.realpath(self.ledger)).parent, "ledger")

    def write_roll(self, wanted: WantedRoll) -> JsonDocument:
        """Write the roll of the release; what its line has of it besides `line`.

        Raises:
            InvalidError: the release or its table allows no roll, or does not fit the policy.
        """
        from leafgate.io.roll import write_roll

        path = self._relative(wanted.path)
        roll = self._roll(wanted)
        write_roll(wanted.path, roll)
        return {"roll": {"path": path, "keyed_sha256": self._keyed("roll", roll.head_sha256)}}

    def _roll(self, wanted: WantedRoll) -> Roll:
        from leafgate.algorithms.leaf_statements import contradicted_leaves, unsupported_reason
        from leafgate.disclosure.stored import read_report
        from leafgate.engine.rolls import leaves_by_id, leaves_of_trees, unsuitable_reason
        from leafgate.io.roll import make_roll
        from leafgate.models.load import load_release
        from leafgate.session.run import open_session

        session = open_session(wanted.policy, self.data, org=wanted.org)
        table, policy = session.table, session.policy
        if policy.sha256 != read_report(self.report)["policy"]["sha256"]:
            remedy = "name the policy of the audit: --policy FILE"
            raise PolicyError("is not the policy of the report", place=str(wanted.policy), remedy=remedy)
        encoding = getattr(policy.build, "encoding", None) or None
        release = load_release(self._file, table.schema, encoding, table.total_weight, session.plugins.readers).release
        reason = unsuitable_reason(release, table.schema)
        if table.weighted or (table.persons != 1).any():
            reason = reason or "a row of the table stands for several people, or has a weight"
        if reason or not len(table):
            message = f"cannot be made: {reason or 'the table has no rows that are kept in memory'}"
            raise InvalidError(message, place="--roll", remedy="leave out --roll, and keep the table")
        if not unsupported_reason(release) and contradicted_leaves(release, table):
            remedy = "name the table that the release was learned from: --data FILE"
            raise ReleaseError("is not of this table", place=str(self._file), remedy=remedy)
        people = leaves_by_id(release, table, wanted.key)
        if len(people) < len(table):
            remedy = "give everybody a key of her own"
            raise DataError("two people have the same key", place=str(self.data), remedy=remedy)
        return make_roll(
            people,
            leaves_of_trees(release),
            key=wanted.key,
            release=digest(self._file),
            purpose=wanted.purpose,
            controller=wanted.controller,
            expires=wanted.expires,
        )


def relative_path(path: Path, folder: Path, holder: str) -> str:
    """The path of a file from a folder, with forward slashes; `holder` is what the file that holds it is called."""
    try:
        relative = Path(os.path.relpath(os.path.realpath(path), os.path.realpath(folder))).as_posix()
        relative.encode()
    except ValueError:  # another drive, or a name that is no text
        message = f"has no path from the folder of the {holder} that a {holder} can hold"
        raise InvalidError(message, place=str(path), remedy=f"copy it to a folder beside the {holder}") from None
    return relative


def audited_head(report: Path) -> LedgerHead | None:
    """The head of the ledger that an audit took into account, by its report; None where it took none."""
    from leafgate.disclosure.stored import read_report
    from leafgate.kernel.origin import LedgerHead

    stated = read_report(report).get("ledger")
    return None if stated is None else LedgerHead(**stated)


def _ids_of_cells(path: Path, key: bytes) -> set[str]:
    """The keyed ids of the people whose keys a file lists, one a line; empty lines are left out."""
    from leafgate.io.files import read_bounded
    from leafgate.io.roll import keyed_id

    content = read_bounded(path, MAX_CELLS_BYTES, LedgerError, str(path))
    try:
        cells = [cell.removesuffix("\r") for cell in content.decode("utf-8-sig").split("\n")]
    except UnicodeDecodeError:
        raise LedgerError("is no text in UTF-8", place=str(path), remedy="list keys, one a line") from None
    return {keyed_id(key, cell) for cell in cells if cell}


def _wanted_roll(
    roll: Path | None,
    key: Path | None,
    policy: Path | None,
    purpose: str | None,
    controller: str | None,
    expires: str | None,
    org: list[Path] | None,
) -> WantedRoll | None:
    """The roll that is asked for, all of whose options are given; None where none is."""
    from leafgate.io.files import read_key

    given = {
        "--roll": roll, "--roll-key": key, "--policy": policy,
        "--purpose": purpose, "--controller": controller, "--expires": expires,
    }  # fmt: skip
    if all(each is None for each in given.values()):
        if org:
            raise InvalidError("is of the policy by which a roll is made", place="--org", remedy="leave it out")
        return None
    if roll is None or key is None or policy is None or not purpose or not controller or expires is None:
        missing = [name for name, value in given.items() if not value]
        remedy = "a roll needs " + ", ".join(given)
        raise InvalidError("is missing", place=", ".join(missing), remedy=remedy)
    from leafgate.kernel.waivers import day_of, utc_today

    last = day_of(expires, "--expires")
    if last < utc_today():
        raise InvalidError("is over", place="--expires", remedy="name a day to come")
    return WantedRoll(
        path=roll,
        key=read_key(key, LedgerError, str(key)),
        policy=policy,
        purpose=purpose,
        controller=controller,
        expires=last,
        org=tuple(org or ()),
    )


def _read(ledger: Path, key: Path | None) -> Ledger:
    from leafgate.io.files import read_key
    from leafgate.io.ledger import read_ledger

    return read_ledger(ledger, None if key is None else read_key(key, LedgerError, str(key)))


def _expected_head(text: str) -> LedgerHead:
    """The head that a digest or a report states; of a digest nobody knows the number, which is 0 then."""
    from leafgate.kernel.origin import LedgerHead

    if SHA256.fullmatch(text):
        return LedgerHead(0, text.lower())
    if not Path(text).is_file():
        raise InvalidError("is no SHA-256, and no file", place="--head", remedy="give 64 hexadecimal digits")
    stated = audited_head(Path(text))
    if stated is None:
        raise InvalidError("is of an audit without a ledger", place=text, remedy="name a report that has `ledger`")
    return stated


def _number_of(ledger: Ledger, expected: LedgerHead, place: str) -> int:
    """The number of the line that the head is; LedgerError where no line is."""
    if expected.sha256 in ledger.heads:
        return ledger.heads.index(expected.sha256)
    where = f"{place}: after line {len(ledger.lines)}"
    if 0 < expected.number <= len(ledger.lines):
        where = f"{place}: line {expected.number}"
    message = f"no line is the head {expected.sha256[:16]}: lines were cut off, or the ledger was written anew"
    raise LedgerError(message, place=where, remedy="put back a copy of the ledger that has this line")


def coverage(lines: int, known: int | None, *, has_key: bool) -> list[str]:
    """What was verified, and what cannot be."""
    if known is None:
        return [f"No line was changed, removed, inserted or moved. {NO_HEAD}"]
    if known == lines:
        return ["The head is the last line: all lines are there, and as they were."]
    added = lines - known
    since = f"{added} line{' was' if added == 1 else 's were'} added since"
    after = "Whether lines after these were cut off cannot be seen without a later head."
    return [f"The head is line {known}: all lines up to it are there, and as they were; {since}. {after}"] + (
        [] if has_key else [NO_KEY]
    )


def line_words(line: LedgerLine) -> str:
    """A line of a ledger in a line of text."""
    waived = f" ({line.waived} waived)" if line.waived else ""
    claims = ", ".join(f"{name} {canonical(value).decode()}" for name, value in line.claims.items())
    parts = [
        f"{line.number}  {line.date.isoformat()}  {line.verdict}{waived}",
        f"{line.release.path} sha256 {line.release.sha256[:16]}",
        f"publishes {line.publishes}" if line.publishes else "",
        f"claims {claims}" if claims else "claims nothing",
        f"policy {line.policy.name!r} {line.policy.sha256[:16]}",
        f"people of {line.data.path}" if line.data else "people of a table that nobody named",
        f"roll {line.roll.path}" if line.roll else "",
    ]
    return "; ".join(filter(None, parts))


def _print_head(ledger: Path, head: LedgerHead, sentences: list[str], *, as_json: bool) -> None:
    if as_json:
        coverage = {"covers": sentences} if sentences else {}
        print_document(readable({"format": HEAD, **asdict(head), **coverage}))
        return
    say(f"{ledger}: head {head.number} {head.sha256}")
    for sentence in sentences:
        say(sentence)
