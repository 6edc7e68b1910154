"""Entry points that need no installation, and modules made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from leafgate.api import AttackModel, Metric, TreeBuilder, hookimpl
from leafgate.api.hookspecs import API_RANGE
from leafgate.kernel.components import Component
from standins import Calm, Sizes, Stump

KINDS: dict[str, type[Component]] = {
    "tree_builders": TreeBuilder,
    "attack_models": AttackModel,
    "privacy_metrics": Metric,
}
Load = Callable[[], ModuleType]


@dataclass(frozen=True)
class Point:
    """One entry point of a stranger's distribution."""

    name: str
    load: Load
    distribution: str = "Acme_Spies"
    version: str = "1.2"

    @property
    def dist(self) -> SimpleNamespace:
        return SimpleNamespace(metadata={"Name": self.distribution, "Version": self.version})


def module(**hooks: Callable[[], Any]) -> ModuleType:
    """A module with these hooks."""
    made = ModuleType("spies")
    made.__dict__["leafgate_api"] = API_RANGE
    for name, hook in hooks.items():
        setattr(made, name, hookimpl(hook))
    return made


def offering(*classes: type[Component]) -> Load:
    """Loads a module that offers classes, each through its hook."""

    def hook(base: type[Component]) -> Callable[[], list[type[Component]]]:
        return lambda: [each for each in classes if issubclass(each, base)]

    return lambda: module(**{name: hook(base) for name, base in KINDS.items()})


def commanding(*apps: Any) -> Load:
    """Loads a module that offers commands."""
    return lambda: module(commands=lambda: list(apps))


def raising(error: BaseException) -> Load:
    """Fails to load."""

    def load() -> ModuleType:
        raise error

    return load


BASICS = Point("basics", offering(Stump, Calm, Sizes), "Basics", "1.0")


def install(patch: pytest.MonkeyPatch, *points: Point) -> None:
    """Make these all the entry points there are."""
    patch.setattr("leafgate.api.registry.entry_points", lambda group: list(points))
