"""The command `leafgate diff`: what changed between two policies, or between two reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leafgate.api import InvalidError
from leafgate.console.options import JsonOutput

if TYPE_CHECKING:
    from leafgate.commands.diff.policies import ExpectedOutcome
    from leafgate.commands.diff.reports import Moved
    from leafgate.kernel.origin import SourceLine
    from leafgate.policy.strictness import PolicyChange

Old = Annotated[Path, typer.Argument(metavar="OLD", help="A policy, or a stored report.")]
New = Annotated[Path | None, typer.Argument(metavar="NEW", help="Another of the same kind; left out with --base.")]
Base = Annotated[str, typer.Option(metavar="REV", help="Compare the policy with what this git revision has of it.")]
Strict = Annotated[bool, typer.Option("--strict", help="With policies: end in 1 unless every change is tighter.")]


def diff(
    old: Old,
    new: New = None,
    base: Base = "",
    strict: Strict = False,
    report: Annotated[
        Path | None, typer.Option(metavar="REPORT", help="With policies: what NEW would change on a report of OLD's.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A file for the differences as JSON.")] = None,
    as_json: JsonOutput = False,
) -> int:
    """Say what changed between two policies or two reports. Tighter or looser, better or worse."""
    from leafgate.console.output import print_document
    from leafgate.io.files import EVERYONE, OWNER_ONLY, clear_file, write_file
    from leafgate.io.json import readable
    from leafgate.io.text import printable_line

    if out is not None:
        clear_file(out, [path for path in (old, new, report) if path is not None])
    if (new is None) != bool(base):
        message = "needs one policy, and not two" if base else "is missing"
        remedy = "name the policy alone" if base else "name two files, or a policy and --base REV"
        raise InvalidError(message, place="--base" if base else "NEW", remedy=remedy)
    result, lines, code, private = _compared(old, new, base, report, strict=strict)
    if private and out is None:
        remedy = "add --out; the differences go to that file, which is for its owner only"
        raise InvalidError("an auditor's report is not printed on stdout", place="--out", remedy=remedy)
    if out is not None:
        write_file(out, readable(result), OWNER_ONLY if private else EVERYONE)
    if private:
        result, lines = {"format": result["format"], "of": result["of"]}, lines[-1:]
    print_document(readable(result) if as_json else "".join(f"{printable_line(line)}\n" for line in lines))
    return code


def _compared(old: Path, new: Path | None, base: str, report: Path | None, *, strict: bool) -> DiffOutcome:
    """Both sides as files, each read once where it is a pipe, and their differences."""
    from leafgate.commands.diff.sources import as_file, at_revision

    with ExitStack() as opened:
        first = opened.enter_context(as_file(old))
        second = first if new is None else opened.enter_context(as_file(new))
        stored = None if report is None else opened.enter_context(as_file(report))
        if _is_report(first) != _is_report(second):
            raise InvalidError("a policy and a report", place="OLD and NEW", remedy="name two policies, or two reports")
        if _is_report(first):
            for option, given in (("--report", report), ("--strict", strict), ("--base", base)):
                if given:
                    raise InvalidError("is for policies", place=option, remedy="leave it out")
            return _of_reports(first, second)
        if base:
            first = opened.enter_context(at_revision(second, base))
        return _of_policies(first, second, stored, base, strict=strict)


DiffOutcome = tuple[dict[str, Any], list[str], int, bool]
"""The document, the lines, the exit code, and whether it is for auditors only."""


def _is_report(path: Path) -> bool:
    """Does the file declare that it is a report? The caller reports whatever cannot be read."""
    from leafgate.disclosure.stored import report_bytes
    from leafgate.errors import ReportError
    from leafgate.io.json import parse_json

    try:
        document = parse_json(report_bytes(path), ReportError, str(path))
    except ReportError:
        return False
    return isinstance(document, dict) and str(document.get("format", "")).startswith("leafgate/")


def _of_policies(old: Path, new: Path, report: Path | None, base: str, *, strict: bool) -> DiffOutcome:
    from leafgate.commands.diff.policies import changes_of, expected_outcomes
    from leafgate.disclosure.stored import read_report

    _, newer, changes = changes_of(old, new, strict=strict, revision=base)
    stored = None if report is None else read_report(report)
    expected = [] if stored is None else expected_outcomes(stored, newer, changes)
    document: dict[str, Any] = {"format": "leafgate/diff/1", "of": "policies", "changes": [*map(_change, changes)]}
    if stored is not None:
        document["report"] = [{"finding": f.finding, "outcome": f.outcome, "reason": f.reason} for f in expected]
    lines = [*_policy_lines(changes), *_expected_lines(expected), _counted([change.kind for change in changes])]
    private = stored is not None and stored["audience"] == "auditor"
    return document, lines, int(any(_blocks(change, strict=strict) for change in changes)), private


def _blocks(change: PolicyChange, *, strict: bool) -> bool:
    return change.kind != "tighter" if strict else change.kind == "looser"


def _change(change: PolicyChange) -> dict[str, Any]:
    fields = {"kind": change.kind, "place": change.place, "old": change.old, "new": change.new}
    where = {"old_where": _where(change.old_line), "new_where": _where(change.new_line)}
    return fields | {key: line for key, line in where.items() if line}


def _where(line: SourceLine | None) -> dict[str, Any]:
    return {} if line is None else {"file": line.file, "line": line.number}


def _policy_lines(changes: Sequence[PolicyChange]) -> Iterator[str]:
    from leafgate.policy.inherit import quoted_value

    for change in changes:
        where = [f"{line.file}:{line.number}" for line in (change.old_line, change.new_line) if line is not None]
        stands = f" ({', '.join(dict.fromkeys(where))})" if where else ""
        was, now = quoted_value(change.old), quoted_value(change.new)
        yield f"{change.kind:9}  {quoted_value(change.place)}: {was} became {now}{stands}"


def _expected_lines(expected: Sequence[ExpectedOutcome]) -> Iterator[str]:
    from leafgate.policy.inherit import quoted_value

    for each in expected:
        yield f"{each.outcome:15}  {quoted_value(each.finding)}" + (f": {each.reason}" if each.reason else "")


def _of_reports(old: Path, new: Path) -> DiffOutcome:
    from leafgate.commands.diff.reports import WORSE, moved
    from leafgate.disclosure.stored import read_report

    stored = read_report(old), read_report(new)
    moves = moved(*stored)
    changes = [
        {"kind": move.kind, "finding": move.finding or None, "what": move.what, "old": move.old, "new": move.new}
        for move in moves
    ]
    fields = {"format": "leafgate/diff/1", "of": "reports", "changes": changes}
    lines = [*_report_lines(moves), _counted([move.kind for move in moves])]
    private = any(report["audience"] == "auditor" for report in stored)
    return fields, lines, int(any(move.kind in WORSE for move in moves)), private


def _report_lines(moves: Sequence[Moved]) -> Iterator[str]:
    from leafgate.disclosure.text import file_words, number_words
    from leafgate.io.text import printable_line
    from leafgate.policy.inherit import quoted_value

    for move in moves:
        if move.what == "file":
            files = ("no file" if file is None else printable_line(file_words(file)) for file in (move.old, move.new))
            yield f"{move.kind:9}  the audited file is another: {' became '.join(files)}"
            continue
        was, now = (
            quoted_value(result if result is None or isinstance(result, bool) else number_words(result))
            for result in (move.old, move.new)
        )
        if move.what in {"policy", "data", "release"}:
            yield f"{move.kind:9}  the {move.what} is another"
        else:
            yield f"{move.kind:9}  {quoted_value(move.finding) or 'report'}: {move.what} {was} became {now}"


def _counted(kinds: Sequence[str]) -> str:
    items = [f"{count} {kind}" for kind, count in Counter(kinds).items()]
    return f"{', '.join(items)}." if items else "No difference."
