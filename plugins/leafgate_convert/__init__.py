"""`leafgate convert` and `leafgate scrub` write neutral files of models, `leafgate/model/1`.

`command` has both commands. `pickles` opens what its owner trusts. `scrub` leaves of a model what may be disclosed:
`rounding` and `sampling` reduce leaves and draw points, `equivalence` compares predictions on a policy's table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl

if TYPE_CHECKING:
    import typer

leafgate_api = ">=2,<3"


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_convert.command import app

    return [app]
