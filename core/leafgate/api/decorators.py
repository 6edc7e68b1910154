"""Attacks and metrics made of functions, whose keyword-only parameters are their options in a policy.

A module with such functions is a plugin: no hook has to offer them.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, TypeVar, get_type_hints

from leafgate.kernel.components import AttackModel, Component
from leafgate.kernel.metrics import AtLeast, AtMost, ReleaseAtLeast, ReleaseAtMost, Score

Kind = TypeVar("Kind", bound=Component)
Safer = Literal["more", "less"]
"""Which scores protect better: a limit is `at_least` where more does, `at_most` where less does."""


def attack(use: str, **facts: Any) -> Callable[[Callable[..., Any]], type[Any]]:
    """Make an attack of a function that is given the release and what the adversary knows.

    Args:
        use: the name that policies pick it by.
        facts: class variables of `AttackModel`, such as `reads`, `needs`, `access_levels`, `threat_model` and `source`.

    Returns:
        A decorator, which returns the class; what the function returns is what `AttackModel.infer` does.

    Raises TypeError where the function has other parameters, or there is no such class variable.

    >>> @attack("majority", reads={"exact"}, threat_model="knows the release alone")
    ... def majority(release, known, *, smooth: float = 0):
    ...     return []
    >>> majority(smooth=1).smooth
    1.0
    """
    if not isinstance(use, str):
        name = getattr(use, "__name__", "name")
        raise TypeError(f'`@attack` needs the name that policies use: write `@attack("{name}")` above `def {name}`')
    return lambda function: _component(use, function, AttackModel, "infer", 2, facts)


def person_metric(use: str, *, safer: Safer, **facts: Any) -> Callable[[Callable[..., Any]], type[Any]]:
    """Make a metric of a function that scores each person of a ScoringContext, a number for each row of its table.

    Args:
        use: the name that policies pick it by.
        safer: which scores protect better.
        facts: class variables of `PersonMetric`, such as `judges`, `unit`, `examples` and `formula`.

    Returns:
        A decorator, which returns the class. The function returns the numbers, or a `Score`.

    Raises TypeError as `attack` does.
    """
    base: type[Any] = AtLeast if safer == "more" else AtMost
    return lambda function: _component(use, _scoring(function, "people"), base, "score", 1, facts)


def release_metric(use: str, *, safer: Safer, **facts: Any) -> Callable[[Callable[..., Any]], type[Any]]:
    """Make a metric of a function that scores the release of a ScoringContext by one number.

    Args:
        use: the name that policies pick it by.
        safer: which scores protect better.
        facts: class variables of `ReleaseMetric`, such as `public`, `measures`, `unit` and `formula`.

    Returns:
        A decorator, which returns the class. The function returns the number, or a `Score`.

    Raises TypeError as `attack` does.
    """
    base: type[Any] = ReleaseAtLeast if safer == "more" else ReleaseAtMost
    return lambda function: _component(use, _scoring(function, "release"), base, "score", 1, facts)


def made_of_functions(module: types.ModuleType) -> list[type[Component]]:
    """The components of a module that the decorators made there, in its order."""
    found = (each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Component))
    own = (each for each in found if getattr(each, "of_function", False) and each.__module__ == module.__name__)
    return list(dict.fromkeys(own))


def _scoring(function: Callable[..., Any], of: Literal["people", "release"]) -> Callable[..., Any]:
    """The function with its numbers as a Score."""

    def score(case: Any, **options: Any) -> Score:
        result = function(case, **options)
        if isinstance(result, Score):
            return result
        if of == "release":
            return Score(float(result))
        import pandas as pd

        return Score(people=pd.Series(result))

    score.__wrapped__ = function  # type: ignore[attr-defined]
    return score


def _component(
    use: str, function: Callable[..., Any], base: type[Kind], method: str, positional: int, facts: Mapping[str, Any]
) -> type[Kind]:
    """The class whose `method` calls the function with its options."""
    written = inspect.unwrap(function)
    options = _options(written, positional)
    variables = {name for kind in base.__mro__ for name in vars(kind).get("__annotations__", ())} - set(
        base.model_fields
    )
    if unknown := sorted(set(facts) - variables):
        raise TypeError(f"{written.__name__}: {base.__name__} has no class variable {unknown[0]!r}")

    def call(self: Any, *given: Any) -> Any:
        return function(*given, **{name: getattr(self, name) for name in options})

    body: dict[str, Any] = {
        "__module__": written.__module__,
        "__qualname__": written.__qualname__,
        "__doc__": written.__doc__,
        "__annotations__": {"use": Literal[use], "of_function": ClassVar[bool]}
        | {name: option for name, (option, _) in options.items()},
        "use": use,
        "of_function": True,
        method: call,
        **{name: frozenset(fact) if isinstance(fact, set) else fact for name, fact in facts.items()},
        **{name: default for name, (_, default) in options.items() if default is not inspect.Parameter.empty},
    }
    made: type[Kind] = types.new_class(written.__name__, (base,), exec_body=lambda space: space.update(body))
    return made


def _options(function: Callable[..., Any], positional: int) -> dict[str, tuple[Any, Any]]:
    """The type and the default of each keyword-only parameter, by its name."""
    parameters = inspect.signature(function).parameters
    free = [each for each in parameters.values() if each.kind == each.KEYWORD_ONLY]
    if len(parameters) - len(free) != positional:
        wanted = "release, known" if positional == 2 else "case"
        raise TypeError(f"{function.__name__} takes ({wanted}), and options behind a `*`")
    for each in free:
        if each.annotation is each.empty:
            raise TypeError(f"{function.__name__}: the option {each.name!r} needs a type, such as `{each.name}: int`")
    stated = types.SimpleNamespace(__annotations__={each.name: each.annotation for each in free})
    hints = get_type_hints(stated, globalns=vars(inspect.getmodule(function) or types), include_extras=True)
    return {each.name: (hints[each.name], each.default) for each in free}
