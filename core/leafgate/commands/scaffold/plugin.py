"""Write the package of a new plugin, which passes the conformance kit as it is."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from typing import Literal

from jinja2 import Environment, StrictUndefined

from leafgate.api import InvalidError
from leafgate.api.registry import Plugins

Kind = Literal["attack", "metric", "builder", "format", "source", "reader", "command"]
"""What a new plugin may offer."""

MAX_NAME = 50
"""Characters of a plugin's name."""

SUFFIXES: Mapping[Kind, str] = {"metric": "doubt"}
"""What distinguishes the name of a second component from that of the first."""

MODULES: Mapping[Kind, str] = {
    "attack": "beliefs.py",
    "metric": "scores.py",
    "builder": "building.py",
    "format": "rendering.py",
    "source": "reading.py",
    "reader": "parsing.py",
    "command": "command.py",
}
"""The file with what each kind of component does."""

CHECKS: Mapping[Kind, tuple[str, str]] = {
    "attack": ("conformance", "{name}()"),
    "metric": ("conformance", "{name}(at_least=0.1)"),
    "builder": ("conformance", "{name}()"),
    "format": ("format_conformance", "{name}"),
    "source": ("source_conformance", "{name}(), write"),
    "reader": ("reader_conformance", "{name}, [STUMP]"),
}
"""The function of the conformance kit for each kind that it checks, and its arguments."""

KIT: Mapping[Kind, str] = {"reader": "KnownModel"}
"""What the test of a kind needs of the conformance kit to describe what the component is tried on."""

IMPORTS: Mapping[Kind, tuple[str, ...]] = {
    "attack": ("AdversaryKnowledge", "AttackModel", "Release", "SecretBelief"),
    "metric": ("AtLeast", "Example", "Metric", "Score", "ScoringContext"),
    "builder": ("Release", "Table", "TreeBuilder"),
    "format": ("ReportFormat",),
    "source": ("DataSource", "SourceFile"),
    "reader": (),
    "command": (),
}
"""What the package imports from leafgate.api; what a reader needs is in leafgate.readers, and what a command
needs in leafgate.app."""

CORE_COMMANDS = frozenset(
    {
        *("audit", "build", "attack", "report", "sweep", "convert", "scrub", "repair", "validate", "init", "schema"),
        *("diff", "attest", "verify", "explain", "demo", "desk", "ledger", "case", "plugins"),
    }
)
"""The names of leafgate's own commands, which those of plugins cannot have."""


@dataclass(frozen=True)
class Newcomer:
    """A plugin to be written: its module, and the kinds of components it will offer."""

    module: str
    kinds: tuple[Kind, ...]

    @property
    def distribution(self) -> str:
        return self.module.replace("_", "-")

    def use(self, kind: Kind) -> str:
        """The name that a policy selects a component by: the module's for the first kind, with a suffix for others."""
        return self.module if kind == self.kinds[0] else f"{self.module}_{SUFFIXES[kind]}"

    def class_name(self, kind: Kind) -> str:
        """The name of the class; of a format or a reader, which are objects, the name of the constant."""
        if kind in {"format", "reader"}:
            return self.use(kind).upper()
        return "".join(part.capitalize() for part in self.use(kind).split("_"))


def newcomer(name: str, kinds: tuple[Kind, ...], plugins: Plugins) -> Newcomer:
    """The plugin of this name; InvalidError if no package can have the name, or another one has it."""
    module = re.sub(r"[-. ]+", "_", name.strip()).lower()
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", module) or len(module) > MAX_NAME:
        raise InvalidError(
            "is no name for a package",
            place="NAME",
            remedy=f"begin with a letter; letters, digits, - and _ to {MAX_NAME} characters",
        )
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or module == "tests" or find_spec(module):
        raise InvalidError(
            f"{module!r} is taken by Python or by what is installed", place="NAME", remedy="choose another"
        )
    plugin = Newcomer(module, kinds)
    for kind in kinds:
        use = plugin.use(kind)
        origin = _origin(kind, use, plugins)
        if origin:
            raise InvalidError(f"{origin} offers {use!r} already", place="NAME", remedy="choose another")
    return plugin


def _origin(kind: Kind, use: str, plugins: Plugins) -> str:
    """The distribution and version that offers something of this name already; empty where none does."""
    if use in plugins.by_name:
        return plugins.origin(plugins.by_name[use])
    if kind == "format" and use in plugins.formats_by_name:
        return plugins.formats_by_name[use].origin
    if kind == "command":
        return _origin_of_command(use.replace("_", "-"), plugins)
    readers = ((plugin.origin, reader.name) for plugin in plugins.entries for reader in plugin.readers)
    return next((origin for origin, name in readers if kind == "reader" and name == use), "")


def _origin_of_command(name: str, plugins: Plugins) -> str:
    """The distribution and version that offers a command or a group of commands of this name; empty where none does."""
    if name in CORE_COMMANDS:
        return "leafgate"
    for plugin in plugins.entries:
        for app in plugin.commands:
            groups = {group.name for group in app.registered_groups}
            if name in groups | {command.name for command in app.registered_commands}:
                return plugin.origin
    return ""


def package(newcomer: Newcomer) -> Mapping[str, bytes]:
    """The package's files, by their paths: classes, mathematics, a test, build settings and a README."""
    templates = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        f"{newcomer.module}/__init__.py": "package.py",
        "tests/test_conformance.py": "test_conformance.py",
    }
    templates |= {f"{newcomer.module}/{MODULES[kind]}": MODULES[kind] for kind in newcomer.kinds}
    files = {path: _render(template, newcomer).encode() for path, template in templates.items()}
    return files | {f"{newcomer.module}/py.typed": b""}


def _render(template: str, newcomer: Newcomer) -> str:
    """Fill one file of the folder `templates` with the names of a new plugin."""
    kinds, class_names = newcomer.kinds, {kind: newcomer.class_name(kind) for kind in newcomer.kinds}
    environment = Environment(  # noqa: S701  it renders Python, TOML and Markdown, not HTML
        trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
    )
    text = (resources.files("leafgate.commands.scaffold") / "templates" / f"{template}.j2").read_text(encoding="utf-8")
    imports = {"hookimpl", *(name for kind in kinds for name in IMPORTS[kind])}
    checked = [kind for kind in kinds if kind in CHECKS]
    return environment.from_string(text).render(
        module=newcomer.module,
        distribution=newcomer.distribution,
        uses={kind: newcomer.use(kind) for kind in kinds},
        class_names=class_names,
        has=lambda *wanted: not set(kinds).isdisjoint(wanted),
        imports=sorted(imports, key=lambda name: (name[0].islower(), name)),
        imported_classes=", ".join(sorted(class_names.values())),
        kit=["Check", *(KIT[kind] for kind in checked if kind in KIT), *sorted({CHECKS[kind][0] for kind in checked})],
        checks=", ".join(f"*{CHECKS[kind][0]}({CHECKS[kind][1].format(name=class_names[kind])})" for kind in checked),
    )
