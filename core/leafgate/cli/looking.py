"""Commands to look around: plugins, explain, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafgate.cli.audits import Json
from leafgate.errors import PolicyError
from leafgate.strict_json import readable


def plugins(as_json: Json = False) -> int:
    """List what is installed, and what is broken and why."""
    from leafgate.explaining import plugin_lines, plugins_document
    from leafgate.plugins import load_plugins

    found = load_plugins()
    told = readable(plugins_document(found)).decode() if as_json else "".join(plugin_lines(found))
    typer.echo(told, nl=False)
    return 0


def explain(name: Annotated[str, typer.Argument(metavar="NAME", help="A builder, an attack or a metric.")]) -> int:
    """Say what a plugin does: options, threat model, formula, source."""
    from leafgate.explaining import explanation
    from leafgate.plugins import load_plugins

    found = load_plugins()
    if name not in found.by_name:
        raise PolicyError(f"nobody offers {name!r}", remedy=f"installed: {', '.join(sorted(found.by_name))}")
    typer.echo(explanation(found.by_name[name], found.origin(found.by_name[name])), nl=False)
    return 0


def demo(
    out: Annotated[Path, typer.Option(help="Where data, policies and reports go.")] = Path("leafgate-demo"),
) -> int:
    """Audit an unprotected and a protected tree on made-up people, as an auditor sees it."""
    from leafgate.demo import run_demo
    from leafgate.files import make_folder

    make_folder(out)
    text, as_announced = run_demo(out)
    typer.echo(text, nl=False)
    return 0 if as_announced else 4
