"""The hooks of plugins, and checks of what they offer: a mistake is a TypeError that says what to write."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, get_args

from leafgate.api import hookspecs, report_formats
from leafgate.api.report_formats import ReportFormat
from leafgate.errors import nearest_name
from leafgate.ir import model_readers
from leafgate.ir.model_readers import ModelReader
from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    from leafgate.api import data_engines
    from leafgate.kernel import belief, components, findings, knowledge, metrics, oracle, release
    from leafgate.kernel.components import AttackModel, Component
else:  # the help of commands needs none of them
    components, metrics = lazy("leafgate.kernel.components"), lazy("leafgate.kernel.metrics")
    belief, findings, knowledge = (lazy(f"leafgate.kernel.{name}") for name in ("belief", "findings", "knowledge"))
    oracle, release = lazy("leafgate.kernel.oracle"), lazy("leafgate.kernel.release")
    data_engines = lazy("leafgate.api.data_engines")

MARK = f"{hookspecs.GROUP}_impl"
"""The attribute by which `hookimpl` marks a function."""
HOOKS = tuple(name for name, each in vars(hookspecs).items() if hasattr(each, f"{hookspecs.GROUP}_spec"))
"""The names of all hooks."""


def component_hooks() -> dict[str, type[Component]]:
    """The hooks that offer components, and the base class of what each offers."""
    return {
        "tree_builders": components.TreeBuilder,
        "attack_models": components.AttackModel,
        "privacy_metrics": metrics.Metric,
        "data_sources": components.DataSource,
    }


def check_module(module: ModuleType) -> None:
    """TypeError for a plugin that was made for another interface, or has a hook that cannot be called."""
    _check_api(module)
    for name, function in vars(module).items():
        mark = _mark(function)
        if mark is not None:
            _check_hook(name, function, mark)
        elif name in HOOKS and isinstance(function, FunctionType) and function.__module__ == module.__name__:
            raise TypeError(f"{name}() has no `@hookimpl`, so that nobody calls it")
        elif _is_other_callable(function) and (name in HOOKS or MARK in getattr(function, "__dict__", {})):
            raise TypeError(
                f"{name} is no plain function, so that nobody calls it: write `@hookimpl` above a `def` alone"
            )


def _mark(function: object) -> Mapping[str, Any] | None:
    """What `hookimpl` says of a function; other objects are not asked, because a lazy module would be imported."""
    return getattr(function, MARK, None) if isinstance(function, FunctionType) else None


def _is_other_callable(thing: object) -> bool:
    """Can it be called, and is neither a function nor a class? A module that is imported later cannot."""
    return callable(thing) and not isinstance(thing, FunctionType | type)


def _check_hook(name: str, function: FunctionType, mark: Mapping[str, Any]) -> None:
    """TypeError for a function with a mark that is no hook, or takes something."""
    hook = mark.get("specname") or name
    if hook not in HOOKS:
        hint = nearest_name(hook, HOOKS, f"hooks: {', '.join(HOOKS)}")
        raise TypeError(f"{name}() is marked with `@hookimpl`, and {hook!r} is no hook: {hint}")
    if mark.get("wrapper") or mark.get("hookwrapper"):
        raise TypeError(f"{name}() wraps what other plugins offer, which is not possible: return a list")
    if inspect.signature(function).parameters:
        raise TypeError(f"{name}() takes {', '.join(inspect.signature(function).parameters)}: write `def {name}()`")


def _check_api(module: ModuleType) -> None:
    """TypeError for a plugin whose `leafgate_api` does not contain this version of the plugin interface."""
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


def items_of(answer: object, hook: str) -> list[Any]:
    """What a hook returned: the items of a list, the pairs of a mapping; TypeError for what cannot be used."""
    if isinstance(answer, Mapping) and hook in METHODS:
        if not all(isinstance(name, str) and isinstance(item, str) for name, item in answer.items()):
            raise TypeError(f"{hook}() offers something that is no mapping from names to places, `package.module:name`")
        return list(answer.items())
    if isinstance(answer, str | Mapping) or not isinstance(answer, Iterable):
        raise TypeError(f"{hook}() returns {described(answer)} where a list belongs")
    items = list(answer)
    for item in items:
        OTHER_CHECKS[hook](item) if hook in OTHER_CHECKS else check_component(item, hook)
    return items


def _check_command(app: Any) -> None:
    """TypeError for what is no typer app, or one of whose functions no command can be made."""
    if not hasattr(app, "registered_commands"):
        raise TypeError(f"commands() offers {described(app)}, which is no typer app")
    if not (app.registered_commands or app.registered_groups):
        return
    from typer.main import get_command

    try:  # otherwise every other command and `--help` would end in its error
        get_command(app)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise TypeError(f"commands() offers a command that cannot be made of its function: {text}") from error


def _check_format(offered: object) -> None:
    if not isinstance(offered, ReportFormat):
        raise TypeError(f"report_formats() offers {described(offered)}, which is no ReportFormat")
    if problems := report_formats.mistakes(offered):
        raise TypeError(f"report_formats() offers a format that cannot be used: {'; '.join(problems)}")


def _check_reader(offered: object) -> None:
    if not isinstance(offered, ModelReader):
        raise TypeError(f"model_readers() offers {described(offered)}, which is no ModelReader")
    if problems := model_readers.mistakes(offered):
        raise TypeError(f"model_readers() offers a reader that cannot be used: {'; '.join(problems)}")


OTHER_CHECKS = {
    "commands": _check_command,
    "report_formats": _check_format,
    "model_readers": _check_reader,
}
"""The checks of what the hooks offer that offer no components."""


def check_component(component: object, hook: str) -> None:
    """TypeError for what is no class that a policy can use, of the kind that the hook offers."""
    base = component_hooks()[hook]
    if not (isinstance(component, type) and issubclass(component, base)):
        raise TypeError(f"{hook}() offers {described(component)}, which is no {base.__name__} class")
    field = component.model_fields["use"]
    if get_args(field.annotation) != (field.default,):
        raise TypeError(f'{component.__name__} needs a name: use: Literal["..."] = "..."')
    _check_method(component, hook)
    if issubclass(component, components.AttackModel):
        _check_attack(component)
    if issubclass(component, components.TreeBuilder):
        _check_builder(component)
    if issubclass(component, metrics.Metric):
        _check_metric(component)
    if issubclass(component, components.DataSource) and (problems := data_engines.suffix_mistakes(component)):
        raise TypeError(f"{component.__name__} cannot be used: {'; '.join(problems)}")


def _check_metric(metric: type[metrics.Metric]) -> None:
    if metric.unit not in set(findings.Unit):
        raise TypeError(
            f"{metric.__name__} has a unit that is none of {', '.join(repr(str(unit)) for unit in findings.Unit)}"
        )
    for name in ("bound", "called", "can_be_broken", "limit"):
        if not isinstance(inspect.getattr_static(metric, name), property):
            raise TypeError(f"{metric.__name__} needs `{name}` to be a property: write `@property` above it")
    ends: object = metric.score_range
    if not (isinstance(ends, tuple) and len(ends) == 2 and all(map(_is_number, ends)) and ends[0] < ends[1]):
        raise TypeError(f"{metric.__name__} needs `score_range`, its lowest and its highest score: (0.0, 1.0)")
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


def _is_number(thing: object) -> bool:
    return isinstance(thing, int | float) and not isinstance(thing, bool)


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


def _check_builder(builder: type[components.TreeBuilder]) -> None:
    if isinstance(builder.guarantees, str) or not isinstance(builder.guarantees, Collection):
        raise TypeError(f"{builder.__name__}: `guarantees` is a set of words, such as frozenset({{'epsilon'}})")
    if builder.randomness not in {"none", "seed", "system"}:
        raise TypeError(f"{builder.__name__}: `randomness` is none, seed or system")


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
    "data_sources": ("read", ("file",)),
}
"""The method of each kind of component, and what it is given."""


def described(thing: object) -> str:
    """What something is, without its content: a class by its name, another object by its type."""
    if thing is None:
        return "None"
    name = f"the class {thing.__name__}" if isinstance(thing, type) else type(thing).__name__
    return name if isinstance(thing, type) else f"an object of the type {name}"
