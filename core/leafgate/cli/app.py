"""The typer app: the commands that a command line needs, imported only then, and those of plugins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from leafgate.console.exit_codes import guarded

if TYPE_CHECKING:
    from leafgate.api.registry import Plugin

COMMANDS = {
    "audit": "leafgate.cli.audit",
    "build": "leafgate.cli.audit",
    "attack": "leafgate.cli.audit",
    "report": "leafgate.cli.report",
    "sweep": "leafgate.sweep.command",
    "convert": "leafgate.cli.model",
    "scrub": "leafgate.cli.model",
    "validate": "leafgate.cli.policy",
    "init": "leafgate.cli.policy",
    "schema": "leafgate.cli.policy",
    "diff": "leafgate.diff.command",
    "explain": "leafgate.cli.plugins",
    "demo": "leafgate.cli.plugins",
}
"""The commands in the order of the help, and the module of each command's function, which has its name."""
GROUP = "plugins"
"""The group of commands that is `plugins_app` in `leafgate.cli.plugins`."""


def app_for(words: Sequence[str]) -> typer.Typer:
    """The app with what this command line needs: one command, none for `--version`, or else all and the plugins'."""
    first = words[0] if words else ""
    if first in COMMANDS or first == GROUP:
        return core_app([first])
    return core_app([]) if first == "--version" else with_plugin_commands(core_app())


def core_app(names: Iterable[str] = (*COMMANDS, GROUP)) -> typer.Typer:
    """The app with these commands of the core."""
    app = typer.Typer(
        name="leafgate",
        help="Audit what a decision tree gives away about people, before it is released.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_leafgate)
    for name in names:
        if name == GROUP:
            app.add_typer(import_module("leafgate.cli.plugins").plugins_app, name=GROUP)
        else:
            app.command(name)(guarded(getattr(import_module(COMMANDS[name]), name)))
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"leafgate {version('leafgate')}")
        raise typer.Exit


def _leafgate(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Audit what a decision tree gives away about people, before it is released."""


def with_plugin_commands(core: typer.Typer) -> typer.Typer:
    """The app with the commands that plugins offer; a name that exists already is refused, with a warning."""
    from leafgate.api.registry import load_commands

    for plugin, apps in load_commands():
        for offered in apps:
            _add_commands(core, offered, plugin)
    return core


def _add_commands(app: typer.Typer, offered: typer.Typer, plugin: Plugin) -> None:
    """Add the commands and the groups of commands that a plugin offers, except for those whose names are taken."""
    for command in offered.registered_commands:
        if _is_free(app, command.name or getattr(command.callback, "__name__", "").replace("_", "-"), plugin):
            app.registered_commands.append(command)
    for group in offered.registered_groups:
        if _is_free(app, str(group.name), plugin):
            app.registered_groups.append(group)


def _is_free(app: typer.Typer, name: str, plugin: Plugin) -> bool:
    commands = (c.name or getattr(c.callback, "__name__", "").replace("_", "-") for c in app.registered_commands)
    if name not in {*commands, *(str(group.name) for group in app.registered_groups)}:
        return True
    typer.echo(f"leafgate: {plugin.origin} offers a command {name!r} that exists already", err=True)
    return False
