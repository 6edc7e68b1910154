"""Commands about plugins: plugins, explain."""

from __future__ import annotations

from typing import Annotated

import typer

from leafgate.commands.scaffold.command import new
from leafgate.console.exit_codes import guarded
from leafgate.console.options import JsonOutput
from leafgate.console.output import print_document
from leafgate.errors import PolicyError, nearest_name
from leafgate.io.json import readable


def listed(as_json: JsonOutput = False) -> int:
    """List what is installed, and what is broken and why."""
    from leafgate.api.registry import load_plugins
    from leafgate.console.describe import plugin_lines, plugins_document

    plugins = load_plugins(everything=True)
    text = readable(plugins_document(plugins)).decode() if as_json else "".join(plugin_lines(plugins))
    print_document(text)
    return 0


plugins_app = typer.Typer(help="List what is installed or broken, or write a new plugin.")


@plugins_app.callback(invoke_without_command=True)
def _plugins(context: typer.Context, as_json: JsonOutput = False) -> None:
    """List what is installed or broken, or write a new plugin."""
    if context.invoked_subcommand is None:
        guarded(listed)(as_json=as_json)


plugins_app.command("new")(guarded(new))


def explain(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A builder, attack, metric, check, source, reader or format.")
    ],
) -> int:
    """Say what a plugin does: options, threat model, formula, source."""
    from leafgate.api.registry import load_plugins
    from leafgate.console.describe import explanation, format_explanation, reader_explanation
    from leafgate.session.report_formats import offered_formats

    plugins = load_plugins()
    component = plugins.component(name)
    if component is not None:
        print_document(explanation(component, plugins.origin(component)))
        return 0
    readers = {reader.name: (reader, plugin.origin) for plugin in plugins.entries for reader in plugin.readers}
    if name in readers:
        print_document(reader_explanation(*readers[name]))
        return 0
    formats = offered_formats(plugins)
    if name not in formats:
        names = sorted({*plugins.by_name, *readers, *formats})
        raise PolicyError(f"nobody offers {name!r}", remedy=nearest_name(name, names, f"installed: {', '.join(names)}"))
    print_document(format_explanation(formats[name]))
    return 0
