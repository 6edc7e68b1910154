"""Finding and loading plugins, one entry point at a time: a broken one never takes the others down."""

from __future__ import annotations

import pkgutil
import re
import sys
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import Distribution, EntryPoint, entry_points
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from pluggy import PluginManager

from leafgate.api import hookspecs
from leafgate.api.offers import (
    check_component,
    check_module,
    component_hooks,
    items_of,
)
from leafgate.api.report_formats import ReportFormat
from leafgate.errors import (
    InconclusiveError,
    InvalidError,
    NoReleaseError,
    PolicyError,
    Problem,
    ReleaseError,
    raising_frame,
)
from leafgate.folders import content_digest
from leafgate.ir.model_readers import ModelReader
from leafgate.lazy_loading import lazy
from leafgate.plugin_output import is_output_shown, plugin_output_dropped

if TYPE_CHECKING:
    import typer
    from typer.models import CommandInfo

    from leafgate.api import decorators
    from leafgate.kernel.components import Component
    from leafgate.kernel.metrics import Metric
else:  # the help of commands needs none of them
    decorators = lazy("leafgate.api.decorators")

Entry: TypeAlias = tuple[EntryPoint, str, str]
"""An entry point, and the canonical name and version of its distribution."""


@dataclass(frozen=True)
class Offer:
    """A component that a plugin offers: a class, or its place, from which it is imported when it is first asked for.

    Attributes:
        use: the name that policies pick it by.
        hook: the hook that offers it.
        offered: the class, or its module and its name in there (`leafgate_plugins.kadet.builder:Kadet`).
        claim: of a metric's place the claim of releases that it checks, which may stand in brackets behind it; empty
            where the brackets are, None where there are none: then it is imported wherever a release claims something.
    """

    use: str
    hook: str
    offered: type[Component] | str
    claim: str | None = None

    @classmethod
    def of(cls, item: type[Component] | tuple[str, str], hook: str) -> Offer:
        """What a hook returns: a class, or a name and `package.module:Class` or `package.module:Class [claim]`."""
        if isinstance(item, type):
            return cls(use_of(item), hook, item)
        place, bracket, claim = item[1].partition(" [")
        return cls(item[0], hook, place, claim.removesuffix("]") if bracket else None)

    @cached_property
    def component(self) -> type[Component]:
        """Import it; TypeError for something that is no offer of its hook."""
        if not isinstance(self.offered, str):
            return self.offered
        component = pkgutil.resolve_name(self.offered)
        check_component(component, self.hook)
        if self.use != use_of(component):
            raise TypeError(f"{self.hook}() offers {component.__name__} as {self.use!r}, and its `use` is another")
        if self.claim is not None and self.claim != (getattr(component, "checks", None) or ""):
            raise TypeError(f"{self.hook}() offers {component.__name__} with another claim than it `checks`")
        return component  # type: ignore[no-any-return]

    def if_usable(self) -> type[Component] | None:
        """Import it; None where it cannot be imported: `leafgate plugins` says why."""
        if "component" in vars(self):  # it is imported
            return self.component
        try:
            with plugin_output_dropped():
                return self.component
        except KeyboardInterrupt:
            raise
        except BaseException:
            return None

    def may_be(self, base: type[Component]) -> bool:
        """May it be of this kind, as far as its hook says?"""
        kind = component_hooks()[self.hook]
        return issubclass(kind, base) or issubclass(base, kind)


@dataclass(frozen=True)
class Plugin:
    """One entry point: where it comes from, what it offers, or why it cannot.

    `tried` plugins are not installed: classes of a program, or one file, whose digest is `file_sha256`.
    """

    name: str
    distribution: str
    version: str
    offers: tuple[Offer, ...] = ()
    commands: tuple[typer.Typer, ...] = ()
    formats: tuple[ReportFormat, ...] = ()
    readers: tuple[ModelReader, ...] = ()
    problem: str = ""
    tried: bool = False
    file_sha256: str = ""

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

    @property
    def tried(self) -> dict[str, str]:
        """The digest of the file of each plugin that is not installed, by its name; empty for classes of a program."""
        return {plugin.name: plugin.file_sha256 for plugin in self.entries if plugin.tried}

    @cached_property
    def clashes(self) -> dict[str, Problem]:
        """What is wrong with each name of a component that two plugins offer: nobody can tell which is meant."""
        return _clashes((offer.use, repr(offer.use), plugin) for plugin in self.entries for offer in plugin.offers)

    @cached_property
    def offers(self) -> dict[str, Offer]:
        """What a policy can pick, sorted by its `use`; names that two plugins offer are left out."""
        every = sorted((offer for plugin in self.entries for offer in plugin.offers), key=attrgetter("use"))
        return {offer.use: offer for offer in every if offer.use not in self.clashes}

    @property
    def by_name(self) -> dict[str, type[Component]]:
        """What a policy can pick, by its `use`, all imported."""
        return {use_of(component): component for component in self._usable(self.offers.values())}

    def component(self, use: str) -> type[Component] | None:
        """What a policy picks by this name, imported; None where no plugin offers it, or what it offers is broken.

        PolicyError where two plugins offer it.
        """
        if use in self.clashes:
            raise PolicyError.listing([self.clashes[use]])
        return self.offers[use].if_usable() if use in self.offers else None

    def kind(self, base: type[Component], named: Collection[str] | None = None) -> list[type[Component]]:
        """The components of one kind, imported and sorted by name; of those that are `named`, if it is given."""
        asked = (offer for offer in self.offers.values() if named is None or offer.use in named)
        return [each for each in self._usable(offer for offer in asked if offer.may_be(base)) if issubclass(each, base)]

    @staticmethod
    def _usable(offers: Iterable[Offer]) -> list[type[Component]]:
        return [component for offer in offers if (component := offer.if_usable()) is not None]

    @cached_property
    def formats_by_name(self) -> dict[str, OfferedFormat]:
        """The report formats, sorted by name; PolicyError when two plugins offer one name or one file name."""
        every = [(each, plugin) for plugin in self.entries for each in plugin.formats]
        names = [(each.name, f"the report format {each.name!r}", plugin) for each, plugin in every]
        _refuse_clashes([*names, *((each.filename, repr(each.filename), plugin) for each, plugin in every)])
        return {each.name: OfferedFormat(each, plugin.origin) for each, plugin in sorted(every, key=_name_of)}

    @cached_property
    def readers(self) -> tuple[ModelReader, ...]:
        """The readers of model files, sorted by name; PolicyError when two plugins offer one name."""
        every = [(each, plugin) for plugin in self.entries for each in plugin.readers]
        _refuse_clashes((each.name, f"the model reader {each.name!r}", plugin) for each, plugin in every)
        return tuple(reader for reader, _ in sorted(every, key=_name_of))

    def checkers(self, claim: str) -> list[type[Metric]]:
        """The metrics that check a claim of releases, sorted by name; none with another is imported.

        Raises:
            InconclusiveError: one that may check it cannot be imported, or another plugin has its name.
        """
        found: dict[str, Any] = {}
        for offer in (offer for plugin in self.entries for offer in plugin.offers if offer.hook == "privacy_metrics"):
            component = offer.if_usable() if offer.claim in (claim, None) else None
            if offer.claim not in (claim, None) or (component and getattr(component, "checks", None) != claim):
                continue
            if offer.use in self.clashes:
                raise InconclusiveError.listing([self.clashes[offer.use]])
            if component is None:
                message = f"the metric {offer.use!r}, which may check it, cannot be imported"
                raise InconclusiveError(message, remedy="`leafgate plugins` says why")
            found[offer.use] = component
        return [metric for _, metric in sorted(found.items())]

    def origin(self, component: Component | type[Component]) -> str:
        """The distribution and version a component came from."""
        wanted = component if isinstance(component, type) else type(component)
        found = self.offers.get(use_of(wanted))
        return "unknown" if found is None or found.if_usable() is not wanted else self._origins[found.use]

    @cached_property
    def _origins(self) -> dict[str, str]:
        """The distribution and version of what a policy can pick, by its `use`."""
        return {offer.use: plugin.origin for plugin in self.entries for offer in plugin.offers}


def _clashes(offered: Iterable[tuple[str, str, Plugin]]) -> dict[str, Problem]:
    """What is wrong with each name that is offered twice: nobody can tell which of both is meant.

    Args:
        offered: names, with what each is the name of, and the plugin that offers it.
    """
    first, found = dict[str, Plugin](), dict[str, Problem]()
    for name, what, plugin in offered:
        if name in first:
            found[name] = _clash(plugin, first[name], what)
        first[name] = plugin
    return found


def _refuse_clashes(offered: Iterable[tuple[str, str, Plugin]]) -> None:
    """PolicyError for names that are offered twice."""
    if found := _clashes(offered):
        raise PolicyError.listing(list(found.values()))


def _clash(plugin: Plugin, other: Plugin, what: str) -> Problem:
    """Two plugins offer one thing, and nobody can tell which of both is meant."""
    names = f"{plugin.origin} ({plugin.name}) and {other.origin} ({other.name})"
    hint = "uninstall one, or list the plugins you trust under `plugins:`"
    return Problem("plugins", f"{names} both offer {what}", hint)


def _name_of(offered: tuple[ReportFormat | ModelReader, Plugin]) -> str:
    return offered[0].name


def use_of(component: type[Component]) -> str:
    """The name a policy picks the class by."""
    return str(component.model_fields["use"].default)


TO_AUTHORS = "report it to the authors of the plugin"
"""What to do about a mistake of a plugin."""


@contextmanager
def isolate_plugin_errors(component: Component | type[Component], plugins: Plugins) -> Iterator[None]:
    """Turn whatever a plugin raises into an InconclusiveError that names the plugin; what it prints is dropped.

    Errors about the policy or a release file pass, and so do NoReleaseError and InconclusiveError. Of any other error
    only its type and the line are reported: its own text may hold a cell of the data, and so may what is printed. For
    who writes the plugin, both go to stderr where the environment variable LEAFGATE_TRACEBACK is 1.
    """
    kind = component if isinstance(component, type) else type(component)
    try:
        with plugin_output_dropped():
            yield
    except (PolicyError, ReleaseError, InconclusiveError, NoReleaseError):
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if is_output_shown():
            traceback.print_exc()
        module, function, line = raising_frame(error, kind.__module__.partition(".")[0])
        where = f", line {line} of {module}.{function}" if module else ""
        origin = f"{use_of(kind)} ({plugins.origin(component)})"
        raise InconclusiveError(f"{origin} failed: {type(error).__name__}{where}", remedy=TO_AUTHORS) from error


def load_plugins(pins: Sequence[str] | None = None, *, everything: bool = False) -> Plugins:
    """Load what is installed under the entry-point group, or only what `pins` trusts.

    Args:
        pins: distribution names, with a version range if wanted ("acme-attacks>=1.2").
        everything: import all that plugins offer, commands too, so that those are broken of which something cannot be
            imported; otherwise what they offer by its place is imported when somebody asks for it.

    Raises:
        PolicyError: a pin is malformed, or nothing installed satisfies it.
    """
    beside = _BESIDE.get()
    if beside and pins is not None:
        message = f"trusts distributions, and {beside[0].name} is of none"
        raise PolicyError(message, place="plugins", remedy="leave `plugins` out of the policy while you try it")
    manager, installed = _new_manager(), _installed(pins)
    with plugin_output_dropped():  # once for all of them
        return Plugins((*(_load(manager, *entry, everything=everything) for entry in installed), *beside))


def load_trusted(document: Mapping[str, Any], *, everything: bool = False) -> Plugins:
    """Load the plugins that a policy trusts; every installed one where its `plugins` is no list of texts.

    With `everything`, and where the policy lists them, all that they offer is imported. PolicyError as `load_plugins`.
    """
    pins = document.get("plugins")
    pinned = isinstance(pins, list) and all(isinstance(pin, str) for pin in pins)
    return load_plugins(pins, everything=True) if pinned else load_plugins(everything=everything)


def untrusted(plugins: Plugins) -> list[str]:
    """The installed distributions of which none of these plugins is; nothing of them is imported."""
    trusted = {plugin.distribution for plugin in plugins.entries}
    return sorted({distribution for _, distribution, _ in _installed(None)} - trusted)


_BESIDE: ContextVar[tuple[Plugin, ...]] = ContextVar("plugins that are tried without being installed", default=())


@contextmanager
def plugins_beside(*plugins: Plugin) -> Iterator[None]:
    """Have `load_plugins` find these plugins, too, which are not installed; a policy that pins its plugins has none."""
    before = _BESIDE.set((*_BESIDE.get(), *plugins))
    try:
        yield
    finally:
        _BESIDE.reset(before)


def plugin_of_classes(components: Sequence[type[Component]]) -> Plugin:
    """A plugin that offers these classes, of a program's own; TypeError for one that cannot be offered."""
    return Plugin("this program", "this-program", "0", offers=offers_of(components), tried=True)


def offers_of(components: Iterable[type[Component]]) -> tuple[Offer, ...]:
    """Each class as the hook of its kind offers it; TypeError for one that cannot be offered."""
    offers = []
    for component in dict.fromkeys(components):
        hook = next(hook for hook, base in component_hooks().items() if issubclass(component, base))
        check_component(component, hook)
        offers.append(Offer.of(component, hook))
    return tuple(offers)


def plugin_of_file(path: Path) -> Plugin:
    """Run a Python file, and the plugin that it is.

    Raises:
        InvalidError: the file cannot be read or run, or it is no plugin.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidError(f"cannot be read: {error.strerror}", place=path.name) from None
    sha256 = content_digest(content)
    module = ModuleType(f"leafgate_tried_{sha256[:16]}")
    module.__file__ = str(path)
    plugin = Plugin(path.name, path.name, sha256[:16], tried=True, file_sha256=sha256)
    sys.modules[module.__name__] = module  # pydantic and pickle look for the module of a class there
    try:
        with plugin_output_dropped():
            exec(compile(content, str(path), "exec"), vars(module))  # noqa: S102  whoever runs leafgate names the file
            offered = offered_by(module)
        if not any(offered.values()):
            raise TypeError("it offers nothing: mark its hooks with `@hookimpl`, or its functions with `@attack(...)`")
        return replace(plugin, **offered)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        where, _, line = raising_frame(error, module.__name__)
        said = said_of_code(error) or (f", line {line}" if where == module.__name__ else "")
        message = f"is no plugin that can be used: {type(error).__name__}{said}"
        raise InvalidError(message, place=path.name, remedy="see docs/reference/plugins.md") from None


def said_of_code(error: BaseException) -> str:
    """The text of an error that speaks of code, behind a colon; empty for others, whose text may hold a cell."""
    of_code = isinstance(error, ERRORS_OF_CODE) or type(error).__module__.startswith(("pydantic", "pluggy"))
    return f": {' '.join(str(error).split())}" if of_code else ""


ERRORS_OF_CODE = (AttributeError, ImportError, NameError, SyntaxError, TypeError)
"""Errors of a file whose text speaks of its code; that of others may hold anything."""


def load_commands() -> Iterator[tuple[Plugin, Sequence[typer.Typer]]]:
    """The commands that each plugin offers; its components are not imported.

    A plugin that cannot be loaded offers none, and `leafgate plugins` says why.
    """
    manager = _new_manager()
    for point, distribution, version in _installed(None):
        plugin, apps = Plugin(point.name, distribution, version), list[Any]()
        with suppress(Exception, SystemExit), plugin_output_dropped():
            module = point.load()
            _register(manager, module, f"{plugin.origin} ({plugin.name})")
            apps += _answers(manager, module, "commands")
        yield plugin, apps


def command_name(command: CommandInfo) -> str:
    """The name of a command: the one it is given, or else that of its function, as typer writes it."""
    return command.name or getattr(command.callback, "__name__", "").replace("_", "-")


def _installed(pins: Sequence[str] | None) -> list[Entry]:
    """The entry points, sorted by their distributions; those that `pins` trusts, if it is given."""
    points = [(point, point.dist) for point in entry_points(group=hookspecs.GROUP)]
    distributions = {id(distribution): distribution for _, distribution in points}
    # once for each distribution: whenever it is asked, it parses its metadata anew
    sources = {key: _source(distribution) for key, distribution in distributions.items()}
    installed = [(point, *sources[id(distribution)]) for point, distribution in points]
    installed.sort(key=lambda entry: (entry[1], entry[0].name))
    return installed if pins is None else _trusted(installed, pins)


def _source(distribution: Distribution | None) -> tuple[str, str]:
    """The canonical name and the version of a distribution."""
    if distribution is None:
        return "unknown", "0"
    metadata = distribution.metadata
    return _canonical(metadata["Name"]), metadata["Version"]


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


def _load(manager: PluginManager, point: EntryPoint, distribution: str, version: str, *, everything: bool) -> Plugin:
    plugin, module = Plugin(point.name, distribution, version), None
    try:
        with plugin_output_dropped():
            module = point.load()
            name = f"{plugin.origin} ({plugin.name})"
            return replace(plugin, **offered_by(module, manager, name, everything=everything))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        place, _, line = raising_frame(error, "" if module is None else module.__name__.partition(".")[0])
        where = f", line {line} of {place}" if place else ""
        return replace(plugin, problem=f"{type(error).__name__}{said_of_code(error) or where}")


def offered_by(
    module: ModuleType, manager: PluginManager | None = None, name: str | None = None, *, everything: bool = True
) -> dict[str, Any]:
    """What one plugin module offers through the hooks: the fields of its `Plugin`.

    Args:
        module: the module that the entry point names.
        manager: knows the plugins that were loaded before; left out, there are none.
        name: what it calls this plugin.
        everything: import what it offers by its place, and its commands.

    Raises:
        TypeError: something that it offers is no offer.
    """
    manager = manager or _new_manager()
    _register(manager, module, name)
    ask = partial(_answers, manager, module)
    offers = [Offer.of(item, hook) for hook in component_hooks() for item in ask(hook)]
    classes = [offer.component for offer in offers if everything or isinstance(offer.offered, type)]
    return {
        "offers": (*offers, *offers_of(_decorated(module, classes))),
        "commands": ask("commands") if everything else (),
        "formats": ask("report_formats"),
        "readers": ask("model_readers"),
    }


def _new_manager() -> PluginManager:
    """A manager that knows the hooks; all plugins that are loaded together have one."""
    manager = PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    return manager


def _register(manager: PluginManager, module: ModuleType, name: str | None) -> None:
    """TypeError for a module that is no plugin for this interface, or that another entry point names, too."""
    check_module(module)
    if manager.is_registered(module):
        raise TypeError(f"names the module {module.__name__!r}, and so does {manager.get_name(module)}: remove one")
    manager.register(module, name)


def _answers(manager: PluginManager, module: ModuleType, hook: str) -> tuple[Any, ...]:
    """What one plugin offers by a hook: each function is called by itself, so that its errors are its plugin's."""
    implementations = getattr(manager.hook, hook).get_hookimpls()
    answers = (each.function() for each in implementations if each.plugin is module)
    return tuple(item for answer in answers for item in items_of(answer, hook))


def _decorated(module: ModuleType, offered: Collection[type[Component]]) -> list[type[Component]]:
    """The components that decorators made in the module, and that no hook offers already."""
    if "leafgate.api.decorators" not in sys.modules:  # whoever has some has imported it
        return []
    return [each for each in decorators.made_of_functions(module) if each not in offered]
