"""The hooks of plugins, and checks of what they offer: a mistake is a TypeError that says what to write."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
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
    from leafgate.kernel.components import Component
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
    """TypeError for a plugin that was made for another interface, or has a hook that nobody calls."""
    _check_api(module)
    functions = {name: each for name, each in vars(module).items() if isinstance(each, FunctionType)}
    for name, function in functions.items():
        mark = getattr(function, MARK, None)
        hook = name if mark is None else mark["specname"] or name
        if mark is not None and hook not in HOOKS:
            hint = nearest_name(hook, HOOKS, f"hooks: {', '.join(HOOKS)}")
            raise TypeError(f"{name}() is marked with `@hookimpl`, and {hook!r} is no hook: {hint}")
        if mark is None and hook in HOOKS and function.__module__ == module.__name__:
            raise TypeError(f"{name}() has no `@hookimpl`, so that nobody calls it")


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


def _check_declared(kind: type[Any], mistakes: Callable[[Any], list[str]], offered: object) -> None:
    if not isinstance(offered, kind):
        raise TypeError(f"offers {described(offered)}, which is no {kind.__name__}")
    if problems := mistakes(offered):
        raise TypeError(f"offers a {kind.__name__} that cannot be used: {'; '.join(problems)}")


OTHER_CHECKS: Mapping[str, Callable[[object], None]] = {
    "commands": _check_command,
    "report_formats": partial(_check_declared, ReportFormat, report_formats.mistakes),
    "model_readers": partial(_check_declared, ModelReader, model_readers.mistakes),
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
    name = component.__name__
    for kind, variable, fits, wanted in _class_variables():
        if issubclass(component, kind) and not fits(inspect.getattr_static(component, variable)):
            raise TypeError(f"{name}: `{variable}` must be {wanted}")
    if issubclass(component, metrics.Metric):
        has_direction = getattr(component, "direction", None) in component.model_fields
        if not has_direction or not issubclass(component, metrics.PersonMetric | metrics.ReleaseMetric):
            raise TypeError(f"{name} needs a direction, at_least or at_most: derive it from AtLeast or AtMost")
    needs = component.needs if issubclass(component, components.AttackModel) else ()
    if len({"candidates", "targets", "people"} & set(needs)) > 1:
        raise TypeError(f"{name} needs candidates or targets: it cannot need `people`, who are in the table, nor both")
    if issubclass(component, components.DataSource) and (problems := data_engines.suffix_mistakes(component)):
        raise TypeError(f"{name} cannot be used: {'; '.join(problems)}")


def _class_variables() -> Iterator[tuple[type[Component], str, Callable[[Any], bool], str]]:
    """What class variables may be: the kind of component, the variable, the check, and what it checks in words."""
    attack, builder, metric = components.AttackModel, components.TreeBuilder, metrics.Metric
    words = {"needs": knowledge.NEEDS, "reads": get_args(release.Counted), "models": get_args(release.Model)}
    words |= {"parts": ("trees", "alternatives", "records"), "access_levels": oracle.ACCESS_LEVELS}
    for name, known in words.items():
        wanted = f"a set of words, such as frozenset({{{min(known)!r}}}), of {', '.join(sorted(known))}"
        yield attack, name, partial(_are_words, frozenset(known)), wanted
    yield attack, "access_levels", bool, f"one or more of {', '.join(oracle.ACCESS_LEVELS)}"
    yield builder, "guarantees", partial(_are_words, None), "a set of words, such as frozenset({'epsilon'})"
    yield builder, "randomness", {"none", "seed", "system"}.__contains__, "none, seed or system"
    yield metric, "unit", set(findings.Unit).__contains__, f"one of {', '.join(map(repr, map(str, findings.Unit)))}"
    yield metric, "score_range", _is_range, "its lowest and its highest score: (0.0, 1.0)"
    for name in ("bound", "called", "can_be_broken", "limit"):
        yield metric, name, lambda thing: isinstance(thing, property), "a property: write `@property` above it"
    about_people = metrics.ABOUT_GROUPS | metrics.ABOUT_SECRETS
    for kind, allowed in ((metrics.PersonMetric, about_people), (metric, frozenset(belief.BELIEF_TYPES))):
        names = ", ".join(sorted(each.__name__ for each in allowed))
        yield kind, "judges", partial(_are_words, allowed), f"a frozenset of types of belief: {names}"
    yield metrics.PersonMetric, "judges", bool, "one or more types of belief"


def _are_words(known: Collection[Any] | None, words: object) -> bool:
    """Is it a collection of what is known, and no text?"""
    if isinstance(words, str) or not isinstance(words, Collection):
        return False
    return known is None or set(words) <= set(known)


def _is_range(ends: object) -> bool:
    numbers = isinstance(ends, tuple) and all(isinstance(end, int | float) for end in ends)
    return isinstance(ends, tuple) and numbers and len(ends) == 2 and ends[0] < ends[1]


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
