"""The command `leafgate map`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from leafgate.console.options import AsOf
from leafgate.errors import ExitCode, InvalidError


class MapFormat(StrEnum):
    """How a mapping is written."""

    markdown = "markdown"
    html = "html"
    json = "json"


def map(  # noqa: A001  the name of the command
    stored: Annotated[Path | None, typer.Argument(metavar="REPORT", help="The report.json of an audit.")] = None,
    framework: Annotated[
        str | None, typer.Argument(metavar="FRAMEWORK", help="A framework of --list, or your own YAML file.")
    ] = None,
    to: Annotated[MapFormat, typer.Option(metavar="FORMAT", help="markdown, html or json.")] = MapFormat.markdown,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The file to write; default: stdout.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the frameworks, and stop.")] = False,
    as_of: AsOf = None,
) -> int:
    """Say what a report answers of a framework's clauses, and what people must still judge."""
    from leafgate.commands.mapping.document import check_names, mapped
    from leafgate.commands.mapping.framework import bundled_names, read_framework
    from leafgate.commands.mapping.views import markdown, page
    from leafgate.commands.stored_report import clear_output, open_report, write_document
    from leafgate.console.output import say
    from leafgate.io.json import readable
    from leafgate.session.expected_run import ExpectedRun

    if list_:
        for name in bundled_names():
            listed = read_framework(name).framework
            say(f"{name}: {listed.title}, {listed.edition}")
        return ExitCode.PASS
    if stored is None or framework is None:
        missing = "REPORT" if stored is None else "FRAMEWORK"
        remedy = f"leafgate map REPORT FRAMEWORK; frameworks: {', '.join(bundled_names())}, or your own file"
        raise InvalidError("is missing", place=missing, remedy=remedy)
    clear_output(out, [stored, framework])
    file = read_framework(framework)
    report = open_report(stored, ExpectedRun(as_of=as_of))
    if file.own:
        from leafgate.api.registry import load_plugins

        check_names(file.framework, framework, report.document, load_plugins().by_name)
    document = mapped(file, report)
    render = {MapFormat.markdown: markdown, MapFormat.html: page, MapFormat.json: readable}[to]
    write_document(render(document), report, out)
    return ExitCode.PASS
