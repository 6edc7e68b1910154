"""A conformance kit: does a plugin keep to what leafgate takes for granted?

One line of pytest for each plugin:

    @pytest.mark.parametrize("check", conformance(MyAttack()), ids=str)
    def test_conforms(check): check()

A check that says nothing of a plugin is listed as skipped, with the reason; none passes silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from leafgate.api.components import AttackModel, Component, TreeBuilder
from leafgate.api.metrics import Metric
from leafgate.testing.check import Check, DoesNotApply, KnownException, NonConformance, checked_all, checks_of

if TYPE_CHECKING:
    from leafgate.testing.scenarios import Scenario

__all__ = [
    "Check",
    "DoesNotApply",
    "KnownException",
    "NonConformance",
    "Scenario",
    "check_attack",
    "check_builder",
    "check_metric",
    "conformance",
]

Expected = Mapping[str, str] | None


def conformance(component: Component, *, on: Sequence[Scenario] = (), expected: Expected = None) -> list[Check[Any]]:
    """Every check of a builder, an attack or a metric, each to be called.

    `on` are settings to try it in besides the kit's own. `expected` names checks that are known to fail, each with
    the reason: such a check is listed as skipped, and fails if it should pass after all.
    """
    if isinstance(component, AttackModel):
        from leafgate.testing.attack_checks import ATTACK_CHECKS
        from leafgate.testing.subjects import AttackSubject

        return checks_of(component, ATTACK_CHECKS, AttackSubject(component, on), expected)
    if isinstance(component, Metric):
        from leafgate.testing.metric_checks import METRIC_CHECKS
        from leafgate.testing.subjects import MetricSubject

        return checks_of(component, METRIC_CHECKS, MetricSubject(component, on), expected)
    if isinstance(component, TreeBuilder):
        from leafgate.testing.builder_checks import BUILDER_CHECKS
        from leafgate.testing.subjects import BuilderSubject

        return checks_of(component, BUILDER_CHECKS, BuilderSubject(component, on), expected)
    raise TypeError(f"{type(component).__name__} is no builder, attack or metric")


def check_attack(attack: AttackModel, *, on: Sequence[Scenario] = (), expected: Expected = None) -> dict[str, str]:
    """Run every check of an attack: what did not apply, with the reason. NonConformance lists what does not hold."""
    return checked_all(conformance(attack, on=on, expected=expected))


def check_metric(metric: Metric, *, on: Sequence[Scenario] = (), expected: Expected = None) -> dict[str, str]:
    """Run every check of a metric: what did not apply, with the reason. NonConformance lists what does not hold."""
    return checked_all(conformance(metric, on=on, expected=expected))


def check_builder(builder: TreeBuilder, *, on: Sequence[Scenario] = (), expected: Expected = None) -> dict[str, str]:
    """Run every check of a builder: what did not apply, with the reason. NonConformance lists what does not hold."""
    return checked_all(conformance(builder, on=on, expected=expected))


def __getattr__(name: str) -> Any:
    if name == "Scenario":
        return import_module("leafgate.testing.scenarios").Scenario
    raise AttributeError(f"module 'leafgate.testing' has no attribute {name!r}")
