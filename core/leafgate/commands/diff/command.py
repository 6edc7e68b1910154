"""The command `leafgate diff`: what changed between two policies, or between two reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leafgate.api import InvalidError
from leafgate.console.options import JsonOutput

if TYPE_CHECKING:
    from leafgate.commands.diff.reports import Moved
    from leafgate.kernel.origin import SourceLine
    from leafgate.policy.strictness import PolicyChange

Old = Annotated[Path, typer.Argument(metavar="OLD", help="A policy, or a stored report.")]
New = Annotated[Path, typer.Argument(metavar="NEW", help="Another of the same kind.")]
Strict = Annotated[bool, typer.Option("--strict", help="With policies: end in 1 unless every change is tighter.")]
MAX_PIPE_BYTES = 64 * 1024 * 1024
"""As much as a report may have; of more, one byte is read, so that its reader refuses it."""


def diff(
    old: Old,
    new: New,
    strict: Strict = False,
    out: Annotated[Path | None, typer.Option(help="A file for the differences as JSON.")] = None,
    as_json: JsonOutput = False,
) -> int:
    """Say what changed between two policies or two reports. Tighter or looser, better or worse."""
    from leafgate.console.output import print_document
    from leafgate.io.files import EVERYONE, OWNER_ONLY, clear_file, write_file
    from leafgate.io.json import readable
    from leafgate.io.text import printable_line

    if out is not None:
        clear_file(out, [old, new])
    result, lines, code, private = _compared(old, new, strict=strict)
    if private and out is None:
        remedy = "add --out; the differences go to that file, which is for its owner only"
        raise InvalidError("an auditor's report is not printed on stdout", place="--out", remedy=remedy)
    if out is not None:
        write_file(out, readable(result), OWNER_ONLY if private else EVERYONE)
    if private:
        result, lines = {"format": result["format"], "of": result["of"]}, lines[-1:]
    print_document(readable(result) if as_json else "".join(f"{printable_line(line)}\n" for line in lines))
    return code


def _compared(old: Path, new: Path, *, strict: bool) -> DiffOutcome:
    """The differences of two files, each read once where it is a pipe."""
    with ExitStack() as opened:
        first, second = (opened.enter_context(_as_file(path)) for path in (old, new))
        if _is_report(first) != _is_report(second):
            raise InvalidError("a policy and a report", place="OLD and NEW", remedy="name two policies, or two reports")
        if not _is_report(first):
            return _of_policies(first, second, strict=strict)
        if strict:
            raise InvalidError("is for policies", place="--strict", remedy="leave it out")
        return _of_reports(first, second)


@contextmanager
def _as_file(path: Path) -> Iterator[Path]:
    """The file at a path; of a pipe, as a shell's `<(command)` is, a copy that can be read more than once."""
    from leafgate.io.files import read_bounded

    if not (path.is_fifo() or path.is_char_device()):
        yield path
        return
    content = read_bounded(path, MAX_PIPE_BYTES, InvalidError, str(path))
    with TemporaryDirectory(prefix="leafgate-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(content)
        yield copy


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


def _of_policies(old: Path, new: Path, *, strict: bool) -> DiffOutcome:
    from leafgate.commands.diff.policies import changes_of

    changes = changes_of(old, new, strict=strict)
    document = {"format": "leafgate/diff/1", "of": "policies", "changes": [*map(_change, changes)]}
    lines = [*_policy_lines(changes), _counted([change.kind for change in changes])]
    return document, lines, int(any(_blocks(change, strict=strict) for change in changes)), False


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
    from leafgate.disclosure.wording import file_words, number_words
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
