"""What a process of leafgate works out once, and a process of tests hundreds of times: kept from one test to the next.

Only what depends on nothing but the installed packages is kept: their entry points, by the folders that are searched;
what a bundled plugin offers, by its module and its hooks; the policy model, by the components it is made of. Entry
points and modules that a test puts in their place are looked at anew.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection
from importlib.metadata import EntryPoints
from types import ModuleType
from typing import Any

from pluggy import PluginManager

import leafgate.policy.load
from leafgate import Policy
from leafgate.api import registry
from leafgate.api.offers import component_hooks
from leafgate.api.registry import Plugins
from leafgate.kernel.components import Component

_entry_points = vars(registry)["entry_points"]
_offered_by = registry.offered_by
_policy_model = leafgate.policy.load.policy_model
HOOKS = (*component_hooks(), "commands", "report_formats", "leafgate_api")
_models: dict[tuple[tuple[type[Component], ...], ...], type[Policy]] = {}


@functools.cache
def _installed(folders: tuple[str, ...], group: str) -> EntryPoints:
    found: EntryPoints = _entry_points(group=group)
    return found


@functools.cache
def _offers(module: ModuleType, hooks: tuple[Any, ...]) -> Any:
    return _offered_by(module)


def _offered(
    module: ModuleType, manager: PluginManager | None = None, name: str | None = None, *, everything: bool = True
) -> Any:
    if not module.__name__.startswith("leafgate_"):
        return _offered_by(module, manager, name, everything=everything)
    return _offers(module, tuple(map(vars(module).get, HOOKS)))  # all of it, whatever is needed


def _model_of(plugins: Plugins, named: Collection[str] | None = None) -> type[Policy]:
    key = tuple(tuple(plugins.kind(base, named)) for base in component_hooks().values())
    if key not in _models:
        _models[key] = _policy_model(plugins, named)
    return _models[key]


def install() -> None:
    """Put what remembers in the place of what works it out; before any test module imports it."""
    vars(registry)["entry_points"] = lambda group: _installed(tuple(sys.path), group)
    registry.offered_by = _offered
    leafgate.policy.load.policy_model = _model_of
