"""`leafgate init` and `leafgate plugins new` write first files.

`policy` writes a policy for a table, `plugin` a package for a plugin from the files in `templates`; `command` has both
commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl

if TYPE_CHECKING:
    import typer

leafgate_api = ">=2,<3"


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_scaffold.command import app

    return [app]
