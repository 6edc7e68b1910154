"""`leafgate sweep` audits one policy with many settings of its options, to show what protection costs.

`axes` makes a policy for each point, `worker` audits one point, `pool` runs the points in several processes, `results`
collects them as sweep.json and a table; `command` is the command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl

if TYPE_CHECKING:
    import typer

leafgate_api = ">=2,<3"


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_sweep.command import app

    return [app]
