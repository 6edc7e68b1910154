"""Commands about plugins, and the demonstration: plugins, explain, demo."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from leafgate.console.exit_codes import guarded
from leafgate.console.options import Json
from leafgate.console.output import print_document
from leafgate.errors import ExitCode, InvalidError, PolicyError
from leafgate.io.json import readable


def listed(as_json: Json = False) -> int:
    """List what is installed, and what is broken and why."""
    from leafgate.api.describe import plugin_lines, plugins_document
    from leafgate.api.registry import load_plugins

    plugins = load_plugins()
    text = readable(plugins_document(plugins)).decode() if as_json else "".join(plugin_lines(plugins))
    print_document(text)
    return 0


plugins_app = typer.Typer(help="List what is installed, and what is broken and why; or write a new plugin.")


@plugins_app.callback(invoke_without_command=True)
def _plugins(context: typer.Context, as_json: Json = False) -> None:
    """List what is installed, and what is broken and why; or write a new plugin."""
    if context.invoked_subcommand is None:
        guarded(listed)(as_json=as_json)


class Kind(StrEnum):
    """What a new plugin offers."""

    attack = "attack"
    metric = "metric"
    builder = "builder"


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The package's name.")],
    kind: Annotated[Kind | None, typer.Option(help="What it offers; an attack and a metric if left out.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to write; NAME here if left out.")] = None,
) -> int:
    """Write a package with a plugin to start from, which passes its own tests."""
    from leafgate.api.registry import load_plugins
    from leafgate.io.files import EVERYONE, write_file
    from leafgate.scaffold.plugin import newcomer, package

    plugin = newcomer(name, ("attack", "metric") if kind is None else (kind.value,), load_plugins())
    folder = Path(plugin.module) if out is None else out
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidError("is there already", place=str(folder), remedy="name another folder: --out")
    for path, content in package(plugin).items():
        write_file(folder / path, content, EVERYONE)
    typer.echo(f"{folder}: next, pip install -e '{folder}[dev]' and pytest {folder}")
    return 0


plugins_app.command("new")(guarded(new))


def explain(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A builder, an attack, a metric or a check.")],
) -> int:
    """Say what a plugin does: options, threat model, formula, source."""
    from leafgate.api.describe import explanation
    from leafgate.api.registry import load_plugins
    from leafgate.policy.validation import nearest_name

    plugins = load_plugins()
    if name not in plugins.by_name:
        names = sorted(plugins.by_name)
        raise PolicyError(f"nobody offers {name!r}", remedy=nearest_name(name, names, f"installed: {', '.join(names)}"))
    print_document(explanation(plugins.by_name[name], plugins.origin(plugins.by_name[name])))
    return 0


def demo(
    out: Annotated[Path, typer.Option(help="Where data, policies and reports go.")] = Path("leafgate-demo"),
) -> int:
    """Audit an unprotected and a protected tree on made-up people, as an auditor sees it."""
    from leafgate.demo import run_demo
    from leafgate.io.files import make_folder

    make_folder(out)
    text, as_announced = run_demo(out)
    print_document(text)
    return ExitCode.PASS if as_announced else ExitCode.INTERNAL
