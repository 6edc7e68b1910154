"""The commands `leafgate ledger new`, `add`, `show`, `verify` and `forget`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.console.exit_codes import guarded
from leafgate.console.options import JsonOutput, Org
from leafgate.console.output import print_document, say
from leafgate.errors import InvalidError, LedgerError
from leafgate.io.json import JsonDocument, readable

if TYPE_CHECKING:
    from datetime import date

    from leafgate.commands.ledger.rolls import WantedRoll
    from leafgate.io.ledger import Ledger, LedgerLine
    from leafgate.kernel.origin import LedgerHead

LedgerPath = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger, a file of JSON lines.")]
KeyFile = Annotated[Path, typer.Option(metavar="FILE", help="The file with the secret key of the ledger.")]
OptionalKey = Annotated[Path | None, typer.Option(metavar="FILE", help="The file with the secret key of the ledger.")]

HEAD = "leafgate/head/1"
LINES = "leafgate/lines/1"
FORGOTTEN = "leafgate/forgotten/1"
SHA256 = re.compile(r"[0-9a-fA-F]{64}")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
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
    from leafgate.commands.ledger.entry import audited_head, line_content
    from leafgate.io.files import read_key
    from leafgate.io.ledger import append_line

    wanted = _wanted_roll(roll, roll_key, policy, purpose, controller, expires)
    if org and wanted is None:
        raise InvalidError("is of the policy by which a roll is made", place="--org", remedy="leave it out")
    secret = read_key(key, LedgerError, str(key))
    content = line_content(ledger, report, release, data, _day(day), secret)
    audited_at = audited_head(report)
    if wanted is None:
        head = append_line(ledger, content, secret, audited_at)
    else:
        from leafgate.commands.ledger.rolls import with_roll

        if data is None:
            raise InvalidError("is needed for a roll", place="--data", remedy="name the table of the release's people")
        with with_roll(replace(wanted, org=tuple(org or ())), ledger, report, release, data, secret) as entry:
            head = append_line(ledger, {**content, "roll": entry}, secret, audited_at)
    _print_head(ledger, head, [], as_json=as_json)
    if data is None and not as_json:
        say(f"note: {NO_DATA}", err=True)
    return 0


def show(ledger: LedgerPath, key: OptionalKey = None, as_json: JsonOutput = False) -> int:
    """Print the lines of a ledger, and its head. Without the key only their order is verified."""
    found = _read(ledger, key)
    if as_json:
        lines = [line.model_dump(mode="json", exclude_unset=True) for line in found.lines]
        document = {"format": LINES, "head": _head_document(found.head), "lines": lines}
        print_document(readable(document))
        return 0
    for line in found.lines:
        say(_line_words(line))
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
    _print_head(ledger, found.head, _coverage(len(found.lines), known, has_key=key is not None), as_json=as_json)
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
    from leafgate.commands.ledger.rolls import ids_of_cells
    from leafgate.io import roll as rolls
    from leafgate.io.files import read_key

    secret = read_key(roll_key, LedgerError, str(roll_key))
    if any(not SHA256.fullmatch(each) for each in ids or ()):
        raise InvalidError("is no keyed id", place="KEY-ID", remedy="give 64 hexadecimal digits")
    chosen = {each.lower() for each in ids or ()}
    chosen |= set() if key_cell_file is None else ids_of_cells(key_cell_file, secret)
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


def _wanted_roll(
    roll: Path | None,
    key: Path | None,
    policy: Path | None,
    purpose: str | None,
    controller: str | None,
    expires: str | None,
) -> WantedRoll | None:
    """The roll that is asked for, all of whose options are given; None where none is."""
    from leafgate.io.files import read_key

    given = {
        "--roll": roll, "--roll-key": key, "--policy": policy,
        "--purpose": purpose, "--controller": controller, "--expires": expires,
    }  # fmt: skip
    if all(each is None for each in given.values()):
        return None
    if roll is None or key is None or policy is None or not purpose or not controller or expires is None:
        missing = [name for name, value in given.items() if not value]
        remedy = "a roll needs " + ", ".join(given)
        raise InvalidError("is missing", place=", ".join(missing), remedy=remedy)
    from leafgate.commands.ledger.rolls import WantedRoll
    from leafgate.kernel.waivers import utc_today

    last = _day(expires, "--expires")
    if last < utc_today():
        raise InvalidError("is over", place="--expires", remedy="name a day to come")
    return WantedRoll(roll, read_key(key, LedgerError, str(key)), policy, purpose, controller, last)


def _read(ledger: Path, key: Path | None) -> Ledger:
    from leafgate.io.files import read_key
    from leafgate.io.ledger import read_ledger

    return read_ledger(ledger, None if key is None else read_key(key, LedgerError, str(key)))


def _day(text: str | None, option: str = "--date") -> date:
    from datetime import date

    from leafgate.kernel.waivers import utc_today

    if text is None:
        return utc_today()
    try:
        return date.fromisoformat(text if DAY.fullmatch(text) else "")
    except ValueError:
        raise InvalidError("is no day", place=option, remedy="write YYYY-MM-DD") from None


def _expected_head(text: str) -> LedgerHead:
    """The head that a digest or a report states; of a digest nobody knows the number, which is 0 then."""
    from leafgate.kernel.origin import LedgerHead

    if SHA256.fullmatch(text):
        return LedgerHead(0, text.lower())
    from leafgate.commands.ledger.entry import audited_head

    if not Path(text).is_file():
        raise InvalidError("is no SHA-256, and no file", place="--head", remedy="give 64 hexadecimal digits")
    stated = audited_head(Path(text))
    if stated is None:
        raise InvalidError("is of an audit without a ledger", place=text, remedy="name a report that has `ledger`")
    return stated


def _number_of(ledger: Ledger, expected: LedgerHead, place: str) -> int:
    """The number of the line that the head is; LedgerError where no line is."""
    digests = [ledger.start.sha256, *ledger.digests]
    if expected.sha256 in digests:
        return digests.index(expected.sha256)
    where = f"{place}: after line {len(ledger.lines)}"
    if 0 < expected.number <= len(ledger.lines):
        where = f"{place}: line {expected.number}"
    message = f"no line is the head {expected.sha256[:16]}: lines were cut off, or the ledger was written anew"
    raise LedgerError(message, place=where, remedy="put back a copy of the ledger that has this line")


def _coverage(lines: int, known: int | None, *, has_key: bool) -> list[str]:
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


def _line_words(line: LedgerLine) -> str:
    """A line of a ledger in a line of text."""
    waived = f" ({line.waived} waived)" if line.waived else ""
    claims = ", ".join(f"{name} {_plain(value)}" for name, value in line.claims.items())
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


def _plain(value: object) -> str:
    from leafgate.io.json import canonical

    return canonical(value).decode()


def _head_document(head: LedgerHead) -> JsonDocument:
    return {"number": head.number, "sha256": head.sha256}


def _print_head(ledger: Path, head: LedgerHead, sentences: list[str], *, as_json: bool) -> None:
    if as_json:
        coverage = {"covers": sentences} if sentences else {}
        print_document(readable({"format": HEAD, **_head_document(head), **coverage}))
        return
    say(f"{ledger}: head {head.number} {head.sha256}")
    for sentence in sentences:
        say(sentence)
