"""`leafgate sweep` audits one policy with many settings of its options, to show what protection costs.

`axes` makes a policy for each point, `worker` audits one point, `pool` runs the points in several processes, `results`
collects them as sweep.json and a table, `picture` draws them; `stored` reads a sweep.json, whose picture `leafgate
report` attaches to a page; `command` is the command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import SWEEP_PICTURE, ReportDocument, hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import typer

leafgate_api = ">=2,<3"


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_sweep.command import app

    return [app]


@hookimpl
def report_attachments() -> Mapping[str, Callable[[Path, ReportDocument], bytes]]:
    return {SWEEP_PICTURE: _picture_of_file}


def _picture_of_file(sweep: Path, report: ReportDocument) -> bytes:
    from leafgate_sweep.picture import sweep_picture
    from leafgate_sweep.stored import read_sweep

    return sweep_picture(read_sweep(sweep, report))
