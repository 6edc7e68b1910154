"""`leafgate diff` compares two policies, or two reports.

`command` reads the files through `sources`; `policies` classifies each change as tighter or looser and predicts the
outcomes of a stored report; `digests` finds changes of files that no line of a policy shows; `reports` compares
findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl

if TYPE_CHECKING:
    import typer

leafgate_api = ">=2,<3"


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_diff.command import app

    return [app]
