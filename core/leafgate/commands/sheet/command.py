"""The command `leafgate sheet`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafgate.console.options import AsOf, ExpectFile, ExpectPolicy, ExpectRelease
from leafgate.errors import ExitCode


def sheet(
    stored: Annotated[Path, typer.Argument(metavar="REPORT", help="The report.json of an audit.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write, such as sheet.html.")],
    facts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A YAML file with what the report does not know.")
    ] = None,
    expect_policy: ExpectPolicy = None,
    expect_release: ExpectRelease = None,
    expect_file: ExpectFile = None,
    as_of: AsOf = None,
) -> int:
    """Write a decision sheet of two printed pages for a stored report. The decision is left blank."""
    from leafgate.commands.sheet.facts import SheetFacts, read_facts
    from leafgate.commands.sheet.page import sheet_page
    from leafgate.commands.stored_report import clear_output, open_report, write_document
    from leafgate.console.output import say
    from leafgate.session.expected_run import ExpectedRun

    clear_output(out, [stored, facts, expect_policy, expect_release, expect_file])
    expected = ExpectedRun(policy=expect_policy, release=expect_release, file=expect_file, as_of=as_of)
    given = SheetFacts() if facts is None else read_facts(facts)
    report = open_report(stored, expected)
    write_document(sheet_page(report, given), report, out)
    say(f"{out}: two pages to print, fill in and sign" + (", for the owner only" if report.for_auditors else ""))
    return ExitCode.PASS
