"""The typer app, assembled from the command modules and from plugins."""

from __future__ import annotations

from typing import Annotated

import typer

from leafgate import __version__
from leafgate.cli import audits, looking, models, policies, sweeps
from leafgate.cli.guard import guarded
from leafgate.plugins import load_plugins

app = typer.Typer(
    name="leafgate",
    help="Audit what a decision tree gives away about people, before it is released.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

for _command in (
    audits.audit,
    audits.build,
    audits.attack,
    sweeps.sweep,
    models.convert,
    models.scrub,
    policies.validate,
    policies.init,
    policies.schema,
    looking.plugins,
    looking.explain,
    looking.demo,
):
    app.command(_command.__name__)(guarded(_command))


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"leafgate {__version__}")
        raise typer.Exit


@app.callback()
def _leafgate(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_say_version)
    ] = False,
) -> None:
    """Audit what a decision tree gives away about people, before it is released."""


def with_plugin_commands(core: typer.Typer) -> typer.Typer:
    """The app with the commands plugins offer; a name the core has already is refused, with a warning."""
    full = typer.Typer(
        name="leafgate", help=core.info.help, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
    )
    full.registered_commands = list(core.registered_commands)
    full.registered_callback = core.registered_callback
    taken = {command.name for command in core.registered_commands}
    for plugin in load_plugins().found:
        for offered in plugin.commands:
            for command in offered.registered_commands:
                name = command.name or getattr(command.callback, "__name__", "").replace("_", "-")
                if name in taken:
                    typer.echo(f"leafgate: {plugin.origin} offers a command {name!r} that exists already", err=True)
                    continue
                taken.add(name)
                full.registered_commands.append(command)
    return full
