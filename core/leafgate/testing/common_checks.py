"""The checks of every component: options, explanation, pickling, light import, repeatability, isolation."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from leafgate.api.options import options, parts
from leafgate.errors import LeafgateError
from leafgate.testing.check import DoesNotApply, NonConformance
from leafgate.testing.sandbox import digest, global_coins, global_seed, offline, shared_state, usual_arithmetic
from leafgate.testing.subjects import Subject

AnySubject = Subject[Any, Any, Any]

HEAVY = frozenset(
    {
        *("numpy", "pandas", "pyarrow", "scipy", "sklearn", "duckdb", "cvxpy", "gekko", "matplotlib"),
        *("torch", "tensorflow", "xgboost", "lightgbm", "mlflow"),
    }
)
"""Packages whose import takes too long for a command that only lists plugins."""

PLACEHOLDER = re.compile(
    r"\b(TODO|FIXME|XXX|TBD|lorem ipsum)\b|^(the|a) paper it comes from$|^say (it )?(here|in one)\b|^<.*>$|^\W*$",
    re.IGNORECASE,
)
"""Placeholders that an author has not replaced yet."""


def described_options(subject: AnySubject) -> None:
    """Its options are checked strictly, and each says what it is for."""
    kind = type(subject.component)
    if kind.model_config.get("extra") != "forbid" or not kind.model_config.get("frozen"):
        raise NonConformance(
            f"{kind.__name__} takes options nobody declared, or lets them be changed",
            'keep the `model_config` of its base class: frozen, extra="forbid"',
        )
    models = [("", kind), *parts(kind)]
    silent = [
        f"{place}.{name}".strip(".")
        for place, model in models
        for name, *_, description in options(model)
        if not description
    ]
    if silent:
        raise NonConformance(
            f"the option `{silent[0]}` does not say what it is for",
            'write Field(..., description="...") for each option: policies are written by these words',
        )


def explains_itself(subject: AnySubject) -> None:
    """`leafgate explain` has something to print: what it does, whom it assumes, what it computes, taken from where."""
    kind = type(subject.component)
    texts = {name: getattr(kind, name) for name in ("threat_model", "formula", "source")}
    texts["a docstring of its own"] = inspect.getdoc(kind) if kind.__doc__ else ""
    silent = [name for name, text in texts.items() if not text]
    texts |= {name: getattr(kind, name) for name in ("scale", "interpretation", "plain_failure") if hasattr(kind, name)}
    unsaid = [name for name, text in texts.items() if text and PLACEHOLDER.search(text)]
    if unsaid:
        raise NonConformance(
            f"{kind.__name__} still says in {unsaid[0]} what stood there to be written over",
            "say whom it assumes, what it computes and where that comes from: `leafgate explain` prints it",
        )
    if silent:
        raise NonConformance(
            f"{kind.__name__} has no {silent[0]}", "say it: `leafgate explain` and readers of reports have nothing else"
        )


def pickles(subject: AnySubject) -> None:
    """It can be sent to another process and is the same there: sweeps run in several."""
    component = subject.component
    try:
        twin = pickle.loads(pickle.dumps(component))  # noqa: S301  pickled in the same line
    except Exception as error:
        raise NonConformance(
            f"{type(component).__name__} cannot be pickled ({type(error).__name__})",
            "define the class at the top of a module, and keep to options that are plain values",
        ) from error
    if twin != component:
        raise NonConformance(
            "it is not equal to itself after pickling", "keep everything it depends on among its options"
        )


def imports_lightly(subject: AnySubject) -> None:
    """Importing the module that offers it loads nothing heavy: `leafgate plugins` must be instant."""
    module = type(subject.component).__module__
    loaded = loaded_by(module, HEAVY)
    if loaded:
        raise NonConformance(
            f"importing {module} loads {', '.join(loaded)}",
            "import it with leafgate.lazy_loading.lazy, inside the methods, or in a module that they import",
        )


@cache
def loaded_by(module: str, packages: frozenset[str]) -> tuple[str, ...]:
    """Those of the packages that are in memory after a module was imported in a process of its own."""
    program = (
        "import sys, importlib; importlib.import_module(sys.argv[1]); "
        f"print(*sorted(set(sys.modules) & {set(packages)}))"
    )
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(  # noqa: S603  the running Python, and the name of a module that it has imported
        [sys.executable, "-c", program, module],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        timeout=120,
    )
    if done.returncode != 0:
        raise DoesNotApply(f"{module} cannot be imported in a process of its own")
    return tuple(done.stdout.split())


def repeats(subject: AnySubject) -> None:
    """A second run on the same input, with the same seed, returns the same, bit for bit."""
    subject.require_repeatable()
    for _, instance, output in subject.accepted:
        if subject.canonical(subject.rerun(instance)) != subject.canonical(output):
            raise NonConformance(
                "it returns something else when it is run again on the same input",
                f"{COINS}; read no clock; let a builder state in `randomness` where it draws from: none, seed, system",
            )


def repeats_elsewhere(subject: AnySubject) -> None:
    """Another process, with other hashes and in another time zone, returns the same, bit for bit."""
    from leafgate.testing.subprocess_worker import digests_elsewhere

    subject.require_repeatable()
    first = subject.first
    there = digests_elsewhere(subject.component, subject.more)
    if not there:
        raise DoesNotApply("its class, or what it is tried in, cannot be sent to another process")
    if isinstance(there, str):
        raise NonConformance(
            f"in another process it ends in {there}", "keep everything it depends on among its options"
        )
    if any(digest(first.get(name, "")) != result for name, result in there.items()):
        raise NonConformance(
            "another process, with other hashes and in another time zone, returns something else for the same input",
            "use no hash() of texts, sort sets, read no clock, and draw nothing at import",
        )


def leaves_inputs_alone(subject: AnySubject) -> None:
    """It writes into none of its inputs."""
    for name, instance, _ in subject.accepted:
        opened = subject.open(instance)
        before = subject.snapshot(opened)
        subject.run(opened)
        if subject.snapshot(opened) != before:
            raise NonConformance(f"it changes its input ({name})", "copy before you write")


def no_network(subject: AnySubject) -> None:
    """It opens no connection and resolves no host name. Programs that it starts are not observed."""
    instances = list(subject.instances())
    with offline() as tried:
        try:
            for _, instance in instances:
                with suppress(LeafgateError, NonConformance):
                    subject.run(subject.open(instance))
        finally:
            if tried:
                raise NonConformance(
                    f"it calls {tried[0]}() of the network", "compute here: what is audited must not leave the machine"
                )


COINS = "draw from the `rng` it is given, or numpy.random.default_rng(known.seed)"


def no_global_rng(subject: AnySubject) -> None:
    """It neither uses nor changes the random numbers that the whole process shares, nor changes other shared state."""
    repeatable, instances, outcomes = bool(subject.first), [each for _, each, _ in subject.accepted], []
    for seed in (1, 2):
        with global_seed(seed), usual_arithmetic(), _unchanged():
            outputs = [subject.canonical(subject.run(subject.open(each))) for each in instances]
            outcomes.append(outputs if repeatable else [])
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


COMMON_CHECKS: Mapping[str, Callable[[AnySubject], None]] = {
    "described_options": described_options,
    "explains_itself": explains_itself,
    "pickles": pickles,
    "light_face": imports_lightly,
    "repeats": repeats,
    "repeats_elsewhere": repeats_elsewhere,
    "leaves_inputs_alone": leaves_inputs_alone,
    "own_coins": no_global_rng,
    "no_network": no_network,
}
"""The checks of every component, by name."""
