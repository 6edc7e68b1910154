"""The typer app: the commands that a command line needs, imported only then, and those of plugins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer
from typer.completion import get_completion_inspect_parameters

from leafgate.console.exit_codes import guarded

if TYPE_CHECKING:
    from leafgate.api.registry import Plugin

COMMANDS = {
    "audit": "leafgate.cli.audit",
    "build": "leafgate.cli.audit",
    "attack": "leafgate.cli.audit",
    "report": "leafgate.cli.report",
    "sweep": "leafgate.commands.sweep.command",
    "convert": "leafgate.commands.convert.command",
    "scrub": "leafgate.commands.convert.command",
    "repair": "leafgate.commands.repair.command",
    "validate": "leafgate.cli.policy",
    "init": "leafgate.commands.scaffold.command",
    "schema": "leafgate.commands.scaffold.command",
    "diff": "leafgate.commands.diff.command",
    "attest": "leafgate.commands.attest.command",
    "verify": "leafgate.commands.attest.command",
    "explain": "leafgate.cli.plugins",
    "demo": "leafgate.commands.demo.command",
    "desk": "leafgate.commands.desk.command",
}
"""The commands of the core in the help's order, and the module of each command's function, which has its name."""
GROUPS = {
    "case": ("leafgate.commands.case.command", "case_app"),
    "ledger": ("leafgate.commands.ledger", "ledger_app"),
    "plugins": ("leafgate.cli.plugins", "plugins_app"),
}
"""The groups of commands in the help's order, after the commands, and the module and the name of each group's app."""
OWN = "leafgate"
"""The distribution whose plugins offer their commands first, so that no other one takes their names."""
COMPLETION = "_LEAFGATE_COMPLETE"
"""The environment variable by which a shell asks for its completion script (`source_bash`) or for completions."""


def app_for(words: Sequence[str]) -> typer.Typer:
    """The app with what this command line needs: one command, none for `--version`, or else all and the plugins'."""
    if is_completion(words):
        get_completion_inspect_parameters()  # typer registers the shells that it knows in here
    first = words[0] if words else ""
    if first in COMMANDS:
        return core_app([first])
    if first in GROUPS:
        return with_plugin_commands(core_app([first]))
    return core_app([]) if first == "--version" else with_plugin_commands(core_app())


def is_completion(words: Sequence[str]) -> bool:
    """Does a shell ask for completions? It gives no words; a command line with words must not seem to have run."""
    return not words and bool(os.environ.get(COMPLETION))


def core_app(names: Iterable[str] = (*COMMANDS, *GROUPS)) -> typer.Typer:
    """The app with these commands of the core."""
    app = typer.Typer(
        name="leafgate",
        help="Audit what a decision tree discloses about people, before it is released.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_leafgate)
    for name in names:
        if name in GROUPS:
            module, group = GROUPS[name]
            app.add_typer(_copied(getattr(import_module(module), group)), name=name)
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
    """Audit what a decision tree discloses about people, before it is released."""


def with_plugin_commands(core: typer.Typer) -> typer.Typer:
    """The app with the commands that plugins offer; a name that exists already is refused, with a warning."""
    from leafgate.api.registry import load_commands

    for plugin, apps in sorted(load_commands(), key=lambda offer: offer[0].distribution != OWN):
        for offered in apps:
            _add_commands(core, offered, plugin)
    return core


def _add_commands(app: typer.Typer, offered: typer.Typer, plugin: Plugin) -> None:
    """Add the commands and the groups of commands that a plugin offers, except for those whose names are taken.

    The commands of a group that exists already are added to that group.
    """
    from leafgate.api.registry import command_name

    groups = {str(group.name): group.typer_instance for group in app.registered_groups}
    for command in offered.registered_commands:
        if _is_free(app, command_name(command), plugin):
            app.registered_commands.append(command)
    for group in offered.registered_groups:
        existing = groups.get(str(group.name))
        if existing is not None and group.typer_instance is not None:
            _add_commands(existing, group.typer_instance, plugin)
        elif _is_free(app, str(group.name), plugin):
            added = copy(group)
            added.typer_instance = None if group.typer_instance is None else _copied(group.typer_instance)
            app.registered_groups.append(added)


def _copied(app: typer.Typer) -> typer.Typer:
    """The same app with lists of its own, so that what is added to it stays out of the original."""
    result = copy(app)
    result.registered_commands = [*app.registered_commands]
    result.registered_groups = [*app.registered_groups]
    return result


def _is_free(app: typer.Typer, name: str, plugin: Plugin) -> bool:
    from leafgate.api.registry import command_name

    if name not in {*map(command_name, app.registered_commands), *(str(group.name) for group in app.registered_groups)}:
        return True
    typer.echo(f"leafgate: {plugin.origin} offers a command {name!r} that exists already", err=True)
    return False
