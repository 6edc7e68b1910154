"""leafgate audits what a decision tree gives away before it is released.

    Table --build--> Release --infer--> Belief --score--> numbers --policy--> Report

What a plugin needs can be imported from here; nothing heavy is loaded until it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leafgate.belief import Belief
    from leafgate.case import Case
    from leafgate.errors import DataError, InconclusiveError, LeafgateError, NoReleaseError, PolicyError
    from leafgate.fact import Fact
    from leafgate.foreign.sklearn.memory import from_sklearn
    from leafgate.hookspecs import hookimpl
    from leafgate.interfaces import (
        AtLeast,
        AtMost,
        AttackModel,
        Example,
        Metric,
        ReleaseAtLeast,
        ReleaseAtMost,
        TreeBuilder,
    )
    from leafgate.known import Known
    from leafgate.release import Release
    from leafgate.table import Table

LATER = {
    "AtLeast": "leafgate.interfaces",
    "AtMost": "leafgate.interfaces",
    "AttackModel": "leafgate.interfaces",
    "Belief": "leafgate.belief",
    "Case": "leafgate.case",
    "DataError": "leafgate.errors",
    "Example": "leafgate.interfaces",
    "Fact": "leafgate.fact",
    "InconclusiveError": "leafgate.errors",
    "Known": "leafgate.known",
    "LeafgateError": "leafgate.errors",
    "Metric": "leafgate.interfaces",
    "NoReleaseError": "leafgate.errors",
    "PolicyError": "leafgate.errors",
    "Release": "leafgate.release",
    "ReleaseAtLeast": "leafgate.interfaces",
    "ReleaseAtMost": "leafgate.interfaces",
    "Table": "leafgate.table",
    "TreeBuilder": "leafgate.interfaces",
    "from_sklearn": "leafgate.foreign.sklearn.memory",
    "hookimpl": "leafgate.hookspecs",
}
"""Where each name is defined. All are imported on first use: commands withdraw older verdicts before that."""
__version__ = "0.1.0"

__all__ = [
    "AtLeast",
    "AtMost",
    "AttackModel",
    "Belief",
    "Case",
    "DataError",
    "Example",
    "Fact",
    "InconclusiveError",
    "Known",
    "LeafgateError",
    "Metric",
    "NoReleaseError",
    "PolicyError",
    "Release",
    "ReleaseAtLeast",
    "ReleaseAtMost",
    "Table",
    "TreeBuilder",
    "from_sklearn",
    "hookimpl",
]


def __getattr__(name: str) -> Any:
    if name in LATER:
        value = getattr(import_module(LATER[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'leafgate' has no attribute {name!r}")
