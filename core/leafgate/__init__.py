"""leafgate audits what a decision tree gives away before it is released.

    Table --build--> Release --infer--> Belief --score--> numbers --policy--> Report

What a plugin needs can be imported from here; nothing heavy is loaded until it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leafgate.belief import Belief
from leafgate.case import Case
from leafgate.errors import DataError, InconclusiveError, LeafgateError, NoReleaseError, PolicyError
from leafgate.fact import Fact
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

if TYPE_CHECKING:
    from leafgate.foreign.sklearn.memory import from_sklearn
    from leafgate.table import Table

LATER = {"Table": "leafgate.table", "from_sklearn": "leafgate.foreign.sklearn.memory"}
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
        return getattr(import_module(LATER[name]), name)
    raise AttributeError(f"module 'leafgate' has no attribute {name!r}")
