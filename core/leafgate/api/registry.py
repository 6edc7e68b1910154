"""Finding plugins, one entry point at a time: a broken one never takes the others down."""

from __future__ import annotations

import hashlib
import inspect
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import Distribution, EntryPoint, entry_points
from io import StringIO
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import pluggy

from leafgate.api import hookspecs, report_formats
from leafgate.api.report_formats import DrawAttachment, ReportFormat
from leafgate.errors import InconclusiveError, InvalidError, PolicyError, Problem
from leafgate.ir import model_readers
from leafgate.ir.model_readers import ModelReader
from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import typer
    from typer.models import CommandInfo

    from leafgate.api import data_engines, decorators
    from leafgate.kernel import belief, checks, components, findings, knowledge, metrics, oracle, release
    from leafgate.kernel.checks import AuditCheck
    from leafgate.kernel.components import AttackModel, Component
    from leafgate.kernel.metrics import Metric
else:  # the help of commands needs none of them
    checks, components, metrics = (lazy(f"leafgate.kernel.{name}") for name in ("checks", "components", "metrics"))
    data_engines, decorators = lazy("leafgate.api.data_engines"), lazy("leafgate.api.decorators")
    belief, findings, knowledge = (lazy(f"leafgate.kernel.{name}") for name in ("belief", "findings", "knowledge"))
    oracle, release = lazy("leafgate.kernel.oracle"), lazy("leafgate.kernel.release")

Entry: TypeAlias = tuple[EntryPoint, str, str]
"""An entry point, and the canonical name and version of its distribution."""


@dataclass(frozen=True)
class NamedOffer:
    """A component that a plugin offers by its place, such as `leafgate_kadet.builder:Kadet`, and that is not imported.

    Attributes:
        use: the name that policies pick it by.
        hook: the hook that offers it.
        place: its module and its name in there.
        claim: of a metric the claim of releases that it checks, which may stand in brackets behind the place; empty
            where the brackets are, None where there are none: then it is imported wherever a release claims something.
    """

    use: str
    hook: str
    place: str
    claim: str | None = None

    @classmethod
    def of(cls, use: str, hook: str, text: str) -> NamedOffer:
        """The offer that a plugin writes as `package.module:Class` or `package.module:Class [claim]`."""
        place, bracket, claim = text.partition(" [")
        return cls(use, hook, place, claim.removesuffix("]") if bracket else None)

    def component(self) -> type[Component]:
        """Import it; TypeError for something that is no offer of its hook."""
        component = pkgutil.resolve_name(self.place)
        _check_offer(component, component_hooks()[self.hook], self.hook)
        if self.use != use_of(component):
            raise TypeError(f"{self.hook}() offers {component.__name__} as {self.use!r}, and its `use` is another")
        if self.claim is not None and self.claim != (getattr(component, "checks", None) or ""):
            raise TypeError(f"{self.hook}() offers {component.__name__} with another claim than it `checks`")
        return component  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Plugin:
    """One entry point: where it comes from, what it offers, or why it cannot.

    `offers` are imported; `not_imported` are those that nobody has asked for yet. `may_check`
    says of a broken plugin that it has a hook for checks, which would run in every audit. `tried` plugins are
    not installed: classes of a program, or one file, whose digest is `file_sha256`.
    """

    name: str
    distribution: str
    version: str
    offers: tuple[type[Component], ...] = ()
    not_imported: tuple[NamedOffer, ...] = ()
    commands: tuple[typer.Typer, ...] = ()
    formats: tuple[ReportFormat, ...] = ()
    attachments: tuple[tuple[str, DrawAttachment], ...] = ()
    readers: tuple[ModelReader, ...] = ()
    functions: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    may_check: bool = False
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

    @property
    def by_name(self) -> dict[str, type[Component]]:
        """What a policy can pick, by its `use`, all imported; PolicyError when two plugins offer one name."""
        for offer in self._not_imported.values():
            self._import(offer)
        return {**self.imported, **self._imported_later}

    def component(self, use: str) -> type[Component] | None:
        """What a policy picks by this name, imported; None where no plugin offers it, or what it offers is broken.

        PolicyError where two plugins offer it.
        """
        component = self.imported.get(use)
        if use in self.clashes:
            raise PolicyError.listing([self.clashes[use]])
        if component is None and use in self._not_imported:
            return self._import(self._not_imported[use])
        return component

    @cached_property
    def _not_imported(self) -> dict[str, NamedOffer]:
        every = (offer for plugin in self.entries for offer in plugin.not_imported)
        return {offer.use: offer for offer in every if offer.use not in self.clashes}

    @cached_property
    def _imported_later(self) -> dict[str, type[Component]]:
        """What was asked for after the plugins were loaded."""
        return {}

    def _import(self, offer: NamedOffer) -> type[Component] | None:
        """The component; None where it cannot be imported: `leafgate plugins` says why."""
        if offer.use not in self._imported_later:
            try:
                self._imported_later[offer.use] = offer.component()
            except (Exception, SystemExit):
                return None
        return self._imported_later[offer.use]

    @cached_property
    def clashes(self) -> dict[str, Problem]:
        """What is wrong with each name that two plugins offer: nobody can tell which of both is meant."""
        offered, found = dict[str, Plugin](), dict[str, Problem]()
        for plugin in self.entries:
            for use in (*map(use_of, plugin.offers), *(offer.use for offer in plugin.not_imported)):
                if use in offered:
                    other = offered[use]
                    what = f"{plugin.origin} ({plugin.name}) and {other.origin} ({other.name}) both offer {use!r}"
                    hint = "uninstall one, or list the plugins you trust under `plugins:`"
                    found[use] = Problem("plugins", what, hint)
                offered[use] = plugin
        return found

    @cached_property
    def imported(self) -> dict[str, type[Component]]:
        """What was imported when the plugins were loaded, by its `use`.

        Names that two plugins offer are left out; PolicyError where both were imported, since somebody needs them, and
        where one is that of a check, which every audit needs.
        """
        every = [component for plugin in self.entries for component in plugin.offers]
        n_needed = Counter(map(use_of, every))
        n_needed.update(use_of(each) for each in every if self.clashes and issubclass(each, checks.AuditCheck))
        if problems := [problem for use, problem in self.clashes.items() if n_needed[use] > 1]:
            raise PolicyError.listing(problems)
        return {use_of(component): component for component in every if use_of(component) not in self.clashes}

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

    def attachment(self, name: str) -> DrawAttachment | None:
        """What draws an attachment; None where no plugin offers it, PolicyError where two do."""
        found = [(draw, plugin) for plugin in self.entries for offered, draw in plugin.attachments if offered == name]
        if len(found) > 1:
            names = " and ".join(f"{plugin.origin} ({plugin.name})" for _, plugin in found)
            raise PolicyError(f"{names} both offer the attachment {name!r}", place="plugins", remedy="uninstall one")
        return found[0][0] if found else None

    def function(self, name: str) -> Any:
        """The function that a plugin offers by this name.

        Raises:
            InconclusiveError: no plugin offers it.
            PolicyError: two plugins do.
        """
        found = [(home, plugin) for plugin in self.entries for offered, home in plugin.functions if offered == name]
        if len(found) > 1:
            names = " and ".join(f"{plugin.origin} ({plugin.name})" for _, plugin in found)
            raise PolicyError(f"{names} both offer the function {name!r}", place="plugins", remedy="uninstall one")
        if not found:
            remedy = "install leafgate completely, or list it under `plugins:`"
            raise InconclusiveError(f"no installed plugin offers the function {name!r}", remedy=remedy)
        return pkgutil.resolve_name(found[0][0])

    @cached_property
    def readers(self) -> tuple[ModelReader, ...]:
        """The readers of model files, sorted by name; PolicyError when two plugins offer one name."""
        offered: dict[str, tuple[ModelReader, Plugin]] = {}
        problems = []
        for plugin in self.entries:
            for new in plugin.readers:
                if new.name in offered:
                    source = offered[new.name][1]
                    names = f"{plugin.origin} ({plugin.name}) and {source.origin} ({source.name})"
                    remedy = "uninstall one, or list the plugins you trust under `plugins:`"
                    problems.append(Problem("plugins", f"{names} both offer the model reader {new.name!r}", remedy))
                offered.setdefault(new.name, (new, plugin))
        if problems:
            raise PolicyError.listing(problems)
        return tuple(reader for _, (reader, _) in sorted(offered.items()))

    def kind(self, base: type[Component]) -> list[type[Component]]:
        """The components of one kind, sorted by name; those that were not imported are."""
        for offer in self._not_imported.values():
            if issubclass(component_hooks()[offer.hook], base) or issubclass(base, component_hooks()[offer.hook]):
                self._import(offer)
        return self._sorted(base, {**self.imported, **self._imported_later})

    def checkers(self, claim: str) -> list[type[Metric]]:
        """The metrics that check a claim of releases, sorted by name; none with another is imported.

        Raises:
            InconclusiveError: one that may check it cannot be imported, or another plugin has its name.
        """
        for plugin in self.entries if self.clashes else ():
            named = [offer.use for offer in plugin.not_imported if offer.claim in (claim, None)]
            made = [use_of(each) for each in plugin.offers if getattr(each, "checks", None) == claim]
            if clashing := [use for use in (*named, *made) if use in self.clashes]:
                raise InconclusiveError.listing([self.clashes[clashing[0]]])
        offers = [each for each in self._not_imported.values() if each.hook == "privacy_metrics"]
        for offer in offers:
            if offer.claim in (claim, None) and self._import(offer) is None:
                message = f"the metric {offer.use!r}, which may check it, cannot be imported"
                raise InconclusiveError(message, remedy="`leafgate plugins` says why")
        found = self._sorted(metrics.Metric, {**self.imported, **self._imported_later})
        return [each for each in found if issubclass(each, metrics.Metric) and each.checks == claim]

    def imported_kind(self, base: type[Component]) -> list[type[Component]]:
        """The components of one kind that were imported when the plugins were loaded, sorted by name."""
        return self._sorted(base, self.imported)

    @staticmethod
    def _sorted(base: type[Component], components: Mapping[str, type[Component]]) -> list[type[Component]]:
        return [component for _, component in sorted(components.items()) if issubclass(component, base)]

    def origin(self, component: Component | type[Component]) -> str:
        """The distribution and version a component came from."""
        wanted = component if isinstance(component, type) else type(component)
        later = [self._not_imported[use] for use, each in self._imported_later.items() if each is wanted]
        origins = (p.origin for p in self.entries if wanted in p.offers or set(later) & set(p.not_imported))
        return next(origins, "unknown")


def use_of(component: type[Component]) -> str:
    """The name a policy picks the class by."""
    return str(component.model_fields["use"].default)


def component_hooks() -> dict[str, type[Component]]:
    """The hooks that offer components, and the base class of what each offers."""
    return {
        "tree_builders": components.TreeBuilder,
        "attack_models": components.AttackModel,
        "privacy_metrics": metrics.Metric,
        "audit_checks": checks.AuditCheck,
        "data_sources": components.DataSource,
    }


def load_plugins(pins: Sequence[str] | None = None, only: Collection[str] | None = None) -> Plugins:
    """Load what is installed under the entry-point group, or only what `pins` trusts.

    Args:
        pins: distribution names, with a version range if wanted ("acme-attacks>=1.2").
        only: the names of the components that are needed; others that a plugin offers by its place are imported when
            somebody asks for them, and commands are left out.

    Raises:
        PolicyError: a pin is malformed, or nothing installed satisfies it.
    """
    beside = _BESIDE.get()
    if beside and pins is not None:
        message = f"trusts distributions, and {beside[0].name} is of none"
        raise PolicyError(message, place="plugins", remedy="leave `plugins` out of the policy while you try it")
    return Plugins((*(_load(*entry, only) for entry in _installed(pins)), *beside))


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
    for component in components:
        hook, base = next((hook, base) for hook, base in component_hooks().items() if issubclass(component, base))
        _check_offer(component, base, hook)
    return Plugin("this program", "this-program", "0", offers=tuple(dict.fromkeys(components)), tried=True)


def plugin_of_file(path: Path) -> Plugin:
    """Run a Python file, and the plugin that it is.

    Raises:
        InvalidError: the file cannot be read or run, or it is no plugin.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidError(f"cannot be read: {error.strerror}", place=path.name) from None
    sha256 = hashlib.sha256(content).hexdigest()
    module = ModuleType(f"leafgate_tried_{sha256[:16]}")
    module.__file__ = str(path)
    plugin = Plugin(path.name, path.name, sha256[:16], tried=True, file_sha256=sha256)
    sys.modules[module.__name__] = module  # pydantic and pickle look for the module of a class there
    try:
        with redirect_stdout(StringIO()):
            exec(compile(content, str(path), "exec"), vars(module))  # noqa: S102  whoever runs leafgate names the file
        return replace(plugin, **offered_by(module))
    except (Exception, SystemExit) as error:
        said = f": {error}" if isinstance(error, ImportError | SyntaxError | TypeError) else ""
        message = f"is no plugin that can be used: {type(error).__name__}{said}"
        raise InvalidError(message, place=path.name, remedy="see docs/reference/plugins.md") from None


def load_commands() -> Iterator[tuple[Plugin, Sequence[typer.Typer]]]:
    """The commands that each plugin offers; its components are not imported."""
    for point, distribution, version in _installed(None):
        yield Plugin(point.name, distribution, version), _commands_at(point)


def command_name(command: CommandInfo) -> str:
    """The name of a command: the one it is given, or else that of its function, as typer writes it."""
    return command.name or getattr(command.callback, "__name__", "").replace("_", "-")


def _commands_at(point: EntryPoint) -> Sequence[typer.Typer]:
    """The commands at an entry point; none where it cannot be loaded, and `leafgate plugins` says why."""
    try:
        with _hooks_of(point.load()) as hook:
            return _commands(hook)
    except (Exception, SystemExit):
        return ()


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


def _load(point: EntryPoint, distribution: str, version: str, only: Collection[str] | None) -> Plugin:
    plugin, module = Plugin(point.name, distribution, version), None
    try:
        with redirect_stdout(StringIO()):  # which may hold the one document of a command
            module = point.load()
            return replace(plugin, **offered_by(module, only))
    except (Exception, SystemExit) as error:
        may_check = module is not None and "audit_checks" in vars(module)
        return replace(plugin, problem=f"{type(error).__name__}: {error}", may_check=may_check)


def offered_by(module: ModuleType, only: Collection[str] | None = None) -> dict[str, Any]:
    """What one plugin module offers through the hooks: the fields of its `Plugin`.

    Args:
        module: the module that the entry point names.
        only: the names of the components that are needed now; None for all, and for commands.

    Raises:
        TypeError: something that it offers is no offer.
    """
    with _hooks_of(module) as hook:
        found = _offers(hook, only)
    return found | {"offers": (*found["offers"], *_decorated(module, found["offers"]))}


def _decorated(module: ModuleType, offered: Collection[type[Component]]) -> list[type[Component]]:
    """The components that decorators made in the module, and that no hook offers already."""
    if "leafgate.api.decorators" not in sys.modules:  # whoever has some has imported it
        return []
    found = [each for each in decorators.made_of_functions(module) if each not in offered]
    for component in found:
        hook, base = next((hook, base) for hook, base in component_hooks().items() if issubclass(component, base))
        _check_offer(component, base, hook)
    return found


def _offers(hook: Any, only: Collection[str] | None) -> dict[str, Any]:
    offers: list[type[Component]] = []
    not_imported: list[NamedOffer] = []
    for name, base in component_hooks().items():
        for offered in getattr(hook, name)():
            if not isinstance(offered, Mapping):
                for component in offered:
                    _check_offer(component, base, name)
                offers += offered
                continue
            named = [NamedOffer.of(use, name, text) for use, text in offered.items()]
            # checks run in every audit: one that cannot be imported makes its plugin a broken one
            now = [each for each in named if only is None or each.use in only or name == "audit_checks"]
            offers += [each.component() for each in now]
            not_imported += [each for each in named if each not in now]
    components_offered = {"offers": tuple(offers), "not_imported": tuple(not_imported)}
    formats = _flat(hook.report_formats())
    for offered in formats:
        _check_format(offered)
    readers = _flat(hook.model_readers())
    for offered in readers:
        _check_reader(offered)
    offered_besides = {"formats": tuple(formats), "attachments": _attachments(hook), "readers": tuple(readers)}
    commands = _commands(hook) if only is None else ()
    return components_offered | offered_besides | {"commands": commands, "functions": _functions(hook)}


_IDLE_MANAGERS: list[pluggy.PluginManager] = []
"""Managers that know the hooks and have no plugin: to read the hooks' specification takes longer than to register."""


@contextmanager
def _hooks_of(module: ModuleType) -> Iterator[Any]:
    """The hooks of a plugin module; TypeError if it was made for another interface, or has a hook that is none.

    Each module has a manager to itself meanwhile. After an error its manager is dropped with whatever is wrong in it.
    """
    _refuse_other_api(module)
    _refuse_unmarked_hooks(module)
    manager = _IDLE_MANAGERS.pop() if _IDLE_MANAGERS else _new_manager()
    manager.register(module)
    manager.check_pending()
    yield manager.hook
    manager.unregister(module)
    _IDLE_MANAGERS.append(manager)


def _refuse_unmarked_hooks(module: ModuleType) -> None:
    """TypeError for a function that has the name of a hook, and not its mark: nobody would call it."""
    marker = f"{hookspecs.GROUP}_impl"
    for name in HOOKS:
        function = vars(module).get(name)
        if (
            isinstance(function, FunctionType)
            and function.__module__ == module.__name__
            and not hasattr(function, marker)
        ):
            raise TypeError(f"{name}() has no `@hookimpl`, so that nobody calls it")


HOOKS = tuple(name for name, each in vars(hookspecs).items() if hasattr(each, f"{hookspecs.GROUP}_spec"))
"""The names of all hooks."""


def _new_manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    return manager


def _functions(hook: Any) -> tuple[tuple[str, str], ...]:
    """The names and places of the functions that the hook offers; TypeError for something that is no such mapping."""
    listed: list[tuple[str, str]] = []
    for offered in hook.functions():
        named = isinstance(offered, Mapping) and all(isinstance(text, str) for pair in offered.items() for text in pair)
        if not named:
            raise TypeError("functions() offers something that is no mapping from names to places of functions")
        listed += offered.items()
    return tuple(listed)


def _commands(hook: Any) -> tuple[typer.Typer, ...]:
    apps = _flat(hook.commands())
    if not all(hasattr(app, "registered_commands") for app in apps):
        raise TypeError("commands() offers something that is no typer app")
    from typer.main import get_command

    for app in apps:
        if not (app.registered_commands or app.registered_groups):
            continue
        try:  # otherwise every other command and `--help` would end in its error
            get_command(app)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise TypeError(f"commands() offers a command that cannot be made of its function: {said}") from error
    return tuple(apps)


def _refuse_other_api(module: ModuleType) -> None:
    """Raise TypeError for a plugin whose `leafgate_api` does not contain this version of the plugin interface."""
    stated = getattr(module, "leafgate_api", None)
    if stated == hookspecs.API_RANGE:
        return  # without the import of `packaging`, which takes longer than all else here
    if stated is None:
        raise TypeError(f'does not state its interface: write `leafgate_api = "{hookspecs.API_RANGE}"` in its module')
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        fits = hookspecs.API_VERSION in SpecifierSet(stated)
    except (InvalidSpecifier, TypeError, AttributeError):
        raise TypeError(f'`leafgate_api` is no range of versions such as "{hookspecs.API_RANGE}"') from None
    if not fits:
        raise TypeError(f"made for leafgate.api {stated}, this is {hookspecs.API_VERSION}")


def _flat(lists: Iterable[Iterable[Any]]) -> list[Any]:
    return [item for items in lists for item in items]


def _attachments(hook: Any) -> tuple[tuple[str, DrawAttachment], ...]:
    offers = hook.report_attachments()
    if not all(isinstance(each, Mapping) and all(map(callable, each.values())) for each in offers):
        raise TypeError("report_attachments() offers something that is no mapping from names to functions")
    return tuple(_flat(each.items() for each in offers))


def _check_format(offered: object) -> None:
    if not isinstance(offered, ReportFormat):
        raise TypeError("report_formats() offers something that is no ReportFormat")
    if problems := report_formats.mistakes(offered):
        raise TypeError(f"report_formats() offers a format that cannot be used: {'; '.join(problems)}")


def _check_reader(offered: object) -> None:
    if not isinstance(offered, ModelReader):
        raise TypeError("model_readers() offers something that is no ModelReader")
    if problems := model_readers.mistakes(offered):
        raise TypeError(f"model_readers() offers a reader that cannot be used: {'; '.join(problems)}")


def _check_offer(component: object, base: type[Component], hook: str) -> None:
    if not (isinstance(component, type) and issubclass(component, base)):
        raise TypeError(f"{hook}() offers something that is no {base.__name__} class")
    field = component.model_fields["use"]
    if get_args(field.annotation) != (field.default,):
        raise TypeError(f'{component.__name__} needs a name: use: Literal["..."] = "..."')
    _check_method(component, hook)
    if issubclass(component, checks.AuditCheck):
        _check_audit_check(component)
    if issubclass(component, components.AttackModel):
        _check_attack(component)
    if issubclass(component, metrics.Metric):
        _check_metric(component)
    if issubclass(component, components.DataSource) and (problems := data_engines.suffix_mistakes(component)):
        raise TypeError(f"{component.__name__} cannot be used: {'; '.join(problems)}")


def _check_metric(metric: type[metrics.Metric]) -> None:
    if metric.unit not in set(findings.Unit):
        raise TypeError(
            f"{metric.__name__} has a unit that is none of {', '.join(repr(str(unit)) for unit in findings.Unit)}"
        )
    if getattr(metric, "direction", None) not in metric.model_fields:
        raise TypeError(f"{metric.__name__} needs a direction, at_least or at_most: derive it from AtLeast or AtMost")
    of_people = issubclass(metric, metrics.PersonMetric)
    allowed = metrics.ABOUT_GROUPS | metrics.ABOUT_SECRETS if of_people else frozenset(belief.BELIEF_TYPES)
    if not isinstance(metric.judges, frozenset) or not metric.judges <= allowed:
        names = ", ".join(kind.__name__ for kind in belief.BELIEF_TYPES if kind in allowed)
        raise TypeError(f"{metric.__name__} needs `judges`, a frozenset of types of belief: {names}")
    if not issubclass(metric, metrics.PersonMetric | metrics.ReleaseMetric):
        raise TypeError(f"{metric.__name__} scores neither people nor the release: derive it from AtLeast or AtMost")
    if of_people and not metric.judges:
        raise TypeError(f"{metric.__name__} needs `judges`, the types of belief that it scores people by")


def _check_attack(attack: type[AttackModel]) -> None:
    _check_words(attack, "needs", knowledge.NEEDS)
    _check_words(attack, "reads", get_args(release.Counted))
    _check_words(attack, "models", get_args(release.Model))
    _check_words(attack, "parts", ("trees", "alternatives", "records"))
    _check_words(attack, "access_levels", oracle.ACCESS_LEVELS)
    if not attack.access_levels:
        raise TypeError(f"{attack.__name__} needs `access_levels`: one or more of {', '.join(oracle.ACCESS_LEVELS)}")
    for drawn in {"candidates", "targets"} & set(attack.needs):
        if "people" in attack.needs:
            raise TypeError(f"{attack.__name__} needs `{drawn}`, so it cannot need `people`, who are in the table")
    if {"candidates", "targets"} <= set(attack.needs):
        raise TypeError(f"{attack.__name__} needs `candidates` and `targets`, and an attack has one of both")


def _check_words(component: type[Component], variable: str, known: Iterable[str]) -> None:
    """TypeError where a class variable is no set of these words."""
    words, name = getattr(component, variable), component.__name__
    if isinstance(words, str) or not isinstance(words, Collection):
        raise TypeError(f"{name}: `{variable}` is a set of words, such as frozenset({{{min(known)!r}}})")
    if unknown := sorted(set(words) - set(known), key=str):
        raise TypeError(f"{name}: `{variable}` has {unknown[0]!r}, which is none of {', '.join(sorted(known))}")


def _check_method(component: type[Component], hook: str) -> None:
    """TypeError where the method that does the work does not take what it is given."""
    name, given = METHODS[hook]
    method = inspect.signature(getattr(component, name))
    try:  # a builder may ask for more, by name
        (method.bind_partial if hook == "tree_builders" else method.bind)(None, *given)
    except TypeError:
        wanted = f"def {name}(self, {', '.join(given)})"
        raise TypeError(f"{component.__name__}: `{name}` cannot be called as `{wanted}`") from None


METHODS = {
    "tree_builders": ("build", ("table", "rng")),
    "attack_models": ("infer", ("release", "known")),
    "privacy_metrics": ("score", ("case",)),
    "audit_checks": ("run", ("context",)),
    "data_sources": ("read", ("file",)),
}
"""The method of each kind of component, and what it is given."""


def _check_audit_check(check: type[AuditCheck]) -> None:
    required = [name for name, field in check.model_fields.items() if field.is_required()]
    if required:
        raise TypeError(f"{check.__name__} requires the option {required[0]!r}, and no policy gives a check options")
    if not check.plain_failure.strip():
        raise TypeError(f"{check.__name__} needs `plain_failure`: the public may read nothing else of its findings")
