"""What must hold of every plugin: its options, its words, its weight, its manners."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from leafgate.api.components import Component
from leafgate.api.describe import options, parts
from leafgate.testing.check import DoesNotApply, NonConformance
from leafgate.testing.sandbox import digest, global_coins, global_seed, offline, shared_state, usual_arithmetic

HEAVY = frozenset(
    {
        *("numpy", "pandas", "pyarrow", "scipy", "sklearn", "duckdb", "cvxpy", "gekko", "matplotlib"),
        *("torch", "tensorflow", "xgboost", "lightgbm", "mlflow"),
    }
)
"""What takes so long to import that listing plugins must not."""

PLACEHOLDER = re.compile(
    r"\b(TODO|FIXME|XXX|TBD|lorem ipsum)\b|^(the|a) paper it comes from$|^say (it )?(here|in one)\b|^<.*>$|^\W*$",
    re.IGNORECASE,
)
"""Words that say that something is still to be said."""


def described_options(component: Component) -> None:
    """Its options are checked strictly, and each says what it is for."""
    kind = type(component)
    if kind.model_config.get("extra") != "forbid" or not kind.model_config.get("frozen"):
        raise NonConformance(
            f"{kind.__name__} takes options nobody declared, or lets them be changed",
            'keep the `model_config` of its base class: frozen, extra="forbid"',
        )
    models = [("", kind), *parts(kind)]
    silent = [f"{place}.{name}".strip(".") for place, model in models for name, *_, said in options(model) if not said]
    if silent:
        raise NonConformance(
            f"the option `{silent[0]}` does not say what it is for",
            'write Field(..., description="...") for each option: policies are written by these words',
        )


def explains_itself(component: Component) -> None:
    """`leafgate explain` has something to print: what it does, whom it assumes, what it computes, taken from where."""
    kind = type(component)
    said = {name: getattr(kind, name) for name in ("threat_model", "formula", "source")}
    said["a docstring of its own"] = inspect.getdoc(kind) if kind.__doc__ else ""
    silent = [name for name, text in said.items() if not text]
    said |= {name: getattr(kind, name) for name in ("scale", "interpretation", "plain_failure") if hasattr(kind, name)}
    unsaid = [name for name, text in said.items() if text and PLACEHOLDER.search(text)]
    if unsaid:
        raise NonConformance(
            f"{kind.__name__} still says in {unsaid[0]} what stood there to be written over",
            "say whom it assumes, what it computes and where that comes from: `leafgate explain` prints it",
        )
    if silent:
        raise NonConformance(
            f"{kind.__name__} has no {silent[0]}", "say it: `leafgate explain` and readers of reports have nothing else"
        )


def pickles(component: Component) -> None:
    """It can be sent to another process and is the same there: sweeps run in several."""
    try:
        twin = pickle.loads(pickle.dumps(component))  # noqa: S301  made one line up
    except Exception as error:
        raise NonConformance(
            f"{type(component).__name__} cannot be pickled ({type(error).__name__})",
            "define the class at the top of a module, and keep to options that are plain values",
        ) from error
    if twin != component:
        raise NonConformance("it is another one after pickling", "keep everything it depends on among its options")


def imports_lightly(component: Component) -> None:
    """Importing the module that offers it loads nothing heavy: `leafgate plugins` must be instant."""
    loaded = _loaded_by(type(component).__module__)
    if loaded:
        raise NonConformance(
            f"importing {type(component).__module__} loads {', '.join(loaded)}",
            "import what is heavy inside the methods, or in a module that they import",
        )


@cache
def _loaded_by(module: str) -> tuple[str, ...]:
    """The heavy packages in memory after a module was imported in a process of its own."""
    program = (
        f"import sys, importlib; importlib.import_module(sys.argv[1]); print(*sorted(set(sys.modules) & {set(HEAVY)}))"
    )
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(  # noqa: S603  this very Python, and the name of a module that it has imported
        [sys.executable, "-c", program, module],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        timeout=120,
    )
    if done.returncode != 0:
        raise DoesNotApply(f"{module} cannot be imported in a process of its own")
    return tuple(done.stdout.split())


def repeats_elsewhere(component: Component, first: Mapping[str, str], more: Sequence[Any]) -> None:
    """What came of it in this process comes of it in another one, too."""
    from leafgate.testing.subprocess_worker import asked_elsewhere

    there = asked_elsewhere(component, more)
    if not there:
        raise DoesNotApply("its class, or what it is tried in, cannot be sent to another process")
    if isinstance(there, str):
        raise NonConformance(
            f"in another process it ends in {there}", "keep everything it depends on among its options"
        )
    if any(digest(first.get(name, "")) != other for name, other in there.items()):
        raise NonConformance(
            "another process, with other hashes and in another time zone, makes something else of the same",
            "use no hash() of texts, sort sets, read no clock, and draw nothing at import",
        )


def no_network(run: Callable[[], None]) -> None:
    """It opens no connection, asks for no name and waits for nobody. A program that it starts is not watched."""
    with offline() as tried:
        try:
            run()
        finally:
            if tried:
                raise NonConformance(
                    f"it calls {tried[0]}() of the network", "compute here: what is audited must not leave the machine"
                )


COINS = "toss coins with the `rng` it is given, or numpy.random.default_rng(known.seed)"


def no_global_rng(runs: Callable[[], Iterator[str]]) -> None:
    """It neither changes nor uses the random numbers that the whole process shares, nor changes what else it shares."""
    outcomes = []
    for seed in (1, 2):
        with global_seed(seed), usual_arithmetic(), _unchanged():
            outcomes.append(list(runs()))
    if outcomes[0] != outcomes[1]:
        raise NonConformance("its outcome depends on random numbers that the whole process shares", COINS)


@contextmanager
def _unchanged() -> Iterator[None]:
    coins, state = global_coins(), shared_state()
    yield
    if global_coins() != coins:
        raise NonConformance("it draws from, or seeds, the random numbers that the whole process shares", COINS)
    changed = [name for name, before in state.items() if shared_state()[name] != before]
    if changed:
        raise NonConformance(
            f"it changes {changed[0]}, which others depend on",
            "change it in a `with` block that puts it back (numpy.errstate, decimal.localcontext), or not at all",
        )


def same(outcomes: Iterator[tuple[object, object]], what: str, remedy: str) -> None:
    """Both of every pair are equal."""
    if any(one != other for one, other in outcomes):
        raise NonConformance(what, remedy)
