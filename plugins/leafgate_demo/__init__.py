"""`leafgate demo`: two audits of made-up people, one that fails and one that passes.

`people` makes the data up, `audits` runs the two audits and compares them, `command` is the command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl

if TYPE_CHECKING:
    import typer

leafgate_api = ">=2,<3"


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_demo.command import app

    return [app]
