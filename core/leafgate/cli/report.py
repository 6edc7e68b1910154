"""The command that shows a stored report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.api.report_formats import SHEET_FACTS
from leafgate.console.options import AsOf, DataRoot, ExpectFile, ExpectPolicy, ExpectRelease, Org
from leafgate.console.output import print_document, say
from leafgate.errors import InvalidError
from leafgate.io.files import EVERYONE, OWNER_ONLY, clear_file, make_folder, read_bounded, write_file
from leafgate.session.expected_run import ExpectedRun

if TYPE_CHECKING:
    from leafgate.api.registry import OfferedFormat


def report(
    stored: Annotated[Path, typer.Argument(metavar="REPORT", help="The report.json of an audit.")],
    to: Annotated[
        str, typer.Option(metavar="FORMAT", help="The format to show it in: text, html, sheet, mapping:satre, ...")
    ] = "text",
    facts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A YAML file with what a sheet has besides the report.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The file to write; default: stdout.")] = None,
    expect_policy: ExpectPolicy = None,
    org: Org = None,
    root: DataRoot = None,
    expect_release: ExpectRelease = None,
    expect_file: ExpectFile = None,
    as_of: AsOf = None,
) -> int:
    """Show a stored report in another format. The exit code is that of its verdict, its waivers judged again."""
    from leafgate.api.registry import Plugins, load_plugins
    from leafgate.disclosure.stored import read_report
    from leafgate.kernel.findings import EXIT_CODES
    from leafgate.session.report_formats import TEXT, chosen_formats, render

    if out is not None:
        given = (stored, facts, expect_policy, expect_release, expect_file, to.partition(":")[2])
        clear_file(out, [Path(each) for each in given if each])
    expected = ExpectedRun(
        policy=expect_policy, org=tuple(org or ()), root=root, release=expect_release, file=expect_file, as_of=as_of
    )
    result, lapsed = expected.judged(read_report(stored), stored)
    for line in lapsed:
        say(f"leafgate: {line}", err=True)
    auditor = result["audience"] == "auditor"
    if auditor and out is None:
        raise InvalidError("an auditor's report goes to a file, not to stdout", place="--out", remedy="add --out FILE")
    plugins = Plugins() if to == TEXT.format.name else load_plugins()
    [offered] = chosen_formats(plugins, [to])
    attached = {} if facts is None else {SHEET_FACTS: _sheet_facts(facts, offered)}
    content = render(offered, result, attached)
    if out is None:
        print_document(content)
    else:
        make_folder(out.parent)
        write_file(out, content, OWNER_ONLY if auditor else EVERYONE)
    return EXIT_CODES[result["verdict"]]


def _sheet_facts(facts: Path, offered: OfferedFormat) -> bytes:
    """The content of a file of facts, for a format that prints them."""
    from leafgate.io.yaml import MAX_YAML_BYTES

    if SHEET_FACTS not in offered.format.attachments:
        message = f"the format {offered.format.name!r} prints no facts"
        raise InvalidError(message, place="--facts", remedy="add --to sheet")
    return read_bounded(facts, MAX_YAML_BYTES, InvalidError, str(facts))
