"""Finding plugins, one entry point at a time: a broken one never takes the others down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import Distribution, EntryPoint, entry_points
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import pluggy

from leafgate.api import hookspecs
from leafgate.api.checks import AuditCheck
from leafgate.api.components import AttackModel, Component, TreeBuilder
from leafgate.api.metrics import Metric
from leafgate.api.report_formats import ReportFormat, mistakes
from leafgate.errors import PolicyError, Problem
from leafgate.types.adversary import NEEDS
from leafgate.types.report import Unit

if TYPE_CHECKING:
    import typer

OFFERS: dict[str, type[Component]] = {
    "tree_builders": TreeBuilder,
    "attack_models": AttackModel,
    "privacy_metrics": Metric,
    "audit_checks": AuditCheck,
}

Entry: TypeAlias = tuple[EntryPoint, str, str]
"""An entry point, and the canonical name and version of its distribution."""


@dataclass(frozen=True)
class Plugin:
    """One entry point: where it comes from, what it offers, or why it cannot."""

    name: str
    distribution: str
    version: str
    offers: tuple[type[Component], ...] = ()
    commands: tuple[typer.Typer, ...] = ()
    formats: tuple[ReportFormat, ...] = ()
    problem: str = ""

    @property
    def origin(self) -> str:
        """The distribution and version, as findings name it."""
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class OfferedFormat:
    """A report format, and the distribution and version of the plugin that offers it."""

    format: ReportFormat
    origin: str


@dataclass(frozen=True)
class Plugins:
    """Every plugin that was found, the broken ones too."""

    entries: tuple[Plugin, ...] = ()

    @property
    def broken(self) -> tuple[Plugin, ...]:
        return tuple(plugin for plugin in self.entries if plugin.problem)

    @cached_property
    def by_name(self) -> dict[str, type[Component]]:
        """What a policy can pick, by its `use`; PolicyError when two plugins offer one name."""
        offered: dict[str, tuple[type[Component], Plugin]] = {}
        problems = []
        for plugin in self.entries:
            for component in plugin.offers:
                use = use_of(component)
                if use in offered:
                    other = offered[use][1]
                    problems.append(
                        Problem(
                            "plugins",
                            f"{plugin.origin} ({plugin.name}) and {other.origin} ({other.name}) both offer {use!r}",
                            "uninstall one, or list the plugins you trust under `plugins:`",
                        )
                    )
                offered[use] = (component, plugin)
        if problems:
            raise PolicyError.listing(problems)
        return {use: component for use, (component, _) in offered.items()}

    @cached_property
    def formats_by_name(self) -> dict[str, OfferedFormat]:
        """The report formats, sorted by name; PolicyError when two plugins offer one name or one file name."""
        offered: dict[str, tuple[ReportFormat, Plugin]] = {}
        problems = []
        for plugin in self.entries:
            for new in plugin.formats:
                for other, source in offered.values():
                    if new.name == other.name or new.filename == other.filename:
                        what = f"the report format {new.name!r}" if new.name == other.name else f"{new.filename!r}"
                        names = f"{plugin.origin} ({plugin.name}) and {source.origin} ({source.name})"
                        problems.append(Problem("plugins", f"{names} both offer {what}", "uninstall one"))
                offered.setdefault(new.name, (new, plugin))
        if problems:
            raise PolicyError.listing(problems)
        return {name: OfferedFormat(each, plugin.origin) for name, (each, plugin) in sorted(offered.items())}

    def kind(self, base: type[Component]) -> list[type[Component]]:
        """The components of one kind, sorted by name."""
        return [c for _, c in sorted(self.by_name.items()) if issubclass(c, base)]

    def origin(self, component: Component | type[Component]) -> str:
        """The distribution and version a component came from."""
        wanted = component if isinstance(component, type) else type(component)
        return next((p.origin for p in self.entries if wanted in p.offers), "unknown")


def use_of(component: type[Component]) -> str:
    """The name a policy picks the class by."""
    return str(component.model_fields["use"].default)


def load_plugins(pins: Sequence[str] | None = None) -> Plugins:
    """Load what is installed under the entry-point group, or only what `pins` trusts.

    A pin is a distribution name, with a version range if wanted ("acme-attacks>=1.2"). Raises
    PolicyError for a pin that is malformed or that nothing installed satisfies.
    """
    points = [(point, point.dist) for point in entry_points(group=hookspecs.GROUP)]
    distributions = {id(distribution): distribution for _, distribution in points}
    # once for each distribution: whenever it is asked, it parses its metadata anew
    sources = {key: _source(distribution) for key, distribution in distributions.items()}
    installed = [(point, *sources[id(distribution)]) for point, distribution in points]
    installed.sort(key=lambda entry: (entry[1], entry[0].name))
    if pins is not None:
        installed = _trusted(installed, pins)
    return Plugins(tuple(_load(*entry) for entry in installed))


def _source(distribution: Distribution | None) -> tuple[str, str]:
    """The canonical name and the version of a distribution."""
    return (_canonical(distribution.name), distribution.version) if distribution else ("unknown", "0")


def _canonical(name: str) -> str:
    """The name of a distribution in the one spelling that all its spellings have in common.

    Source: PEP 503, "Normalized Names". `packaging.utils` has the function too, and is slow to import.
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def _trusted(installed: Sequence[Entry], pins: Sequence[str]) -> list[Entry]:
    from packaging.requirements import InvalidRequirement, Requirement

    kept: list[Entry] = []
    problems: list[Problem] = []
    for i, pin in enumerate(pins):
        place = f"plugins[{i}]"
        try:
            wanted = Requirement(pin)
        except InvalidRequirement:
            problems.append(Problem(place, f"{pin!r} is not a distribution name with a version range"))
            continue
        trusted = [entry for entry in installed if entry[1] == _canonical(wanted.name)]
        if not trusted:
            problems.append(Problem(place, f"no installed plugin comes from {wanted.name!r}", "install it"))
        elif not wanted.specifier.contains(trusted[0][2], prereleases=True):
            problems.append(Problem(place, f"{' '.join(trusted[0][1:])} is installed, the policy wants {pin!r}"))
        kept += trusted
    if problems:
        raise PolicyError.listing(problems)
    return kept


def _load(point: EntryPoint, distribution: str, version: str) -> Plugin:
    try:
        module = point.load()
        offers, commands, formats = offered_by(module)
    except (Exception, SystemExit) as error:
        return Plugin(point.name, distribution, version, problem=f"{type(error).__name__}: {error}")
    return Plugin(point.name, distribution, version, offers, commands, formats)


Offered: TypeAlias = "tuple[tuple[type[Component], ...], tuple[typer.Typer, ...], tuple[ReportFormat, ...]]"
"""Components, commands and report formats."""


def offered_by(module: ModuleType) -> Offered:
    """What one plugin module offers through the hooks; raises TypeError for what is no offer."""
    _refuse_other_api(module)
    manager = pluggy.PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    manager.register(module)
    manager.check_pending()
    offers: list[type[Component]] = []
    for hook, base in OFFERS.items():
        for component in _flat(getattr(manager.hook, hook)()):
            _check_offer(component, base, hook)
            offers.append(component)
    apps = _flat(manager.hook.commands())
    if not all(hasattr(app, "registered_commands") for app in apps):
        raise TypeError("commands() offers something that is no typer app")
    formats = _flat(manager.hook.report_formats())
    for offered in formats:
        _check_format(offered)
    return tuple(offers), tuple(apps), tuple(formats)


def _refuse_other_api(module: ModuleType) -> None:
    """Raise TypeError for a plugin whose `leafgate_api` does not contain this version of the plugin interface.

    A plugin that states no versions was made for the first, which had no such statement.
    """
    stated = getattr(module, "leafgate_api", None)
    if stated == hookspecs.API_RANGE:
        return  # without the import of `packaging`, which takes longer than all else here
    if stated is None:
        line = f'leafgate_api = "{hookspecs.API_RANGE}"'
        raise TypeError(f"made for leafgate.api 1, this is {hookspecs.API_VERSION}: port it, then write `{line}` in it")
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        fits = hookspecs.API_VERSION in SpecifierSet(stated)
    except (InvalidSpecifier, TypeError, AttributeError):
        raise TypeError(f'`leafgate_api` is no range of versions such as "{hookspecs.API_RANGE}"') from None
    if not fits:
        raise TypeError(f"made for leafgate.api {stated}, this is {hookspecs.API_VERSION}")


def _flat(lists: Iterable[Iterable[Any]]) -> list[Any]:
    return [item for items in lists for item in items]


def _check_format(offered: object) -> None:
    if not isinstance(offered, ReportFormat):
        raise TypeError("report_formats() offers something that is no ReportFormat")
    if problems := mistakes(offered):
        raise TypeError(f"report_formats() offers a format that cannot be used: {'; '.join(problems)}")


def _check_offer(component: object, base: type[Component], hook: str) -> None:
    if not (isinstance(component, type) and issubclass(component, base)):
        raise TypeError(f"{hook}() offers something that is no {base.__name__} class")
    field = component.model_fields["use"]
    if get_args(field.annotation) != (field.default,):
        raise TypeError(f'{component.__name__} needs a name: use: Literal["..."] = "..."')
    if issubclass(component, AuditCheck):
        _check_audit_check(component)
    unknown = sorted(set(component.needs) - NEEDS) if issubclass(component, AttackModel) else []
    if unknown:
        raise TypeError(f"{component.__name__} needs {unknown[0]!r}, which is none of {', '.join(sorted(NEEDS))}")
    if issubclass(component, Metric) and component.unit not in set(Unit):
        raise TypeError(
            f"{component.__name__} has a unit that is none of {', '.join(repr(str(unit)) for unit in Unit)}"
        )
    if issubclass(component, Metric) and getattr(component, "direction", None) not in component.model_fields:
        raise TypeError(
            f"{component.__name__} needs a direction, at_least or at_most: derive it from AtLeast or AtMost"
        )


def _check_audit_check(check: type[AuditCheck]) -> None:
    required = [name for name, field in check.model_fields.items() if field.is_required()]
    if required:
        raise TypeError(f"{check.__name__} requires the option {required[0]!r}, and no policy gives a check options")
    if not check.plain_failure.strip():
        raise TypeError(f"{check.__name__} needs `plain_failure`: the public may read nothing else of its findings")
