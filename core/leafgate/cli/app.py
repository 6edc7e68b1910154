"""The typer app, assembled from the command modules and from plugins."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from leafgate.api.registry import Plugin, load_plugins
from leafgate.cli import audit as audits
from leafgate.cli import model as models
from leafgate.cli import plugins as looking
from leafgate.cli import policy as policies
from leafgate.cli import report as reports
from leafgate.console.exit_codes import guarded
from leafgate.diff import command as diffs
from leafgate.sweep import command as sweeps

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
    reports.report,
    sweeps.sweep,
    models.convert,
    models.scrub,
    policies.validate,
    policies.init,
    policies.schema,
    diffs.diff,
    looking.explain,
    looking.demo,
):
    app.command(_command.__name__)(guarded(_command))

app.add_typer(looking.plugins_app, name="plugins")


def names_of(core: typer.Typer) -> set[str]:
    """The commands of an app, and its groups of commands."""
    commands = (c.name or getattr(c.callback, "__name__", "").replace("_", "-") for c in core.registered_commands)
    return {*commands, *(str(group.name) for group in core.registered_groups)}


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"leafgate {version('leafgate')}")
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
    full.registered_commands, full.registered_groups = list(core.registered_commands), list(core.registered_groups)
    full.registered_callback = core.registered_callback
    for plugin in load_plugins().entries:
        for offered in plugin.commands:
            _take(full, offered, plugin)
    return full


def _take(full: typer.Typer, offered: typer.Typer, plugin: Plugin) -> None:
    """Add what a plugin offers, commands and groups of commands; names that are taken are refused."""
    for command in offered.registered_commands:
        if _free(full, command.name or getattr(command.callback, "__name__", "").replace("_", "-"), plugin):
            full.registered_commands.append(command)
    for group in offered.registered_groups:
        if _free(full, str(group.name), plugin):
            full.registered_groups.append(group)


def _free(full: typer.Typer, name: str, plugin: Plugin) -> bool:
    if name not in names_of(full):
        return True
    typer.echo(f"leafgate: {plugin.origin} offers a command {name!r} that exists already", err=True)
    return False
