"""What comes of a plugin in each setting it can use, as digests that two processes can compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leafgate.interfaces import AttackModel, Component, Metric
from leafgate.testing.attack_subject import AttackSubject
from leafgate.testing.builder_subject import BuilderSubject
from leafgate.testing.metric_subject import MetricSubject
from leafgate.testing.watching import digest


def outcomes(component: Component, more: Sequence[Any]) -> dict[str, str]:
    """By the setting's name a digest of what was believed, scored or built."""
    return {name: digest(text) for name, text in _subject(component, more).first.items()}


def _subject(component: Any, more: Sequence[Any]) -> AttackSubject | MetricSubject | BuilderSubject:
    if isinstance(component, AttackModel):
        return AttackSubject(component, more)
    return MetricSubject(component, more) if isinstance(component, Metric) else BuilderSubject(component, more)
