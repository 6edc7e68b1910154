"""Checks of a plugin's module: what it offers can be used, has free names, is listed at once, and explains itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from leafgate.api.registry import command_name, load_plugins, offered_by
from leafgate.testing.check import DoesNotApply, NonConformance

if TYPE_CHECKING:
    import typer

HEAVY = ("numpy", "pandas", "scipy", "sklearn", "pyarrow")
"""What the module may import on first use alone: every command lists all plugins."""


@dataclass(frozen=True)
class ModuleSubject:
    """A plugin's module, and what it offers through the hooks."""

    name: str

    @cached_property
    def offered(self) -> Mapping[str, Any]:
        """What the module offers, by the fields of `Plugin`; NonConformance for what cannot be used."""
        try:
            return offered_by(import_module(self.name))
        except (Exception, SystemExit) as error:
            raise NonConformance(
                f"leafgate cannot load it: {type(error).__name__}: {error}", "let its hooks return what they offer"
            ) from error

    @property
    def commands(self) -> Iterator[tuple[str, typer.Typer]]:
        """Each command and each group that it offers, by its name, in an app of its own."""
        import typer

        for app in self.offered["commands"]:
            for command in app.registered_commands:
                alone = typer.Typer()
                alone.registered_commands.append(command)
                yield command_name(command), alone
            yield from ((str(group.name), group.typer_instance) for group in app.registered_groups)


def loads(subject: ModuleSubject) -> None:
    """It states its interface, its hooks are marked, and everything that they offer can be used."""
    if not any(subject.offered.values()):
        raise NonConformance("it offers nothing", "mark its hooks with `@hookimpl`")


def has_free_names(subject: ModuleSubject) -> None:
    """No other installed plugin offers a component, a report format or a model reader of the same name."""
    kinds = [offer.use for offer in subject.offered["offers"]]
    others = [each.name for kind in ("formats", "readers") for each in subject.offered[kind]]
    own = {*kinds, *others}
    for plugin in load_plugins(everything=True).entries:
        if plugin.offers == subject.offered["offers"] and plugin.commands == subject.offered["commands"]:
            continue  # itself, installed
        named = {each.name for each in plugin.formats} | {each.name for each in plugin.readers}
        if both := sorted(own & (named | {offer.use for offer in plugin.offers})):
            raise NonConformance(f"{plugin.origin} offers {both[0]!r}, too", "choose another name")


PROGRAM = """
import sys
from importlib import import_module
from leafgate.api.registry import offered_by
offered_by(import_module(sys.argv[1]))
print(*(name for name in sys.argv[2:] if name in sys.modules))
"""


def is_light(subject: ModuleSubject) -> None:
    """Listing what it offers imports nothing heavy."""
    done = subprocess.run(  # noqa: S603  the running Python with a program of this file
        [sys.executable, "-c", PROGRAM, subject.name, *HEAVY],
        capture_output=True,
        text=True,
        timeout=120,
        env=_environment(),
    )
    if done.returncode != 0:
        raise DoesNotApply("another process cannot import it")
    if heavy := done.stdout.split():
        raise NonConformance(
            f"listing it imports {heavy[0]}, for which every command waits",
            f'import it on first use: `{heavy[0]} = lazy("{heavy[0]}")`, or within functions',
        )


def _environment() -> dict[str, str]:
    """This process's environment, with its search path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def explains_its_commands(subject: ModuleSubject) -> None:
    """Each command says what it does, and refuses an option that it does not have with exit code 2."""
    from typer.testing import CliRunner

    commands = list(subject.commands)
    if not commands:
        raise DoesNotApply("it offers no command")
    for name, app in commands:
        if not all(_says_what_it_does(command.help, command.callback) for command in app.registered_commands):
            raise NonConformance(f"the command {name!r} does not say what it does", "give its function a docstring")
        helped = CliRunner().invoke(app, ["--help"])
        if helped.exit_code != 0:
            raise NonConformance(f"`{name} --help` ends in {helped.exit_code}", "do nothing before options are read")
        refused = CliRunner().invoke(app, ["--no-such-option"])
        if refused.exit_code != 2:
            raise NonConformance(
                f"`{name} --no-such-option` ends in {refused.exit_code}", "declare its options as parameters"
            )


def _says_what_it_does(text: str | None, function: Callable[..., Any] | None) -> bool:
    return bool(text or (function is not None and (function.__doc__ or "").strip()))


MODULE_CHECKS: Mapping[str, Callable[[ModuleSubject], None]] = {
    "loads": loads,
    "has_free_names": has_free_names,
    "is_light": is_light,
    "explains_its_commands": explains_its_commands,
}
